//! C01 to C03 and C18: which requests may be sent again at all.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
};

use lab::scripted::{Scripted, Step};
use tower::BoxError;
use tower_idempotency::retry::{AssumeRepeatable, Budget, Outcome, Stopped};

use crate::{IDEMPOTENT, ambiguous, bare, keyed, secs, seeded, told};

/// C01, 9110 9.2.2. The row says whatever the failure; the contract's rule 1 excepts those that prove that nothing was
/// done, which C16 and C18 grant.
#[tokio::test(start_paused = true)]
async fn c01_without_a_key_a_post_is_sent_once_whatever_the_failure() {
    for method in ["POST", "PATCH"] {
        for failure in ambiguous() {
            let name = format!("{method} {failure:?}");
            let script = Scripted::new([failure]);
            let _ = script.send(&seeded().attempt_timeout(secs(1)), bare(method)).await;
            assert_eq!(script.attempts(), 1, "{name}");
        }
    }
}

/// C01: a method that nobody has registered is taken for no better than POST.
#[tokio::test(start_paused = true)]
async fn c01_an_unknown_method_is_sent_once() {
    let script = Scripted::new([Step::status(503)]);
    let answer = script.send(&seeded(), bare("CHARGE")).await.unwrap();
    assert_eq!((script.attempts(), told(&answer).stopped()), (1, Stopped::NotRepeatable));
}

/// C01: the explicit mark.
#[tokio::test(start_paused = true)]
async fn c01_a_post_that_its_caller_marked_is_repeated() {
    for failure in ambiguous() {
        let name = format!("{failure:?}");
        let script = Scripted::new([failure, Step::status(200)]);
        let mut request = bare("POST");
        request.extensions_mut().insert(AssumeRepeatable);
        assert_eq!(script.send(&seeded().attempt_timeout(secs(1)), request).await.unwrap().status(), 200, "{name}");
    }
}

/// C02, 9110 9.2.1 and 9.2.2, 10008.
#[tokio::test(start_paused = true)]
async fn c02_an_idempotent_method_is_repeated_without_a_key() {
    for method in IDEMPOTENT {
        for failure in ambiguous() {
            let name = format!("{method} {failure:?}");
            let script = Scripted::new([failure, Step::status(200)]);
            let answer = script.send(&seeded().attempt_timeout(secs(1)), bare(method)).await.unwrap();
            assert_eq!((answer.status().as_u16(), script.attempts()), (200, 2), "{name}");
        }
    }
}

/// C03, 9110 9.2.2, own.
#[tokio::test(start_paused = true)]
async fn c03_with_a_key_a_post_is_repeated() {
    for method in ["POST", "PATCH"] {
        for failure in ambiguous() {
            let name = format!("{method} {failure:?}");
            let script = Scripted::new([failure, Step::status(200)]);
            let answer = script.send(&seeded().attempt_timeout(secs(1)), keyed(method)).await.unwrap();
            assert_eq!((answer.status().as_u16(), script.attempts()), (200, 2), "{name}");
        }
    }
}

/// C18: what stands here is what an error tells without the features `hyper` and `reqwest`; REFUSED_STREAM, GOAWAY and
/// H3_REQUEST_REJECTED are told by the clients' own errors and have their tests there.
#[tokio::test(start_paused = true)]
async fn c18_a_refused_connection_repeats_a_post_without_a_key() {
    let script = Scripted::new([Step::refused(), Step::status(201)]);
    let answer = script.send(&seeded(), bare("POST")).await.unwrap();
    assert_eq!((answer.status().as_u16(), script.attempts()), (201, 2));
}

/// C18: below an error that is not known it may be that of a tunnel, or of the request's own body.
#[tokio::test(start_paused = true)]
async fn c18_a_refused_connection_among_the_causes_of_another_error_proves_nothing() {
    for depth in [1, 7] {
        let script = Scripted::new([Step::Fail(caused_by(ErrorKind::ConnectionRefused, depth)), Step::status(201)]);
        let error = script.send(&seeded(), bare("POST")).await.unwrap_err();
        assert_eq!((script.attempts(), error.outcome()), (1, Outcome::Unknown), "{depth} deep");
    }
}

/// C18: no other error of the transport proves that nothing was done.
#[tokio::test(start_paused = true)]
async fn c18_an_error_that_proves_nothing_repeats_no_post_without_a_key() {
    let unproven = [
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::TimedOut,
        ErrorKind::UnexpectedEof,
        ErrorKind::NotConnected,
        ErrorKind::Other,
    ];
    for kind in unproven {
        for depth in [0, 1, 7] {
            let script = Scripted::new([Step::Fail(caused_by(kind, depth))]);
            let error = script.send(&seeded(), bare("POST")).await.unwrap_err();
            assert_eq!((script.attempts(), error.info().stopped()), (1, Stopped::NotRepeatable), "{kind:?}");
        }
    }
}

/// C18: the row has it outside of the budget and once each; the contract's rules 1 and 7 keep it inside the attempts.
#[tokio::test(start_paused = true)]
async fn c18_a_refused_connection_counts_as_an_attempt() {
    let script = Scripted::new([Step::refused()]);
    let error = script.send(&seeded(), bare("POST")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped()), (3, Stopped::Attempts));
}

/// C18: and inside the budget.
#[tokio::test(start_paused = true)]
async fn c18_a_refused_connection_is_paid_for() {
    let budget = Budget::new(5);
    let script = Scripted::new([Step::refused()]);
    let error = script.send(&seeded().budget(budget.clone()), bare("POST")).await.unwrap_err();
    assert_eq!((script.attempts(), error.info().stopped(), budget.available()), (2, Stopped::Budget, 0.0));
}

/// An error of the transport, and others that it caused.
fn caused_by(kind: ErrorKind, depth: usize) -> BoxError {
    (0..depth).fold(io::Error::from(kind).into(), |cause, _| Caused(cause).into())
}

#[derive(Debug)]
struct Caused(BoxError);

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request failed")
    }
}

impl Error for Caused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
