//! Rules 7 and 10: dropped at every poll.

use tower::Layer;
use tower_idempotency::{
    RetryLayer,
    retry::{Backoff, Budget},
};

use crate::{
    At, Copies, Driven, Dropped, Rest, called, dropped_at_each_poll, polled,
    scenes::{FULL, SECOND, Scene, in_parts, scenes, service, used_budget},
};

async fn played(scene: &Scene) -> Vec<Dropped> {
    dropped_at_each_poll(async || scene.begin(used_budget().await).await).await
}

#[tokio::test(start_paused = true)]
async fn the_scenes_pass_through_every_state() {
    for (name, scene) in scenes() {
        let mut path: Vec<At> = played(&scene).await.iter().map(|dropped| dropped.at).collect();
        path.dedup();
        assert_eq!(path, scene.path, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_at_any_poll_has_paid_for_what_it_sent() {
    for (name, scene) in scenes() {
        for dropped in played(&scene).await {
            assert_eq!(dropped.available, scene.left(dropped.sent, dropped.at), "{name}: {dropped:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_at_any_poll_leaves_nothing_behind() {
    for (name, scene) in scenes() {
        for dropped in played(&scene).await {
            assert_eq!(dropped.rest, Rest::default(), "{name}: {dropped:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_at_any_poll_does_nothing_afterwards() {
    for (name, scene) in scenes() {
        for dropped in played(&scene).await {
            assert_eq!(dropped.later, (0, 0.0), "{name}: {dropped:?}");
        }
    }
}

/// gRPC's bucket takes a token of each attempt that has failed, and none of the retry.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_at_any_poll_has_paid_for_what_has_failed() {
    for (name, scene) in scenes() {
        for dropped in dropped_at_each_poll(async || scene.begin(Budget::grpc()).await).await {
            if !matches!(dropped.at, At::Ended(_)) {
                assert_eq!(dropped.available, 10.0 - dropped.ended as f64, "{name}: {dropped:?}");
            }
        }
    }
}

/// One bucket and forty requests, dropped at their first to their last poll; no end of theirs earns anything.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_together_have_paid_for_what_they_sent() {
    let budget = used_budget().await;
    let service = service((0..80).map(|_| in_parts(503)).collect());
    let layer = RetryLayer::new().backoff(Backoff::exponential(SECOND, SECOND)).budget(budget.clone());
    let client = layer.layer(service.clone());
    let requests = (0..40).map(|polls| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut attempts: Driven<_> = Box::pin(called(client, &Copies::default()).await);
            polled(&mut attempts, polls % 13).await
        })
    });
    for request in requests.collect::<Vec<_>>() {
        request.await.expect("no panic");
    }

    let retries = service.attempts() - 40;
    assert!(retries >= 15, "{retries} retries were sent");
    assert_eq!(budget.available(), FULL - 5.0 * retries as f64);
}
