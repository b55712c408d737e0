// The log of replies, the newest first.

const KEPT = 50;
const IN_SIGHT = 4;

// What each reply means, as a text of this part and a colour.
function verdict(reply, implementation) {
  const { kind, status, replayed, first } = reply;
  if (kind === "unknown") return [reply.reason === "timeout" ? "unknown_timeout" : "unknown_network", "warn"];
  if (kind === "no_state") return ["no_state", "warn"];
  if (reply.action === "ask") return ["asked", ""];
  if (status === 201 && replayed === "true") return [first ? "replayed_by_the_browser" : "replayed", "good"];
  if (status === 201) return [implementation === "naive" ? "filed_without_key" : "filed", "good"];
  if (status === 409) return ["busy", "warn"];
  if (status === 422) return ["other_body", "bad"];
  if (status === 503 || status === 429) return ["unavailable", "warn"];
  if (status >= 500) return ["server_failed", "warn"];
  return ["refused", "bad"];
}

export function replyLog(page, info) {
  const { el, prose } = page;
  const replies = [];
  const status = el("p", { class: "visually-hidden", role: "status" });
  const empty = page.text(el("p", { class: "muted small" }), "log_empty");
  const list = el("ol", { id: "log", class: "log" });
  const older = el("ol", { class: "log" });
  const summary = el("summary", { class: "small" });
  const earlier = el("details", { id: "earlier", class: "earlier" }, summary, older);
  const root = el("div", { class: "card stack" }, page.text(el("h2"), "log_title"), status, empty, list, earlier);

  function entry(reply) {
    const [, colour] = verdict(reply, info.implementation);
    const headline = reply.kind === "answered" ? String(reply.status) : page.t("no_answer");
    const marker = reply.kind === "answered" && reply.action !== "ask";
    const replayed = reply.replayed ?? undefined;
    return el("li", { dataset: { status: reply.kind === "answered" ? reply.status : "unknown", replayed, action: reply.action } },
      el("div", { class: "row" },
        el("span", { class: `badge ${colour}` }, headline),
        el("strong", {}, page.t(`action_${reply.action}`)),
        el("span", { class: "muted small" }, reply.at.toLocaleTimeString(page.language), " · ", page.t("took", reply.took)),
      ),
      el("p", { class: "verdict" }, prose(wordsOf(reply))),
      el("dl", { class: "facts" },
        fact("Idempotency-Key", `"${reply.key}"`),
        marker && fact("Idempotency-Replayed", replayed ?? page.t("no_marker")),
        reply.location && fact("Location", locationOf(reply.location)),
        reply.retryAfter && fact("Retry-After", page.t("seconds", reply.retryAfter)),
        problemOf(reply.body).map(([name, value]) => fact(name, value)),
      ),
    );
  }

  function wordsOf(reply) {
    const [key] = verdict(reply, info.implementation);
    const words = page.t(key, info.client_timeout_ms / 1000);
    const isOpen = reply.kind === "unknown" || reply.status >= 500;
    return isOpen && info.implementation === "naive" ? words + page.t("no_protection") : words;
  }

  function fact(name, value) {
    return el("div", {}, el("dt", {}, name), el("dd", {}, value));
  }

  function locationOf(location) {
    return el("a", { href: new URL(location, document.baseURI).pathname, target: "_blank", rel: "noopener" }, location);
  }

  // The members of a problem that say something; another body as it is.
  function problemOf(body) {
    if (!body) return [];
    try {
      const { title, detail, differs } = JSON.parse(body);
      if (title) return [["title", title], ["detail", detail], ["differs", differs?.join(", ")]].filter(([, value]) => value);
    } catch {
      // Shown as it is.
    }
    return [["body", body]];
  }

  function render() {
    empty.hidden = replies.length > 0;
    list.replaceChildren(...replies.slice(0, IN_SIGHT).map(entry));
    older.replaceChildren(...replies.slice(IN_SIGHT).map(entry));
    earlier.hidden = replies.length <= IN_SIGHT;
    summary.textContent = page.t("log_older", replies.length - IN_SIGHT);
  }

  function say() {
    const [reply] = replies;
    status.textContent = reply ? `${reply.status ?? page.t("no_answer")}. ${wordsOf(reply).replaceAll("`", "")}` : "";
  }

  page.onLanguage(() => {
    render();
    say();
  });
  render();
  return {
    root,
    add(reply) {
      replies.unshift(reply);
      replies.length = Math.min(replies.length, KEPT);
      render();
      say();
    },
  };
}
