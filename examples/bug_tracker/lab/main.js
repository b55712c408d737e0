// The shell: mounts the parts, shows the one that the fragment names, switches the language.

import { el, prose } from "./dom.js";
import { language, onLanguage, setLanguage, textOf } from "./language.js";
import { texts as shared } from "./texts.js";
import * as exercises from "./exercises.js";
import * as herd from "./herd.js";
import * as reports from "./reports.js";
import * as steps from "./steps.js";

// In the order of the navigation. Each has its text `part_<name>` in texts.js.
const PARTS = [
  ["reports", reports],
  ["herd", herd],
  ["steps", steps],
  ["exercises", exercises],
];

const names = PARTS.map(([name]) => name);
const info = fetch("/lab/info").then((answer) => answer.json());
const mounted = new Map();
let current;

function fragmentOf(part, params = {}) {
  const query = new URLSearchParams(params).toString();
  return query ? `#${part}?${query}` : `#${part}`;
}

// What a part is given.
function pageOf(texts, callbacks) {
  const t = (key, ...args) => textOf([texts, shared], key, args);
  return {
    el,
    prose,
    t,
    // What the server says of itself.
    info,
    get language() { return language(); },
    onLanguage,
    // Sets the text of a node, now and after each switch of the language.
    text(node, key, ...args) {
      const write = () => node.replaceChildren(...prose(t(key, ...args)));
      write();
      onLanguage(write);
      return node;
    },
    onRoute(callback) { callbacks.route.push(callback); },
    // Called when another part is shown instead.
    onLeave(callback) { callbacks.leave.push(callback); },
    // Whether there is such a part.
    has: (part) => names.includes(part),
    href: fragmentOf,
    go(part, params) { location.hash = fragmentOf(part, params); },
    replace(part, params) { history.replaceState(null, "", fragmentOf(part, params)); },
  };
}

function mountAll() {
  const nav = document.getElementById("nav");
  const main = document.getElementById("main");
  for (const [name, part] of PARTS) {
    const callbacks = { route: [], leave: [] };
    const root = el("section", { id: `part-${name}`, dataset: { part: name }, hidden: true, tabindex: "-1" });
    const link = el("a", { href: fragmentOf(name), dataset: { nav: name } });
    const page = pageOf(part.texts, callbacks);
    page.text(link, `part_${name}`);
    nav.append(link);
    main.append(root);
    part.mount(root, page);
    mounted.set(name, { root, link, callbacks });
  }
}

// Shows the part that the fragment names, and hands it its parameters.
function route(event) {
  const [name, query = ""] = location.hash.slice(1).split("?", 2);
  const wanted = mounted.has(name) ? name : (current ?? names[0]);
  if (wanted !== current) {
    show(wanted, Boolean(event));
  }
  const params = new URLSearchParams(wanted === name ? query : "");
  mounted.get(wanted).callbacks.route.forEach((callback) => callback(params));
}

function show(wanted, byTheUser) {
  const left = mounted.get(current);
  current = wanted;
  for (const [name, { root, link }] of mounted) {
    root.hidden = name !== wanted;
    if (name === wanted) {
      link.setAttribute("aria-current", "page");
    } else {
      link.removeAttribute("aria-current");
    }
  }
  left?.callbacks.leave.forEach((callback) => callback());
  if (byTheUser) {
    mounted.get(wanted).root.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function frame() {
  const page = pageOf({}, {});
  const button = document.getElementById("language");
  const rename = () => {
    document.documentElement.lang = language() === "zh" ? "zh-Hans" : "en";
    document.title = page.t("title");
    document.getElementById("nav").setAttribute("aria-label", page.t("nav"));
    button.lang = language() === "zh" ? "en" : "zh-Hans";
  };
  rename();
  onLanguage(rename);
  page.text(button, "other_language");
  button.addEventListener("click", () => setLanguage(language() === "zh" ? "en" : "zh"));
  const skip = page.text(document.getElementById("skip"), "skip");
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // the fragment names a part
    document.getElementById("main").focus();
  });
  info.then(({ version, implementation }) => {
    page.text(document.getElementById("server"), "server", version, implementation);
  });
}

frame();
mountAll();
route();
addEventListener("hashchange", route);
