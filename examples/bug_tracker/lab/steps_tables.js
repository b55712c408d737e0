// The tables of reports and keys after a step.

import { short } from "./steps_told.js";

export function tables(page, step, played) {
  const reports = [["id", (row) => row.id], ["module", (row) => row.module], ["title", (row) => row.title]];
  const keys = [
    ["key", (row) => short(row.key)],
    ["status", (row) => page.t(`status_${row.status}`)],
    ["fence", (row) => row.fence],
    ["run", (row) => row.run],
    ["response_status", (row) => row.response_status],
    ["report_id", (row) => row.report_id],
  ];
  // A column that this server has no use for is left out, in all steps alike.
  const used = (name) => played.steps.some((each) => each.keys.some((row) => row[name] !== null));
  return [
    table(page, "reports", reports, step.reports),
    played.implementation === "naive"
      ? page.el("p", { class: "muted small", dataset: { table: "keys" } }, page.t("no_keys"))
      : table(page, "keys", keys.filter(([name]) => name === "key" || name === "status" || used(name)), step.keys),
  ];
}

function table(page, name, columns, rows) {
  const { el } = page;
  // What has changed comes first: it is seen where the table is wider than its place.
  const head = el("tr", {}, el("th", { scope: "col" }, page.t("column_change")),
    columns.map(([column]) => el("th", { scope: "col" }, page.t(`column_${column}`))));
  const body = rows.length
    ? rows.map((row) => el("tr", { dataset: { change: row.change ?? "none" } },
      el("td", {}, row.change && el("span", { class: `badge ${row.change === "gone" ? "bad" : "warn"}` }, page.t(`change_${row.change}`))),
      columns.map(([, value]) => el("td", {}, row.change === "gone" ? el("del", {}, text(value(row))) : text(value(row))))))
    : el("tr", {}, el("td", { class: "muted", colspan: columns.length + 1 }, page.t("no_rows")));
  return el("div", { class: "steps-table", dataset: { table: name }, tabindex: "0", role: "region", "aria-label": page.t(`table_${name}`) },
    el("table", {}, el("caption", {}, page.t(`table_${name}`)), el("thead", {}, head), el("tbody", {}, body)));
}

function text(value) {
  return value === null || value === undefined ? "–" : String(value);
}
