//! Relabelling loses nothing, and the checker skips nothing: what a plain walk finds under all names, relabelled, is as
//! many states as the checker finds.

use std::{collections::HashSet, hash::Hash};

use stateright::{Checker, Model};

use crate::{
    design::Design,
    protocol::{Names, Protocol},
};

#[test]
fn relabelling_merges_states_and_loses_none() {
    let protocol = Protocol { tries: Some(3), ..Protocol::<2, 2>::of(Design::Guarded) };
    let named = walk(&Protocol { names: Names::AsTheyAre, ..protocol });

    let relabelled: HashSet<_> = named.iter().map(|state| state.relabelled(protocol.design)).collect();
    let checked = protocol.checker().spawn_bfs().join().unique_state_count();

    assert_eq!(relabelled.len(), checked);
    assert!(named.len() > 8 * checked);
}

fn walk<M: Model<State: Copy + Eq + Hash>>(model: &M) -> HashSet<M::State> {
    let mut to_visit = model.init_states();
    let mut seen: HashSet<_> = to_visit.iter().copied().collect();
    while let Some(state) = to_visit.pop() {
        to_visit.extend(model.next_states(&state).into_iter().filter(|next| seen.insert(*next)));
    }
    seen
}
