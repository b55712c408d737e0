//! One file for each group of points; each case runs on a peer, then on us.

mod backoffs;
mod bodies;
mod connections;
mod deadlines;
mod hints;
mod jitter;
mod readiness;
mod tps_budget;

/// What one case has shown.
pub(crate) struct Row {
    pub(crate) point: &'static str,
    pub(crate) case: &'static str,
    pub(crate) peer: Peer,
    pub(crate) ours: Ours,
}

pub(crate) struct Peer {
    /// The package, as it is named in the lock file.
    pub(crate) name: &'static str,
    pub(crate) did: String,
    pub(crate) fault_seen: bool,
}

pub(crate) struct Ours {
    pub(crate) did: String,
    pub(crate) passed: bool,
}

pub(crate) const ALL: &[fn() -> Row] = &[
    jitter::requests_of_one_maker,
    jitter::base_of_one_second,
    tps_budget::ratios_above_a_half,
    tps_budget::idle_for_a_year,
    readiness::service_fails_before_the_retry,
    backoffs::longest_delay,
    hints::server_asks_for_thirty_seconds,
    connections::reqwest_retry_during_the_wait,
    connections::tower_resilience_during_the_wait,
    connections::post_without_a_key,
    deadlines::limit_of_ten_seconds,
    bodies::streamed_post,
];
