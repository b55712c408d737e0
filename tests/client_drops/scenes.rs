//! Scripts that pass through every state.

use std::{future::poll_fn, time::Duration};

use http_body_util::BodyExt;
use lab::{
    body,
    scripted::{Scripted, Step, answer},
};
use tower::{Layer, ServiceExt};
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget},
};

use crate::{
    At::{self, *},
    Copies, UnderWay, called,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// What is left of 500 tokens when a scene begins: below the brim, where a refund too much is seen.
pub(crate) const FULL: f64 = 450.0;

/// A request, its script, and what it comes to.
pub(crate) struct Scene {
    pub(crate) layer: fn(RetryLayer) -> RetryLayer,
    pub(crate) steps: fn() -> Vec<Step>,
    /// What each retry costs, if it is sent.
    pub(crate) costs: [f64; 2],
    /// What the end earns.
    pub(crate) earns: f64,
    /// The states, in their order.
    pub(crate) path: &'static [At],
}

/// The name of each says how its attempts go.
pub(crate) fn scenes() -> Vec<(&'static str, Scene)> {
    vec![
        (
            "answered late and in parts",
            Scene {
                layer: |layer| layer,
                steps: || vec![in_parts(503), in_parts(503), in_parts(200)],
                costs: [5.0, 5.0],
                earns: 5.0,
                path: &[
                    Calling(1),
                    Draining(1),
                    Sleeping(1),
                    Readying(1),
                    Calling(2),
                    Draining(2),
                    Sleeping(2),
                    Readying(2),
                    Calling(3),
                    Ended(3),
                ],
            },
        ),
        (
            "throttled, and to no avail",
            Scene {
                layer: |layer| layer,
                steps: || vec![Step::with_headers(429, &[("Retry-After", "7")])],
                costs: [5.0, 5.0],
                earns: 0.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Sleeping(2), Readying(2), Ended(3)],
            },
        ),
        (
            "reset",
            Scene {
                layer: |layer| layer,
                steps: || vec![Step::reset(), Step::reset(), Step::Late(SECOND, answer(201, &[], ""))],
                costs: [5.0, 5.0],
                earns: 5.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Sleeping(2), Readying(2), Calling(3), Ended(3)],
            },
        ),
        (
            "timed out",
            Scene {
                layer: |layer| layer.attempt_timeout(SECOND),
                steps: || vec![Step::Never],
                costs: [10.0, 10.0],
                earns: 0.0,
                path: &[
                    Calling(1),
                    Sleeping(1),
                    Readying(1),
                    Calling(2),
                    Sleeping(2),
                    Readying(2),
                    Calling(3),
                    Ended(3),
                ],
            },
        ),
        (
            "timed out, then answered",
            Scene {
                layer: |layer| layer.attempt_timeout(2 * SECOND),
                steps: || vec![Step::Never, in_parts(201)],
                costs: [10.0, 5.0],
                earns: 10.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Calling(2), Ended(2)],
            },
        ),
        (
            "a body without an end",
            Scene {
                layer: |layer| layer,
                steps: || vec![never_ends(), Step::status(201)],
                costs: [5.0, 5.0],
                earns: 5.0,
                path: &[Calling(1), Draining(1), Sleeping(1), Readying(1), Ended(2)],
            },
        ),
        (
            "not ready by the deadline",
            Scene {
                layer: |layer| layer.deadline(Duration::from_millis(1500)),
                steps: || vec![Step::status(503)],
                costs: [5.0, 5.0],
                earns: 0.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Ended(1)],
            },
        ),
        (
            "never ready again",
            Scene {
                layer: |layer| layer,
                steps: || vec![Step::status(503), Step::NotReady("closed".into())],
                costs: [5.0, 5.0],
                earns: 0.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Ended(1)],
            },
        ),
        (
            "the second attempt cut by the deadline",
            Scene {
                layer: |layer| layer.deadline(5 * SECOND),
                steps: || vec![Step::status(503), Step::Never],
                costs: [5.0, 5.0],
                earns: 0.0,
                path: &[Calling(1), Sleeping(1), Readying(1), Calling(2), Ended(2)],
            },
        ),
    ]
}

impl Scene {
    /// The exact sum, after so many attempts.
    pub(crate) fn left(&self, sent: usize, at: At) -> f64 {
        let earned = if matches!(at, Ended(_)) { self.earns } else { 0.0 };
        FULL - self.costs[..sent - 1].iter().sum::<f64>() + earned
    }

    pub(crate) async fn begin(&self, budget: Budget) -> UnderWay {
        let service = service((self.steps)());
        let copies = Copies::default();
        let layer =
            (self.layer)(RetryLayer::new().backoff(Backoff::exponential(SECOND, SECOND)).budget(budget.clone()));
        let attempts = called(layer.layer(service.clone()), &copies).await;
        let mut attempts = Box::pin(attempts);
        // It stays there after its end.
        let attempts = Box::pin(poll_fn(move |cx| attempts.as_mut().poll(cx).map_err(Into::into)));
        UnderWay { service, attempts, available: Box::new(move || budget.available()), copies }
    }
}

/// A service whose readiness takes its time.
pub(crate) fn service(steps: Vec<Step>) -> Scripted {
    Scripted::new(steps).hesitates(SECOND)
}

/// Ten retries of other requests have been paid for.
pub(crate) async fn used_budget() -> Budget {
    let budget = Budget::new(500);
    let layer = RetryLayer::new().max_attempts(11).backoff(Backoff::none()).budget(budget.clone());
    let down = Scripted::new([Step::status(503)]);
    layer.layer(down).oneshot(Copies::default().request()).await.expect("an answer");
    assert_eq!(budget.available(), FULL);
    budget
}

pub(crate) fn in_parts(status: u16) -> Step {
    let pause = Duration::from_millis(20);
    let body = body::ScriptedBody::streaming().data("one").pause(pause).data("two").pause(pause);
    Step::Late(SECOND, answer(status, &[], "").map(|_| body.map_err(Into::into).boxed()))
}

fn never_ends() -> Step {
    let body = body::ScriptedBody::streaming().data("one").never_ends();
    Step::Answer(answer(503, &[], "").map(|_| body.map_err(Into::into).boxed()))
}
