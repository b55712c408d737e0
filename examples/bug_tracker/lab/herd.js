// Part The herd: many clients write one row at the same time, and wait as each strategy says; the server plays it.

import { herdForm } from "./herd_form.js";
import { results } from "./herd_results.js";
import { listen } from "./herd_server.js";
export { texts } from "./herd_texts.js";

export function mount(root, page) {
  const { el } = page;
  let running; // the abort of what runs
  let told = { state: "idle" }; // what is said of the run, in either language

  const bar = el("progress", { id: "herd-progress", max: 1, value: 0 });
  const message = el("p", { id: "herd-message", role: "status" });
  const stop = page.text(el("button", { id: "herd-stop", type: "button", onclick: () => running?.abort() }), "stop");
  const again = page.text(el("button", { id: "herd-again", type: "button", onclick: () => form.submit() }), "again");
  const status = el("div", { id: "herd-status", class: "herd-status", hidden: true }, bar, el("div", { class: "row" }, message, stop, again));
  const shown = results(page);
  let form;

  root.append(
    page.text(el("h1"), "part_herd"),
    page.text(el("p", { class: "lead" }), "lead"),
  );

  function tell(next) {
    told = { ...told, ...next };
    const { state, key, args = [], done = 0, of = 1 } = told;
    root.dataset.state = state;
    status.hidden = state === "idle" || state === "done";
    bar.hidden = state !== "running";
    bar.max = of;
    bar.value = done;
    message.textContent = key ? page.t(key, ...args) : "";
    message.className = state === "failed" ? "herd-error" : "muted";
    stop.hidden = state !== "running";
    again.hidden = state !== "failed";
  }
  page.onLanguage(() => tell({}));

  async function run(settings) {
    running?.abort();
    const abort = running = new AbortController();
    shown.begin(settings);
    tell({ state: "running", key: "asking", args: [], done: 0, of: settings.strategies.length });
    const ended = await listen(settings, abort.signal, {
      playing: ({ strategy, number, of }) => tell({ key: "playing", args: [strategy, number, of], done: number - 1, of }),
      outcome: (outcome) => shown.add(outcome),
    });
    if (running !== abort) {
      return; // another one runs
    }
    running = undefined;
    if (ended.field && form.complain(ended.field)) {
      tell({ state: "idle" });
    } else {
      tell({ state: ended.key ? "failed" : "done", key: ended.key, args: ended.args });
    }
  }

  function begin(settings) {
    page.replace("herd", linkOf(settings));
    return run(settings);
  }

  function linkOf(settings) {
    const { strategies, ...numbers } = settings;
    const zoom = shown.zoom();
    return { ...numbers, strategies: strategies.join(","), ...(zoom ? { zoom } : {}) };
  }

  shown.onZoom(() => page.replace("herd", linkOf(shown.settings())));
  page.onRoute(async (query) => {
    if ([...query.keys()].length === 0) {
      return;
    }
    await page.info;
    form.set(query);
    shown.zoomTo(query.get("zoom"));
    form.submit();
  });
  page.info.then(({ limits }) => {
    form = herdForm(page, limits, begin);
    root.append(form.root, status, shown.root);
  });
  tell({});
}
