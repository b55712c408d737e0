//! Rule 19: what a refusal looks like.

use std::{collections::HashSet, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode};
use lab::{
    body::ScriptedBody,
    exchange::{Answer, post, post_without_key, sending},
    gate::{Gate, Verb},
    handler::{Handler, response},
};
use tower::Layer;
use tower_idempotency::{
    IdempotencyLayer,
    idempotency::{Recording, Rejection, RejectionKind},
};

use crate::support::{TestStore, gate, layer, pass, post_body, respond, secs, store};

/// Each refusal that can be had without a commit, with its rejection. The one refused holds the answer's secret.
async fn each(layer: impl Fn(&TestStore) -> IdempotencyLayer<TestStore>) -> Vec<(Rejection, Answer)> {
    let mut all = Vec::new();
    let mut keep = async |response: Response<_>| {
        let rejection = response.extensions().get::<Rejection>().expect("a rejection").clone();
        all.push((rejection, Answer::of(response).await));
    };
    let secret = || {
        Handler::answering(|call| {
            let mut response = response(201, "secret");
            response.headers_mut().insert("x-secret", "1".parse().expect("a value"));
            if call.parts.headers["idempotency-key"] == "closed" {
                response.extensions_mut().insert(Recording::CloseWithoutKeeping);
            }
            response
        })
    };

    let store_of_first = store();
    let service = layer(&store_of_first).require_key().layer(secret());
    keep(respond(&service, post_without_key("{}")).await).await;
    keep(respond(&service, post("\"", "{}")).await).await;
    for key in ["closed", "reused"] {
        respond(&service, post(key, "{}")).await;
    }
    keep(respond(&service, post("closed", "{}")).await).await;
    keep(respond(&service, post("reused", "[]")).await).await;
    store_of_first.set(Verb::Claim, Gate::Fail);
    keep(respond(&service, post("k", "{}")).await).await;

    let service = layer(&store()).max_request_body(1).layer(secret());
    keep(respond(&service, post_body("k", ScriptedBody::whole("{}"))).await).await;
    keep(respond(&service, post_body("k", ScriptedBody::streaming().fails())).await).await;
    keep(respond(&service, post_body("k", ScriptedBody::streaming().pause(secs(60)))).await).await;

    let service = layer(&store()).max_run(secs(1)).layer(Handler::numbered_at(&gate()));
    keep(respond(&service, post("k", "{}")).await).await;

    let (lapsing, a_ends, b_ends) = (store(), gate(), gate());
    let handler = Handler::numbered_at_each([&a_ends, &b_ends]);
    let service = layer(&lapsing).layer(handler.clone());
    lapsing.set(Verb::Renew, Gate::Never);
    let a = tokio::spawn({
        let service = service.clone();
        async move { respond(&service, post("k", "{}")).await }
    });
    handler.started(1).await;
    pass(secs(10)).await;
    let _b = sending(&service, post("k", "{}"));
    handler.started(2).await;
    keep(respond(&service, post("k", "{}")).await).await;
    a_ends.add_permits(1);
    keep(a.await.unwrap()).await;
    all
}

/// The last part of a problem's type.
fn name(rejection: &Rejection) -> String {
    rejection.problem_type().rsplit('.').next().expect("a name").to_owned()
}

/// Rule 19: `application/problem+json`; `status` equals the HTTP status; not to be cached; each with its own `type`.
#[tokio::test(start_paused = true)]
async fn each_refusal_is_a_problem_of_its_own_type() {
    let all = each(layer).await;

    for (rejection, answer) in &all {
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(problem["status"].as_u64(), Some(answer.status.as_u16().into()));
        assert_eq!(problem["type"].as_str(), Some(&*rejection.problem_type()));
        assert!(problem["title"].is_string() && problem["detail"].is_string());
    }
    let types: HashSet<_> = all.iter().map(|(rejection, _)| rejection.problem_type()).collect();
    assert_eq!(types.len(), 11);
}

/// Rule 19: which status each has, and which says when to come again.
#[tokio::test(start_paused = true)]
async fn each_refusal_has_its_status_and_those_that_pass_say_when_to_come_again() {
    let mut all: Vec<_> = each(layer)
        .await
        .iter()
        .map(|(rejection, answer)| {
            assert_eq!(rejection.status(), answer.status);
            assert_eq!(rejection.retry_after().is_some(), answer.header("retry-after").is_some());
            (name(rejection), answer.status.as_u16(), rejection.retry_after().map(|wait| wait.as_secs()))
        })
        .collect();
    all.sort();

    let expected = [
        ("BodyTooLarge", 413, None),
        ("BodyTooSlow", 408, None),
        ("InProgress", 409, Some(1)),
        ("InvalidKey", 400, None),
        ("KeyReused", 422, None),
        ("MissingKey", 400, None),
        ("NotReplayable", 410, None),
        ("RunTimedOut", 503, None),
        ("StoreUnavailable", 503, Some(1)),
        ("TakenOver", 409, Some(1)),
        ("UnreadableBody", 400, None),
    ];
    assert_eq!(all, expected.map(|(name, status, wait)| (name.to_owned(), status, wait)));
}

/// Rule 19: nothing of the stored response is in them.
#[tokio::test(start_paused = true)]
async fn no_refusal_holds_anything_of_the_stored_response() {
    for (_, answer) in each(layer).await {
        assert!(!answer.text().contains("secret") && answer.header("x-secret").is_none(), "{answer:?}");
    }
}

/// Rule 19: where the types point is a setting.
#[tokio::test(start_paused = true)]
async fn the_types_of_problems_may_point_elsewhere() {
    for (rejection, answer) in each(|store| layer(store).problem_types("https://example.com/problems#x.")).await {
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(problem["type"], format!("https://example.com/problems#x.{}", name(&rejection)));
    }
}

/// Rule 19: `with_rejection_response` replaces the rendering of each; the reason stays in the extensions.
#[tokio::test(start_paused = true)]
async fn the_rendering_can_be_replaced() {
    let rendered = |store: &TestStore| {
        layer(store).with_rejection_response(|rejection| {
            let mut response = Response::new(Bytes::from_static(b"no"));
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
            response.headers_mut().insert("x-why", rejection.status().as_str().parse().expect("a value"));
            response
        })
    };

    for (rejection, answer) in each(rendered).await {
        assert_eq!((answer.status, answer.text()), (StatusCode::IM_A_TEAPOT, "no"));
        assert_eq!(answer.header("x-why"), Some(rejection.status().as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "whoever renders it");
        assert_eq!(answer.header("retry-after").is_some(), rejection.retry_after().is_some());
    }
}

/// Rules 7 and 15: a 410 is marked as the replay that it is; a handler that was out of time did run; no other refusal
/// is marked.
#[tokio::test(start_paused = true)]
async fn of_all_refusals_only_410_is_marked_as_a_replay() {
    for (rejection, answer) in each(layer).await {
        let expected = match rejection.kind() {
            RejectionKind::NotReplayable { .. } => Some("true"),
            RejectionKind::RunTimedOut => Some("false"),
            _ => None,
        };
        assert_eq!(answer.replayed(), expected, "{rejection:?}");
    }
}

/// Rule 19: a rejection says when to come again in whole seconds.
#[tokio::test(start_paused = true)]
async fn retry_after_is_one_second_at_least() {
    let store = store();
    store.set(Verb::Claim, Gate::Fail);
    let service = layer(&store).retry_after(Duration::ZERO).layer(Handler::numbered());

    assert_eq!(respond(&service, post("k", "{}")).await.headers()["retry-after"], "1");
}
