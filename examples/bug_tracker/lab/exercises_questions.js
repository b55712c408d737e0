// The questions without their words: the answers in order, which one is right, and where to see why.

const steps = (fault, implementation, key_source, more = {}) => ({ part: "steps", params: { fault, implementation, key_source, ...more } });
const herd = (strategies) => ({ part: "herd", params: { strategies, clients: 100 } });
const reports = { part: "reports" };

export const QUESTIONS = [
  { id: "timeout", answers: ["failed", "unknown", "done"], right: "unknown", see: steps("lost_response", "naive", "none") },
  { id: "result", answers: ["failed", "created", "ask"], right: "ask", see: steps("new_id", "key_atomic", "tool_call") },
  { id: "attempts", answers: ["one", "two", "refused"], right: "two", see: steps("lost_response", "key_atomic", "per_attempt") },
  { id: "replay", answers: ["replay", "second", "refused"], right: "refused", see: reports },
  { id: "split", answers: ["two", "one", "none"], right: "two", see: steps("crash", "key_split", "tool_call") },
  { id: "lease", answers: ["runs", "conflict", "replay"], right: "conflict", see: steps("concurrent", "key_atomic", "tool_call") },
  { id: "fence", answers: ["longer", "unique", "fence"], right: "fence", see: steps("taken_over", "key_atomic", "tool_call", { fencing: "off" }) },
  { id: "business", answers: ["one", "two", "refused"], right: "two", see: steps("new_title", "key_atomic", "business") },
  { id: "jitter", answers: ["spread", "cap", "rounds"], right: "rounds", see: herd("exponential,full") },
  { id: "layers", answers: ["fifteen", "product", "three"], right: "product", see: herd("none,full") },
  { id: "standard", answers: ["draft", "rfc", "registered"], right: "draft", see: reports },
  { id: "hint", answers: ["promise", "once", "untrusted"], right: "untrusted", see: steps("lost_response", "naive", "none") },
];
