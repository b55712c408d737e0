// The settings of a herd: the form, and what is wrong with it.

export const STRATEGIES = ["none", "exponential", "proportional", "equal", "full", "decorrelated", "downward"];
// The article's.
const FIRST = { clients: "100", base_ms: "5", cap_ms: "2000", seed: "1" };
const NUMBERS = Object.keys(FIRST);
const LARGEST_SEED = 2n ** 64n - 1n;

// `begin` is handed settings in which nothing is wrong.
export function herdForm(page, limits, begin) {
  const { el } = page;
  const complaints = new Map(); // by field, the text that is shown beside it
  const places = {};

  const inputs = Object.fromEntries(NUMBERS.map((name) => [name, el("input", {
    id: `herd-${name}`, type: "text", inputmode: "numeric", value: FIRST[name], autocomplete: "off", "aria-describedby": `herd-error-${name}`,
  })]));
  const boxes = STRATEGIES.map((name) => el("input", {
    id: `herd-strategy-${name}`, type: "checkbox", value: name, checked: true, "aria-describedby": "herd-error-strategies",
  }));
  let unknown = []; // strategies of a link that are none

  const place = (name) => (places[name] = el("p", { id: `herd-error-${name}`, class: "herd-error small", hidden: true }));
  const field = (name, ...more) => el("div", { dataset: { field: name } },
    el("label", { for: `herd-${name}` }, page.text(el("span"), name)), inputs[name], more, place(name));
  const newSeed = page.text(el("button", { id: "herd-new-seed", type: "button" }), "new_seed");
  const run = page.text(el("button", { id: "herd-run", type: "submit", class: "primary" }), "run");

  const root = el("form", { id: "herd-form", class: "card stack", novalidate: true },
    el("div", { class: "herd-fields" }, NUMBERS.map((name) => field(name))),
    el("fieldset", { class: "herd-strategies", dataset: { field: "strategies" } },
      page.text(el("legend"), "strategies"),
      boxes.map((box) => el("label", { class: "herd-choice" }, box,
        el("span", {}, el("code", {}, box.value), " ", page.text(el("span", { class: "muted small" }), `is_${box.value}`)))),
      place("strategies")),
    el("div", { class: "row" }, run, newSeed));

  function settings() {
    const numbers = Object.fromEntries(NUMBERS.map((name) => [name, inputs[name].value.trim()]));
    return { ...numbers, strategies: boxes.filter((box) => box.checked).map((box) => box.value) };
  }

  // What is wrong: a field, the key of a text, its arguments.
  function wrong({ clients, base_ms, cap_ms, seed, strategies }) {
    const whole = (value, least, most) => /^[0-9]+$/.test(value) && BigInt(value) >= BigInt(least) && BigInt(value) <= BigInt(most);
    const found = [];
    if (!whole(clients, 1, limits.herd_clients)) found.push(["clients", "wrong_number", 1, limits.herd_clients]);
    for (const [name, value] of [["base_ms", base_ms], ["cap_ms", cap_ms]]) {
      if (!whole(value, 1, limits.herd_cap_ms)) found.push([name, "wrong_number", 1, limits.herd_cap_ms]);
    }
    if (found.every(([name]) => !name.endsWith("_ms")) && BigInt(cap_ms) < BigInt(base_ms)) found.push(["cap_ms", "wrong_cap"]);
    if (!whole(seed, 0, LARGEST_SEED)) found.push(["seed", "wrong_number", 0, LARGEST_SEED]);
    if (unknown.length > 0) found.push(["strategies", "wrong_strategy", unknown.join(", ")]);
    else if (strategies.length === 0) found.push(["strategies", "wrong_strategies"]);
    return found;
  }

  function show(found) {
    complaints.clear();
    found.forEach(([name, ...text]) => complaints.set(name, text));
    render();
  }

  function render() {
    for (const [name, node] of Object.entries(places)) {
      const text = complaints.get(name);
      node.hidden = !text;
      node.textContent = text ? page.t(...text) : "";
      for (const input of inputs[name] ? [inputs[name]] : boxes) {
        input.setAttribute("aria-invalid", Boolean(text));
      }
    }
  }

  function submit() {
    const now = settings();
    const found = wrong(now);
    show(found);
    if (found.length > 0) {
      (inputs[found[0][0]] ?? boxes[0]).focus();
      return;
    }
    begin(now);
  }

  root.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  root.addEventListener("change", () => {
    unknown = [];
    if (complaints.size > 0) show(wrong(settings()));
  });
  newSeed.addEventListener("click", () => {
    inputs.seed.value = String(crypto.getRandomValues(new Uint32Array(1))[0]);
    submit();
  });
  page.onLanguage(render);

  return {
    root,
    submit,
    // From a link; what it does not name is as at first.
    set(query) {
      for (const name of NUMBERS) {
        inputs[name].value = query.get(name) ?? FIRST[name];
      }
      const wanted = query.has("strategies") ? query.get("strategies").split(",").filter((name) => name !== "") : STRATEGIES;
      boxes.forEach((box) => { box.checked = wanted.includes(box.value); });
      unknown = wanted.filter((name) => !STRATEGIES.includes(name));
    },
    // What the server has found wrong, in this page's words; false for a field that is none.
    complain({ name, detail }) {
      if (!places[name]) return false;
      show([[name, "wrong_there", detail]]);
      return true;
    },
  };
}
