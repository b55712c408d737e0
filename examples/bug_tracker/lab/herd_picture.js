// When the writes came: a histogram for each strategy, one below the other on one axis of time. A strip below each shows
// where writes got through: among all the conflicts they would hardly be seen.

const NS = "http://www.w3.org/2000/svg";
const LEFT = 42;
const RIGHT = 10;
const TOP = 22; // the labels of the axis, above and below
const NAME = 24;
const HEIGHT = 80;
const STRIP = 6; // below a baseline: where writes got through
const GAP = 18;
// As narrow as a bar may be.
const BAR = 2;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

// The first of 1, 2, 5, 10, 20 … times a power of ten that is not below.
function round(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= least * (1 - 1e-9));
}

// `window` in seconds, `width` in pixels: nothing is scaled, so texts stay readable on a phone.
export function picture(page, outcomes, window, width) {
  const inner = width - LEFT - RIGHT;
  const x = (seconds) => LEFT + (seconds / window) * inner;
  const step = round((window / inner) * BAR);
  const columns = outcomes.map((outcome) => histogram(outcome, step, window));
  const height = TOP + outcomes.length * (NAME + HEIGHT + GAP) + TOP;
  const say = (value, digits) => value.toLocaleString(page.language, { maximumFractionDigits: digits });

  const tick = round((window / inner) * 64);
  const ticks = Array.from({ length: Math.floor(window / tick + 1e-9) + 1 }, (_, index) => index * tick);
  const axis = ticks.flatMap((at) => [
    svg("line", { class: "grid", x1: x(at), x2: x(at), y1: TOP, y2: height - TOP }),
    ...[14, height - 7].map((y) => svg("text", { class: "tick", x: x(at), y, "text-anchor": at === 0 ? "start" : x(at) > width - 30 ? "end" : "middle" },
      page.t("seconds", say(at, 3)))),
  ]);

  const panels = outcomes.map((outcome, index) => {
    const top = TOP + index * (NAME + HEIGHT + GAP) + NAME;
    // Its own scale: beside `none` nothing else would be seen.
    const most = Math.max(1, ...columns[index].map(({ won, conflicted }) => won + conflicted));
    const y = (count) => (count / most) * HEIGHT;
    const bars = columns[index].flatMap(({ from, won, conflicted }) => {
      const across = { x: x(from).toFixed(2), width: Math.max(1, (Math.min(step, window - from) / window) * inner - 0.4).toFixed(2) };
      const parts = [["won", 0, won], ["conflicted", won, conflicted]].filter(([, , count]) => count > 0).map(([name, below, count]) =>
        svg("rect", { class: name, ...across, y: (top + HEIGHT - y(below + count)).toFixed(2), height: y(count).toFixed(2) }));
      return won > 0 ? [...parts, svg("rect", { class: "strip", ...across, y: top + HEIGHT + 2, height: STRIP })] : parts;
    });
    const { strategy, elapsed_ms } = outcome;
    const beyond = elapsed_ms / 1000 > window * (1 + 1e-9);
    return svg("g", { "data-panel": strategy },
      svg("text", { class: "name", x: LEFT, y: top - 8 }, strategy),
      svg("text", { class: "note", x: width - RIGHT, y: top - 8, "text-anchor": "end" },
        page.t(beyond ? "goes_on" : "ends", page.t("seconds", say(elapsed_ms / 1000, 1)))),
      svg("line", { class: "base", x1: LEFT, x2: width - RIGHT, y1: top + HEIGHT, y2: top + HEIGHT }),
      svg("text", { class: "tick", x: LEFT - 5, y: top + 9, "text-anchor": "end" }, say(most, 0)),
      svg("text", { class: "tick", x: LEFT - 5, y: top + HEIGHT, "text-anchor": "end" }, "0"),
      ...bars,
      ...(beyond ? [] : [svg("line", { class: "end", x1: x(elapsed_ms / 1000), x2: x(elapsed_ms / 1000), y1: top + HEIGHT - 14, y2: top + HEIGHT + 2 + STRIP })]));
  });

  const label = page.t("picture", outcomes.map(({ strategy }) => strategy), say(window, 1));
  const drawing = svg("svg", { class: "herd-svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, "data-step": step }, ...axis, ...panels);
  return page.el("figure", {}, legend(page, step, say), drawing);
}

function legend(page, step, say) {
  const { el } = page;
  const sign = (name) => el("span", { class: `herd-sign ${name}` });
  return el("figcaption", { class: "row small" },
    el("span", {}, sign("won"), page.t("won")),
    el("span", {}, sign("conflicted"), page.t("conflicted")),
    el("span", { class: "muted" }, page.t("bin", step < 1 ? page.t("milliseconds", say(step * 1000, 2)) : page.t("seconds", say(step, 2)))));
}

// How many writes came in each step of the window.
function histogram({ won, conflicted }, step, window) {
  const columns = new Map();
  for (const [name, times] of [["won", won], ["conflicted", conflicted]]) {
    for (const at of times.filter((time) => time / 1000 <= window)) {
      const index = Math.floor(at / 1000 / step);
      const column = columns.get(index) ?? { from: index * step, won: 0, conflicted: 0 };
      column[name] += 1;
      columns.set(index, column);
    }
  }
  return [...columns.values()].sort((one, other) => one.from - other.from);
}
