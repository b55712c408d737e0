// The form: a report, its key, and the buttons that send it.

import { ask, Submission } from "./reports_send.js";

const SAMPLE = { run_id: "run-042", module: "cart", title: "Total is wrong", steps: "add two items\nopen the cart" };

// `replied` is handed each answer.
export function reportForm(page, info, replied) {
  const { el } = page;
  const input = (name) => el("input", { id: `report-${name}`, type: "text", value: SAMPLE[name], autocomplete: "off", spellcheck: "false" });
  const fields = { run_id: input("run_id"), module: input("module"), title: input("title") };
  fields.steps = el("textarea", { id: "report-steps", rows: "3", spellcheck: "false", value: SAMPLE.steps });
  const labelled = (name) => el("label", {}, page.text(el("span"), name), fields[name]);

  const key = el("output", { id: "key", class: "code" });
  const hint = el("p", { id: "hint", class: "small muted" });
  const send = el("button", { id: "send", type: "submit", class: "primary" });
  const button = (id, onclick) => page.text(el("button", { id, type: "button", onclick }), id.replace("-", "_"));
  const sendAsNew = button("send-new", () => submission.send("new", body()));
  const tryAgain = button("try-again", () => submission.tryAgain());
  const askKey = button("ask-key", async () => {
    askKey.disabled = true;
    replied(await ask(submission.key, info.client_timeout_ms));
    askKey.disabled = false;
  });

  const submission = new Submission(info.client_timeout_ms, replied, update);
  const form = el("form", { id: "report-form", class: "card stack", novalidate: true },
    page.text(el("h2"), "form_title"),
    el("div", { class: "pair" }, labelled("run_id"), labelled("module")),
    labelled("title"),
    labelled("steps"),
    el("div", { class: "key" }, page.text(el("span", { class: "key-name" }), "key"), key),
    el("div", { class: "row" }, send, tryAgain, sendAsNew, askKey),
    hint,
  );

  function body() {
    const { run_id, module, title, steps } = fields;
    const lines = steps.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    return JSON.stringify({ run_id: run_id.value, module: module.value, title: title.value, steps: lines });
  }

  function update() {
    const { inFlight, sent, mayTryAgain } = submission;
    key.textContent = submission.key;
    send.textContent = page.t(sent === undefined ? "send" : "send_again");
    send.disabled = sendAsNew.disabled = tryAgain.disabled = inFlight;
    sendAsNew.hidden = sent === undefined;
    tryAgain.hidden = !mayTryAgain;
    askKey.hidden = sent === undefined || info.implementation !== "key_atomic";
    hint.replaceChildren(...page.prose(page.t(hintNow())));
    form.dataset.state = inFlight ? "in_flight" : "idle";
  }

  function hintNow() {
    const { inFlight, sent, mayTryAgain } = submission;
    if (inFlight) return "hint_in_flight";
    if (sent === undefined) return "hint_unsent";
    if (sent !== body()) return mayTryAgain ? "hint_edited_open" : "hint_edited";
    return mayTryAgain ? "hint_open" : "hint_sent";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submission.send(submission.sent === undefined ? "send" : "again", body());
  });
  // The second click of a double click would land on the button that took the first one's place.
  form.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest("button")) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, { capture: true });
  // A key that is held down is one key.
  form.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && event.target !== fields.steps) {
      event.preventDefault();
    }
  });
  form.addEventListener("input", update);
  page.onLanguage(update);
  update();
  return form;
}
