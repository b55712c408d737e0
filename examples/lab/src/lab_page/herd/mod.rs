//! Herds, over HTTP.
//!
//! 1. `GET /lab/herd?clients=…&base_ms=…&cap_ms=…&seed=…&strategies=a,b` plays a herd once with each strategy, and answers
//!    with events: `playing` before a strategy, `outcome` after it, `done` at the end. The same query, the same bytes.
//! 2. What is unknown, missing, twice there or out of bounds is 400; its sentence begins with the parameter.
//! 3. So many at once. Whoever waits longer than [`Bounds::wait`] for a place is told 503.
//! 4. What takes longer than [`Bounds::limit`] ends with `failed`.
//! 5. A herd whose client leaves is given up, and so are all when the server is asked to stop: within a run, not after it.

mod events;
mod query;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{RawQuery, State},
    response::{IntoResponse, Response, sse::Sse},
    routing::get,
};
use futures_util::stream;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::bug_tracker::problem::Problem;

/// The largest herd: without a wait it sends some 9,000 writes, and its events are as many numbers.
pub const MOST_CLIENTS: u32 = 200;

/// How much is played.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// So many at once.
    pub herds: usize,
    /// How long to wait for a place.
    pub wait: Duration,
    /// The longest time of all strategies together.
    pub limit: Duration,
}

impl Bounds {
    /// Those of a server: all strategies of the largest herd take some seconds.
    pub const SERVED: Self = Self { herds: 2, wait: Duration::from_secs(5), limit: Duration::from_secs(60) };
}

#[derive(Clone, Debug)]
struct Stage {
    bounds: Bounds,
    places: Arc<Semaphore>,
    closing: CancellationToken,
}

/// `/lab/herd`, until the server closes.
pub fn routes(closing: &CancellationToken) -> Router {
    routes_within(Bounds::SERVED, closing)
}

/// The same within these bounds.
pub fn routes_within(bounds: Bounds, closing: &CancellationToken) -> Router {
    let places = Arc::new(Semaphore::new(bounds.herds));
    Router::new().route("/lab/herd", get(herd)).with_state(Stage { bounds, places, closing: closing.clone() })
}

async fn herd(State(stage): State<Stage>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let grid = query::grid(query.as_deref().unwrap_or_default()).map_err(Problem::bad_request)?;
    let Stage { bounds, places, closing } = stage;
    let place = timeout(bounds.wait, places.acquire_owned()).await;
    let place = place.map_err(|_| Problem::busy("Others play herds now. Ask again in a moment."))?;
    let place = place.expect("nobody closes it");
    let stop = closing.child_token();
    let events = events::play(grid, bounds.limit, stop.clone(), place);
    // The stream is dropped when it ends, and when the client leaves.
    let gone = stop.drop_guard();
    let events = stream::unfold((events, gone), |(mut events, gone)| async {
        let event = events.recv().await?;
        Some((event, (events, gone)))
    });
    Ok(Sse::new(events).into_response())
}
