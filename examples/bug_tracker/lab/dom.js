// Builds elements. Texts become text nodes, never markup.

const PROPERTIES = new Set(["checked", "disabled", "hidden", "value", "open"]);

// An element. `class`, `dataset` and attributes by name, `onclick` and its like as listeners; `undefined` and `false` are
// left out. Children are nodes and texts; what is empty is left out too.
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    set(node, name, value);
  }
  node.append(...children.flat(Infinity).filter(isSomething));
  return node;
}

function set(node, name, value) {
  if (name === "dataset") {
    Object.entries(value).forEach(([key, data]) => { if (isSomething(data)) node.dataset[key] = data; });
  } else if (name.startsWith("on") && typeof value === "function") {
    node.addEventListener(name.slice(2), value);
  } else if (PROPERTIES.has(name)) {
    node[name] = value;
  } else if (name === "class" || name === "className") {
    node.className = value ?? "";
  } else if (isSomething(value)) {
    node.setAttribute(name, value === true ? "" : value);
  }
}

function isSomething(value) {
  return value !== undefined && value !== null && value !== false;
}

// A text whose `parts in backticks` are code.
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part)).filter((part) => part !== "");
}
