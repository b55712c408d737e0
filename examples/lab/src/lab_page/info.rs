//! What the page has to know about its server.

use std::time::Duration;

use serde::{Serialize, Serializer};
use tower_idempotency::IdempotencyKey;

use super::{herd::MOST_CLIENTS, page::LISTENERS, reports::SHOWN};
use crate::{
    bug_tracker::{Implementation, app::FaultsPage, reports::LONGEST_TITLE},
    herd::Pace,
};

/// What this server does. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    /// The crate's version.
    pub version: &'static str,
    /// What it does with keys.
    pub implementation: Implementation,
    /// Whether `/faults` is there.
    #[serde(serialize_with = "is_open")]
    pub faults: FaultsPage,
    /// How long it takes to file a report.
    #[serde(rename = "delay_ms", serialize_with = "milliseconds")]
    pub delay: Duration,
    /// How long a repeat waits for a server that died.
    #[serde(rename = "lease_ms", serialize_with = "milliseconds")]
    pub lease: Duration,
    /// How long a client waits for an answer.
    #[serde(rename = "client_timeout_ms", serialize_with = "milliseconds")]
    pub client_timeout: Duration,
    /// Where it says no.
    pub limits: Limits,
}

/// What is refused, or not shown, beyond these.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "their names say it")]
pub struct Limits {
    pub title_characters: usize,
    pub key_characters: usize,
    pub listeners: usize,
    pub reports_shown: u32,
    pub herd_clients: u32,
    /// In milliseconds.
    pub herd_cap_ms: u128,
}

impl Limits {
    /// Those of every server.
    pub const ALL: Self = Self {
        title_characters: LONGEST_TITLE,
        key_characters: IdempotencyKey::DEFAULT_MAX_LEN,
        listeners: LISTENERS,
        reports_shown: SHOWN,
        herd_clients: MOST_CLIENTS,
        herd_cap_ms: Pace::LONGEST.as_millis(),
    };
}

/// The crate's version, which a member of its workspace is not told.
pub fn version() -> &'static str {
    let manifest = include_str!("../../../../Cargo.toml");
    let quoted = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    quoted.expect("the manifest has a version").trim_matches('"')
}

fn is_open<S: Serializer>(page: &FaultsPage, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*page == FaultsPage::Open)
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(time.as_millis())
}
