// One play: its verdict, the timeline, the step that is shown and the tables after it, and all steps as a list.

import { tables } from "./steps_tables.js";
import { timeline } from "./steps_timeline.js";

export function stage(page, say) {
  const { el } = page;
  let played;
  let href;
  let current = 1;
  let drawing;

  const title = el("h2", { id: "steps-title" });
  const verdict = el("p", { id: "steps-verdict" });
  const controls = el("div");
  const picture = el("div", { class: "steps-picture", id: "steps-timeline" });
  const sentence = el("p", { id: "steps-sentence", class: "steps-sentence", "aria-live": "polite" });
  const rows = el("div", { class: "stack" });
  const list = el("ol", { class: "steps-list", id: "steps-list" });
  const root = el("section", { class: "stack steps-stage", id: "steps-stage", hidden: true },
    el("div", {}, title, verdict),
    el("div", { class: "steps-sides" },
      picture,
      el("div", { class: "stack steps-now" }, controls, sentence, rows)),
    el("details", {}, say(el("summary"), "as_text"), list));

  function draw() {
    const { fault, implementation, key_source, fencing, steps } = played;
    const choice = [page.t(`fault_${fault}`), implementation, page.t("title_key", page.t(`key_source_${key_source}`))];
    title.textContent = [...choice, ...(fencing ? [page.t(`fencing_${fencing}`)] : [])].join(" · ");
    drawing = timeline(page, played, href);
    picture.replaceChildren(drawing.head, drawing.root);
    list.replaceChildren(...steps.map((step) => el("li", {}, el("a", { href: href(step.number) }, say_of(step)))));
    judge();
  }

  function judge() {
    const { reports, wanted, expected } = played;
    const good = reports === wanted;
    verdict.dataset.verdict = good ? "good" : "bad";
    verdict.replaceChildren(
      el("span", { class: `badge ${good ? "good" : "bad"}`, id: "steps-count" },
        `${good ? "✓" : "✗"} ${page.t("count", reports, wanted)}`),
      " ", page.t(remark(), expected),
    );
  }

  function remark() {
    const { fault, key_source, reports, expected, struck } = played;
    if (struck) {
      return reports === expected ? "as_expected" : "not_as_expected";
    }
    return fault === "taken_over" && key_source !== "none" ? "not_taken_over" : "not_struck";
  }

  const say_of = (step) => page.t(`say_${step.kind}`, step, played);

  function show(number) {
    current = number;
    const step = played.steps[number - 1];
    sentence.textContent = `${number}. ${say_of(step)}`;
    sentence.dataset.step = number;
    sentence.dataset.kind = step.kind;
    drawing.show(number);
    rows.replaceChildren(...tables(page, step, played));
    [...list.children].forEach((item, index) => {
      if (index + 1 === number) {
        item.setAttribute("aria-current", "step");
      } else {
        item.removeAttribute("aria-current");
      }
    });
    scrollTo(number);
  }

  // The timeline scrolls in its own box; the page stays where it is.
  function scrollTo(number) {
    const { top, bottom } = drawing.extent(number);
    const scale = drawing.root.getBoundingClientRect().width / drawing.width;
    const [from, to] = [picture.scrollTop, picture.scrollTop + picture.clientHeight];
    const room = picture.clientHeight / 4;
    if (bottom * scale > to - room || top * scale < from + room) {
      picture.scrollTop = top * scale - picture.clientHeight / 2;
    }
  }

  return {
    root,
    controls,
    play(next, hrefOf) {
      [played, href] = [next, hrefOf];
      root.hidden = false;
      root.dataset.reports = next.reports;
      draw();
    },
    show,
    relabel() {
      if (played) {
        draw();
        show(current);
      }
    },
  };
}
