//! What the server layer answers beside a replay, and what the client makes of it.

use http::StatusCode;
use lab::{
    app::{App, Hold},
    clock::comes,
    faults::{Fault, Faults},
    gate::{Gate, GatedStore, Verb},
};
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::Scope,
    retry::{
        Budget,
        Outcome::{Applied, Unknown},
        Stopped::{Attempts, Budget as BudgetEmpty, Deadline, NotRetryable, Succeeded},
    },
};

use crate::shop::{HOUR, SECOND, Shop, client, four_attempts, held, order, place, replay, taken};

/// Rule 15 of the server, rule 11 of the client: the work was done, and its answer is lost for good.
#[tokio::test(start_paused = true)]
async fn an_answer_too_long_to_be_kept_that_is_lost_is_410_and_applied() {
    let shop = Shop::open().await;
    let server = shop.guarded_by(shop.layer().max_recorded_body(3), async |_| Ok(()));
    let client = client(&four_attempts(), &Faults::first([Fault::LoseAnswer]), server);

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, NotRetryable, Applied)));
    let answer = ended.answer.unwrap();
    assert_eq!((answer.status, answer.replayed), (410, true));
    assert_eq!(shop.orders(), [1]);
}

/// Rule 9 of the server, with `wait_for`.
#[tokio::test(start_paused = true)]
async fn a_repeat_that_the_server_lets_wait_needs_no_third_attempt() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let faults = Faults::none();
    let server = shop.guarded_by(shop.layer().wait_for(HOUR), held(&hold));
    let client = client(&four_attempts().attempt_timeout(SECOND), &faults, server);

    let placing = tokio::spawn(async move { place(&client, order("k")).await });
    faults.saw(2).await;
    hold.let_go(1);
    let ended = comes(placing).await.unwrap();

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!((ended.answer, shop.orders()), (replay(1), vec![1]));
}

/// One of them runs, the other is refused meanwhile, and both get the one answer.
#[tokio::test(start_paused = true)]
async fn two_clients_with_one_key_get_one_answer() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let faults = Faults::none();
    let client = client(&four_attempts(), &faults, shop.guarded_at(&hold));

    let after_the_first_was_held = async {
        hold.reached().await;
        place(&client, order("k")).await
    };
    let let_go = async {
        faults.saw(2).await;
        tokio::time::sleep(SECOND / 2).await;
        hold.let_go(1);
    };
    let (one, other, ()) = tokio::join!(place(&client, order("k")), after_the_first_was_held, let_go);

    assert_eq!((one.answer, one.info.is_none()), (taken(1), true));
    assert_eq!((other.told(), other.answer), (Some((2, Succeeded, Applied)), replay(1)));
    assert_eq!(shop.orders(), [1]);
}

/// The 409 asks for a second, and there is none left: it is handed over, and the work goes on.
#[tokio::test(start_paused = true)]
async fn a_repeat_that_is_told_to_wait_beyond_the_deadline_is_unknown() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let retry = four_attempts().attempt_timeout(SECOND).deadline(SECOND * 3 / 2);
    let client = client(&retry, &Faults::none(), shop.guarded_at(&hold));

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Deadline, Unknown)));
    assert_eq!(ended.answer.unwrap().status, 409);
}

#[tokio::test(start_paused = true)]
async fn where_the_budget_is_empty_a_lost_answer_is_unknown() {
    let shop = Shop::open().await;
    let twice = [Fault::LoseAnswer, Fault::LoseAnswer];
    let faults = Faults::first([Fault::LoseAnswer, Fault::Pass].into_iter().chain(twice));
    // Enough for one retry; a success gives it back.
    let client = client(&four_attempts().budget(Budget::new(5)), &faults, shop.guarded());

    let first = place(&client, order("k1")).await;
    let second = place(&client, order("k2")).await;

    assert_eq!(first.told(), Some((2, Succeeded, Applied)));
    assert_eq!(second.told(), Some((2, BudgetEmpty, Unknown)));
    assert_eq!(shop.orders(), [1, 2]);
}

/// Rule 17 of the server: 503 at a claim that fails, and the key is good again when the lease of a lost grant has lapsed.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_once_costs_time_and_no_second_run() {
    for (verb, gate) in [
        (Verb::Claim, Gate::Fail),
        (Verb::Claim, Gate::LoseAnswer),
        (Verb::Complete, Gate::Fail),
        (Verb::Complete, Gate::LoseAnswer),
    ] {
        let store = GatedStore::new(MemoryStore::new());
        store.set_once(verb, gate.clone());
        let app = App::numbered(&IdempotencyLayer::new(store, Scope::shared()));
        let client = four_attempts().max_attempts(20).layer(Faults::none().layer(app.service()));

        let ended = place(&client, order("k")).await;

        let told = ended.told();
        assert!(matches!(told, None | Some((_, Succeeded, Applied))), "{verb:?} {gate:?}: {told:?}");
        assert_eq!((ended.answer.unwrap().body, app.runs()), ("run 1".to_owned(), 1), "{verb:?} {gate:?}");
    }
}

/// The store is down for good: 503, handed over after the last attempt.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_is_503_and_no_run() {
    let store = GatedStore::new(MemoryStore::new());
    store.set(Verb::Claim, Gate::Fail);
    let app = App::numbered(&IdempotencyLayer::new(store, Scope::shared()));
    let client = four_attempts().layer(Faults::none().layer(app.service()));

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((4, Attempts, Unknown)));
    assert_eq!((ended.answer.unwrap().status, app.runs()), (StatusCode::SERVICE_UNAVAILABLE.as_u16(), 0));
}
