//! What may happen to a store, in random order.

use proptest::{collection::vec, prelude::*, sample::select};

pub(crate) const KEYS: u8 = 3;
pub(crate) const BODIES: u8 = 2;

/// One verb, or time that passes. Lengths are milliseconds.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Claim {
        key: u8,
        body: u8,
        lease: u64,
        retention: u64,
    },
    Lookup {
        key: u8,
        body: u8,
    },
    Status {
        key: u8,
    },
    Renew {
        token: Which,
        lease: u64,
    },
    Complete {
        token: Which,
        how: u8,
    },
    Release {
        token: Which,
    },
    ForceRelease {
        key: u8,
    },
    Forget {
        key: u8,
    },
    Purge {
        batch: u32,
    },
    Pass {
        time: u64,
    },
    /// To the n-th edge from now, of a lease or a retention, or one millisecond beside it.
    PassToEdge {
        nth: usize,
        beside: i64,
    },
}

/// One of the tokens that were granted, counted back from the newest.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Granted(usize),
    /// Its key and fence, with another holder.
    Forged(usize),
    /// Its fence and another key.
    Misplaced(usize),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..=60)
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    let body = || 0..BODIES;
    let lease = || select(vec![10_000_u64, 3_000, 1, 0]);
    let retention = || select(vec![60_000_u64, 5_000, 1, 0]);
    prop_oneof![
        6 => (key(), body(), lease(), retention())
            .prop_map(|(key, body, lease, retention)| Step::Claim { key, body, lease, retention }),
        1 => (key(), body()).prop_map(|(key, body)| Step::Lookup { key, body }),
        1 => key().prop_map(|key| Step::Status { key }),
        3 => (which(), lease()).prop_map(|(token, lease)| Step::Renew { token, lease }),
        4 => (which(), 0..4_u8).prop_map(|(token, how)| Step::Complete { token, how }),
        2 => which().prop_map(|token| Step::Release { token }),
        1 => key().prop_map(|key| Step::ForceRelease { key }),
        1 => key().prop_map(|key| Step::Forget { key }),
        1 => select(vec![0_u32, 1, 2, 100]).prop_map(|batch| Step::Purge { batch }),
        1 => select(vec![1_u64, 999, 5_000, 70_000]).prop_map(|time| Step::Pass { time }),
        4 => (0..3_usize, -1..=1_i64).prop_map(|(nth, beside)| Step::PassToEdge { nth, beside }),
    ]
}

fn which() -> impl Strategy<Value = Which> {
    let back = || 0..5_usize;
    prop_oneof![
        10 => back().prop_map(Which::Granted),
        1 => back().prop_map(Which::Forged),
        1 => back().prop_map(Which::Misplaced),
    ]
}
