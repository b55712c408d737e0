//! Plays a grid of single runs, and tells of it.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::Event;
use serde::Serialize;
use tokio::{
    sync::{
        OwnedSemaphorePermit,
        mpsc::{Receiver, Sender, channel},
    },
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::herd::{Grid, Outcome, Strategy, Written, simulate_until};

type Told = Result<Event, Infallible>;

/// What is about to be played.
#[derive(Serialize)]
struct Playing {
    strategy: Strategy,
    /// From 1.
    number: usize,
    of: usize,
}

/// What came of a strategy. Times are in milliseconds of the model.
#[derive(Serialize)]
struct Played {
    strategy: Strategy,
    /// How many were sent.
    writes: usize,
    elapsed_ms: f64,
    /// When each write came that was done.
    won: Vec<f64>,
    /// When each came that was not.
    conflicted: Vec<f64>,
}

#[derive(Serialize)]
struct Failed {
    reason: Reason,
}

/// Why a herd ended before its end.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    TookTooLong,
    Broke,
}

/// Plays on a thread that may block. The place is taken until that thread has ended, whoever listens.
pub(super) fn play(
    grid: Grid,
    limit: Duration,
    stop: CancellationToken,
    place: OwnedSemaphorePermit,
) -> Receiver<Told> {
    // Room for all of them: a client that does not read holds no thread.
    let (told, events) = channel(2 * grid.cells.len() + 1);
    let player = spawn_blocking({
        let (told, stop) = (told.clone(), stop.clone());
        move || play_all(&grid, &told, &stop)
    });
    tokio::spawn(async move {
        if let Some(reason) = supervised(player, limit, &stop).await {
            let _ = told.try_send(event("failed", Failed { reason }));
        }
        drop(place);
    });
    events
}

/// Ends early when it is stopped: nobody listens then.
fn play_all(grid: &Grid, told: &Sender<Told>, stop: &CancellationToken) -> Option<()> {
    let of = grid.cells.len();
    for (number, cell) in (1..).zip(&grid.cells) {
        let strategy = cell.strategy;
        told.try_send(event("playing", Playing { strategy, number, of })).ok()?;
        let outcome = simulate_until(&grid.herd(*cell, 0), stop)?;
        told.try_send(event("outcome", Played::of(strategy, &outcome))).ok()?;
    }
    told.try_send(event("done", ())).ok()
}

async fn supervised(mut player: JoinHandle<Option<()>>, limit: Duration, stop: &CancellationToken) -> Option<Reason> {
    match timeout(limit, &mut player).await {
        Ok(Ok(_)) => None,
        Ok(Err(panic)) => {
            tracing::error!("a herd broke: {panic}");
            Some(Reason::Broke)
        }
        Err(_) => {
            stop.cancel();
            let _ = player.await;
            Some(Reason::TookTooLong)
        }
    }
}

impl Played {
    fn of(strategy: Strategy, outcome: &Outcome) -> Self {
        let when = |end| outcome.arrivals.iter().filter(move |arrival| arrival.end == end).map(|arrival| arrival.at);
        Self {
            strategy,
            writes: outcome.calls(),
            elapsed_ms: outcome.elapsed,
            won: when(Written::Won).collect(),
            conflicted: when(Written::Conflicted).collect(),
        }
    }
}

fn event(name: &str, data: impl Serialize) -> Told {
    Ok(Event::default().event(name).json_data(data).expect("plain data is JSON"))
}
