// The texts that the parts share.

export const texts = {
  en: {
    title: "tower-idempotency: try it",
    skip: "Skip to the content",
    nav: "Parts",
    other_language: "中文",
    part_reports: "Reports",
    part_herd: "The herd",
    part_steps: "Step by step",
    part_exercises: "Exercises",
    server: (version, implementation) => `tower-idempotency ${version}, server \`${implementation}\``,
  },
  zh: {
    title: "tower-idempotency：动手试",
    skip: "跳到正文",
    nav: "栏目",
    other_language: "English",
    part_reports: "报告",
    part_herd: "惊群",
    part_steps: "单步演示",
    part_exercises: "练习",
    server: (version, implementation) => `tower-idempotency ${version}，服务端实现 \`${implementation}\``,
  },
};
