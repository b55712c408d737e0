// Forward and back, by buttons and by keys, and by itself.

const PACE_MS = 1400;

export function player(page, say, show) {
  const { el } = page;
  let count = 0;
  let step = 0;
  let timer;

  const button = (name, sign, act) => {
    const node = el("button", { type: "button", id: `steps-${name}`, class: "steps-key" }, sign);
    node.addEventListener("click", act);
    return node;
  };
  const go = (wanted) => () => {
    stop();
    show(wanted());
  };
  const first = button("first", "|◀", go(() => 1));
  const back = button("back", "◀", go(() => step - 1));
  const auto = button("play", "", () => (timer ? stop() : start()));
  const forward = button("forward", "▶", go(() => step + 1));
  const last = button("last", "▶|", go(() => count));
  const position = el("span", { id: "steps-position", class: "steps-position" });
  const bar = el("div", { class: "row steps-bar", role: "group" }, first, back, auto, forward, last, position);
  const root = el("div", {}, bar, say(el("p", { class: "small muted steps-keys" }), "keys_hint"));

  function start() {
    show(step === count ? 1 : step);
    timer = setTimeout(next, PACE_MS);
    relabel();
  }

  function next() {
    if (!visible()) {
      stop(); // another part is shown, and the fragment is its own
      return;
    }
    show(step + 1);
    timer = step < count ? setTimeout(next, PACE_MS) : undefined;
    relabel();
  }

  function visible() {
    return count > 0 && !root.closest("[hidden]");
  }

  function stop() {
    clearTimeout(timer);
    timer = undefined;
    relabel();
  }

  function relabel() {
    for (const [node, key] of [[first, "first"], [back, "back"], [forward, "forward"], [last, "last"]]) {
      node.setAttribute("aria-label", page.t(key));
      node.title = page.t(key);
    }
    auto.textContent = page.t(timer ? "pause" : "play");
    auto.dataset.playing = Boolean(timer);
    position.textContent = page.t("position", step, count);
    bar.setAttribute("aria-label", page.t("controls"));
  }

  const KEYS = { ArrowRight: forward, ArrowLeft: back, Home: first, End: last };
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest?.("input, select, textarea");
    const key = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined;
    if (key && visible() && !writes && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      key.click();
    }
  });
  relabel();

  return {
    root,
    stop,
    relabel,
    ready(steps) {
      count = steps;
    },
    show(number) {
      step = number;
      // Not disabled: a button that is loses the focus to nowhere.
      for (const [node, end] of [[first, 1], [back, 1], [forward, count], [last, count]]) {
        node.setAttribute("aria-disabled", step === end);
      }
      relabel();
    },
  };
}
