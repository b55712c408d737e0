//! Rule 18: how long a key is remembered.

use std::time::Duration;

use http::{Method, StatusCode};
use lab::{
    exchange::{get, post, post_without_key, send, sending},
    gate::{Gate, Verb},
    handler::Handler,
};
use tower::Layer;
use tower_idempotency::IdempotencyLayer;

use crate::support::{TestStore, gate, layer, millis, pass, secs, store};

/// Rule 18: 24 hours, counted from the end; after that the key is new.
#[tokio::test(start_paused = true)]
async fn a_key_is_remembered_for_a_day_from_its_end() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).without_purge().layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    pass(secs(600)).await;
    gate.add_permits(2);
    first.await.unwrap();

    pass(secs(24 * 60 * 60) - millis(1)).await;
    let remembered = send(&service, post("k", "{}")).await;
    pass(millis(1)).await;
    let new = send(&service, post("k", "{}")).await;

    assert_eq!((remembered.text(), remembered.replayed()), ("run 1", Some("true")));
    assert_eq!((new.text(), new.replayed()), ("run 2", Some("false")));
}

/// Rule 18: a record with a live lease never expires, and its retention is whole afterwards (V36).
#[tokio::test(start_paused = true)]
async fn a_handler_that_outlives_the_retention_keeps_its_key() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let service = layer(&store()).retention(secs(60)).purge_interval(secs(1)).layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    pass(secs(120)).await;

    let beside = send(&service, post("k", "{}")).await;
    gate.add_permits(1);
    first.await.unwrap();
    pass(secs(59)).await;

    assert_eq!(beside.status, StatusCode::CONFLICT);
    assert_eq!((send(&service, post("k", "{}")).await.replayed(), handler.runs()), (Some("true"), 1));
}

/// Rule 18: after retention another request may have the key.
#[tokio::test(start_paused = true)]
async fn after_its_retention_a_key_may_name_another_request() {
    let service = layer(&store()).retention(secs(60)).layer(Handler::numbered());
    send(&service, post("k", "{}")).await;
    pass(secs(60)).await;

    assert_eq!(send(&service, post("k", "[]")).await.text(), "run 2");
}

/// Rule 18: purging begins with the first guarded request.
#[tokio::test(start_paused = true)]
async fn purging_begins_with_the_first_guarded_request() {
    let store = store();
    let service = layer(&store).layer(Handler::numbered());
    send(&service, get("/reports")).await;
    send(&service, post_without_key("{}")).await;
    pass(secs(300)).await;
    let before = store.calls(Verb::Purge);

    send(&service, post("k", "{}")).await;
    pass(secs(301)).await;

    assert_eq!((before, store.calls(Verb::Purge)), (0, 5));
}

/// Rule 18: one task per layer, whatever its clones and services.
#[tokio::test(start_paused = true)]
async fn the_services_and_clones_of_a_layer_purge_once() {
    let store = store();
    let layer = layer(&store).purge_interval(secs(10));
    for service in [layer.layer(Handler::numbered()), layer.clone().layer(Handler::numbered())] {
        send(&service, post("k", "{}")).await;
    }

    pass(secs(11)).await;

    assert_eq!(store.calls(Verb::Purge), 1);
}

/// Rule 18: purging ends with the last clone's drop.
#[tokio::test(start_paused = true)]
async fn purging_ends_with_the_last_clone() {
    let store = store();
    let layer = layer(&store).purge_interval(secs(10));
    let service = layer.layer(Handler::numbered());
    send(&service, post("k", "{}")).await;

    drop(layer);
    pass(secs(11)).await;
    let with_a_service_left = store.calls(Verb::Purge);
    drop(service);
    pass(secs(60)).await;

    assert_eq!((with_a_service_left, store.calls(Verb::Purge)), (1, 1));
}

/// Rule 18: old records go in small batches, and live ones stay (V28).
#[tokio::test(start_paused = true)]
async fn old_records_are_purged_in_batches() {
    let store = store();
    let service = layer(&store).retention(secs(30)).layer(Handler::numbered());
    for n in 0..1_200 {
        send(&service, post(&format!("k{n}"), "{}")).await;
    }
    pass(secs(50)).await;
    send(&service, post("young", "{}")).await;

    pass(secs(11)).await;

    assert_eq!((store.calls(Verb::Purge), store.inner().len()), (3, 1));
}

/// Rule 18: a purge that fails is left to the next.
#[tokio::test(start_paused = true)]
async fn a_purge_that_fails_is_tried_again_at_the_next_interval() {
    let store = store();
    let service = layer(&store).layer(Handler::numbered());
    store.set_once(Verb::Purge, Gate::FailForGood);
    send(&service, post("k", "{}")).await;

    pass(secs(150)).await;

    assert_eq!(store.calls(Verb::Purge), 2);
}

/// Rule 17: each call of the store has a limit, and so has a purge.
#[tokio::test(start_paused = true)]
async fn a_purge_that_is_never_answered_does_not_end_the_purging() {
    let store = store();
    let service = layer(&store).layer(Handler::numbered());
    store.set_once(Verb::Purge, Gate::Never);
    send(&service, post("k", "{}")).await;

    pass(secs(150)).await;

    assert_eq!(store.calls(Verb::Purge), 2);
}

/// Rule 18: purging can be left to the server.
#[tokio::test(start_paused = true)]
async fn a_layer_without_purge_never_purges() {
    let store = store();
    let service = layer(&store).without_purge().layer(Handler::numbered());
    send(&service, post("k", "{}")).await;

    pass(secs(600)).await;

    assert_eq!(store.calls(Verb::Purge), 0);
}

/// Whatever a setting takes, its largest value means no limit and no harm.
#[tokio::test(start_paused = true)]
async fn the_longest_time_is_a_setting_like_any_other() {
    let (store, gate) = (store(), gate());
    let handler = Handler::numbered_at(&gate);
    let longest = Duration::MAX;
    let service = layer(&store)
        .max_run(longest)
        .wait_for(longest)
        .max_stall(longest)
        .retention(longest)
        .store_timeout(longest)
        .purge_interval(longest)
        .retry_after(longest)
        .layer(handler.clone());
    let first = sending(&service, post("k", "{}"));
    pass(secs(1)).await;
    let waiter = sending(&service, post("k", "{}"));
    pass(secs(60)).await;
    gate.add_permits(1);

    assert_eq!(first.await.unwrap().replayed(), Some("false"));
    assert_eq!(waiter.await.unwrap().replayed(), Some("true"));
    store.set(Verb::Claim, Gate::Fail);
    assert_eq!(send(&service, post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

/// Rule 18: what a server must publish is readable from the layer.
#[tokio::test(start_paused = true)]
async fn what_a_server_must_publish_is_readable_from_the_layer() {
    let defaults: IdempotencyLayer<TestStore> = layer(&store());
    let changed = layer(&store())
        .methods([Method::PUT])
        .require_key()
        .max_key_length(36)
        .max_request_body(1)
        .max_recorded_body(2)
        .retention(secs(3))
        .lease(secs(4))
        .max_run(secs(5))
        .mismatch_status(StatusCode::CONFLICT)
        .without_replay_marker();

    let (default, set) = (defaults.settings(), changed.settings());

    assert_eq!((default.retention(), set.retention()), (secs(24 * 60 * 60), secs(3)));
    assert_eq!((default.methods(), set.methods()), (&[Method::POST, Method::PATCH][..], &[Method::PUT][..]));
    assert_eq!((default.key_required(), set.key_required()), (false, true));
    assert_eq!((default.max_key_length(), set.max_key_length()), (255, 36));
    assert_eq!((default.max_request_body(), set.max_request_body()), (2 << 20, 1));
    assert_eq!((default.max_recorded_body(), set.max_recorded_body()), (1 << 20, 2));
    assert_eq!((default.lease(), set.lease()), (secs(10), secs(4)));
    assert_eq!((default.max_run(), set.max_run()), (secs(15 * 60), secs(5)));
    assert_eq!((default.mismatch_status().as_u16(), set.mismatch_status().as_u16()), (422, 409));
    assert_eq!(default.key_header(), "idempotency-key");
    assert_eq!(default.replay_marker().map(|name| name.as_str()), Some("idempotency-replayed"));
    assert_eq!(set.replay_marker(), None);
}
