//! Every combination on a store in memory: handlers that commit nothing.

use tower_idempotency::MemoryStore;

use crate::{
    combination::{Caller, Fault, Played, Rival, Tally},
    promise::Seen,
    scene::{Combination, Does, System, layered, on_a_paused_clock},
};

const LAYER: System<MemoryStore> = System { store: MemoryStore::new, server: layered };

/// Plays all combinations of what this handler does, one after another on a paused clock.
fn play_all(does: Does) -> Tally<Combination, Seen> {
    on_a_paused_clock(async {
        let mut tally = Tally::new();
        for (caller, rival) in Caller::ALL.into_iter().flat_map(|caller| Rival::ALL.map(|rival| (caller, rival))) {
            let mut played = Played::default();
            for faults in Played::all(&Fault::ALL) {
                if !played.has(faults) {
                    let combination = Combination { faults, caller, does, rival };
                    let (seen, called) = combination.play(&LAYER).await;
                    played.add(faults, called);
                    tally.add(combination, seen.broken(), seen);
                }
            }
        }
        tally
    })
}

fn keeps_every_promise(does: Does) {
    play_all(does).keeps_every_promise(1_000);
}

#[test]
fn a_handler_that_answers_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Answers);
}

#[test]
fn a_handler_that_answers_503_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Answers503);
}

#[test]
fn a_handler_that_fails_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Fails);
}

#[test]
fn a_handler_that_panics_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Panics);
}

#[test]
fn a_handler_that_streams_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Streams);
}
