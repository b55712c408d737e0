// What came of each strategy: a table with bars, and when the writes came.

import { picture } from "./herd_picture.js";

const NS = "http://www.w3.org/2000/svg";
// In seconds.
const WINDOWS = [0.2, 0.5, 1, 2, 5, 10, 20, 60, 200, 600];

export function results(page) {
  const { el } = page;
  let settings;
  let outcomes = [];
  let wanted = ""; // the window, as a link names it
  let zoomed = () => {};

  const table = el("div", { id: "herd-table", class: "herd-table", tabindex: "0", role: "region" });
  const command = el("pre", { id: "herd-command", class: "small" });
  const select = el("select", { id: "herd-zoom" });
  const drawing = el("div", { id: "herd-picture", class: "herd-picture" });
  const root = el("section", { id: "herd-results", class: "stack", hidden: true },
    page.text(el("h2"), "results"), table,
    el("div", { class: "herd-head" },
      page.text(el("h2"), "arrivals"),
      el("label", { for: "herd-zoom", class: "herd-zoom" }, page.text(el("span"), "zoom"), select)),
    page.text(el("p", { class: "muted small" }), "arrivals_lead"),
    drawing,
    el("div", { class: "herd-look" },
      page.text(el("h3"), "look"),
      el("ul", {}, ["look_exponential", "look_proportional", "look_full"].map((key) => page.text(el("li"), key)))),
    el("details", {}, page.text(el("summary"), "terminal"), command));

  select.addEventListener("change", () => {
    wanted = select.value;
    draw();
    zoomed();
  });

  const longest = () => Math.max(...outcomes.map(({ elapsed_ms }) => elapsed_ms)) / 1000;
  const seconds = (value) => page.t("seconds", value.toLocaleString(page.language, { maximumFractionDigits: value < 100 ? 1 : 0 }));

  function rows() {
    const most = Math.max(...outcomes.map(({ writes }) => writes));
    const head = el("tr", {}, ["column_strategy", "column_writes", "column_conflicted", "column_time"].map((key) =>
      el("th", { scope: "col" }, page.t(key))));
    const body = outcomes.map(({ strategy, writes, elapsed_ms, conflicted }) => el("tr", { dataset: { strategy, writes, elapsed: elapsed_ms } },
      el("th", { scope: "row" }, el("code", {}, strategy)),
      el("td", {}, number(writes), bar(writes / most, "writes")),
      el("td", {}, number(conflicted.length)),
      el("td", {}, seconds(elapsed_ms / 1000), bar(elapsed_ms / 1000 / longest(), "time"))));
    table.setAttribute("aria-label", page.t("results"));
    table.replaceChildren(el("table", {}, el("caption", {}, page.t("caption", settings.clients, settings.base_ms, settings.cap_ms, settings.seed)),
      el("thead", {}, head), el("tbody", {}, body)));
  }

  const number = (value) => value.toLocaleString(page.language);

  function windows() {
    const possible = WINDOWS.filter((window) => window < longest());
    select.replaceChildren(
      el("option", { value: "" }, page.t("zoom_all", seconds(longest()))),
      ...possible.toReversed().map((window) => el("option", { value: String(window) }, page.t("zoom_first", seconds(window)))));
    select.value = possible.map(String).includes(wanted) ? wanted : "";
  }

  function draw() {
    if (outcomes.length > 0 && drawing.clientWidth > 0) {
      drawing.replaceChildren(picture(page, outcomes, Number(select.value) || longest(), drawing.clientWidth));
    }
  }

  function render() {
    root.hidden = outcomes.length === 0;
    if (outcomes.length === 0) return;
    rows();
    windows();
    draw();
    const { clients, base_ms, cap_ms, seed, strategies } = settings;
    command.textContent = `cargo run --example herd_simulator -- --runs 1 --clients ${clients} --base ${base_ms}ms --cap ${cap_ms}ms --seed ${seed} --strategy ${strategies.join(",")}`;
  }

  // A length between 0 and 1.
  function bar(length, name) {
    const shape = document.createElementNS(NS, "svg");
    const rect = document.createElementNS(NS, "rect");
    Object.entries({ class: `herd-bar ${name}`, viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" })
      .forEach(([key, value]) => shape.setAttribute(key, value));
    Object.entries({ width: (length * 100).toFixed(2), height: 1 }).forEach(([key, value]) => rect.setAttribute(key, value));
    shape.append(rect);
    return shape;
  }

  let width = 0;
  new ResizeObserver(() => {
    if (drawing.clientWidth !== width) {
      width = drawing.clientWidth;
      draw();
    }
  }).observe(drawing);
  page.onLanguage(render);

  return {
    root,
    settings: () => settings,
    begin(next) {
      settings = next;
      outcomes = [];
      render();
    },
    add(outcome) {
      outcomes.push(outcome);
      render();
    },
    zoom: () => wanted,
    zoomTo(window) { wanted = window ?? ""; },
    onZoom(callback) { zoomed = callback; },
  };
}
