//! An outage under load, played with the real layer on a paused clock: who comes back, and what the simulator would see.
//!
//! `cargo test --test overload`

mod account;
mod command;
mod ends;
mod planted;
mod recovery;

use lab::overload::{Recovery, Settings};

/// As by default, watched for a shorter time: long enough for each of the ends.
fn settings(seed: u64) -> Settings {
    Settings { seed, after_s: 45, ..Settings::DEFAULT }
}

fn has_recovered(recovery: Recovery) -> bool {
    matches!(recovery, Recovery::AfterSeconds(_))
}
