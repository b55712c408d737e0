// The four choices.

const CHOICES = {
  fault: ["lost_response", "crash", "concurrent", "new_id", "new_title", "taken_over"],
  implementation: ["naive", "key_split", "key_atomic"],
  key_source: ["none", "per_attempt", "tool_call", "business"],
  fencing: ["on", "off"],
};
const FIRST = { fault: "lost_response", implementation: "key_atomic", key_source: "tool_call", fencing: "on" };

// What a fragment chooses; undefined unless it chooses all. The server judges whether there is such a play.
export function paramsOf(query) {
  const names = Object.keys(CHOICES).filter((name) => query.has(name));
  const all = ["fault", "implementation", "key_source"].every((name) => names.includes(name));
  return all ? Object.fromEntries(names.map((name) => [name, query.get(name)])) : undefined;
}

export function fragmentOf(params) {
  return `#steps?${new URLSearchParams(params)}`;
}

export function sameChoice(one, other) {
  return Object.keys(CHOICES).every((name) => one[name] === other[name]);
}

export function choosers(page, say) {
  const { el } = page;
  const selects = {};
  const hints = {};
  const fields = Object.entries(CHOICES).map(([name, values]) => {
    const options = values.map((value) => say(el("option", { value }), `${name}_${value}`));
    const hint = el("p", { class: "small muted steps-hint", id: `steps-hint-${name}` });
    const select = el("select", { id: `steps-${name}`, "aria-describedby": hint.id }, options);
    const label = say(el("label", { for: select.id }), name);
    select.value = FIRST[name];
    select.addEventListener("change", fit);
    selects[name] = select;
    hints[name] = hint;
    return el("div", { class: "steps-field", dataset: { field: name } }, label, select, hint);
  });
  const fencing = fields.at(-1);

  // A slow request is taken over only where keys are claimed; the fence is a question only there.
  function fit() {
    const slow = selects.fault.value === "taken_over";
    for (const option of selects.implementation.options) {
      option.disabled = slow && option.value !== "key_atomic";
    }
    if (slow) {
      selects.implementation.value = "key_atomic";
    }
    fencing.hidden = !slow;
    for (const [name, hint] of Object.entries(hints)) {
      hint.textContent = page.t(`hint_${name}_${selects[name].value}`);
    }
  }
  fit();
  page.onLanguage(fit);

  return {
    root: el("div", { class: "steps-fields" }, fields),
    params() {
      const names = Object.keys(CHOICES).filter((name) => name !== "fencing" || !fencing.hidden);
      return Object.fromEntries(names.map((name) => [name, selects[name].value]));
    },
    set(params) {
      for (const [name, value] of Object.entries(params)) {
        if (CHOICES[name].includes(value)) {
          selects[name].value = value;
        }
      }
      fit();
    },
  };
}
