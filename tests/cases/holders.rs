//! V7 and V8: holders that were passed. Each case is a function of the store, so that each store meets it.

use http::{Response, StatusCode};
use lab::{
    app::{App, Hold, Payload, answer, created},
    clock::until,
    exchange::{Answer, post},
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::task::JoinHandle;
use tower::BoxError;
use tower_idempotency::{MemoryStore, Store};

use crate::{LEASE, held, shared};

/// How a handler ends.
type Ends = fn() -> Result<Response<Payload>, BoxError>;

/// A holder that is cut off from the store's renewals, and whose lease has lapsed.
struct Passed<S> {
    store: GatedStore<S>,
    hold: Hold,
    caller: JoinHandle<Answer>,
}

impl<S: Store> Passed<S> {
    async fn holding(store: &S, body: &'static str, ends: Ends) -> Self {
        let (store, hold) = (GatedStore::new(store.clone()), Hold::new());
        store.set(Verb::Renew, Gate::Fail);
        let held = hold.clone();
        let app = App::fallible(&shared(store.clone()), move |_, _| {
            let held = held.clone();
            async move {
                held.pass().await;
                ends()
            }
        });
        let caller = app.start(post("k", body));
        hold.reached().await;
        tokio::time::advance(LEASE).await;
        Self { store, hold, caller }
    }

    async fn ends(self) -> Answer {
        self.hold.let_go(1);
        self.caller.await.unwrap()
    }
}

/// V7: A's lease lapses and B claims; A then ends as `ends` says: B's claim stands, B's answer is recorded.
async fn a_passed_holder_ends<S: Store>(store: S, ends: Ends) {
    let a = Passed::holding(&store, "{}", ends).await;
    let hold = Hold::new();
    let app = held(&shared(store), &hold);
    let b = app.start(post("k", "{}"));
    hold.reached().await;

    let a = a.ends().await;

    assert_eq!(problem::kind(&a), (409, "TakenOver".into()));
    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (409, "InProgress".into()));
    hold.let_go(1);
    assert_eq!(b.await.unwrap().replayed(), Some("false"));
    assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
    assert_eq!(app.runs(), 1);
}

/// V7: A's renewal comes through again after B has claimed: B's claim stands.
async fn a_passed_holder_renews<S: Store>(store: S) {
    let a = Passed::holding(&store, "{}", || Ok(created("of A"))).await;
    let hold = Hold::new();
    let app = held(&shared(store), &hold);
    let b = app.start(post("k", "{}"));
    hold.reached().await;

    let before = a.store.calls(Verb::Renew);
    a.store.set(Verb::Renew, Gate::Open);
    until(|| a.store.calls(Verb::Renew) > before).await;

    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (409, "InProgress".into()));
    hold.let_go(1);
    assert_eq!(b.await.unwrap().text(), "run 1");
    let a = a.ends().await;
    assert_eq!((a.text(), a.replayed()), ("run 1", Some("true")));
}

/// V8: A claims with body X and lapses; B takes over, fails and releases; C claims the same key with body Y and
/// completes; A wakes and completes: A is fenced out, C's result stands, and A's caller gets 409, never C's answer.
async fn a_holder_sleeps_through_a_release<S: Store>(store: S) {
    let a = Passed::holding(&store, "X", || Ok(created("of A"))).await;
    let b = App::new(&shared(store.clone()), |_, _| async { answer(StatusCode::INTERNAL_SERVER_ERROR, "of B") });
    assert_eq!(b.send(post("k", "X")).await.text(), "of B");
    let c = App::new(&shared(store), |_, _| async { created("of C") });
    assert_eq!(c.send(post("k", "Y")).await.text(), "of C");

    let a = a.ends().await;

    assert_eq!(problem::kind(&a), (409, "TakenOver".into()));
    assert!(!a.text().contains("of C"));
    let repeat = c.send(post("k", "Y")).await;
    assert_eq!((repeat.text(), repeat.replayed()), ("of C", Some("true")));
}

/// V8, where C still runs when A wakes: A neither ends C's run nor touches its lease.
async fn a_holder_sleeps_into_a_successors_run<S: Store>(store: S) {
    let a = Passed::holding(&store, "X", || Ok(created("of A"))).await;
    let b = App::new(&shared(store.clone()), |_, _| async { answer(StatusCode::INTERNAL_SERVER_ERROR, "of B") });
    b.send(post("k", "X")).await;
    let hold = Hold::new();
    let app = held(&shared(store), &hold);
    let c = app.start(post("k", "Y"));
    hold.reached().await;

    let a = a.ends().await;

    assert_eq!(problem::kind(&a), (409, "TakenOver".into()));
    assert_eq!(problem::kind(&app.send(post("k", "Y")).await), (409, "InProgress".into()));
    hold.let_go(1);
    assert_eq!(c.await.unwrap().replayed(), Some("false"));
    assert_eq!(app.send(post("k", "Y")).await.text(), "run 1");
}

mod on_memory {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn v07_a_passed_holder_that_completes_changes_nothing() {
        a_passed_holder_ends(MemoryStore::new(), || Ok(created("of A"))).await;
    }

    /// Rule 11: what a passed holder's handler says is no answer, a failure neither.
    #[tokio::test(start_paused = true)]
    async fn v07_a_passed_holder_that_fails_and_releases_changes_nothing() {
        a_passed_holder_ends(MemoryStore::new(), || Ok(answer(StatusCode::INTERNAL_SERVER_ERROR, "of A"))).await;
        a_passed_holder_ends(MemoryStore::new(), || Ok(answer(StatusCode::BAD_REQUEST, "of A"))).await;
    }

    /// Rule 11, for an error of the inner service and a panic too.
    #[tokio::test(start_paused = true)]
    async fn v07_a_passed_holder_that_errs_or_panics_changes_nothing() {
        a_passed_holder_ends(MemoryStore::new(), || Err("of A".into())).await;
        a_passed_holder_ends(MemoryStore::new(), || panic!("of A")).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v07_a_passed_holder_that_renews_changes_nothing() {
        a_passed_holder_renews(MemoryStore::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn v08_a_holder_that_slept_through_a_release_overwrites_nothing() {
        a_holder_sleeps_through_a_release(MemoryStore::new()).await;
    }
    #[tokio::test(start_paused = true)]
    async fn v08_a_holder_that_slept_through_a_release_does_not_end_its_successor() {
        a_holder_sleeps_into_a_successors_run(MemoryStore::new()).await;
    }
}
