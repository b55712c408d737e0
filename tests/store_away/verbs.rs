//! Claim, renewal, completion and release, each while the store is away.

use std::time::Duration;

use lab::servers::wire::Fault;
use tokio::task::block_in_place;
use tower_idempotency::store::Status;

use crate::{
    app::{App, LIMIT, replayed, status},
    backend::{Away, Backend, Behind, OnPostgres, OnRedis, soon},
};

const LEASE: Duration = Duration::from_secs(6);
/// Nothing that a test waits for takes as long.
const LONG: Duration = Duration::from_secs(600);

/// V27, V37; rule 17: 503 with `Retry-After`, the handler is not called; and the next request is served.
async fn a_claim_while_the_store_is_away_is_503_and_one_afterwards_runs<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, LEASE);
    app.handler.open();

    behind.goes();
    let refused = app.send().await;
    assert_eq!((refused.status.as_u16(), app.handler.runs()), (503, 0), "{away:?}");
    assert!(refused.header("retry-after").is_some(), "{away:?}");
    behind.returns().await;

    // What was granted and never heard of lapses; or it is given back.
    let answer = app.send_until_answered().await;
    assert_eq!((answer.status.as_u16(), answer.replayed()), (200, Some("false")), "{away:?}");
    assert_eq!(replayed(&app.send().await), (200, answer.text(), Some("true")), "{away:?}");
    assert_eq!(app.handler.runs(), 1, "{away:?}");
}

/// V9, V37; rule 17: tried again, in time: the holder keeps its key.
async fn a_renewal_while_the_store_is_away_is_tried_again<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, LEASE);
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    behind.is_missed().await;
    behind.returns().await;
    // The lease as it was claimed has to be over.
    tokio::time::sleep(LEASE).await;

    assert!(matches!(status(&behind.direct).await, Status::InProgress { .. }), "{away:?}");
    app.handler.let_go();
    assert_eq!(replayed(&soon(first).await.unwrap()), (200, "run 1, attempt 1", Some("false")), "{away:?}");
    assert_eq!(replayed(&app.send().await), (200, "run 1, attempt 1", Some("true")), "{away:?}");
}

/// The guard of the test above: without a renewal that succeeds the lease is over by then.
async fn a_lease_lapses_while_the_store_stays_away<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, LEASE / 3);
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    behind.is_missed().await;
    tokio::time::sleep(LEASE).await;
    if away == Away::Killed {
        // It is back for the test alone.
        behind.wire.fail(Fault::LosesQuestions);
        block_in_place(|| behind.server.start_again());
    }

    assert!(matches!(status(&behind.direct).await, Status::Lapsed { .. }), "{away:?}");
    first.abort();
}

/// V12, V37; rule 17: tried again while the lease is renewed; the caller waits, and the answer is recorded.
async fn a_completion_while_the_store_is_away_is_tried_again_until_it_is_recorded<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, 5 * LEASE);
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    app.handler.let_go();
    behind.is_missed().await;
    behind.returns().await;

    assert_eq!(replayed(&soon(first).await.unwrap()), (200, "run 1, attempt 1", Some("false")), "{away:?}");
    assert!(matches!(status(&behind.direct).await, Status::Done { replayable: true, .. }), "{away:?}");
    assert_eq!(replayed(&app.send_until_answered().await), (200, "run 1, attempt 1", Some("true")), "{away:?}");
}

/// Rule 17: for one lease; then the caller gets its answer all the same, and the lease lapses.
async fn a_completion_that_the_store_never_takes_costs_the_caller_a_lease_and_not_its_answer<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, LEASE / 2);
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    app.handler.open();
    let first = soon(first).await.unwrap();
    assert_eq!((first.status.as_u16(), first.text()), (200, "run 1, attempt 1"), "{away:?}");
    behind.returns().await;

    let repeat = app.send_until_answered().await;
    // The store may have taken it without a word. Otherwise this is the second run that the rule speaks of.
    match repeat.replayed() {
        Some("true") => assert_eq!((repeat.text(), app.handler.runs()), (first.text(), 1), "{away:?}"),
        _ => assert_eq!((repeat.text(), app.handler.runs()), ("run 2, attempt 2", 2), "{away:?}"),
    }
}

/// Rule 17: the caller waits for one call; the key is given back in the background, long before the lease would lapse.
async fn a_release_while_the_store_is_away_is_tried_again_in_the_background<B: Backend>(away: Away) {
    let mut behind = Behind::<B>::a_wire(away).await;
    let app = App::on(&behind.store, LONG);
    app.handler.fails_once();
    let first = app.start();
    app.handler.has_run(1).await;

    behind.goes();
    app.handler.open();
    let first = tokio::time::timeout(10 * LIMIT, first).await.expect("it does not wait for the store").unwrap();
    assert_eq!((first.status.as_u16(), first.text()), (500, "run 1, attempt 1"), "{away:?}");
    behind.returns().await;

    let repeat = app.send_until_answered().await;
    assert_eq!(replayed(&repeat), (200, "run 2, attempt 1", Some("false")), "{away:?}");
}

macro_rules! on_both {
    ($($verb:ident;)+) => {
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $verb() {
                    super::in_each_way(super::$verb::<super::OnPostgres>).await;
                }
            )+
        }

        mod on_redis {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $verb() {
                    super::in_each_way(super::$verb::<super::OnRedis>).await;
                }
            )+
        }
    };
}

on_both! {
    a_claim_while_the_store_is_away_is_503_and_one_afterwards_runs;
    a_renewal_while_the_store_is_away_is_tried_again;
    a_lease_lapses_while_the_store_stays_away;
    a_completion_while_the_store_is_away_is_tried_again_until_it_is_recorded;
    a_completion_that_the_store_never_takes_costs_the_caller_a_lease_and_not_its_answer;
    a_release_while_the_store_is_away_is_tried_again_in_the_background;
}

/// All at once, as each of them mostly waits.
pub(crate) async fn in_each_way<F: Future<Output = ()> + Send + 'static>(verb: impl Fn(Away) -> F) {
    for tried in Away::EACH.map(|away| tokio::spawn(verb(away))) {
        tried.await.expect("it keeps the rule");
    }
}
