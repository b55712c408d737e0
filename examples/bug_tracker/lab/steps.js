// Part Step by step: choose a fault, a server and a source of keys; the server plays it; then each step, with the tables.

import { choosers, fragmentOf, paramsOf, sameChoice } from "./steps_choose.js";
import { matrix } from "./steps_matrix.js";
import { player } from "./steps_player.js";
import { askFor } from "./steps_server.js";
import { stage } from "./steps_stage.js";
export { texts } from "./steps_texts.js";

export function mount(root, page) {
  const { el } = page;
  const say = (node, key) => {
    const write = () => { node.textContent = page.t(key); };
    write();
    page.onLanguage(write);
    return node;
  };
  let shown; // what was played last, and the step that is shown
  let asked = 0; // an answer to an earlier question is dropped

  const choose = choosers(page, say);
  const run = say(el("button", { id: "steps-run", class: "primary", type: "submit" }), "run");
  const runAll = say(el("button", { id: "steps-run-all", type: "button" }), "run_all");
  const message = el("p", { id: "steps-message", role: "status", hidden: true });
  const form = el("form", { id: "steps-form", class: "card" },
    choose.root, el("div", { class: "row steps-actions" }, run, runAll), message);
  const scene = stage(page, say);
  const controls = player(page, say, show);
  scene.controls.append(controls.root);
  const table = matrix(page, say);
  root.append(
    say(el("h1"), "part_steps"),
    say(el("p", { class: "lead" }), "lead"),
    form, scene.root, table.root,
  );

  let complaint;
  function tell(next) {
    complaint = next;
    message.hidden = !next;
    message.textContent = next ? page.t(next.key, ...next.args) : "";
    message.className = next?.bad ? "steps-error" : "muted";
  }
  page.onLanguage(() => tell(complaint));

  // Not disabled: a button that is loses the focus to nowhere.
  let busy = false;
  function work(begins) {
    busy = begins;
    run.setAttribute("aria-disabled", busy);
    runAll.setAttribute("aria-disabled", busy);
  }

  // Asks the server, shows that it works, and says what went wrong.
  async function ask(path, working) {
    const question = ++asked;
    tell({ key: working, args: [] });
    work(true);
    const answer = await askFor(path);
    if (question !== asked) {
      return undefined;
    }
    work(false);
    tell(answer.trouble && { ...answer.trouble, bad: true });
    return answer.body;
  }

  async function play(params, step) {
    controls.stop();
    const played = await ask(`/lab/steps?${new URLSearchParams(params)}`, "playing");
    if (played) {
      shown = { params, played, step: 0 };
      scene.play(played, (number) => fragmentOf({ ...params, step: number }));
      controls.ready(played.steps.length);
      show(step, true);
    }
  }

  async function playAll() {
    const played = await ask("/lab/matrix", "playing_all");
    if (played) {
      table.show(played.cells);
      table.root.scrollIntoView({ block: "start" });
    }
  }

  // The fragment follows, so that it is a link to this step.
  function show(wanted, byRoute) {
    const step = Math.min(Math.max(Number.parseInt(wanted, 10) || 1, 1), shown.played.steps.length);
    shown.step = step;
    scene.show(step);
    controls.show(step);
    if (!byRoute) {
      page.replace("steps", { ...shown.params, step });
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (busy) {
      return;
    }
    const params = choose.params();
    page.replace("steps", { ...params, step: 1 });
    play(params, 1);
  });
  runAll.addEventListener("click", () => {
    if (busy) {
      return;
    }
    page.replace("steps", { all: 1 });
    playAll();
  });
  page.onRoute((query) => {
    if (query.has("all")) {
      if (table.root.hidden) {
        playAll();
      } else {
        table.root.scrollIntoView({ block: "start" });
      }
      return;
    }
    const params = paramsOf(query);
    if (!params) {
      return;
    }
    choose.set(params);
    if (shown && sameChoice(shown.params, params)) {
      show(query.get("step"), true);
    } else {
      play(params, query.get("step")).then(() => scene.root.scrollIntoView({ block: "start" }));
    }
  });
  page.onLanguage(() => {
    scene.relabel();
    table.relabel();
    controls.relabel();
  });
}
