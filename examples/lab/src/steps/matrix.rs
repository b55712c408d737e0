//! All choices.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use tokio::{sync::Semaphore, task::JoinSet};
use tower::BoxError;

use super::{
    choice::Choice,
    play::{Outcome, play},
};

/// How many plays run at the same time.
const AT_ONCE: usize = 12;

/// What came of all choices.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// In the order of [`Choice::all`].
    pub cells: Vec<Outcome>,
}

impl Matrix {
    /// Plays them, some side by side, in temporary folders within this one.
    pub async fn play(within: &Path) -> Result<Self, BoxError> {
        let (places, mut playing) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
        for (number, choice) in Choice::all().into_iter().enumerate() {
            let (within, places) = (within.to_owned(), Arc::clone(&places));
            playing.spawn(async move {
                let _place = places.acquire_owned().await?;
                Ok::<_, BoxError>((number, play(choice, &within).await?.outcome))
            });
        }
        let mut cells = Vec::new();
        while let Some(played) = playing.join_next().await {
            cells.push(played??);
        }
        cells.sort_by_key(|(number, _)| *number);
        Ok(Self { cells: cells.into_iter().map(|(_, outcome)| outcome).collect() })
    }
}
