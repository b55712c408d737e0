// Part Reports: file a report under a key, see each reply, and the list as it grows.

import { faultButtons } from "./reports_faults.js";
import { reportForm } from "./reports_form.js";
import { reportList } from "./reports_list.js";
import { replyLog } from "./reports_log.js";
export { texts } from "./reports_texts.js";

export function mount(root, page) {
  const { el } = page;
  const facts = el("p", { id: "facts" });
  const sides = el("div", { class: "bench" });
  root.append(
    page.text(el("h1"), "part_reports"),
    page.text(el("p", { class: "lead" }), "lead"),
    facts,
    sides,
  );
  // Before the answer to `info`, so that it hears of the first route.
  const list = reportList(page);
  let faults;
  page.onRoute(() => faults?.read());
  page.info.then((info) => {
    page.text(facts, `facts_${info.implementation}`, info.delay_ms, info.lease_ms / 1000, info.client_timeout_ms / 1000);
    const log = replyLog(page, info);
    faults = info.faults ? faultButtons(page, info) : undefined;
    const form = reportForm(page, info, (reply) => {
      log.add(reply);
      faults?.read();
    });
    log.root.classList.add("bench-log");
    sides.append(el("div", { class: "stack" }, form, faults?.root), log.root, list);
    faults?.read();
  });
}
