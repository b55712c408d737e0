//! Random sequences of verbs and of time, each answer against a model: `cargo test --test store_sequences`.
//!
//! The sequences are the same each time. `SEED=7` plays others, `SEQUENCES=100000` more of them:
//! `SEED=7 SEQUENCES=100000 cargo test --release --test store_sequences every_`. A failure prints the shortest
//! sequence that still fails.

use std::{
    cell::Cell,
    env,
    time::{Duration, SystemTime},
};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Builder;
use tower_idempotency::{MemoryStore, SqliteStore, Store, store::sqlite::Synchronous};

use self::{
    naive::{Flaw, NaiveStore},
    play::Play,
    steps::{Step, steps},
};

mod model;
#[allow(dead_code, reason = "its locks and failures are tried by the suite that it was written for")]
#[path = "../stores/naive/mod.rs"]
mod naive;
mod play;
mod steps;

#[test]
fn every_sequence_is_answered_by_the_memory_store_as_by_the_model() {
    play(4_000, async || MemoryStore::new()).unwrap();
}

#[test]
fn every_sequence_is_answered_by_the_sqlite_store_as_by_the_model() {
    // Of the sequence that is played; the one before goes.
    let kept = Cell::new(None);

    let played = play(400, async || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("keys.db");
        kept.set(Some(folder));
        // Whole milliseconds: that is what the file keeps.
        let builder = SqliteStore::builder(file).wall_clock(SystemTime::UNIX_EPOCH + Duration::from_hours(500_000));
        builder.synchronous(Synchronous::Normal).open().await.expect("a new file")
    });

    played.unwrap();
}

/// Each guard whose lack a sequence can show, and how many steps show it.
#[test]
fn a_store_with_one_guard_missing_is_found_out_by_a_short_sequence() {
    for (flaw, steps) in [
        (Flaw::InFlightComesFirst, 1),
        (Flaw::LeasesLastForTheRetention, 2),
        (Flaw::RetentionCountsFromTheClaim, 2),
        (Flaw::OnlyPurgesExpire, 2),
        (Flaw::PurgesTakeLapsedRecords, 2),
        (Flaw::HoldersAreNotCompared, 2),
        (Flaw::PassedHoldersHold, 4),
        (Flaw::AnyoneReleases, 4),
        (Flaw::LapsedHoldersAreGone, 2),
        (Flaw::CompletionsOverwrite, 3),
        (Flaw::CompletionsCountOnce, 3),
        (Flaw::FencesStartAgain, 2),
        (Flaw::TokensStartAgain, 2),
        (Flaw::TimesAreTheHosts, 3),
    ] {
        let played = play(4_000, async || NaiveStore::with(flaw));

        let failure = played.expect_err("a sequence that it answers wrongly");
        let found = failure.steps.len();
        assert!(found <= steps, "{flaw:?} is shown by {steps} steps: {failure:#?}");
    }
}

/// So it is the missing guard that is found.
#[test]
fn the_same_store_with_every_guard_is_not() {
    play(1_000, async || NaiveStore::with(Flaw::Nothing)).unwrap();
}

/// Plays so many sequences, each with a fresh store on a runtime of its own whose clock is paused. What fails is as
/// short as it can be made.
fn play<S: Store>(sequences: u32, fresh: impl AsyncFn() -> S) -> Result<(), Failure> {
    let config = Config { cases: env_or("SEQUENCES", sequences), failure_persistence: None, ..Config::default() };
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(&env_or("SEED", 0).to_be_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let play = |steps: &[Step]| {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(async { Play::of(fresh().await, steps).await })
    };
    runner.run(&steps(), |steps| play(&steps)).map_err(|error| match error {
        TestError::Fail(_, steps) => shortest(steps, play),
        TestError::Abort(why) => panic!("{why}"),
    })
}

/// Leaves out each step that the failure does without: proptest makes steps plain after it has tried to drop them, and
/// a plain one may be superfluous.
fn shortest(mut steps: Vec<Step>, play: impl Fn(&[Step]) -> Result<(), TestCaseError>) -> Failure {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        if play(&fewer).is_err() {
            (steps, at) = (fewer, 0);
        } else {
            at += 1;
        }
    }
    let why = play(&steps).expect_err("it failed before");
    Failure { why, steps }
}

/// The shortest sequence, and what went wrong; a test that fails shows both.
#[derive(Debug)]
struct Failure {
    #[allow(dead_code, reason = "it is shown")]
    why: TestCaseError,
    steps: Vec<Step>,
}

fn env_or(name: &str, default: u32) -> u32 {
    env::var(name).map_or(default, |value| value.parse().expect("a number"))
}
