//! The first article's tests of its server and its client, on the crate: the articles' harness over HTTP on loopback.
//!
//! `cargo build --example bug_tracker && cargo test --test article_tests`; a plain `cargo test` builds the example by
//! itself.
//!
//! The article counts sixteen tests of idempotency; it names three and describes most of the others. Where each is:
//!
//! | The article's | Here |
//! |---|---|
//! | `test_naive_server_duplicates_report_after_lost_response` | `tests/fault_matrix`; `tests/harness`, `keys` |
//! | `test_lost_response_retry_with_stable_key_replays_first_result` | `replayed` |
//! | a crash between two commits: `key_split` 2, `key_atomic` 1 | `tests/fault_matrix`; `tests/two_processes`, `kills` |
//! | the same key at the same time: 1 report, a 409, one id | `tests/fault_matrix`; `two_workers` |
//! | the same key with another body: 422 | `refused` |
//! | 400 for a missing field is not retried | `refused` |
//! | a placeholder of a dead process: 409, taken over, fence 2 | `placeholder` |
//! | the lease is longer than the harness's timeout | `lease` |
//! | `test_slow_request_taken_over_cannot_write_second_report` | `slow`, fenced by the crate and by hand |
//! | the same with fencing off: 2 reports | `slow`, by hand: the crate has no such setting |
//! | the model submits again: another id, another title | `resubmitted` |
//! | a new key for each attempt, no key | `tests/harness`, `keys` |
//! | which answers are retried, how often | `tests/harness`, `retried` |
//! | what the model is told of an unknown result | `tests/harness`, `messages` |

mod clock;
mod lease;
mod placeholder;
mod refused;
mod replayed;
mod resubmitted;
mod slow;
mod tracker;
mod two_workers;
