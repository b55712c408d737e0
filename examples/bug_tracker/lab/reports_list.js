// The list of filed reports, as the server sends it. It listens only while it can be seen: a browser has few connections
// to one server.

const RECONNECT_MS = 3000;

export function reportList(page) {
  const { el } = page;
  let list;
  let live = "waiting";
  let source;
  let timer;
  let shown = false;

  const state = el("span", { id: "live", class: "badge" });
  const count = el("p", { id: "count", class: "muted small" });
  const items = el("ol", { id: "reports", class: "reports" });
  const root = el("div", { class: "card stack" },
    el("div", { class: "row" }, page.text(el("h2"), "list_title"), state), count, items);

  function listen() {
    const wanted = shown && document.visibilityState === "visible";
    if (wanted && !source) {
      clearTimeout(timer);
      source = new EventSource("/lab/reports/events");
      source.addEventListener("open", () => now("open"));
      source.addEventListener("reports", (event) => take(JSON.parse(event.data)));
      source.addEventListener("error", lost);
    } else if (!wanted) {
      close();
    }
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = undefined;
    now("waiting");
  }

  // A browser connects again by itself, except after an answer such as 503.
  function lost() {
    now("lost");
    if (source.readyState === EventSource.CLOSED) {
      source = undefined;
      timer = setTimeout(listen, RECONNECT_MS);
    }
  }

  function now(what) {
    live = what;
    root.dataset.live = what;
    state.className = `badge ${{ open: "good", lost: "bad" }[what] ?? ""}`;
    state.textContent = page.t(`live_${what}`);
  }

  // Reports are added and never changed: those that stand here stay, with what is open and focused in them.
  function take(received) {
    const newest = list?.reports[0]?.id ?? 0;
    const at = received.reports.findIndex(({ id }) => id === newest);
    const isLonger = at >= 0 && received.total >= list.total;
    list = received;
    if (!isLonger) {
      render();
      return;
    }
    const same = repeats();
    items.prepend(...list.reports.slice(0, at).map((report) => item(report, same.get(report.id), "new")));
    [...items.children].slice(list.reports.length).forEach((old) => old.remove());
    countThem();
  }

  function render() {
    if (!list) return;
    const same = repeats();
    items.replaceChildren(...list.reports.map((report) => item(report, same.get(report.id), "")));
    countThem();
  }

  function countThem() {
    const { total, reports } = list;
    count.dataset.count = total;
    count.textContent = total > reports.length ? page.t("count_some", total, reports.length) : page.t("count", total);
  }

  // Which of the shown reports say the same as an older one.
  function repeats() {
    const firsts = new Map();
    const same = new Map();
    for (const { id, ...content } of [...list.reports].reverse()) {
      const text = JSON.stringify(content);
      if (firsts.has(text)) {
        same.set(id, firsts.get(text));
      } else {
        firsts.set(text, id);
      }
    }
    return same;
  }

  function item({ id, run_id, module, title, steps }, sameAs, arrival) {
    return el("li", { class: arrival, dataset: { report: id, same: sameAs } },
      el("span", { class: "number" }, `#${id}`),
      el("div", {},
        el("div", { class: "row" }, el("strong", {}, title), sameAs && el("span", { class: "badge warn" }, page.t("same_as", sameAs))),
        el("p", { class: "muted small" }, `${run_id} · ${module}`),
        steps.length > 0 && el("details", {}, el("summary", { class: "small" }, page.t("steps_of", steps.length)),
          el("ol", { class: "small" }, steps.map((step) => el("li", {}, step)))),
      ),
    );
  }

  document.addEventListener("visibilitychange", listen);
  page.onRoute(() => { shown = true; listen(); });
  page.onLeave(() => { shown = false; listen(); });
  page.onLanguage(() => { now(live); render(); });
  now(live);
  return root;
}
