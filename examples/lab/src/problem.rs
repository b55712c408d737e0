//! Refusals, as a client reads them.

use serde_json::Value;

use crate::exchange::Answer;

/// The problem that an answer is: `application/problem+json` whose `status` is that of the response (RFC 9457 §3.1.2).
pub fn of(answer: &Answer) -> Value {
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    let problem: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(problem["status"], answer.status.as_u16(), "{problem}");
    problem
}

/// The status of a refusal and the name of its kind, which ends its `type`: `(409, "InProgress")`.
pub fn kind(answer: &Answer) -> (u16, String) {
    let problem = of(answer);
    let kind = problem["type"].as_str().expect("a URI");
    (answer.status.as_u16(), kind.rsplit(['.', '/']).next().unwrap_or_default().to_owned())
}
