//! One commit: kept, rolled back, passed, dropped, late.

use http::StatusCode;
use tokio::time::advance;

use super::shop::{LEASE, LIMIT, Shop, created, gated, insert, kind, recorder};
use crate::{
    idempotency::CommitErrorKind,
    store::{Held, Store},
};

#[tokio::test]
async fn the_write_and_the_completion_are_kept_together() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    let answered = order.claim.commit_response(insert("book")).await.unwrap();

    assert_eq!((answered.status(), answered.body().as_ref()), (StatusCode::CREATED, b"book".as_ref()));
    assert_eq!(shop.orders(), ["book"]);
    assert_eq!(shop.outcome("a").await, "done: book");
    assert_eq!(order.ended().await, "committed: book");
}

/// V31.
#[tokio::test]
async fn a_second_commit_runs_nothing_from_a_clone_either() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    order.claim.commit_response(insert("book")).await.unwrap();
    let again = order.claim.clone().commit_response(insert("pen")).await;

    assert_eq!(kind(again), CommitErrorKind::AlreadyCommitted);
    assert_eq!(shop.orders(), ["book"]);
}

#[tokio::test]
async fn a_commit_after_the_handler_has_ended_runs_nothing() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    assert_eq!(order.ended().await, "open");
    assert_eq!(kind(order.claim.commit_response(insert("book")).await), CommitErrorKind::Ended);
    assert!(shop.orders().is_empty());
}

/// V7.
#[tokio::test(start_paused = true)]
async fn a_passed_commit_writes_nothing() {
    let shop = Shop::open().await;
    let passed = shop.claim("a").await;
    advance(LEASE).await;
    let successor = shop.claim("a").await;

    assert_eq!(kind(passed.claim.commit_response(insert("late")).await), CommitErrorKind::Passed);
    assert_eq!(passed.ended().await, "passed");
    assert!(shop.orders().is_empty());
    successor.claim.commit_response(insert("book")).await.unwrap();
    assert_eq!(shop.orders(), ["book"]);
}

/// V30: a commit demands an unfinished record.
#[tokio::test]
async fn a_commit_of_a_finished_or_freed_key_writes_nothing() {
    let shop = Shop::open().await;
    let [finished, freed] = [shop.claim("a").await, shop.claim("b").await];
    let outcome = recorder(1024).outcome(&created("finished"));
    assert_eq!(shop.store.complete(&finished.token, outcome).await.unwrap(), Held::Yes);
    assert_eq!(shop.store.force_release(freed.token.key()).await.unwrap(), Held::Yes);

    assert_eq!(kind(finished.claim.commit_response(insert("late")).await), CommitErrorKind::Passed);
    assert_eq!(kind(freed.claim.commit_response(insert("late")).await), CommitErrorKind::Passed);
    assert!(shop.orders().is_empty());
    assert_eq!(shop.outcome("a").await, "done: finished");
}

/// V32.
#[tokio::test(start_paused = true)]
async fn a_commit_whose_handler_was_dropped_settles_all_the_same() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    let (mut gate, closure) = gated("book");
    let handler = tokio::spawn({
        let claim = order.claim.clone();
        async move { claim.commit_response(closure).await }
    });
    gate.entered().await;
    handler.abort();
    assert!(handler.await.unwrap_err().is_cancelled());
    gate.open();

    assert_eq!(order.ended().await, "committed: book");
    assert_eq!(shop.outcome("a").await, "done: book");
}

/// V37.
#[tokio::test(start_paused = true)]
async fn a_commit_past_its_limit_is_unknown_to_the_handler_and_known_once_it_ends() {
    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    let (mut gate, closure) = gated("book");
    let handler = tokio::spawn({
        let claim = order.claim.clone();
        async move { claim.commit_response(closure).await }
    });
    gate.entered().await;
    advance(LIMIT).await;
    assert_eq!(kind(handler.await.unwrap()), CommitErrorKind::Unknown);
    assert_eq!(kind(order.claim.commit_response(insert("pen")).await), CommitErrorKind::UnderWay);
    gate.open();

    assert_eq!(order.ended().await, "committed: book");
    assert_eq!(shop.orders(), ["book"]);
}

#[tokio::test]
async fn a_response_over_the_limit_commits_and_closes_the_key() {
    let shop = Shop::open().await;
    let order = shop.claim_with("a", 3).await;
    let answered = order.claim.commit_response(insert("book")).await.unwrap();
    assert_eq!(answered.body(), "book");
    assert_eq!(shop.orders(), ["book"]);
    assert_eq!(shop.outcome("a").await, "closed: 201 Created");
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn what_turns_into_a_response_is_committed_and_a_stream_is_rolled_back() {
    use axum::{body::Body, http::header, response::IntoResponse as _};
    use http_body_util::BodyExt as _;

    use super::shop::ShopError;
    use crate::store::sqlite::Tx;

    let shop = Shop::open().await;
    let order = shop.claim("a").await;
    let streaming = order.claim.commit(|tx: &Tx<'_>| {
        insert("streamed")(tx)?;
        let frames = futures_util::stream::iter([Ok::<_, std::io::Error>("a frame")]);
        Ok::<_, ShopError>(Body::from_stream(frames).into_response())
    });
    assert_eq!(kind(streaming.await), CommitErrorKind::StreamingBody);
    assert!(shop.orders().is_empty());

    let answered = order.claim.commit(|tx: &Tx<'_>| {
        insert("book")(tx)?;
        Ok::<_, ShopError>((StatusCode::CREATED, [(header::LOCATION, "/orders/1")], "book"))
    });
    let answered = answered.await.unwrap();
    assert_eq!(answered.headers()[header::LOCATION], "/orders/1");
    assert_eq!(answered.into_body().collect().await.unwrap().to_bytes(), "book");
    assert_eq!(shop.outcome("a").await, "done: book");
}
