//! The bug tracker's page in a headless Chromium: all four parts, clicked through, against the real process.
//!
//! `cargo build --examples && cargo test -p lab_page`; a plain `cargo test` builds the examples by itself. It needs a
//! Chromium, found by name or by the variable `CHROME`. Without one each test says on stderr that it was left out; where `CI`
//! is set it fails. Screenshots go to `target/lab_page/`.

mod exercises;
mod herd;
mod languages;
mod looks;
mod page;
mod refusals;
mod reports;
mod seen;
mod steps;
