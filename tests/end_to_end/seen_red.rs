//! The same faults, and a client or a server that does it wrong: the order is taken twice.

use http::{Request, StatusCode};
use lab::{
    exchange::{HeldRequest, post_without_key},
    faults::{Fault, Faults},
};
use tower::ServiceBuilder;
use tower_idempotency::{
    IdempotencyKey,
    key::IDEMPOTENCY_KEY,
    retry::{AssumeRepeatable, HoldResponses, Outcome::Applied, Stopped::Succeeded},
};

use crate::shop::{HOUR, SECOND, Shop, client, four_attempts, order, place, taken};

/// For a client that sends it again as if that did no harm.
pub(crate) fn assumed_repeatable() -> HeldRequest {
    let mut order = post_without_key("{}");
    order.extensions_mut().insert(AssumeRepeatable);
    order
}

#[tokio::test(start_paused = true)]
async fn without_a_key_an_order_whose_answer_is_lost_cut_or_late_is_taken_twice() {
    for fault in [Fault::LoseAnswer, Fault::CutAnswer, Fault::LateAnswer(HOUR)] {
        let shop = Shop::open().await;
        let client = ServiceBuilder::new()
            .layer(four_attempts().attempt_timeout(SECOND))
            .layer(HoldResponses::up_to(1 << 20))
            .layer(Faults::first([fault]))
            .service(shop.naive());

        let ended = place(&client, assumed_repeatable()).await;

        assert_eq!(ended.told(), Some((2, Succeeded, Applied)), "{fault:?}: and nothing tells the client");
        assert_eq!((ended.answer, shop.orders()), (taken(2), vec![1, 2]), "{fault:?}");
    }
}

/// A key that the server does not know is none: it opens the gate all the same.
#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_keys_takes_the_order_twice() {
    let shop = Shop::open().await;
    let client = client(&four_attempts(), &Faults::first([Fault::LoseAnswer]), shop.naive());

    place(&client, order("k")).await;

    assert_eq!(shop.orders(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_after_its_write_is_taken_twice_without_a_commit() {
    let shop = Shop::open().await;
    let server = shop.naive_answering(|run| match run {
        1 => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CREATED,
    });
    let client = client(&four_attempts(), &Faults::none(), server);

    place(&client, assumed_repeatable()).await;

    assert_eq!(shop.orders(), [1, 2]);
}

/// Seen by the guarded server as two operations.
#[tokio::test(start_paused = true)]
async fn a_new_key_for_each_attempt_takes_the_order_twice() {
    let shop = Shop::open().await;
    let client = ServiceBuilder::new()
        .layer(four_attempts())
        .map_request(|mut order: Request<_>| {
            order.headers_mut().insert(IDEMPOTENCY_KEY, IdempotencyKey::random().to_header_value());
            order
        })
        .layer(Faults::first([Fault::LoseAnswer]))
        .service(shop.guarded());

    let ended = place(&client, assumed_repeatable()).await;

    assert_eq!((ended.answer, shop.orders()), (taken(2), vec![1, 2]));
}
