// The language of the page: chosen here before, or the browser's.

const STORED = "lab-language";
const callbacks = [];
let chosen = stored() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

export function language() {
  return chosen;
}

export function setLanguage(wanted) {
  chosen = wanted;
  try {
    localStorage.setItem(STORED, wanted);
  } catch {
    // A browser may forbid it; the choice then lasts as long as the page.
  }
  callbacks.forEach((callback) => callback());
}

export function onLanguage(callback) {
  callbacks.push(callback);
}

// The text of this key in the first of these that has it.
export function textOf(sources, key, args) {
  const source = sources.find((texts) => Object.hasOwn(texts[chosen] ?? {}, key));
  if (source === undefined) {
    throw new Error(`no text ${key} in ${chosen}`);
  }
  const text = source[chosen][key];
  return typeof text === "function" ? text(...args) : text;
}

function stored() {
  try {
    const wanted = localStorage.getItem(STORED);
    return wanted === "en" || wanted === "zh" ? wanted : undefined;
  } catch {
    return undefined;
  }
}
