// Asks the server for a herd and reads its events. An EventSource would not tell what a 400 says.

// Calls the handler of each event; returns the text of what went wrong, or of nothing.
export async function listen(settings, signal, handlers) {
  const { strategies, ...numbers } = settings;
  const query = new URLSearchParams({ ...numbers, strategies: strategies.join(",") });
  let answer;
  try {
    answer = await fetch(`/lab/herd?${query}`, { headers: { accept: "text/event-stream" }, signal });
  } catch {
    return { key: signal.aborted ? "stopped" : "unreachable" };
  }
  if (!answer.ok) {
    return refused(answer);
  }
  try {
    for await (const [name, data] of events(answer.body)) {
      if (name === "done") return {};
      if (name === "failed") return { key: `failed_${data.reason}` };
      handlers[name]?.(data);
    }
  } catch (error) {
    if (!signal.aborted && !isOfTheWay(error)) throw error;
  }
  return { key: signal.aborted ? "stopped" : "lost" };
}

// What `fetch` throws where the connection is lost.
function isOfTheWay(error) {
  return error instanceof TypeError || error.name === "AbortError";
}

async function refused(answer) {
  if (answer.status === 503) {
    return { key: "busy" };
  }
  const { detail = "" } = await answer.json().catch(() => ({}));
  // It begins with the parameter.
  return { key: "refused", args: [answer.status, detail], field: { name: detail.split(" ", 1)[0], detail } };
}

async function* events(body) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const lines = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      yield [lines.get("event"), JSON.parse(lines.get("data"))];
    }
  }
}
