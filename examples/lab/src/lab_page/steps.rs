//! Plays of the fault matrix, over HTTP.
//!
//! 1. `GET /lab/steps?fault=…&implementation=…&key_source=…[&fencing=…]` plays one; `GET /lab/matrix` plays all.
//! 2. What is unknown, missing or twice there is 400 and named; so is a choice that there is no play for.
//! 3. So many plays at once, and one matrix. Whoever waits longer than [`Bounds::wait`] for a place is told 503.
//! 4. A play that takes longer than [`Bounds::limit`] is dropped: 503. So is one whose client leaves, and one under way when
//!    the server is asked to stop.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{RawQuery, State},
    routing::get,
};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;
use tower::BoxError;

use super::query::once;
use crate::{
    bug_tracker::{Implementation, problem::Problem},
    causes::with_causes,
    harness::KeySource,
    steps::{Choice, Fault, Fencing, Matrix, Played, play},
};

/// How much is played.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// So many at once.
    pub plays: usize,
    /// How long to wait for a place.
    pub wait: Duration,
    /// The longest time of a play.
    pub limit: Duration,
    /// The longest time of a matrix.
    pub matrix_limit: Duration,
    /// Where the temporary folders are.
    pub within: PathBuf,
}

#[derive(Clone, Debug)]
struct Stage {
    bounds: Bounds,
    plays: Arc<Semaphore>,
    matrix: Arc<Semaphore>,
    closing: CancellationToken,
}

/// `/lab/steps` and `/lab/matrix`, until the server closes.
pub fn routes(closing: &CancellationToken) -> Router {
    let bounds = Bounds {
        plays: 4,
        wait: Duration::from_secs(5),
        limit: Duration::from_secs(30),
        matrix_limit: Duration::from_secs(120),
        within: std::env::temp_dir(),
    };
    routes_within(bounds, closing)
}

/// The same within these bounds.
pub fn routes_within(bounds: Bounds, closing: &CancellationToken) -> Router {
    let (plays, matrix) = (Arc::new(Semaphore::new(bounds.plays)), Arc::new(Semaphore::new(1)));
    Router::new().route("/lab/steps", get(steps)).route("/lab/matrix", get(all)).with_state(Stage {
        bounds,
        plays,
        matrix,
        closing: closing.clone(),
    })
}

async fn steps(State(stage): State<Stage>, RawQuery(query): RawQuery) -> Result<Json<Played>, Problem> {
    let choice = choice(query.as_deref().unwrap_or_default()).map_err(Problem::bad_request)?;
    let Bounds { limit, within, .. } = &stage.bounds;
    stage.on(&stage.plays, *limit, play(choice, within)).await.map(Json)
}

async fn all(State(stage): State<Stage>, RawQuery(query): RawQuery) -> Result<Json<Matrix>, Problem> {
    if query.is_some_and(|query| !query.is_empty()) {
        return Err(Problem::bad_request("All are played: there is nothing to choose."));
    }
    let Bounds { matrix_limit, within, .. } = &stage.bounds;
    stage.on(&stage.matrix, *matrix_limit, Matrix::play(within)).await.map(Json)
}

impl Stage {
    async fn on<T>(
        &self,
        places: &Semaphore,
        limit: Duration,
        play: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, Problem> {
        let played = async {
            let place = timeout(self.bounds.wait, places.acquire()).await;
            let _place = place.map_err(|_| Problem::busy("Others play now. Ask again in a moment."))?;
            Ok(timeout(limit, play).await)
        };
        let played = self.closing.run_until_cancelled(played).await;
        let played = played.unwrap_or_else(|| Err(Problem::busy("The server is asked to stop.")))?;
        played.map_err(|_| Problem::busy("This took too long here. Ask again in a moment."))?.map_err(|error| {
            tracing::error!("a play failed: {}", with_causes(&*error));
            Problem::busy("This could not be played now. Ask again in a moment.")
        })
    }
}

/// The values are plain words: nothing in them is escaped.
fn choice(query: &str) -> Result<Choice, String> {
    let (mut fault, mut implementation, mut key_source, mut fencing) = (None, None, None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "fault" => once(name, &mut fault, one_of(name, value, &named(&Fault::ALL)))?,
            "implementation" => once(name, &mut implementation, one_of(name, value, &named(&Implementation::ALL)))?,
            "key_source" => once(name, &mut key_source, one_of(name, value, &named(&KeySource::ALL)))?,
            "fencing" => once(name, &mut fencing, one_of(name, value, &named(&Fencing::ALL)))?,
            _ => return Err(format!("There is no {name}: only fault, implementation, key_source and fencing.")),
        }
    }
    let fault = fault.ok_or_else(|| missing("fault", &named(&Fault::ALL)))?;
    let implementation = implementation.ok_or_else(|| missing("implementation", &named(&Implementation::ALL)))?;
    let key_source = key_source.ok_or_else(|| missing("key_source", &named(&KeySource::ALL)))?;
    Choice::new(fault, implementation, key_source, fencing).map_err(|error| format!("No such play: {error}."))
}

type Words<T> = Vec<(String, T)>;

fn one_of<T: Copy>(name: &str, value: &str, words: &Words<T>) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| word == value).map(|&(_, meant)| meant);
    found.ok_or_else(|| format!("{name} is one of {}.", list(words)))
}

fn missing<T>(name: &str, words: &Words<T>) -> String {
    format!("{name} is missing: one of {}.", list(words))
}

fn list<T>(words: &Words<T>) -> String {
    words.iter().map(|(word, _)| &**word).collect::<Vec<_>>().join(", ")
}

/// As it is written in an answer.
fn named<T: Copy + serde::Serialize>(all: &[T]) -> Words<T> {
    let word = |each: &T| serde_json::to_value(each).ok().and_then(|word| word.as_str().map(str::to_owned));
    all.iter().map(|each| (word(each).expect("a plain word"), *each)).collect()
}
