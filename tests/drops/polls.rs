//! Rule 14: dropped at every poll, over a store that never answers at once and handlers with awaits of their own.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use http::Response;
use lab::{
    app::{AppService, payload},
    body::{Broken, ScriptedBody},
    exchange::{post, send},
    handler::{Handler, Reply, numbered, response},
    hesitant::{Hesitant, hesitate},
    naive_layer::{self, Flaw},
};
use tower::{Layer, Service, ServiceBuilder, util::BoxCloneSyncService};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{MaybeHeld, Scope},
};

use crate::{Driven, polled};

pub(crate) type HesitantStore = Hesitant<MemoryStore>;

/// A guarded handler, and what waits for the work that it does without a caller.
pub(crate) struct Server {
    pub(crate) service: AppService,
    pub(crate) drained: BoxFuture<'static, ()>,
}

pub(crate) fn store() -> HesitantStore {
    Hesitant(MemoryStore::new())
}

pub(crate) fn layered(store: HesitantStore, handler: Handler) -> Server {
    let layer = IdempotencyLayer::new(store, Scope::shared());
    let service = ServiceBuilder::new()
        .map_err(Into::into)
        .map_response(|response: Response<MaybeHeld<_>>| response.map(payload))
        .layer(&layer)
        .service(handler);
    Server { service: BoxCloneSyncService::new(service), drained: async move { layer.drained().await }.boxed() }
}

fn naive(store: HesitantStore, handler: Handler, flaw: Flaw) -> Server {
    let guarded = naive_layer::guarded(store, handler, flaw);
    Server { service: guarded.service.clone(), drained: guarded.drained().boxed() }
}

/// The first run does this, after some awaits; each other answers.
pub(crate) fn handler(does: fn(usize) -> Reply) -> Handler {
    Handler::scripted(move |call| async move {
        hesitate().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        hesitate().await;
        if call.run == 1 { does(1) } else { Ok(numbered(call.run)) }
    })
}

pub(crate) fn in_parts(run: usize) -> Reply {
    let parts = ["r", "un", " "]
        .into_iter()
        .fold(ScriptedBody::streaming(), |body, part| body.data(part).pause(Duration::from_millis(1)));
    Ok(response(201, parts.data(run.to_string())))
}

/// What a key came to after its first request was dropped.
#[derive(Debug, PartialEq, Eq)]
struct After {
    polls: usize,
    /// Whether the handler had begun when all work had ended.
    ran: bool,
    /// The status, the mark and the body that a lone repeat gets.
    repeat: (u16, Option<String>, String),
    runs: usize,
}

/// Drops an exchange after so many polls, one more, and so on, until it ends before.
async fn dropped_at_each_poll(
    server: fn(HesitantStore, Handler) -> Server,
    does: fn(usize) -> Reply,
    from: usize,
) -> Vec<After> {
    let mut all = Vec::new();
    for polls in from.. {
        let handler = handler(does);
        let Server { mut service, drained } = server(store(), handler.clone());
        let mut exchange: Driven<_> = Box::pin(service.call(post("k", "{}")));
        let ended = AssertUnwindSafe(polled(&mut exchange, polls)).catch_unwind().await;
        drop(exchange);
        drained.await;
        let ran = handler.runs() > 0;
        let repeat = send(&service, post("k", "{}")).await;
        let body = if repeat.status.is_success() { repeat.text().to_owned() } else { String::new() };
        let repeat = (repeat.status.as_u16(), repeat.replayed().map(str::to_owned), body);
        all.push(After { polls, ran, repeat, runs: handler.runs() });
        if !matches!(ended, Ok(None)) {
            break;
        }
    }
    all
}

/// Those after which work that had begun was not the only work, or its answer is not what a repeat gets.
fn not_done_once(all: Vec<After>) -> Vec<After> {
    let done_once = |after: &After| {
        let mark = if after.ran { "true" } else { "false" };
        after.runs == 1 && after.repeat == (201, Some(mark.into()), "run 1".into())
    };
    all.into_iter().filter(|after| !done_once(after)).collect()
}

/// Dropped at no poll the exchange never began; at each other one it goes on.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_dropped_at_any_poll_is_done_once() {
    for does in [|run| Ok(numbered(run)), in_parts] {
        let all = dropped_at_each_poll(layered, does, 0).await;
        assert!(all.len() > 8, "{} polls are too few to have stood at each await", all.len());
        assert_eq!(all.iter().filter(|after| !after.ran).count(), 1);
        assert_eq!(not_done_once(all), []);
    }
}

/// Seen red: work that ends with its caller is done twice, or leaves its key in flight.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_ends_with_its_caller_is_not() {
    let answers = |run| Ok(numbered(run));
    let on_its_own = |store, handler| naive(store, handler, Flaw::None);
    assert_eq!(not_done_once(dropped_at_each_poll(on_its_own, answers, 0).await), []);

    let in_place = |store, handler| naive(store, handler, Flaw::EndsWithItsCaller);
    let broken = not_done_once(dropped_at_each_poll(in_place, answers, 0).await);
    assert!(broken.iter().any(|after| after.ran), "dropped while it ran: {broken:?}");
    assert!(broken.iter().any(|after| !after.ran && after.runs == 0), "dropped while it claimed: {broken:?}");
}

/// Rule 13: the key of a run that fails is free, wherever its caller left.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_fails_leaves_its_key_free_at_any_poll() {
    let failures: [fn(usize) -> Reply; 3] =
        [|_| Ok(response(503, "not now")), |_| Err(Broken), |_| panic!("the handler panics, as the script says")];
    for does in failures {
        let all = dropped_at_each_poll(layered, does, 1).await;
        assert!(all.len() > 5);
        for after in all {
            assert_eq!((after.ran, after.runs), (true, 2), "{after:?}");
            assert_eq!(after.repeat, (201, Some("false".into()), "run 2".into()), "{after:?}");
        }
    }
}

/// Rule 15: what streams has closed its key, wherever its caller left.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_streams_has_closed_its_key_at_any_poll() {
    let stalls = |_| Ok(response(201, ScriptedBody::streaming().data("one").pause(Duration::from_secs(5)).data("two")));
    let all = dropped_at_each_poll(layered, stalls, 1).await;
    assert!(all.len() > 8);
    for after in all {
        assert_eq!((after.runs, &after.repeat), (1, &(410, Some("true".into()), String::new())), "{after:?}");
    }
}

/// Rule 14: a caller that leaves within its own body has asked for nothing; after it, the work is done once.
#[tokio::test(start_paused = true)]
async fn a_request_whose_body_comes_in_parts_runs_once_or_not_at_all() {
    let mut ran_at = Vec::new();
    for polls in 0.. {
        let handler = handler(|run| Ok(numbered(run)));
        let layer = IdempotencyLayer::new(store(), Scope::shared());
        let mut service = layer.layer(handler.clone());
        let second = ScriptedBody::streaming().data("{").pause(Duration::from_millis(1));
        let request = |body| post("k", "").map(|_| body);
        let in_parts = request(second.pause(Duration::from_millis(1)).data("}"));
        let mut exchange: Driven<_> = Box::pin(service.call(in_parts));
        let ended = polled(&mut exchange, polls).await.is_some();
        drop(exchange);
        layer.drained().await;
        ran_at.push(handler.runs() == 1);

        let repeat = send(&service, request(ScriptedBody::whole("{}"))).await;
        assert_eq!((repeat.text(), handler.runs()), ("run 1", 1), "after {polls} polls");
        if ended {
            break;
        }
    }
    let unread = ran_at.iter().take_while(|ran| !**ran).count();
    assert!(unread >= 3, "not at the first polls, while the body is read: {ran_at:?}");
    assert!(ran_at.len() > unread + 6 && ran_at[unread..].iter().all(|ran| *ran), "and at each later one: {ran_at:?}");
}
