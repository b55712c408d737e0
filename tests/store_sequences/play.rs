//! Plays a sequence on a store and on the model, and compares what they answer.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use proptest::{prelude::*, test_runner::TestCaseError};
use tower_idempotency::{
    IdempotencyKey, Store,
    store::{
        ClaimRequest, Claimed, Fingerprint, Found, Held, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token,
    },
};

use crate::{
    model::{Answer, Holder, Model},
    steps::{BODIES, KEYS, Step, Which},
};

/// A store under trial, and the model beside it.
pub(crate) struct Play<S> {
    store: S,
    model: Model,
    tokens: Vec<Token>,
    bodies: [Fingerprint; BODIES as usize],
    /// What the store's clock showed when the play began, as soon as a status has told.
    began: Option<SystemTime>,
}

impl<S: Store> Play<S> {
    /// Plays the steps, then asks for every key once more.
    pub(crate) async fn of(store: S, steps: &[Step]) -> Result<(), TestCaseError> {
        let mut play =
            Self { store, model: Model::default(), tokens: Vec::new(), bodies: [0, 1].map(body), began: None };
        for step in steps {
            play.step(step).await?;
        }
        for key in 0..KEYS {
            let status = play.status(key).await?;
            prop_assert_eq!(status, play.model.status(key), "the status of {} in the end", key);
            for body in 0..BODIES {
                let found = play.store.lookup(&play.request(key, body, 0, 0)).await?;
                prop_assert_eq!(found_answer(&found), play.model.lookup(key, body), "{} in the end", key);
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let (answer, expected) = match *step {
            Step::Claim { key, body, lease, retention } => {
                let expected = self.model.claim(key, body, lease, retention);
                let claimed = self.store.claim(&self.request(key, body, lease, retention)).await?;
                let answer = claimed_answer(&claimed);
                if let Claimed::Acquired { token, .. } = claimed {
                    let rises = self.tokens.last().is_none_or(|last| last.fence() < token.fence());
                    prop_assert!(rises, "{:?}: the fence {} does not rise", step, token.fence());
                    self.tokens.push(token);
                }
                (answer, expected)
            }
            Step::Lookup { key, body } => {
                (found_answer(&self.store.lookup(&self.request(key, body, 0, 0)).await?), self.model.lookup(key, body))
            }
            Step::Status { key } => (self.status(key).await?, self.model.status(key)),
            Step::Renew { ref token, lease } => {
                let Some((token, holder)) = self.which(token) else { return Ok(()) };
                (held(self.store.renew(&token, millis(lease)).await?), self.model.renew(holder, lease))
            }
            Step::Complete { ref token, how } => {
                let Some((token, holder)) = self.which(token) else { return Ok(()) };
                (held(self.store.complete(&token, outcome(how)).await?), self.model.complete(holder, how))
            }
            Step::Release { ref token } => {
                let Some((token, holder)) = self.which(token) else { return Ok(()) };
                (held(self.store.release(&token).await?), self.model.release(holder))
            }
            Step::ForceRelease { key } => {
                (held(self.store.force_release(&scoped(key)).await?), self.model.force_release(key))
            }
            Step::Forget { key } => (held(self.store.forget(&scoped(key)).await?), self.model.forget(key)),
            Step::Purge { batch } => {
                let purged = self.store.purge(batch).await?;
                prop_assert!(self.model.purge(batch.into(), purged), "{:?}: {} were purged", step, purged);
                return Ok(());
            }
            Step::Pass { time } => {
                self.pass(time).await;
                return Ok(());
            }
            Step::PassToEdge { nth, beside } => {
                let edges = self.model.edges();
                let Some(edge) = edges.get(nth).or(edges.last()) else { return Ok(()) };
                let time = edge.saturating_add_signed(beside).saturating_sub(self.model.now);
                self.pass(time).await;
                return Ok(());
            }
        };
        prop_assert_eq!(answer, expected, "{:?}", step);
        Ok(())
    }

    async fn pass(&mut self, time: u64) {
        self.model.now += time;
        tokio::time::advance(millis(time)).await;
    }

    async fn status(&mut self, key: u8) -> Result<Answer, StoreError> {
        let status = self.store.status(&scoped(key)).await?;
        let expected = self.model.status(key);
        Ok(match status {
            Status::Unknown => Answer::Unknown,
            Status::InProgress { since } => Answer::InProgress { since: self.shown(since, expected) },
            Status::Lapsed { since } => Answer::LapsedRun { since: self.shown(since, expected) },
            Status::Done { status, at, replayable } => {
                Answer::Done { at: self.shown(at, expected), how: how(status, replayable) }
            }
        })
    }

    /// A time that the store's clock showed, in milliseconds from the beginning. The first one is believed.
    fn shown(&mut self, at: SystemTime, expected: Answer) -> u64 {
        let believed = match expected {
            Answer::InProgress { since } | Answer::LapsedRun { since } => since,
            Answer::Done { at, .. } => at,
            _ => 0,
        };
        let began = *self.began.get_or_insert(at - millis(believed));
        u64::try_from(at.duration_since(began).unwrap_or_default().as_millis()).expect("some minutes")
    }

    fn request(&self, key: u8, body: u8, lease: u64, retention: u64) -> ClaimRequest {
        let fingerprint = self.bodies[usize::from(body)];
        ClaimRequest { key: scoped(key), fingerprint, lease: millis(lease), retention: millis(retention) }
    }

    /// The token and what the model knows of it; `None` as long as none was granted.
    fn which(&self, which: &Which) -> Option<(Token, Holder)> {
        let (Which::Granted(back) | Which::Forged(back) | Which::Misplaced(back)) = *which;
        let grant = self.tokens.len().checked_sub(1)?.saturating_sub(back);
        let token = &self.tokens[grant];
        let key: u8 = token.key().key().parse().expect("a number");
        let forged = |key: u8| (Token::new(scoped(key), token.fence()), Holder { key, grant: None });
        Some(match which {
            Which::Granted(_) => (token.clone(), Holder { key, grant: Some(grant) }),
            Which::Forged(_) => forged(key),
            Which::Misplaced(_) => forged((key + 1) % KEYS),
        })
    }
}

fn millis(time: u64) -> Duration {
    Duration::from_millis(time)
}

fn scoped(key: u8) -> ScopedKey {
    ScopedKey::new("shop", &IdempotencyKey::parse(&key.to_string()).expect("a key"))
}

fn body(body: u8) -> Fingerprint {
    Fingerprint::of(b"POST /orders", b"", &[body])
}

/// Two responses and two that were not kept, each with a status of its own.
fn outcome(how: u8) -> Outcome {
    let status = StatusCode::from_u16(200 + u16::from(how)).expect("a status");
    if how < 2 {
        Outcome::Response(StoredResponse { status, headers: HeaderMap::new(), body: vec![how].into() })
    } else {
        Outcome::NotReplayable(status)
    }
}

/// The number of the outcome with this status; 255 if none is.
fn how(status: StatusCode, replayable: bool) -> u8 {
    let how = (status.as_u16() - 100) as u8 - 100;
    if (how < 2) == replayable { how } else { u8::MAX }
}

fn replayed(response: &StoredResponse) -> Answer {
    let how = how(response.status, true);
    Answer::Ended(if response.body[..] == [how] { how } else { u8::MAX })
}

fn held(held: Held) -> Answer {
    Answer::Held(held == Held::Yes)
}

fn left(lease_left: Duration) -> Answer {
    Answer::InFlight { left: u64::try_from(lease_left.as_millis()).expect("some seconds") }
}

fn claimed_answer(claimed: &Claimed) -> Answer {
    match claimed {
        Claimed::Acquired { attempt, .. } => Answer::Granted { attempt: *attempt },
        Claimed::Done(response) => replayed(response),
        Claimed::InFlight { lease_left } => left(*lease_left),
        Claimed::Mismatch(_) => Answer::Mismatch,
        Claimed::NotReplayable(status) => Answer::Ended(how(*status, false)),
    }
}

fn found_answer(found: &Found) -> Answer {
    match found {
        Found::Absent => Answer::Absent,
        Found::Lapsed => Answer::Lapsed,
        Found::Done(response) => replayed(response),
        Found::InFlight { lease_left } => left(*lease_left),
        Found::Mismatch(_) => Answer::Mismatch,
        Found::NotReplayable(status) => Answer::Ended(how(*status, false)),
    }
}
