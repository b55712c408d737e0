//! Holders that are lost or were passed: rules 11 and 12, V6 to V8.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use lab::{
    app::{App, Hold, answer, created},
    exchange::post,
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::time::Instant;
use tower_idempotency::{
    Store,
    idempotency::Claim,
    store::{Found, Held, Outcome, StoredResponse},
};

use crate::{
    LEASE, ROUNDING, assert_in_progress, held, lost_holder, places::Place, request, send_until_free, shared, soon,
};

on_each_store![
    v06_rule_11_a_lost_holder_is_taken_over_when_its_lease_has_lapsed_and_not_before,
    v07_rule_12_a_passed_holder_changes_nothing,
    v08_rule_12_a_holder_that_slept_through_a_release_ends_nothing,
];

/// V6: after the lease and not after the retention; with a higher fence.
pub(crate) async fn v06_rule_11_a_lost_holder_is_taken_over_when_its_lease_has_lapsed_and_not_before<S: Store>(
    place: &impl Place<Store = S>,
) {
    let app = App::new(&shared(place.store()), |_, request| async move {
        let claim = request.extensions().get::<Claim<S>>().expect("it runs under a claim");
        created(format!("{} {}", claim.fence(), claim.attempt()))
    });
    let asked = Instant::now();
    let lost = lost_holder(&place.beside().await, &request("k", "{}", LEASE)).await;

    let taken_over = send_until_free(&app, "k", "{}").await;

    assert!(asked.elapsed() >= LEASE - ROUNDING, "taken over after {:?}", asked.elapsed());
    assert_eq!((taken_over.status, taken_over.replayed()), (StatusCode::CREATED, Some("false")));
    let (fence, attempt) = taken_over.text().split_once(' ').expect("two numbers");
    assert!(fence.parse::<u64>().expect("a number") > lost.fence(), "{fence} after {}", lost.fence());
    assert_eq!(attempt, "2");
    assert_eq!(app.runs(), 1);
}

/// V7: while its successor runs, and when that has ended.
pub(crate) async fn v07_rule_12_a_passed_holder_changes_nothing<S: Store>(place: &impl Place<Store = S>) {
    let (store, hold) = (place.store(), Hold::new());
    let asked = request("k", "{}", LEASE);
    let passed = lost_holder(&store, &asked).await;
    soon(async || matches!(store.lookup(&asked).await, Ok(Found::Lapsed))).await;
    let app = held(&shared(store.clone()), &hold);
    let successor = app.start(post("k", "{}"));
    hold.reached().await;

    let meddle = async || {
        let late = StoredResponse { status: StatusCode::OK, headers: HeaderMap::new(), body: "late".into() };
        assert_eq!(store.renew(&passed, Duration::from_secs(1)).await.expect("it answers"), Held::No, "renewed");
        assert_eq!(store.complete(&passed, Outcome::Response(late)).await.expect("it answers"), Held::No, "completed");
        assert_eq!(store.release(&passed).await.expect("it answers"), Held::No, "released");
    };
    meddle().await;
    assert_in_progress(&app.send(post("k", "{}")).await);
    hold.let_go(1);
    let successor = successor.await.expect("no panic");
    meddle().await;
    let repeat = app.send(post("k", "{}")).await;

    assert_eq!((successor.text(), successor.replayed()), ("run 1", Some("false")));
    assert_eq!((repeat.text(), repeat.replayed()), ("run 1", Some("true")));
    assert_eq!(app.runs(), 1);
}

/// V8: A claims with body X and lapses; B takes over, fails and releases; C claims the same key with body Y and
/// completes; A wakes and completes: A is fenced out, C's result stands, and A's caller gets 409, never C's answer.
pub(crate) async fn v08_rule_12_a_holder_that_slept_through_a_release_ends_nothing<S: Store>(
    place: &impl Place<Store = S>,
) {
    let (cut_off, hold) = (GatedStore::new(place.beside().await), Hold::new());
    cut_off.set(Verb::Renew, Gate::Fail);
    let app_of_a = held(&shared(cut_off).lease(LEASE), &hold);
    let b = App::new(&shared(place.store()), |_, _| async { answer(StatusCode::INTERNAL_SERVER_ERROR, "of B") });
    let c = App::new(&shared(place.store()), |_, _| async { created("of C") });
    let a = app_of_a.start(post("k", "X"));
    hold.reached().await;

    assert_eq!(send_until_free(&b, "k", "X").await.text(), "of B");
    assert_eq!(c.send(post("k", "Y")).await.text(), "of C");
    hold.let_go(1);
    let a = a.await.expect("no panic");
    let repeat = c.send(post("k", "Y")).await;

    assert_eq!(problem::kind(&a), (409, "TakenOver".into()));
    assert!(!a.text().contains("of C"));
    assert_eq!((repeat.text(), repeat.replayed()), ("of C", Some("true")));
    assert_eq!((b.runs(), c.runs()), (1, 1));
}
