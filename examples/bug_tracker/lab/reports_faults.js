// Buttons that make the next request go wrong, where the server was started with --faults.

export function faultButtons(page, info) {
  const { el } = page;
  const slow = info.client_timeout_ms + 1000;
  const button = (id, counters) => page.text(
    el("button", { id, type: "button", onclick: () => set(counters) }), id.replace("-", "_"), slow / 1000);
  const armed = el("p", { id: "armed", class: "small", role: "status" });
  const root = el("div", { id: "faults", class: "card stack" },
    page.text(el("h2"), "faults_title"),
    page.text(el("p", { class: "small muted" }), "faults_lead"),
    el("div", { class: "row" },
      button("fault-lose", { lose_response_after_commit: 1 }),
      button("fault-crash", { crash_mid_request: 1 }),
      button("fault-slow", { slow_ms: slow }),
      button("fault-none", { lose_response_after_commit: 0, crash_mid_request: 0, slow_ms: 0 })),
    armed);
  let counters;

  async function read(request) {
    try {
      const answer = await fetch("/faults", request);
      counters = answer.ok ? await answer.json() : undefined;
    } catch {
      counters = undefined;
    }
    render();
  }

  const set = (wanted) => read({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });

  function render() {
    if (!counters) {
      armed.textContent = page.t("armed_unknown");
      return;
    }
    const { lose_response_after_commit, crash_mid_request, slow_ms } = counters;
    const what = [
      lose_response_after_commit > 0 && page.t("armed_lose", lose_response_after_commit),
      crash_mid_request > 0 && page.t("armed_crash", crash_mid_request),
      slow_ms > 0 && page.t("armed_slow", slow_ms / 1000),
    ].filter(Boolean);
    root.dataset.armed = String(what.length);
    armed.textContent = what.length > 0 ? page.t("armed", what) : page.t("armed_none");
  }

  page.onLanguage(render);
  return { root, read: () => read() };
}
