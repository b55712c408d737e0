// Sends reports. A report has one key for as long as it is tried, and one request is in flight at most.

// A UUIDv4. `randomUUID` is there only on a page that the browser trusts, as those of this host are.
export function newKey() {
  if (crypto.randomUUID) {
    return crypto.randomUUID();
  }
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// Answers after which the same request may be sent again: the report may have been filed, or is being filed.
const AGAIN = new Set([408, 409, 429, 500, 502, 503, 504]);

// What is known of one report: its key, made before the first send, and what was sent under it.
export class Submission {
  #changed;
  #replied;

  constructor(timeout, replied, changed) {
    this.timeout = timeout;
    this.#replied = replied;
    this.#changed = changed;
    this.inFlight = false;
    this.startAnew();
  }

  startAnew() {
    this.key = newKey();
    this.sent = undefined;
    this.mayTryAgain = false;
  }

  // Does nothing while a request is in flight.
  async send(action, body) {
    if (this.inFlight) {
      return;
    }
    if (action === "new") {
      this.startAnew();
    }
    const { key } = this;
    const first = this.sent === undefined;
    this.sent = body;
    this.inFlight = true;
    this.#changed();
    const reply = await post(key, body, this.timeout);
    this.inFlight = false;
    this.mayTryAgain = reply.kind === "unknown" || AGAIN.has(reply.status);
    this.#replied({ ...reply, action, key, first, at: new Date() });
    this.#changed();
  }

  // The same request, byte for byte.
  tryAgain() {
    return this.send("try", this.sent);
  }
}

async function post(key, body, timeout) {
  const begun = performance.now();
  const took = () => Math.round(performance.now() - begun);
  const headers = { "Content-Type": "application/json", "Idempotency-Key": `"${key}"` };
  try {
    const answer = await fetch("/reports", { method: "POST", headers, body, signal: AbortSignal.timeout(timeout) });
    const text = await answer.text();
    return {
      kind: "answered",
      status: answer.status,
      replayed: answer.headers.get("idempotency-replayed"),
      location: answer.headers.get("location"),
      retryAfter: answer.headers.get("retry-after"),
      body: text,
      took: took(),
    };
  } catch (error) {
    return { kind: "unknown", reason: error.name === "TimeoutError" ? "timeout" : "network", took: took() };
  }
}

// What the server knows of a key, without filing anything.
export async function ask(key, timeout) {
  const begun = performance.now();
  const reply = { action: "ask", key, at: new Date() };
  try {
    const signal = AbortSignal.timeout(timeout);
    const answer = await fetch(`/idempotency?${new URLSearchParams({ key })}`, { signal });
    const body = await answer.text();
    return { ...reply, kind: "answered", status: answer.status, body, took: Math.round(performance.now() - begun) };
  } catch {
    return { ...reply, kind: "no_state", took: Math.round(performance.now() - begun) };
  }
}
