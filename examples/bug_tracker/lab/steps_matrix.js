// All plays: a row for each server and source of keys, a column for each fault.

import { fragmentOf } from "./steps_choose.js";

const COLUMNS = ["lost_response", "crash", "concurrent", "new_id", "new_title"];

export function matrix(page, say) {
  const { el } = page;
  const place = el("div", { class: "stack" });
  const root = el("section", { class: "stack", id: "steps-matrix", hidden: true },
    say(el("h2"), "matrix"), say(el("p", { class: "muted" }), "matrix_lead"), place);
  let cells = [];

  function draw() {
    const plain = cells.filter((cell) => !cell.fencing);
    const slow = cells.filter((cell) => cell.fencing);
    const wrong = cells.filter((cell) => cell.reports !== cell.expected).length;
    place.replaceChildren(
      el("p", { id: "steps-matrix-verdict", dataset: { wrong } }, page.t("matrix_verdict", cells.length, wrong)),
      grid(plain, COLUMNS, (cell) => cell.fault, (fault) => page.t(`fault_${fault}`), "matrix_caption"),
      grid(slow, ["on", "off"], (cell) => cell.fencing, (fencing) => page.t(`fencing_${fencing}`), "matrix_slow"),
    );
  }

  function grid(all, columns, columnOf, nameOf, caption) {
    const rows = [...new Set(all.map(rowOf))].map((row) => [row, all.filter((cell) => rowOf(cell) === row)]);
    const head = el("tr", {}, el("th", { scope: "col" }, page.t("matrix_row")), columns.map((column) => el("th", { scope: "col" }, nameOf(column))));
    const body = rows.map(([row, of]) => el("tr", {}, el("th", { scope: "row" }, row),
      columns.map((column) => entry(of.find((cell) => columnOf(cell) === column)))));
    return el("div", { class: "steps-table", tabindex: "0", role: "region", "aria-label": page.t(caption) },
      el("table", { class: "steps-grid" }, el("caption", {}, page.t(caption), el("p", { class: "steps-swipe small muted" }, page.t("matrix_swipe"))), el("thead", {}, head), el("tbody", {}, body)));
  }

  function entry(cell) {
    const { fault, implementation, key_source, fencing, reports, wanted } = cell;
    const good = reports === wanted;
    const params = { fault, implementation, key_source, ...(fencing ? { fencing } : {}), step: 1 };
    const name = `${fault}/${implementation}/${key_source}${fencing ? `/${fencing}` : ""}`;
    const link = el("a", {
      href: fragmentOf(params),
      class: `badge ${good ? "good" : "bad"}`,
      dataset: { cell: name, reports },
      "aria-label": page.t("cell", reports, good),
    }, `${reports} ${good ? "✓" : "✗"}`);
    return el("td", {}, link);
  }

  return {
    root,
    show(next) {
      cells = next;
      root.hidden = false;
      draw();
    },
    relabel() {
      if (cells.length) {
        draw();
      }
    },
  };
}

function rowOf(cell) {
  return `${cell.implementation} / ${cell.key_source}`;
}
