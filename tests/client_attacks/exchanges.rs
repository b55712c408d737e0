//! Rule 12, seen red: a service inside that makes several exchanges for each call. The failure of its last one says
//! nothing of the first, which is why `RetryLayer` has such a service stand outside.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use lab::{
    exchange::{HeldRequest, get, post, post_without_key},
    scripted::{Scripted, ScriptedBody, Step},
};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};
use tower_idempotency::retry::{Outcome, RetryError};

use crate::support::{at_once, send};

/// Follows one redirect, with a GET.
fn following<S>(
    client: S,
) -> impl Service<HeldRequest, Response = http::Response<ScriptedBody>, Error = BoxError, Future: Send> + Clone
where
    S: Service<HeldRequest, Response = http::Response<ScriptedBody>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    service_fn(move |request: Request<Full<Bytes>>| {
        let client = client.clone();
        async move {
            let response = client.clone().oneshot(request).await.map_err(Into::into)?;
            match response.headers().get("location") {
                Some(to) => client.oneshot(get(to.to_str().expect("text"))).await.map_err(Into::into),
                None => Ok(response),
            }
        }
    })
}

/// The charge is made, and the hop to its receipt is refused once.
fn a_charge_whose_receipt_is_refused() -> Scripted {
    let made = || Step::with_headers(303, &[("location", "/receipts/1")]);
    Scripted::new([made(), Step::refused(), made(), Step::status(200)])
}

fn charges(server: &Scripted) -> usize {
    server.seen().iter().filter(|seen| seen.request.method() == "POST").count()
}

/// Rule 12: around a follower of redirects "refused" is taken for a proof, and the customer pays twice.
#[tokio::test(start_paused = true)]
async fn seen_red_around_a_follower_of_redirects_a_post_is_sent_twice() {
    let server = a_charge_whose_receipt_is_refused();

    send(at_once().layer(following(server.clone())), post_without_key("42 EUR")).await.expect("a receipt");

    assert_eq!(charges(&server), 2);
}

/// Rule 12: where the follower stands outside, the hop alone is repeated.
#[tokio::test(start_paused = true)]
async fn below_a_follower_of_redirects_a_post_is_sent_once() {
    let server = a_charge_whose_receipt_is_refused();

    send(following(at_once().layer(server.clone())), post_without_key("42 EUR")).await.expect("an answer");

    assert_eq!(charges(&server), 1);
}

/// Rule 12: the outcome of a poll, which has retries of its own, is taken for that of the POST before it.
#[tokio::test(start_paused = true)]
async fn seen_red_around_a_poll_an_accepted_post_is_called_not_applied() {
    let accepts = Scripted::new([Step::status(202)]);
    let (posts, polls) = (accepts.clone(), at_once().layer(Scripted::new([Step::refused()])));
    let accepted_and_polled = service_fn(move |request: Request<Full<Bytes>>| {
        let (posts, polls) = (posts.clone(), polls.clone());
        async move {
            posts.oneshot(request).await?;
            Ok::<_, BoxError>(polls.oneshot(get("/operations/1")).await?)
        }
    });

    let ended = send(at_once().layer(accepted_and_polled), post("k", "42 EUR")).await;

    assert_eq!(ended.err().as_ref().map(RetryError::outcome), Some(Outcome::NotApplied));
    assert!(accepts.attempts() > 0);
}
