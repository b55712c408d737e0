//! One state for all that differ in names only.
//!
//! Clients, processes and bodies are alike, so that only the least of their relabellings is explored. Of the numbers
//! that acquisitions have, a design can see which are equal and which is the newest, so they are replaced by their
//! ranks: this makes the space finite, however often clients try.

use crate::{
    design::Design,
    state::{Answer, Body, Phase, Standing, State, Token},
};

impl<const CLIENTS: usize, const PROCESSES: usize> State<CLIENTS, PROCESSES> {
    pub(crate) fn relabelled(mut self, design: Design) -> Self {
        self.rank_turns();
        if design.keeps_fences() {
            self.rank_fences();
        }
        self.least_of_the_permuted(0).min(self.with_bodies_swapped().least_of_the_permuted(0))
    }

    /// The least of the states in which the clients from this one on change places, and the processes any.
    fn least_of_the_permuted(self, from: usize) -> Self {
        if from + 1 >= CLIENTS {
            let mut sorted = self;
            sorted.processes.sort_unstable();
            return sorted;
        }
        let others = from + 1..CLIENTS;
        let kept = self.least_of_the_permuted(from + 1);
        others.map(|other| self.with_clients_swapped(from, other).least_of_the_permuted(from + 1)).fold(kept, Ord::min)
    }

    fn with_clients_swapped(mut self, one: usize, other: usize) -> Self {
        self.told.swap(one, other);
        for caller in self.processes.iter_mut().filter_map(|process| process.caller.as_mut()) {
            *caller = match usize::from(*caller) {
                client if client == one => other as u8,
                client if client == other => one as u8,
                _ => *caller,
            };
        }
        self
    }

    fn with_bodies_swapped(mut self) -> Self {
        let swap = |body: &mut Body| *body = if *body == Body::X { Body::Y } else { Body::X };
        self.answers().for_each(|answer| swap(&mut answer.body));
        self.store.record.iter_mut().for_each(|record| swap(&mut record.body));
        self.adrift.iter_mut().for_each(|call| swap(&mut call.body));
        self.told.iter_mut().flatten().for_each(|told| swap(&mut told.asked));
        self.processes
            .iter_mut()
            .filter(|process| process.phase != Phase::Idle)
            .for_each(|process| swap(&mut process.body));
        self
    }

    fn rank_turns(&mut self) {
        let mut used = 1_u64 << self.store.turn;
        self.answers().for_each(|answer| used |= 1 << answer.turn);
        self.tokens().for_each(|token| used |= 1 << token.turn);
        self.store.turn = rank(used, self.store.turn);
        self.answers().for_each(|answer| answer.turn = rank(used, answer.turn));
        self.tokens().for_each(|token| token.turn = rank(used, token.turn));
    }

    fn rank_fences(&mut self) {
        let mut used = 1_u64 << self.store.fence;
        self.tokens().for_each(|token| used |= 1 << token.fence);
        self.store.fence = rank(used, self.store.fence);
        self.tokens().for_each(|token| token.fence = rank(used, token.fence));
    }

    fn tokens(&mut self) -> impl Iterator<Item = &mut Token> {
        let held = self.processes.iter_mut().filter_map(|process| match &mut process.phase {
            Phase::Running(token) | Phase::Ended(token) | Phase::Failed(token) => Some(token),
            Phase::Idle | Phase::Arrived | Phase::Passed | Phase::Answering(_) => None,
        });
        let called = self.adrift.iter_mut().map(|call| &mut call.token);
        self.store.record.iter_mut().map(|record| &mut record.token).chain(called).chain(held)
    }

    fn answers(&mut self) -> impl Iterator<Item = &mut Answer> {
        let stored = self.store.record.iter_mut().filter_map(|record| match &mut record.standing {
            Standing::Done(answer) => Some(answer),
            Standing::Live | Standing::Lapsed => None,
        });
        let sent = self.processes.iter_mut().filter_map(|process| match &mut process.phase {
            Phase::Answering(answer) => Some(answer),
            _ => None,
        });
        stored.chain(sent).chain(self.told.iter_mut().flatten().map(|told| &mut told.answer))
    }
}

/// How many smaller numbers are in use.
fn rank(used: u64, number: u8) -> u8 {
    (used & ((1 << number) - 1)).count_ones() as u8
}
