//! A request that is dropped at every poll, in every state of its attempts: the budget has paid for what was sent and
//! for nothing else, and nothing is left behind. Run with `cargo test --test client_drops`.
//!
//! What goes wrong without the guard is asserted too: the same loop reports a client that pays when it begins to wait.

#![cfg(feature = "retry")]

mod k17;
mod naive;
mod polls;
mod scenes;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use lab::{
    driven::{Driven, polled},
    scripted::{Scripted, ScriptedBody},
};
use tokio::{runtime::Handle, time::advance};
use tower::{BoxError, Service, ServiceExt};
use tower_idempotency::retry::RepeatBody;

/// One request that was sent, and what it may leave behind.
struct UnderWay {
    service: Scripted,
    attempts: Driven<Result<Response<ScriptedBody>, BoxError>>,
    available: Box<dyn Fn() -> f64>,
    copies: Copies,
}

/// Where a request stands, behind the attempts that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Calling(usize),
    Draining(usize),
    Sleeping(usize),
    Readying(usize),
    Ended(usize),
}

/// What a dropped request left.
#[derive(Debug)]
struct Dropped {
    at: At,
    sent: usize,
    /// Of those sent, the attempts that had ended.
    ended: usize,
    available: f64,
    rest: Rest,
    /// What has changed an hour later.
    later: (usize, f64),
}

/// What is still there.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rest {
    attempts: usize,
    bodies: usize,
    getting_ready: usize,
    requests: usize,
    tasks: usize,
}

/// Drops a request after so many polls, one more, and so on, until it ends before.
async fn dropped_at_each_poll(begin: impl AsyncFn() -> UnderWay) -> Vec<Dropped> {
    let mut all = Vec::new();
    for polls in 0.. {
        let UnderWay { service, mut attempts, available, copies } = begin().await;
        let ended = polled(&mut attempts, polls).await.is_some();
        let at = if ended { At::Ended(service.attempts()) } else { At::of(&service) };
        let in_flight = service.in_flight();
        // The future that has ended is still there: what it owes is paid by then.
        let paid = available();
        drop(attempts);

        let (sent, left) = (service.attempts(), if ended { paid } else { available() });
        let rest = Rest {
            attempts: service.in_flight(),
            bodies: service.open_bodies(),
            getting_ready: service.getting_ready(),
            requests: copies.alive(),
            tasks: Handle::current().metrics().num_alive_tasks(),
        };
        advance(Duration::from_secs(3600)).await;
        let later = (service.attempts() - sent, available() - left);
        all.push(Dropped { at, sent, ended: sent - in_flight, available: left, rest, later });
        if ended {
            break;
        }
    }
    all
}

/// Sends a request through a service, when that is ready.
async fn called<S: Service<Request<Tracked>>>(mut service: S, copies: &Copies) -> S::Future {
    let Ok(ready) = service.ready().await else { panic!("not ready") };
    ready.call(copies.request())
}

impl At {
    fn of(service: &Scripted) -> Self {
        let sent = service.attempts();
        match (service.in_flight(), service.open_bodies(), service.getting_ready()) {
            (1, 0, 0) => Self::Calling(sent),
            (0, 1, 0) => Self::Draining(sent),
            (0, 0, 1) => Self::Readying(sent),
            (0, 0, 0) => Self::Sleeping(sent),
            more => panic!("never more than one at a time: {more:?}"),
        }
    }
}

/// Counts the copies of a request's body.
#[derive(Clone, Default)]
struct Copies(Arc<()>);

impl Copies {
    fn request(&self) -> Request<Tracked> {
        let body = Tracked { body: Full::from("42 EUR"), _copies: self.clone() };
        Request::post("/charges").header("Idempotency-Key", "\"k\"").body(body).expect("a request")
    }

    fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// A body whose copies are counted.
#[derive(Clone)]
struct Tracked {
    body: Full<Bytes>,
    _copies: Copies,
}

impl RepeatBody for Tracked {
    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Body for Tracked {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }
}
