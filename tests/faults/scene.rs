//! Two servers on one store that is at fault for one of them: plays one combination and says what was seen.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use http::{Response, request::Parts};
use lab::{
    app::{AppService, payload},
    body::{Broken as HandlerFailure, ScriptedBody},
    exchange::{Answer, HeldRequest, post},
    gate::{GatedStore, Verb},
    handler::{Call, Handler, Reply, numbered, response},
    panics,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_idempotency::{
    IdempotencyLayer, Store,
    idempotency::{MaybeHeld, Scope},
};

use crate::{
    combination::{Caller, Fault, LEASE, RIVAL_AT, RUN, Rival},
    promise::{Got, STREAMED, Seen},
    watched::Watched,
};

/// A store as one server sees it.
pub(crate) type Seat<S> = Watched<GatedStore<S>>;

/// A guarded handler, and what waits for the work that it does without a caller.
pub(crate) struct Server {
    pub(crate) service: AppService,
    pub(crate) drained: BoxFuture<'static, ()>,
}

/// What is put to the test.
pub(crate) struct System<S> {
    pub(crate) store: fn() -> S,
    pub(crate) server: fn(Seat<S>, Handler) -> Server,
}

/// What the first run does when it ends; each other run answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Answers,
    Answers503,
    Fails,
    Panics,
    Streams,
}

/// One of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    /// Of the [`VERBS`].
    pub(crate) faults: [Fault; 5],
    pub(crate) caller: Caller,
    pub(crate) does: Does,
    pub(crate) rival: Rival,
}

/// The crate's own layer.
pub(crate) fn layered<S: Store>(store: Seat<S>, handler: Handler) -> Server {
    let layer = IdempotencyLayer::new(store, Scope::shared()).lease(LEASE).without_purge();
    let service = ServiceBuilder::new()
        .map_err(Into::into)
        .map_response(|response: Response<MaybeHeld<_>>| response.map(payload))
        .layer(&layer)
        .service(handler);
    Server { service: BoxCloneSyncService::new(service), drained: async move { layer.drained().await }.boxed() }
}

/// Plays on a clock of its own, on this thread alone.
pub(crate) fn on_a_paused_clock<T>(scene: impl Future<Output = T>) -> T {
    let clock = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    clock.expect("a runtime").block_on(scene)
}

impl Does {
    /// Whether the outcome is one that is kept (rule 13).
    fn is_kept(self) -> bool {
        matches!(self, Self::Answers | Self::Streams)
    }

    fn reply(self, run: usize) -> Reply {
        match self {
            Self::Answers => Ok(numbered(run)),
            Self::Answers503 => Ok(response(503, "not now")),
            Self::Fails => Err(HandlerFailure),
            Self::Panics => std::panic::panic_any(panics::OF_THE_HANDLER),
            Self::Streams => {
                let stalls = ScriptedBody::streaming().data("one,").pause(Duration::from_secs(2)).data("two");
                let mut streamed = response(201, stalls);
                streamed.headers_mut().insert(STREAMED, "yes".parse().expect("a value"));
                Ok(streamed)
            }
        }
    }
}

impl Combination {
    /// What was seen, and which verbs were called while the store was at fault.
    pub(crate) async fn play<S: Store>(self, system: &System<S>) -> (Seen, [bool; 5]) {
        let (panics_before, store) = (panics::others(), (system.store)());
        let [at_fault, sound] = [(); 2].map(|()| Watched::new(GatedStore::new(store.clone())));
        let rivals_turn = Arc::new(Notify::new());
        let handler = self.handler(&rivals_turn);
        let first_server = (system.server)(at_fault.clone(), handler.clone());
        let second_server = (system.server)(sound, handler.clone());
        self.set(at_fault.inner());

        let rival = tokio::spawn({
            let service = second_server.service.clone();
            async move {
                rivals_turn.notified().await;
                ask(&service, post("k", "{}"), Caller::Stays).await
            }
        });
        let asked = Instant::now();
        let first = ask(&first_server.service, first_post("k"), self.caller).await;
        let (waited, closing_was_over) = (asked.elapsed(), at_fault.closing_is_over());
        let drained = timeout(Duration::from_secs(120), first_server.drained).await.is_ok();
        let (calls, closed, store_failed) = (at_fault.all_calls(), at_fault.closed(), at_fault.failed());
        sleep(2 * LEASE).await;
        let calls_afterwards = at_fault.all_calls() - calls;
        // One that never had its turn waits for nothing.
        let rival = if rival.is_finished() { Some(rival.await.expect("no panic of its own")) } else { None };

        let called = VERBS.map(|verb| at_fault.inner().calls(verb) > 0);
        open(at_fault.inner());
        let mut repeats = Vec::new();
        for _ in 0..3 {
            repeats.push(ask(&first_server.service, post("k", "{}"), Caller::Stays).await);
        }
        let runs = (1..=handler.runs()).map(|run| handler.call_number(run));
        let runs_to_keep = runs.filter(|run| self.does.is_kept() || !is_first(&run.parts)).count();
        let other_panics = panics::others() - panics_before;
        let seen = Seen {
            first,
            waited,
            closing_was_over,
            closed,
            rival,
            store_failed,
            runs_to_keep,
            wrote: None,
            drained,
            calls_afterwards,
            repeats,
            other_panics,
        };
        (seen, called)
    }

    fn handler(self, rivals_turn: &Arc<Notify>) -> Handler {
        let rivals_turn = Arc::clone(rivals_turn);
        Handler::scripted(move |Call { run, parts, .. }| {
            let rivals_turn = Arc::clone(&rivals_turn);
            async move {
                if !is_first(&parts) {
                    sleep(self.rival.takes()).await;
                    return Does::Answers.reply(run);
                }
                sleep(RIVAL_AT).await;
                if self.rival != Rival::None {
                    rivals_turn.notify_one();
                }
                sleep(RUN - RIVAL_AT).await;
                self.does.reply(run)
            }
        })
    }

    fn set<S>(self, store: &GatedStore<S>) {
        for (verb, fault) in VERBS.into_iter().zip(self.faults) {
            store.set(verb, fault.gate());
        }
    }
}

/// The verbs whose calls go through a gate.
pub(crate) const VERBS: [Verb; 5] = [Verb::Claim, Verb::Renew, Verb::Complete, Verb::Release, Verb::Lookup];

fn open<S>(store: &GatedStore<S>) {
    for verb in VERBS {
        store.set(verb, Fault::Ok.gate());
    }
}

/// The request whose run does what the combination says; headers are no part of a fingerprint.
pub(crate) fn first_post(key: &str) -> HeldRequest {
    let mut request = post(key, "{}");
    request.headers_mut().insert("x-first", "yes".parse().expect("a value"));
    request
}

pub(crate) fn is_first(parts: &Parts) -> bool {
    parts.headers.contains_key("x-first")
}

/// Sends a request, and stays for as long as this caller does.
pub(crate) async fn ask(service: &AppService, request: HeldRequest, caller: Caller) -> Got {
    let sent = service.clone().oneshot(request);
    let caught = AssertUnwindSafe(async {
        match sent.await {
            Ok(response) => Got::Answer(Answer::of(response).await),
            Err(_) => Got::Failure,
        }
    });
    match timeout(caller.patience(), caught.catch_unwind()).await {
        Ok(Ok(got)) => got,
        Ok(Err(_panic)) => Got::Panic,
        Err(_) if caller == Caller::Stays => Got::Nothing,
        Err(_) => Got::Left,
    }
}
