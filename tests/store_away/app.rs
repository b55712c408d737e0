//! An application whose handler waits to be let go, and answers which run it was.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, routing::post as on_post};
use http::StatusCode;
use lab::exchange::{Answer, post, send, sending};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, Store,
    idempotency::{Claim, Scope},
    store::{ScopedKey, Status},
};

use crate::backend::soon;

/// How long one call of the store may take. Long enough for a machine with other work to do.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

pub(crate) struct App {
    pub(crate) router: Router,
    pub(crate) handler: Handler,
}

/// What a test has in hand of the handler.
#[derive(Clone)]
pub(crate) struct Handler {
    runs: watch::Sender<usize>,
    gate: Arc<Semaphore>,
    fails: Arc<AtomicBool>,
}

impl Handler {
    pub(crate) fn new() -> Self {
        let (runs, gate) = (watch::Sender::new(0), Arc::new(Semaphore::new(0)));
        Self { runs, gate, fails: Arc::default() }
    }

    /// Where it stops; the number of the run.
    pub(crate) async fn stops(&self) -> usize {
        let mut run = 0;
        self.runs.send_modify(|runs| {
            *runs += 1;
            run = *runs;
        });
        self.waits().await;
        run
    }

    pub(crate) async fn waits(&self) {
        self.gate.acquire().await.expect("it is open").forget();
    }

    pub(crate) fn let_go(&self) {
        self.gate.add_permits(1);
    }

    /// From now on every run passes.
    pub(crate) fn open(&self) {
        self.gate.add_permits(1000);
    }

    pub(crate) fn runs(&self) -> usize {
        *self.runs.borrow()
    }

    pub(crate) async fn has_run(&self, runs: usize) {
        soon(self.runs.subscribe().wait_for(|run| *run >= runs)).await.expect("the sender is here");
    }

    /// The next run answers 500, which releases its key.
    pub(crate) fn fails_once(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }
}

impl App {
    pub(crate) fn on<S: Store>(store: &S, lease: Duration) -> Self {
        let handler = Handler::new();
        let run = handler.clone();
        let answer = async move |claim: Claim<S>| {
            let run_number = run.stops().await;
            let failed = run.fails.swap(false, Ordering::SeqCst);
            let status = if failed { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
            (status, format!("run {run_number}, attempt {}", claim.attempt()))
        };
        Self { router: Router::new().route("/reports", on_post(answer)).layer(layer(store, lease)), handler }
    }

    pub(crate) async fn send(&self) -> Answer {
        soon(send(&self.router, post("k", "body"))).await
    }

    pub(crate) fn start(&self) -> JoinHandle<Answer> {
        sending(&self.router, post("k", "body"))
    }

    /// Sends until it is neither refused for now nor in flight.
    pub(crate) async fn send_until_answered(&self) -> Answer {
        let asking = async {
            loop {
                let answer = self.send().await;
                if !matches!(answer.status.as_u16(), 409 | 503) {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(asking).await
    }
}

pub(crate) fn layer<S: Store>(store: &S, lease: Duration) -> IdempotencyLayer<S> {
    IdempotencyLayer::new(store.clone(), Scope::shared()).lease(lease).store_timeout(LIMIT)
}

/// What a store that is not away says of the key.
pub(crate) async fn status<S: Store>(store: &S) -> Status {
    let key = ScopedKey::new("", &IdempotencyKey::parse("k").expect("a key"));
    let asking = async {
        loop {
            // One that has just come back may have to be asked twice.
            if let Ok(status) = store.status(&key).await {
                return status;
            }
        }
    };
    soon(asking).await
}

pub(crate) fn replayed(answer: &Answer) -> (u16, &str, Option<&str>) {
    (answer.status.as_u16(), answer.text(), answer.replayed())
}
