//! The client that gives up: what it is told, and what it can do then.

use http::StatusCode;
use lab::{
    app::Hold,
    exchange::{post, post_without_key},
    faults::{Fault, Faults},
};
use tower_idempotency::{
    IdempotencyKey,
    key::IDEMPOTENCY_KEY,
    retry::{
        Outcome::{Applied, NotApplied, Unknown},
        Stopped::{Attempts, Deadline, NotRepeatable, NotRetryable, Succeeded},
    },
    store::Status,
};

use crate::shop::{SECOND, Shop, bare, client, four_attempts, order, place, replay, taken};

#[tokio::test(start_paused = true)]
async fn where_every_answer_is_lost_the_outcome_is_unknown_and_its_key_gets_the_answer() {
    let shop = Shop::open().await;
    let client =
        client(&four_attempts().with_idempotency_keys(), &Faults::first([Fault::LoseAnswer; 4]), shop.guarded());

    let lost = place(&client, post_without_key("{}")).await;
    assert_eq!(lost.told(), Some((4, Attempts, Unknown)));
    assert_eq!(lost.answer, None);
    let key = lost.info.unwrap().key().unwrap().clone();
    assert!(matches!(status(&shop, &key).await, Status::Done { .. }));
    let mut again = post_without_key("{}");
    again.headers_mut().insert(IDEMPOTENCY_KEY, key.to_header_value());
    let found = place(&client, again).await;

    assert_eq!(found.answer, replay(1));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_listens_the_outcome_is_not_applied_without_a_key_too() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::always(Fault::Refused), shop.guarded());

    let keyed = place(&client, order("k")).await;
    let bare = place(&client, post_without_key("{}")).await;

    assert_eq!(keyed.told(), Some((4, Attempts, NotApplied)));
    assert_eq!(bare.told(), Some((4, Attempts, NotApplied)));
    assert!(shop.orders().is_empty());
}

/// Refused connections prove nothing about the attempt before them.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_after_a_lost_answer_leaves_the_outcome_unknown() {
    let shop = Shop::open().await;
    let faults = Faults::first([Fault::LoseAnswer, Fault::Refused, Fault::Refused, Fault::Refused]);
    let client = client(&four_attempts(), &faults, shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((4, Attempts, Unknown)));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test(start_paused = true)]
async fn where_every_answer_is_503_the_last_one_is_handed_over_and_the_outcome_is_unknown() {
    let shop = Shop::open().await;
    let faults = Faults::always(Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE));
    let client = client(&four_attempts(), &faults, shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((4, Attempts, Unknown)));
    assert_eq!(ended.answer, bare(503));
    assert!(shop.orders().is_empty());
}

/// A refusal settles nothing, once an attempt was maybe applied.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_answer_leaves_the_outcome_unknown() {
    let shop = Shop::open().await;
    let faults = Faults::first([Fault::LoseAnswer, Fault::AnsweredBefore(StatusCode::FORBIDDEN)]);
    let client = client(&four_attempts(), &faults, shop.guarded());

    let ended = place(&client, order("k")).await;

    assert_eq!(ended.told(), Some((2, NotRetryable, Unknown)));
    assert_eq!(ended.answer, bare(403));
    assert_eq!(shop.orders(), [1]);
}

/// The work goes on, is committed, and waits for whoever asks with the key.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_while_the_work_runs_leaves_the_outcome_unknown() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let server = shop.guarded_at(&hold);
    let patient = client(&four_attempts(), &Faults::none(), server.clone());
    let client = client(&four_attempts().deadline(SECOND), &Faults::none(), server);

    let ended = place(&client, order("k")).await;
    assert_eq!(ended.told(), Some((1, Deadline, Unknown)));
    assert!(shop.orders().is_empty());
    hold.let_go(1);
    let found = place(&patient, order("k")).await;

    assert_eq!(found.answer, replay(1));
    assert_eq!((shop.orders(), shop.runs()), (vec![1], 1));
}

/// Rule 1 of the client.
#[tokio::test(start_paused = true)]
async fn an_order_without_a_key_is_sent_once_where_it_may_have_been_taken() {
    let unavailable = Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE);
    for (fault, taken) in [(Fault::LoseAnswer, 1), (Fault::ResetBefore, 0), (unavailable, 0)] {
        let shop = Shop::open().await;
        let faults = Faults::first([fault]);
        let client = client(&four_attempts(), &faults, shop.naive());

        let ended = place(&client, post_without_key("{}")).await;

        assert_eq!(ended.told(), Some((1, NotRepeatable, Unknown)), "{fault:?}");
        assert_eq!((faults.requests(), shop.orders().len()), (1, taken), "{fault:?}");
    }
}

/// The retry layer around a layer that wants a key: 400, final, and nothing was done.
#[tokio::test(start_paused = true)]
async fn an_order_without_the_key_that_it_needs_is_refused_at_once() {
    let shop = Shop::open().await;
    let server = axum::Router::new()
        .route("/reports", axum::routing::post(async || StatusCode::CREATED))
        .layer(shop.layer().require_key());
    let client = client(&four_attempts(), &Faults::none(), server);

    let without = place(&client, post_without_key("{}")).await;
    let with = place(&client, post("k", "{}")).await;

    assert_eq!((without.answer.unwrap().status, without.info.is_none()), (400, true));
    assert_eq!(with.answer, bare(201));
}

/// A first attempt that is surely not applied leaves no doubt behind.
#[tokio::test(start_paused = true)]
async fn an_order_that_is_taken_after_a_refused_connection_needs_no_key() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::Refused]), shop.naive());

    let ended = place(&client, post_without_key("{}")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!(ended.answer, taken(1));
    assert_eq!(shop.orders(), [1]);
}

async fn status(shop: &Shop, key: &IdempotencyKey) -> Status {
    let (parts, ()) = http::Request::new(()).into_parts();
    let key = shop.layer().scoped_key(&parts, key).unwrap();
    shop.layer().status(&key).await.unwrap()
}
