//! In one process, on a paused clock: one fault at a time.

use http::StatusCode;
use lab::{
    app::{App, Hold},
    clock::comes,
    exchange::post_without_key,
    faults::{Fault, Faults},
};
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::Scope,
    retry::{
        HoldResponses,
        Outcome::{Applied, Unknown},
        RetryInfo,
        Stopped::{NotRetryable, Succeeded},
    },
};

use crate::shop::{HOUR, SECOND, Shop, client, four_attempts, order, place, replay, taken, whole};

const UNAVAILABLE: Fault = Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE);

#[tokio::test(start_paused = true)]
async fn without_a_fault_there_is_one_attempt_and_nothing_to_tell() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::none(), shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!((ended.answer, ended.info.is_none()), (taken(1), true));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_lost_after_the_commit_is_replayed() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::LoseAnswer]), shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, replay(1));
    assert_eq!(ended.info.unwrap().key().unwrap().as_str(), "k");
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_refused_at_first_is_tried_again() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::Refused]), shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, taken(1));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_before_the_request_is_read_is_tried_again() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::ResetBefore]), shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, taken(1));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_503_of_something_in_the_middle_is_tried_again() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([UNAVAILABLE, UNAVAILABLE]), shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((3, Succeeded, Applied)));
    assert_eq!(ended.answer, taken(1));
    assert_eq!(shop.orders(), [1]);
}

/// The work goes on without its caller; a repeat is refused meanwhile, and then gets its answer.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_times_out_while_its_work_runs_is_refused_and_then_replayed() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let server = shop.guarded_at(&hold);
    let faults = Faults::none();
    let client = client(&four_attempts().attempt_timeout(SECOND), &faults, server);

    let placing = tokio::spawn(async move { place(&client, order("k")).await });
    faults.saw(2).await;
    tokio::time::sleep(SECOND / 2).await;
    hold.let_go(1);
    let ended = comes(placing).await.unwrap();

    assert_eq!(ended.told(), Some((3, Succeeded, Applied)));
    let failures: Vec<_> = ended.info.unwrap().failures().iter().map(|failed| failed.failure().to_string()).collect();
    assert_eq!(failures, ["failed: the attempt timed out", "answered 409 Conflict"]);
    assert_eq!(ended.answer, replay(1));
    assert_eq!((shop.orders(), shop.runs()), (vec![1], 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_after_the_timeout_is_replayed() {
    let shop = Shop::open().await;
    let faults = Faults::first([Fault::LateAnswer(HOUR)]);
    let client = client(&four_attempts().attempt_timeout(SECOND), &faults, shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, replay(1));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_in_its_body_is_replayed_where_responses_are_held() {
    let shop = Shop::open().await;
    let faults = Faults::first([Fault::CutAnswer]);
    let holding = HoldResponses::up_to(1 << 20);
    let client = ServiceBuilder::new().layer(four_attempts()).layer(holding).layer(faults).service(shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, replay(1));
    assert_eq!(shop.orders(), [1]);
}

/// Rule 9 of the client: only the caller sees it then, and may ask again with the key.
#[tokio::test(start_paused = true)]
async fn an_answer_cut_in_its_body_is_the_callers_where_responses_are_not_held() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::CutAnswer]), shop.guarded());

    let response = client.clone().oneshot(order("k")).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert!(response.extensions().get::<RetryInfo>().is_none());
    assert!(whole(response).await.is_err());
    let ended = place(&client, order("k")).await;

    assert_eq!(ended.answer, replay(1));
    assert_eq!(shop.orders(), [1]);
}

/// Its key is released, so the repeat runs it anew.
#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_once_is_run_again() {
    let shop = Shop::open().await;
    let server = shop.guarded_after(async |run| match run {
        1 => Err(StatusCode::INTERNAL_SERVER_ERROR),
        _ => Ok(()),
    });
    let client = client(&four_attempts(), &Faults::none(), server);

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, taken(2));
    assert_eq!((shop.orders(), shop.runs()), (vec![2], 2));
}

#[tokio::test(start_paused = true)]
async fn an_order_that_the_handler_refuses_is_not_tried_again() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::none(), shop.guarded_after(async |_| Err(StatusCode::NOT_FOUND)));

    let ended = place(&client, order("k")).await;

    assert_eq!((ended.answer.unwrap().status, ended.info.is_none()), (404, true));
    assert_eq!((shop.orders().len(), shop.runs()), (0, 1));
}

/// It was recorded, so the key stands for it: the client is told that it was applied, and not that it may come anew.
#[tokio::test(start_paused = true)]
async fn a_refusal_whose_answer_was_lost_is_replayed_and_final() {
    let shop = Shop::open().await;
    let server = shop.guarded_after(async |_| Err(StatusCode::NOT_FOUND));
    let client = client(&four_attempts(), &Faults::first([Fault::LoseAnswer]), server);

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, NotRetryable, Applied)));
    let answer = ended.answer.unwrap();
    assert_eq!((answer.status, answer.replayed), (404, true));
    assert_eq!((shop.orders().len(), shop.runs()), (0, 1));
}

/// The other order has the same key, by a fault of the client: it must not take the answer for its own.
#[tokio::test(start_paused = true)]
async fn the_key_of_another_order_is_refused_and_not_tried_again() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::Pass, Fault::LoseAnswer]), shop.guarded());
    place(&client, order("k")).await;

    let other = place(&client, lab::exchange::post("k", "[]")).await;

    assert_eq!(other.told(), Some((2, NotRetryable, Unknown)));
    assert_eq!(other.answer.unwrap().status, 422);
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn each_order_without_a_key_is_given_one_and_taken_once() {
    let shop = Shop::open().await;
    let faults = Faults::first([Fault::LoseAnswer, Fault::Pass, Fault::ResetBefore, Fault::LoseAnswer]);
    let client = client(&four_attempts().with_idempotency_keys(), &faults, shop.guarded());

    let first = place(&client, post_without_key("{}")).await;
    let second = place(&client, post_without_key("{}")).await;

    assert_eq!((first.told(), first.answer), (Some((2, Succeeded, Applied)), replay(1)));
    assert_eq!((second.told(), second.answer), (Some((3, Succeeded, Applied)), replay(2)));
    assert_ne!(first.info.unwrap().key(), second.info.unwrap().key());
    assert_eq!(shop.orders(), [1, 2]);
}

/// Without commit, on the store in memory: the handler runs once as long as the store holds.
#[tokio::test(start_paused = true)]
async fn on_a_memory_store_the_handler_runs_once() {
    for fault in [Fault::LoseAnswer, Fault::ResetBefore, Fault::Refused, UNAVAILABLE, Fault::LateAnswer(HOUR)] {
        let layer = IdempotencyLayer::new(MemoryStore::new(), Scope::shared());
        let app = App::numbered(&layer);
        let faults = Faults::first([fault]);
        let client = four_attempts().attempt_timeout(SECOND).layer(faults.layer(app.service()));

        let ended = place(&client, order("k")).await;

        assert_eq!(ended.told(), Some((2, Succeeded, Applied)), "{fault:?}");
        assert_eq!((ended.answer.unwrap().body, app.runs()), ("run 1".to_owned(), 1), "{fault:?}");
    }
}
