//! The claim protocol, explored whole. Run by `cargo test --test protocol_model`; under a minute.
//!
//! Clients send one key with one of two bodies, stop waiting, and send again with the same body or the other. Each
//! process serves one exchange at a time: it claims, runs, commits or completes, gives back, looks up, answers; it
//! pauses, crashes, renews. A call of the store may go unheard, or arrive after its process has died. Leases lapse,
//! records are purged, an operator frees the key. Each of these is one step, and they are taken in every order. `store`
//! and `exchange` are the crate's, written down as data; `properties` says what has to hold in each state.
//!
//! | clients × processes × keys | calls adrift | states | found |
//! |---|---|---|---|
//! | 2 × 2 × 1 | one at a time | 25,081 | every property holds |
//! | 3 × 2 × 1 | one at a time | 31,813 | every property holds |
//! | 3 × 3 × 1 | none | 25,546 | every property holds |
//!
//! **Bounds.** Tries, crashes, pauses, releases and purges have none: states that differ in names only are one
//! (`relabel`), which makes the space finite; `names` shows that this loses nothing. Bounded are the exchanges of a
//! process (one at a time), the calls adrift, and the bodies (two).
//!
//! **Taken together.** A process starts again as soon as it has crashed, and wakes with whatever it does next. Time is
//! whether a lease runs: it cannot run out while its holder is awake. A claim that nobody heard is a claim and a crash;
//! a commit of unknown outcome, and a completion that failed for a whole lease, are a crash with the call adrift; a
//! repeat that waits is one that has not asked yet.
//!
//! The checker knows no fairness. That no key is blocked is walked from each state; that holders do not pass each other
//! for ever is the absence of a cycle (`starvation`). `wrong` shows that each property can be seen to fail, and
//! `crate_store` that the model's store answers as the crate's.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model};

mod cases;
#[cfg(feature = "idempotency")]
mod crate_store;
mod design;
mod exchange;
mod names;
mod properties;
mod protocol;
mod relabel;
mod starvation;
mod state;
mod store;
mod wrong;

use design::Design;
use protocol::{Faults, Protocol};

#[test]
fn two_clients_and_two_processes_find_every_property_kept() {
    let (broken, states) = explored_whole(Protocol::<2, 2>::of(Design::Guarded));

    assert_eq!(broken, BTreeSet::new());
    assert!((20_000..30_000).contains(&states), "another model than was reviewed: {states} states");
}

#[test]
fn three_clients_and_two_processes_find_every_property_kept() {
    let (broken, states) = explored_whole(Protocol::<3, 2>::of(Design::Guarded));

    assert_eq!(broken, BTreeSet::new());
    assert!((25_000..40_000).contains(&states), "another model than was reviewed: {states} states");
}

#[test]
fn three_clients_and_three_processes_find_every_property_kept() {
    let bounded = Protocol { faults: Faults::NoCallAdrift, ..Protocol::<3, 3>::of(Design::Guarded) };
    let (broken, states) = explored_whole(bounded);

    assert_eq!(broken, BTreeSet::new());
    assert!((20_000..32_000).contains(&states), "another model than was reviewed: {states} states");
}

#[test]
#[should_panic(expected = "a world in which it never happens that a passed handler runs on beside its successor")]
fn a_world_of_one_request_proves_nothing() {
    explored_whole(Protocol { tries: Some(1), ..Protocol::<1, 2>::of(Design::Guarded) });
}

/// Which properties fail anywhere, and in how many states it was looked.
fn explored_whole<const CLIENTS: usize, const PROCESSES: usize>(
    protocol: Protocol<CLIENTS, PROCESSES>,
) -> (BTreeSet<&'static str>, usize) {
    // With neither a timeout nor a target it ends early only once every property has failed.
    let checker = protocol.checker().threads(2).finish_when(HasDiscoveries::AllFailures).spawn_bfs().join();

    assert!(checker.is_done(), "cut off");
    let mut found: BTreeSet<_> = checker.discoveries().into_keys().collect();
    for shown in properties::SHOWN {
        assert!(found.remove(shown), "a world in which it never happens that {shown}");
    }
    (found, checker.unique_state_count())
}
