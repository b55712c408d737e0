//! The model's store answers as the crate's does: a walk through each state of the model's, with each verb in each, is
//! repeated on a [`MemoryStore`]. (That all stores answer alike is `tests/stores`; a commit is of `tests/sqlite_store`.)

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store as _,
    store::{self, ClaimRequest, Claimed, Fingerprint, Outcome, ScopedKey, StoredResponse},
};

use crate::{
    design::Design,
    state::{Answer, Body, Standing, Store, Token},
    store::{Found, Held},
};

const LEASE: Duration = Duration::from_secs(10);
const RETENTION: Duration = Duration::from_hours(24);
/// A holder, its successor, and the successor's.
const CLAIMS: usize = 3;

/// What is asked of a store, or happens to it. Holders have the numbers of their claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Claim(Body),
    LookUp(Body),
    Renew(usize),
    Complete(usize),
    Release(usize),
    ForceRelease,
    Lapse,
    Purge,
}

/// What a store says to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Granted { fence: u64 },
    Found(Found),
    Held(Held),
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Modelled {
    store: Store,
    granted: Vec<(Token, Body)>,
}

impl Modelled {
    /// `None` if it cannot be said now.
    fn say(&mut self, design: Design, word: Word) -> Option<Said> {
        let holder = |number: usize| self.granted.get(number).copied();
        Some(match word {
            Word::Claim(body) => match self.store.claim(design, body) {
                Ok(token) => {
                    self.granted.push((token, body));
                    Said::Granted { fence: token.fence.into() }
                }
                Err(found) => Said::Found(found),
            },
            Word::LookUp(body) => Said::Found(self.store.look_up(design, body)),
            Word::Renew(number) => Said::Held(self.store.renew(design, holder(number)?.0)),
            Word::Complete(number) => {
                let (token, body) = holder(number)?;
                Said::Held(self.store.complete(design, token, Answer { turn: token.turn, body }))
            }
            Word::Release(number) => Said::Held(self.store.release(design, holder(number)?.0)),
            Word::ForceRelease => Said::Held(self.store.force_release(design)),
            Word::Lapse => {
                self.store.record.as_mut().filter(|record| record.standing == Standing::Live)?.standing =
                    Standing::Lapsed;
                Said::Nothing
            }
            Word::Purge => {
                self.store.record.filter(|record| record.standing != Standing::Live)?;
                self.store.delete(design);
                Said::Nothing
            }
        })
    }
}

/// The crate's.
struct Real {
    store: MemoryStore,
    granted: Vec<(store::Token, Answer)>,
}

impl Real {
    async fn say(&mut self, word: Word) -> Said {
        let store = &self.store;
        match word {
            Word::Claim(body) => match store.claim(&request(body)).await.unwrap() {
                Claimed::Acquired { token, .. } => {
                    let fence = token.fence();
                    let turn = self.granted.len() as u8 + 1;
                    self.granted.push((token, Answer { turn, body }));
                    Said::Granted { fence }
                }
                Claimed::Done(response) => Said::Found(Found::Done(answer(&response))),
                Claimed::InFlight { .. } => Said::Found(Found::InFlight),
                Claimed::Mismatch(_) => Said::Found(Found::Mismatch),
                Claimed::NotReplayable(_) => unreachable!("each completion has a response"),
            },
            Word::LookUp(body) => Said::Found(match store.lookup(&request(body)).await.unwrap() {
                store::Found::Absent => Found::Absent,
                store::Found::Lapsed => Found::Lapsed,
                store::Found::Done(response) => Found::Done(answer(&response)),
                store::Found::InFlight { .. } => Found::InFlight,
                store::Found::Mismatch(_) => Found::Mismatch,
                store::Found::NotReplayable(_) => unreachable!("each completion has a response"),
            }),
            Word::Renew(number) => held(store.renew(&self.granted[number].0, LEASE).await.unwrap()),
            Word::Complete(number) => {
                let (token, answer) = &self.granted[number];
                held(store.complete(token, Outcome::Response(response(*answer))).await.unwrap())
            }
            Word::Release(number) => held(store.release(&self.granted[number].0).await.unwrap()),
            Word::ForceRelease => held(store.force_release(&request(Body::X).key).await.unwrap()),
            Word::Lapse => {
                tokio::time::advance(LEASE).await;
                Said::Nothing
            }
            Word::Purge => {
                tokio::time::advance(RETENTION).await;
                assert_eq!(store.purge(10).await.unwrap(), 1, "one record is past its retention");
                Said::Nothing
            }
        }
    }
}

fn request(body: Body) -> ClaimRequest {
    let key = ScopedKey::new("shop", &IdempotencyKey::parse("order-17").unwrap());
    let fingerprint = Fingerprint::of(b"POST /orders", b"application/json", &[body as u8]);
    ClaimRequest { key, fingerprint, lease: LEASE, retention: RETENTION }
}

fn response(Answer { turn, body }: Answer) -> StoredResponse {
    let body = Bytes::copy_from_slice(&[turn, body as u8]);
    StoredResponse { status: StatusCode::CREATED, headers: HeaderMap::new(), body }
}

fn answer(response: &StoredResponse) -> Answer {
    let body = if response.body[1] == Body::X as u8 { Body::X } else { Body::Y };
    Answer { turn: response.body[0], body }
}

fn held(held: store::Held) -> Said {
    Said::Held(match held {
        store::Held::Yes => Held::Yes,
        store::Held::No => Held::No,
    })
}

/// Everything that can be said, to a fresh store and to each that it leads to: the first to which the two stores do not
/// answer alike, with what led to it; or how many were said.
async fn compare(design: Design) -> Result<usize, Vec<Word>> {
    let bodies = [Body::X, Body::Y];
    let holders = (0..CLAIMS).flat_map(|number| [Word::Renew, Word::Complete, Word::Release].map(|verb| verb(number)));
    let words: Vec<_> = (bodies.map(Word::Claim).into_iter().chain(bodies.map(Word::LookUp)))
        .chain(holders)
        .chain([Word::ForceRelease, Word::Lapse, Word::Purge])
        .collect();

    let fresh = Modelled { store: Store { record: None, fence: 0, turn: 0 }, granted: Vec::new() };
    let mut seen = HashSet::from([fresh.clone()]);
    let mut to_visit = VecDeque::from([(fresh, Vec::new())]);
    let mut said = 0;
    while let Some((before, led_here)) = to_visit.pop_front() {
        for &word in &words {
            let mut modelled = before.clone();
            let Some(expected) = modelled.say(design, word) else { continue };
            let mut led_there = led_here.clone();
            led_there.push(word);
            if repeat(&led_there).await != expected {
                return Err(led_there);
            }
            said += 1;
            if modelled.granted.len() <= CLAIMS && seen.insert(modelled.clone()) {
                to_visit.push_back((modelled, led_there));
            }
        }
    }
    Ok(said)
}

/// What the crate's store says to the last of these.
async fn repeat(words: &[Word]) -> Said {
    let mut real = Real { store: MemoryStore::new(), granted: Vec::new() };
    let mut last = Said::Nothing;
    for &word in words {
        last = real.say(word).await;
    }
    last
}

#[tokio::test(start_paused = true)]
async fn the_crates_store_answers_as_the_models() {
    let said = compare(Design::Guarded).await.expect("both to answer alike");

    assert!(said > 500, "only {said}");
}

macro_rules! found_unlike {
    ($($name:ident: $design:ident by $words:expr;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                assert_eq!(compare(Design::$design).await, Err(Vec::from($words)));
            }
        )+
    };
}

found_unlike! {
    a_model_without_fencing_is_found_unlike: Unfenced by [CLAIM, Word::Release(0), Word::Complete(0)];
    a_model_whose_fences_start_again_is_found_unlike: FencesStartAgain by [CLAIM, Word::Release(0), CLAIM];
    a_model_that_releases_by_key_is_found_unlike: ReleasesByKey by [CLAIM, Word::Complete(0), Word::Release(0)];
    a_model_that_ignores_fingerprints_is_found_unlike: IgnoresFingerprints by [CLAIM, Word::Claim(Body::Y)];
    a_model_whose_leases_have_no_length_is_found_unlike: LeaseOfZero by [CLAIM, CLAIM];
}

const CLAIM: Word = Word::Claim(Body::X);
