//! Rule 20: what can be seen from outside.

use std::{
    io,
    sync::{Arc, Mutex},
};

use lab::{
    exchange::{post, send, sending},
    gate::{Gate, Verb},
    handler::{Handler, numbered, response},
};
use tower::{Layer, ServiceExt};
use tracing::{Instrument, subscriber::DefaultGuard};

use crate::support::{TestStore, gate, layer, pass, secs, store};

/// The log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins to write; until the guard is dropped.
    fn begin(&self) -> DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn lines(&self, containing: &str) -> Vec<String> {
        let log = String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text");
        log.lines().filter(|line| line.contains(containing)).map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that can happen to a key, once.
async fn everything() -> TestStore {
    let store = store();
    let (a_ends, b_ends) = (gate(), gate());
    let handler = Handler::numbered_at_each([&a_ends, &b_ends]);
    let service = layer(&store).layer(handler.clone());
    store.set(Verb::Renew, Gate::Never);
    let a = sending(&service, post("k", "{}"));
    handler.started(1).await;
    pass(secs(10)).await;
    let b = sending(&service, post("k", "{}")); // takes over
    handler.started(2).await;
    send(&service, post("k", "{}")).await; // in flight
    send(&service, post("k", "[]")).await; // mismatch
    b_ends.add_permits(1);
    b.await.unwrap(); // executed
    a_ends.add_permits(1);
    a.await.unwrap(); // fenced out, and so a replay
    send(&service, post("k", "{}")).await; // replayed

    let failing = layer(&store).layer(Handler::answering(|_| response(503, "")));
    send(&failing, post("released", "{}")).await; // released
    store.set_once(Verb::Claim, Gate::Fail);
    send(&service, post("other", "{}")).await; // store error
    store
}

const OUTCOMES: [(&str, usize); 8] = [
    ("executed", 1),
    ("replayed", 2),
    ("in_flight", 1),
    ("mismatch", 1),
    ("taken_over", 1),
    ("fenced_out", 1),
    ("released", 1),
    ("store_error", 1),
];

/// Rule 20: an event for each outcome, with the key; those of a holder with its fence.
#[tokio::test(start_paused = true)]
async fn each_outcome_is_an_event() {
    let log = Log::default();
    let _guard = log.begin();

    // Renewals that are never answered fail too.
    let store = everything().await;
    let renewals = store.calls(Verb::Renew);

    for (outcome, times) in OUTCOMES {
        let lines = log.lines(&format!("outcome=\"{outcome}\""));
        let more = if outcome == "store_error" { renewals } else { 0 };
        assert!((times..=times + more).contains(&lines.len()), "{outcome}: {lines:#?}");
        assert!(lines.iter().all(|line| line.contains("key=")), "{lines:#?}");
    }
    for outcome in ["executed", "taken_over", "fenced_out", "released"] {
        assert!(log.lines(&format!("outcome=\"{outcome}\"")).iter().all(|line| line.contains("fence=")));
    }
}

/// Rule 20: a store that fails is logged with the verb and the source.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_logged_with_its_source() {
    let log = Log::default();
    let _guard = log.begin();
    let store = store();
    store.set(Verb::Claim, Gate::Fail);

    send(&layer(&store).layer(Handler::numbered()), post("k", "{}")).await;

    let lines = log.lines("store_error");
    assert!(lines.len() == 1 && lines[0].contains("verb=\"claim\""), "{lines:#?}");
    assert!(lines[0].contains("WARN") && lines[0].contains("the gate of Claim is shut"), "{lines:#?}");
}

/// Rules 18 and 20: so is a purge that fails.
#[tokio::test(start_paused = true)]
async fn a_purge_that_fails_is_logged_with_its_source() {
    let log = Log::default();
    let _guard = log.begin();
    let store = store();
    store.set(Verb::Purge, Gate::Fail);
    let service = layer(&store).layer(Handler::numbered());

    send(&service, post("k", "{}")).await;
    pass(secs(61)).await;

    let lines = log.lines("verb=\"purge\"");
    assert!(lines.len() == 1 && lines[0].contains("the gate of Purge is shut"), "{lines:#?}");
}

/// Rules 17 and 20: an answer that goes out unrecorded is an error in the log.
#[tokio::test(start_paused = true)]
async fn a_key_that_could_not_be_closed_is_logged_as_an_error() {
    let log = Log::default();
    let _guard = log.begin();
    let store = store();
    store.set(Verb::Complete, Gate::FailForGood);

    send(&layer(&store).layer(Handler::numbered()), post("k", "{}")).await;

    assert_eq!(log.lines("ERROR").len(), 1);
    assert_eq!(log.lines("could not be closed").len(), 1);
}

/// Rule 1: an inner layer of the same store is warned of once, not at each request.
#[tokio::test(start_paused = true)]
async fn a_layer_inside_another_one_is_warned_of_once() {
    let log = Log::default();
    let _guard = log.begin();
    let store = store();
    let service = layer(&store).layer(layer(&store).layer(Handler::numbered()));

    send(&service, post("a", "{}")).await;
    send(&service, post("b", "{}")).await;

    assert_eq!(log.lines("stands inside another one").len(), 1);
}

/// Rule 14: an exchange whose caller has left goes on in the caller's span.
#[tokio::test(start_paused = true)]
async fn an_exchange_goes_on_in_its_callers_span() {
    let log = Log::default();
    let _guard = log.begin();
    let layer = layer(&store());
    let service = layer.layer(Handler::scripted(|call| async move {
        pass(secs(30)).await;
        tracing::info!("the handler ends");
        Ok(numbered(call.run))
    }));

    let caller = async { tokio::time::timeout(secs(1), service.oneshot(post("k", "{}"))).await };
    assert!(caller.instrument(tracing::info_span!("caller", n = 7)).await.is_err());
    layer.drained().await;

    assert!(log.lines("the handler ends").iter().all(|line| line.contains("caller{n=7}")));
    assert!(log.lines("outcome=\"executed\"").iter().all(|line| line.contains("caller{n=7}")));
    assert_eq!(log.lines("the handler ends").len(), 1);
}

/// Rule 19: neither bodies nor headers are logged.
#[tokio::test(start_paused = true)]
async fn no_content_is_logged() {
    let log = Log::default();
    let _guard = log.begin();
    let service = layer(&store()).layer(Handler::answering(|_| response(201, "secret answer")));

    send(&service, post("k", "\"secret question\"")).await;
    send(&service, post("k", "\"secret question\"")).await;
    send(&service, post("k", "\"secret mismatch\"")).await;

    assert!(!log.lines("outcome").is_empty());
    assert_eq!(log.lines("secret").len(), 0);
}

#[cfg(feature = "metrics")]
mod metrics {
    use std::collections::HashMap;

    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    use super::{OUTCOMES, everything};

    /// Rule 20: a counter for each outcome, and histograms for claim and complete.
    #[tokio::test(start_paused = true)]
    async fn each_outcome_is_counted_and_claims_and_completions_are_timed() {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);

        everything().await;

        let (mut counters, mut histograms) = (HashMap::new(), HashMap::new());
        for (key, _, _, value) in snapshotter.snapshot().into_vec() {
            let label = key.key().labels().next().map(|label| label.value().to_owned());
            match value {
                DebugValue::Counter(n) => counters.insert(label.expect("an outcome"), n),
                DebugValue::Histogram(times) => histograms.insert(key.key().name().to_owned(), times.len() as u64),
                DebugValue::Gauge(_) => None,
            };
        }
        for (outcome, times) in OUTCOMES.iter().filter(|(outcome, _)| *outcome != "store_error") {
            assert_eq!(counters.get(*outcome), Some(&(*times as u64)), "{outcome}");
        }
        assert!(counters["store_error"] >= 1);
        // A, B, a repeat in flight, a mismatch, a replay, one that failed, one that found the store failing; A and B.
        assert_eq!(histograms["tower_idempotency_claim_seconds"], 7);
        assert_eq!(histograms["tower_idempotency_complete_seconds"], 2);
    }
}
