//! Where requests come into a server, and answers leave it.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use serde::Deserialize;
use tower_idempotency::key::IDEMPOTENCY_REPLAYED;

use super::{Event, Name, Watch, Witness};

/// An answer whose body fails at once; goes with it as an extension.
#[derive(Clone, Copy, Debug)]
pub struct Lost;

/// The answers here are a few lines.
const LONGEST_ANSWER: usize = 64 << 10;

/// The whole of an application, before this witness.
pub fn watched(app: Router, witness: Arc<dyn Witness>) -> Router {
    app.layer(middleware::from_fn_with_state(witness, through))
}

async fn through(State(witness): State<Arc<dyn Witness>>, mut request: Request, next: Next) -> Response {
    let Some(Name { client, attempt }) = Name::read(request.headers()) else { return next.run(request).await };
    let watch = Watch::of(witness, client).attempt(attempt);
    watch.saw(Event::Arrived);
    request.extensions_mut().insert(watch.clone());
    let response = next.run(request).await;
    let status = response.status().as_u16();
    if response.extensions().get::<Lost>().is_some() {
        watch.saw(Event::AnswerLost { status });
        return response;
    }
    let replayed = response.headers().get(IDEMPOTENCY_REPLAYED).is_some_and(|mark| mark == "true");
    let (head, body) = response.into_parts();
    let body = to_bytes(body, LONGEST_ANSWER).await.unwrap_or_default();
    watch.saw(Event::Answered { status, replayed, title: title(&body) });
    Response::from_parts(head, Body::from(body))
}

fn title(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Problem {
        title: String,
    }
    serde_json::from_slice(body).ok().map(|Problem { title }| title)
}
