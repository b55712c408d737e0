// Asks the server; what can go wrong is a text to show.

export async function askFor(path) {
  let answer;
  try {
    answer = await fetch(path, { headers: { accept: "application/json" } });
  } catch {
    return { trouble: { key: "error_network", args: [] } };
  }
  let body;
  try {
    body = await answer.json();
  } catch {
    // A connection that is lost half-way, or an answer that is none of ours.
    return { trouble: { key: "error_network", args: [] } };
  }
  if (answer.ok) {
    return { body };
  }
  if (answer.status === 503) {
    return { trouble: { key: "error_busy", args: [] } };
  }
  return { trouble: { key: "error_refused", args: [answer.status, body.detail ?? ""] } };
}
