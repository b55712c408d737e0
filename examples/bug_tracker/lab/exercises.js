// Part Exercises: each question is marked as soon as it is answered.

import { QUESTIONS } from "./exercises_questions.js";
export { texts } from "./exercises_texts.js";

export function mount(root, page) {
  const { el } = page;
  const marked = new Map();
  const score = el("p", { id: "score", role: "status" });
  const again = page.text(el("button", { id: "start-again", type: "button", onclick: startAgain }), "start_again");
  const questions = QUESTIONS.map((question, index) => questionOf(page, question, index + 1, (right) => {
    marked.set(question.id, right);
    count();
  }));
  root.append(
    page.text(el("h1"), "part_exercises"),
    page.text(el("p", { class: "lead" }), "lead"),
    page.text(el("p", { class: "small muted" }), "keyboard"),
    el("div", { class: "questions" }, questions.map(({ form }) => form)),
    el("div", { class: "row standing" }, score, again),
  );

  function count() {
    const right = [...marked.values()].filter(Boolean).length;
    score.dataset.right = right;
    score.dataset.answered = marked.size;
    score.textContent = page.t("score", right, marked.size, QUESTIONS.length);
    again.hidden = marked.size === 0;
  }

  function startAgain() {
    marked.clear();
    questions.forEach(({ clear }) => clear());
    count();
    root.querySelector("input").focus();
  }

  page.onLanguage(count);
  count();
}

// Calls `answered` with whether the answer is right.
function questionOf(page, { id, answers, right, see }, number, answered) {
  const { el } = page;
  let given;
  let byArrow = false;
  const mark = el("div", { class: "mark", role: "status" });
  const choices = answers.map((answer) => {
    const input = el("input", { type: "radio", name: `answer-${id}`, value: answer });
    return { answer, input, label: el("label", { class: "choice", dataset: { answer } }, input, page.text(el("span"), `${id}.${answer}`)) };
  });
  const form = el("form", { class: "card question", dataset: { question: id }, novalidate: true },
    el("fieldset", {},
      el("legend", {}, el("span", { class: "number" }, `${number}`), page.text(el("span"), `${id}.question`)),
      choices.map(({ label }) => label)),
    mark);

  // The arrow keys move through the answers without giving one: Enter or the space bar does, or a click.
  form.addEventListener("keydown", (event) => {
    byArrow = event.key.startsWith("Arrow");
    if ((event.key === "Enter" || event.key === " ") && event.target.checked) {
      event.preventDefault();
      give(event.target.value);
    }
  });
  form.addEventListener("pointerdown", () => { byArrow = false; });
  form.addEventListener("change", (event) => {
    if (!byArrow) give(event.target.value);
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  function give(answer) {
    given = answer;
    show();
    answered(answer === right);
  }

  function show() {
    const isRight = given === right;
    for (const { answer, label } of choices) {
      label.classList.toggle("good", answer === given && isRight);
      label.classList.toggle("bad", answer === given && !isRight);
    }
    if (given === undefined) {
      delete form.dataset.mark;
      mark.replaceChildren();
      return;
    }
    form.dataset.mark = isRight ? "right" : "wrong";
    mark.replaceChildren(
      el("p", {},
        el("strong", { class: isRight ? "good" : "bad" }, page.t(isRight ? "right" : "wrong")), " ",
        page.prose(page.t(`${id}.${given}.why`))),
      page.has(see.part) ? el("p", {}, el("a", { href: page.href(see.part, see.params) }, page.t(`${id}.see`))) : "");
  }

  page.onLanguage(show);
  return {
    form,
    clear() {
      given = undefined;
      choices.forEach(({ input }) => { input.checked = false; });
      show();
    },
  };
}
