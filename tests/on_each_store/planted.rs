//! Stores with a defect, and the bodies that find it.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use http::HeaderMap;
use tower_idempotency::{
    IdempotencyKey, MemoryStore, Store,
    store::{
        ClaimRequest, Claimed, Fingerprint, Found, Held, Outcome, ScopedKey, Status, StoreError, StoredResponse, Token,
    },
};

use crate::{claims, endings, holders, in_time, leases, places::Place, replays, requests};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// Whoever has once held the key may change what its holder may.
    IgnoresFences,
    /// Whoever completes last is recorded.
    Overwrites,
    /// A claim looks, and writes afterwards.
    LooksThenWrites,
    /// A lease counts for nothing.
    IgnoresLeases,
    /// A renewal is acknowledged and not made.
    RenewsNothing,
    /// A lapsed record is removed rather than taken over.
    RemovesLapsed,
    ForgetsScopes,
    ForgetsFingerprints,
    FoldsKeys,
    /// Whoever loses a race is told of a failure.
    FailsLosers,
    /// A completion that is asked for again is refused.
    CompletesOnce,
    /// A release is acknowledged and not made.
    ReleasesNothing,
    /// A purge takes what still runs.
    PurgesRunning,
    /// One line of each name is kept.
    KeepsOneLine,
    /// A body is kept as text.
    KeepsText,
    /// What was closed without its answer is replayed as an empty one.
    ReplaysWithout,
}

use Defect::*;

#[derive(Clone)]
struct Planted {
    defect: Defect,
    store: MemoryStore,
    granted: Arc<Mutex<Vec<(Token, ClaimRequest)>>>,
}

impl Planted {
    fn with(defect: Defect) -> Self {
        Self { defect, store: MemoryStore::new(), granted: Arc::default() }
    }

    fn key(&self, key: &ScopedKey) -> ScopedKey {
        match self.defect {
            ForgetsScopes => ScopedKey::new("", &parsed(key.key())),
            FoldsKeys => ScopedKey::new(key.scope(), &parsed(&key.key().to_lowercase())),
            _ => key.clone(),
        }
    }

    fn request(&self, request: &ClaimRequest) -> ClaimRequest {
        let fingerprint = match self.defect {
            ForgetsFingerprints => Fingerprint::of(b"", b"", b""),
            _ => request.fingerprint,
        };
        ClaimRequest { key: self.key(&request.key), fingerprint, ..request.clone() }
    }

    fn token(&self, token: &Token) -> Token {
        match self.defect {
            IgnoresFences => self.last(|granted| granted.key() == token.key()).0,
            _ => token.clone(),
        }
    }

    /// The last claim of that kind.
    fn last(&self, kind: impl Fn(&Token) -> bool) -> (Token, ClaimRequest) {
        let granted = self.granted();
        granted.iter().rfind(|(token, _)| kind(token)).expect("it was granted").clone()
    }

    fn granted(&self) -> MutexGuard<'_, Vec<(Token, ClaimRequest)>> {
        self.granted.lock().expect("no panic while it is held")
    }

    fn kept(&self, outcome: Outcome) -> Outcome {
        match (self.defect, outcome) {
            (KeepsOneLine, Outcome::Response(response)) => {
                let mut headers = HeaderMap::new();
                for (name, value) in &response.headers {
                    headers.insert(name, value.clone());
                }
                Outcome::Response(StoredResponse { headers, ..response })
            }
            (KeepsText, Outcome::Response(response)) => {
                let body = String::from_utf8_lossy(&response.body).into_owned().into();
                Outcome::Response(StoredResponse { body, ..response })
            }
            (ReplaysWithout, Outcome::NotReplayable(status)) => {
                Outcome::Response(StoredResponse { status, headers: HeaderMap::new(), body: "".into() })
            }
            (_, outcome) => outcome,
        }
    }
}

fn parsed(key: &str) -> IdempotencyKey {
    IdempotencyKey::parse(key).expect("it was one")
}

impl Store for Planted {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claimed, StoreError> {
        let request = self.request(request);
        match (self.defect, self.store.lookup(&request).await?) {
            (LooksThenWrites, Found::Absent) => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let _any = self.store.forget(&request.key).await?;
            }
            (IgnoresLeases, Found::InFlight { .. }) | (RemovesLapsed, Found::Lapsed) => {
                let _any = self.store.forget(&request.key).await?;
            }
            (FailsLosers, Found::InFlight { .. }) => return Err(StoreError::transient("a unique constraint")),
            _ => {}
        }
        let claimed = self.store.claim(&request).await?;
        if let Claimed::Acquired { token, .. } = &claimed {
            self.granted().push((token.clone(), request));
        }
        Ok(claimed)
    }

    async fn lookup(&self, request: &ClaimRequest) -> Result<Found, StoreError> {
        self.store.lookup(&self.request(request)).await
    }

    async fn renew(&self, token: &Token, lease: Duration) -> Result<Held, StoreError> {
        match self.defect {
            RenewsNothing => Ok(Held::Yes),
            _ => self.store.renew(&self.token(token), lease).await,
        }
    }

    async fn complete(&self, token: &Token, outcome: Outcome) -> Result<Held, StoreError> {
        let ended = matches!(self.store.status(token.key()).await?, Status::Done { .. });
        match self.defect {
            CompletesOnce if ended => return Ok(Held::No),
            Overwrites if ended => {
                let _any = self.store.forget(token.key()).await?;
                let again = self.store.claim(&self.last(|granted| granted == token).1).await?;
                let Claimed::Acquired { token, .. } = again else { panic!("it was removed: {again:?}") };
                return self.store.complete(&token, outcome).await;
            }
            _ => {}
        }
        let outcome = self.kept(outcome);
        self.store.complete(&self.token(token), outcome).await
    }

    async fn release(&self, token: &Token) -> Result<Held, StoreError> {
        match self.defect {
            ReleasesNothing => Ok(Held::Yes),
            _ => self.store.release(&self.token(token)).await,
        }
    }

    async fn status(&self, key: &ScopedKey) -> Result<Status, StoreError> {
        self.store.status(&self.key(key)).await
    }

    async fn force_release(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.store.force_release(&self.key(key)).await
    }

    async fn forget(&self, key: &ScopedKey) -> Result<Held, StoreError> {
        self.store.forget(&self.key(key)).await
    }

    async fn purge(&self, batch: u32) -> Result<u64, StoreError> {
        let running = if self.defect == PurgesRunning { self.granted().pop() } else { None };
        if let Some((token, _)) = running {
            let _any = self.store.forget(token.key()).await?;
        }
        self.store.purge(batch).await
    }
}

impl Place for Planted {
    type Store = Self;

    fn store(&self) -> Self {
        self.clone()
    }
}

/// The body fails with these words.
macro_rules! found {
    ($($name:ident: $defect:ident by $module:ident::$body:ident, $words:literal;)+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[should_panic(expected = $words)]
        async fn $name() {
            in_time($module::$body(&Planted::with($defect))).await;
        }
    )+};
}

found! {
    v01_finds_a_claim_that_looks_then_writes:
        LooksThenWrites by claims::v01_of_fifty_requests_at_one_instant_one_runs, "have run";
    v03_finds_a_store_that_forgets_fingerprints:
        ForgetsFingerprints by claims::v03_rule_10_another_body_is_422_and_leaves_the_record_as_it_was, "KeyReused";
    v06_finds_a_store_that_ignores_leases:
        IgnoresLeases by holders::v06_rule_11_a_lost_holder_is_taken_over_when_its_lease_has_lapsed_and_not_before,
        "taken over after";
    v06_finds_a_store_that_removes_what_lapsed:
        RemovesLapsed by holders::v06_rule_11_a_lost_holder_is_taken_over_when_its_lease_has_lapsed_and_not_before,
        "right: \"2\"";
    v07_finds_a_store_that_ignores_fences:
        IgnoresFences by holders::v07_rule_12_a_passed_holder_changes_nothing, "renewed";
    v08_finds_a_store_where_the_last_completion_stands:
        Overwrites by holders::v08_rule_12_a_holder_that_slept_through_a_release_ends_nothing, "problem+json";
    v10_finds_a_store_that_renews_nothing:
        RenewsNothing by leases::v10_rule_11_fifty_leases_are_renewed_for_as_long_as_their_handlers_run, "problem+json";
    v12_finds_a_store_that_completes_once:
        CompletesOnce by endings::v12_rule_17_a_completion_whose_answer_was_lost_is_asked_for_again, "Some(\"true\")";
    v14_finds_a_store_that_releases_nothing:
        ReleasesNothing by endings::v14_rule_13_a_failure_gives_the_key_back, "after 500";
    v16_finds_a_store_that_forgets_fingerprints:
        ForgetsFingerprints by requests::v16_v17_another_query_path_or_content_type_is_422, "problem+json";
    v19_finds_a_store_that_forgets_scopes:
        ForgetsScopes by claims::v19_rule_5_the_same_key_in_another_scope_is_another_key, "it runs beside the others";
    v20_finds_a_store_that_folds_keys:
        FoldsKeys by requests::v20_odd_keys_are_filed_each_for_itself, "USER";
    v23_finds_a_store_that_keeps_one_line:
        KeepsOneLine by replays::v23_rule_8_the_header_lines_replay_exactly_and_in_order, "all but Set-Cookie";
    v24_finds_a_store_that_keeps_text:
        KeepsText by replays::v24_rule_8_bodies_replay_byte_for_byte_under_their_status, "the body of 200";
    v26_finds_a_store_that_replays_what_it_did_not_keep:
        ReplaysWithout by replays::v26_rule_15_an_answer_over_the_limit_leaves_after_the_close_and_is_410_afterwards,
        "problem+json";
    v36_finds_a_purge_of_what_runs:
        PurgesRunning by leases::v36_rule_18_a_run_that_outlasts_its_retention_is_not_forgotten, "problem+json";
    rule_9_finds_a_store_that_fails_whoever_loses:
        FailsLosers by claims::rule_9_a_repeat_while_it_runs_is_409_and_may_come_back, "StoreUnavailable";
    rule_9_finds_a_store_that_ignores_leases:
        IgnoresLeases by claims::rule_9_a_repeat_while_it_runs_is_409_and_may_come_back, "problem+json";
}
