//! S43 to S47: refusals, retention, and a store that fails.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use lab::{
    app::{App, Hold, answer, created},
    exchange::{Answer, post, post_without_key, send},
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tower::{Layer, service_fn};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore,
    idempotency::{MaybeHeld, Recording, Rejection, RejectionKind},
};

use crate::{keyed, shared, spied};

type Layered = IdempotencyLayer<GatedStore<MemoryStore>>;

const SECRET: &str = "4929-1111-2222-3333";

/// A request whose body breaks off.
async fn broken_body(layer: &Layered) -> Answer {
    let inner = service_fn(|_: Request<MaybeHeld<_>>| async {
        Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::default()))
    });
    let frames = [Ok(Frame::data(Bytes::from_static(b"{"))), Err("the connection was reset")];
    let body = StreamBody::new(futures_util::stream::iter(frames)).map_err(std::io::Error::other);
    send(&layer.layer(inner), post("broken", "").map(|_| body)).await
}

/// One refusal of each kind that needs no commit, of a layer that is set as `set` does.
async fn refusals(set: impl Fn(Layered) -> Layered) -> Vec<(u16, &'static str, Answer)> {
    let store = spied();
    let layer = set(shared(store.clone())
        .require_key()
        .max_request_body(100)
        .max_run(Duration::from_secs(60))
        .max_recorded_body(1_000));
    let hold = Hold::new();
    let held = hold.clone();
    let app = App::new(&layer, move |_, request: Request<Bytes>| {
        let held = held.clone();
        async move {
            let mut response = created(SECRET);
            match request.headers()["idempotency-key"].to_str() {
                Ok("held" | "taken") => held.pass().await,
                Ok("slow") => std::future::pending().await,
                Ok("large") => response = answer(StatusCode::ACCEPTED, SECRET.repeat(100)),
                _ => {}
            }
            response.extensions_mut().insert(Recording::Keep);
            response
        }
    });
    app.send(post("done", SECRET)).await;
    app.send(post("large", SECRET)).await;
    let running = app.start(post("held", SECRET));
    hold.reached().await;
    let mut refusals = vec![
        (400, "MissingKey", app.send(post_without_key(SECRET)).await),
        (400, "InvalidKey", app.send(keyed("\"4929-1111")).await),
        (400, "UnreadableBody", broken_body(&layer).await),
        (413, "BodyTooLarge", app.send(post("x", SECRET.repeat(10))).await),
        (409, "InProgress", app.send(post("held", SECRET)).await),
        (422, "KeyReused", app.send(post("done", "{}")).await),
        (410, "NotReplayable", app.send(post("large", SECRET)).await),
        (503, "RunTimedOut", app.send(post("slow", SECRET)).await),
    ];
    hold.let_go(1);
    running.await.unwrap();

    store.set(Verb::Renew, Gate::Never);
    let taken = app.start(post("taken", SECRET));
    hold.reached().await;
    tokio::time::advance(Duration::from_secs(10)).await;
    let taking = app.start(post("taken", SECRET));
    hold.reached().await;
    hold.let_go(1);
    refusals.push((409, "TakenOver", taken.await.unwrap()));
    hold.let_go(1);
    taking.await.unwrap();

    store.set(Verb::Claim, Gate::Fail);
    refusals.push((503, "StoreUnavailable", app.send(post("y", SECRET)).await));
    refusals
}

/// S43, 9457 3 and 3.1.2, MUST: refusals are `application/problem+json`, parse as JSON, and their `status` is that of
/// the response.
#[tokio::test(start_paused = true)]
async fn s43_a_refusal_is_a_problem_with_its_status() {
    for (status, kind, answer) in refusals(|layer| layer).await {
        assert_eq!(problem::kind(&answer), (status, kind.to_owned()));
        assert!(problem::of(&answer)["detail"].is_string());
    }
}

/// S44, 9457 3.1.1 and 3.1.3, 9205 4.6, SHOULD: each kind has an absolute `type` URI of its own and a constant `title`.
#[tokio::test(start_paused = true)]
async fn s44_each_kind_has_a_type_of_its_own_and_a_constant_title() {
    let problems = |refusals: Vec<(u16, &str, Answer)>| -> Vec<(String, String)> {
        let member = |answer: &Answer, name: &str| problem::of(answer)[name].as_str().expect("a string").to_owned();
        refusals.iter().map(|(.., answer)| (member(answer, "type"), member(answer, "title"))).collect()
    };
    let first = problems(refusals(|layer| layer).await);
    let again = problems(refusals(|layer| layer).await);
    assert_eq!(first, again);
    assert_eq!(first.iter().map(|(uri, _)| uri).collect::<HashSet<_>>().len(), first.len());
    assert!(first.iter().all(|(uri, title)| uri.starts_with("https://") && !title.is_empty()));
}

/// S44: the URIs are a setting.
#[tokio::test(start_paused = true)]
async fn s44_the_type_uris_can_be_overridden() {
    for (_, kind, answer) in refusals(|layer| layer.problem_types("https://api.example.com/problems/")).await {
        assert_eq!(problem::of(&answer)["type"], format!("https://api.example.com/problems/{kind}"));
    }
}

/// S44; rule 19: the whole rendering can be replaced, and layers outside are told the reason.
#[tokio::test(start_paused = true)]
async fn s44_the_rendering_can_be_replaced() {
    use tower::ServiceExt;
    let layer = shared(spied()).require_key().with_rejection_response(|rejection| {
        let mut response = http::Response::new(Bytes::from_static(b"no key"));
        *response.status_mut() = rejection.status();
        response
    });
    let response = App::numbered(&layer).service().oneshot(post_without_key("{}")).await.unwrap();
    let rejection = response.extensions().get::<Rejection>().expect("the reason");
    assert!(matches!(rejection.kind(), RejectionKind::MissingKey));
    assert_eq!(Answer::of(response).await.text(), "no key");
}

/// S45, 9457 5 and 9205 4.9.1, own: a refusal holds nothing of a stored response, of a request or of a fingerprint, and
/// is not to be stored.
#[tokio::test(start_paused = true)]
async fn s45_a_refusal_tells_nothing_of_any_data() {
    for (_, kind, answer) in refusals(|layer| layer).await {
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{kind}");
        let hex = answer.text().split(|c: char| !c.is_ascii_hexdigit()).map(str::len).max();
        assert!(!answer.text().contains("4929") && hex < Some(8), "{kind}: {}", answer.text());
    }
}

/// S46, IK 2.3 and 2.5.2: the retention is a setting and readable from the layer, so that it can be published.
#[test]
fn s46_the_retention_is_readable_from_the_layer() {
    assert_eq!(shared(spied()).settings().retention(), Duration::from_secs(24 * 60 * 60));
    assert_eq!(shared(spied()).retention(Duration::from_secs(60)).settings().retention(), Duration::from_secs(60));
}

/// S46, ACP 6.6: at TTL - 1 a replay, at TTL + 1 it executes as new. The time counts from the end of the request, as
/// rule 18 has it, and not from its beginning.
#[tokio::test(start_paused = true)]
async fn s46_a_key_is_remembered_for_the_retention_and_no_longer() {
    const TTL: Duration = Duration::from_secs(60);
    const RUN: Duration = Duration::from_secs(45);
    for purged in [false, true] {
        let store = MemoryStore::new();
        let layer = shared(store.clone()).retention(TTL);
        let layer = if purged { layer.purge_interval(Duration::from_millis(500)) } else { layer.without_purge() };
        let app = App::new(&layer, |run, _| async move {
            tokio::time::sleep(RUN).await;
            created(format!("run {run}"))
        });
        app.send(post("k", "{}")).await;

        tokio::time::advance(TTL - Duration::from_secs(1)).await;
        assert_eq!(app.send(post("k", "{}")).await.replayed(), Some("true"));
        tokio::time::advance(Duration::from_secs(2)).await;
        let new = app.send(post("k", "{}")).await;
        assert_eq!((new.text(), new.replayed()), ("run 2", Some("false")));
    }
}

/// S47, own: a store that fails at the claim is answered 503 with Retry-After, and the inner service is not called.
#[tokio::test(start_paused = true)]
async fn s47_a_store_that_fails_at_the_claim_is_503() {
    for gate in [Gate::Fail, Gate::FailForGood, Gate::Never, Gate::LoseAnswer] {
        let store = spied();
        store.set(Verb::Claim, gate);
        let app = App::numbered(&shared(store));
        let answer = app.send(post("k", "{}")).await;
        assert_eq!(problem::kind(&answer), (503, "StoreUnavailable".into()));
        assert_eq!((answer.header("retry-after"), app.runs()), (Some("1"), 0));
    }
}

/// S47: to serve all the same is an option, by its name.
#[tokio::test(start_paused = true)]
async fn s47_serving_unprotected_is_an_explicit_option() {
    let store = spied();
    store.set(Verb::Claim, Gate::Fail);
    let app = App::numbered(&shared(store).serve_unprotected_when_the_store_fails());
    for run in ["run 1", "run 2"] {
        let answer = app.send(post("k", "{}")).await;
        assert_eq!((answer.status, answer.text(), answer.replayed()), (StatusCode::CREATED, run, None));
    }
}
