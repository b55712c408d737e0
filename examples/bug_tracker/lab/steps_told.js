// What the texts of all languages ask of a play.

// Whether the second client is a second call of the tool, and no second worker.
export function again(played) {
  return played.fault === "new_id" || played.fault === "new_title";
}

export function two(played) {
  return played.steps.some((step) => step.client === 2);
}

// A random key or a digest is known by its beginning.
export function short(key) {
  return key.length > 20 ? `${key.slice(0, 12)}…` : key;
}

// The key that a request is sent with, if it is sent with one.
export function key(step) {
  return step.key === null ? undefined : short(step.key);
}
