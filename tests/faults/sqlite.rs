//! Every combination on SQLite: handlers that commit.

use std::{sync::Arc, time::Duration};

use http::Response;
use lab::{app::payload, exchange::post, handler::Handler, panics};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tower::{ServiceBuilder, util::BoxCloneSyncService};
use tower_idempotency::{
    IdempotencyKey, IdempotencyLayer, SqliteStore,
    idempotency::{MaybeHeld, Scope},
    store::{ScopedKey, sqlite::Synchronous},
};

use crate::{
    combination::{Caller, Fault, LEASE, Played, RIVAL_AT, RUN, Rival, Tally},
    committing::{Does, write},
    promise::{Promise, Seen},
    scene::{ask, first_post, is_first, on_a_paused_clock},
    sqlite_gates::{Gates, STATEMENTS, TRIGGERS},
};

#[derive(Clone, Copy, Debug)]
struct Combination {
    faults: [Fault; STATEMENTS],
    caller: Caller,
    does: Does,
    rival: Rival,
}

/// One file, and the stores of two servers on it.
struct Bench {
    folder: TempDir,
    gates: Gates,
    at_fault: SqliteStore,
    sound: SqliteStore,
    looks: Connection,
}

impl Bench {
    async fn set_up() -> Self {
        let folder = TempDir::new().expect("a folder");
        let gates = Gates::open();
        let at_fault = open(&folder, gates.clone(), Duration::from_secs(5)).await;
        let sound = open(&folder, Gates::open(), Duration::from_millis(20)).await;
        let looks = Connection::open(folder.path().join("db")).expect("a file");
        looks.execute_batch(TRIGGERS).expect("triggers");
        looks.execute_batch("CREATE TABLE writes (key TEXT NOT NULL, run INTEGER NOT NULL) STRICT").expect("a table");
        Self { folder, gates, at_fault, sound, looks }
    }

    /// The runs that have written under this key.
    fn wrote(&self, key: &str) -> Vec<u32> {
        let mut written = self.looks.prepare("SELECT run FROM writes WHERE key = ?1").expect("the table");
        let runs = written.query_map([key], |row| row.get(0)).expect("rows");
        runs.collect::<Result<_, _>>().expect("numbers")
    }

    fn has_ended(&self, key: &str) -> bool {
        let key = ScopedKey::new("", &IdempotencyKey::parse(key).expect("a key"));
        let ended = "SELECT ended_at IS NOT NULL FROM tower_idempotency_records WHERE key = ?1";
        self.looks.query_row(ended, [key.as_bytes()], |row| row.get(0)).unwrap_or_default()
    }
}

/// A store whose connections ask these gates, and wait so long for another store's lock.
async fn open(folder: &TempDir, gates: Gates, patience: Duration) -> SqliteStore {
    let builder = SqliteStore::builder(folder.path().join("db")).synchronous(Synchronous::Normal);
    let builder = builder.busy_timeout(patience).with_set_up(move |connection| gates.stand_on(connection));
    builder.open().await.expect("a store")
}

impl Combination {
    /// What was seen, and which statements were run while the store was at fault.
    async fn play(self, bench: &Bench, key: &str) -> (Seen, [bool; STATEMENTS]) {
        let (panics_before, rivals_turn) = (panics::others(), Arc::new(Notify::new()));
        let file = bench.folder.path().join("db");
        let handler = self.handler(&rivals_turn, move || Connection::open(&file).expect("a file"));
        let [first_layer, second_layer] = [&bench.at_fault, &bench.sound]
            .map(|store| IdempotencyLayer::new(store.clone(), Scope::shared()).lease(LEASE).without_purge());
        let [first_server, second_server] = [&first_layer, &second_layer].map(|layer| {
            let service = ServiceBuilder::new()
                .map_err(Into::into)
                .map_response(|response: Response<MaybeHeld<_>>| response.map(payload))
                .layer(layer)
                .service(handler.clone());
            BoxCloneSyncService::new(service)
        });
        bench.gates.set(self.faults);
        let (gives_up, given_up) = watch::channel(false);
        let keeper = bench.gates.clone();
        let keeping = tokio::spawn(async move { keeper.keep(given_up).await });
        let rival = tokio::spawn({
            let request = post(key, "{}");
            async move {
                rivals_turn.notified().await;
                ask(&second_server, request, Caller::Stays).await
            }
        });

        let asked = Instant::now();
        let first = ask(&first_server, first_post(key), self.caller).await;
        let (waited, closing_was_over) = (asked.elapsed(), bench.has_ended(key));
        let drained = timeout(Duration::from_secs(120), first_layer.drained()).await.is_ok();
        let called = bench.gates.passed().map(|passed| passed > 0);
        // What waits in the writer's queue is done now, late.
        bench.gates.set([Fault::Ok; STATEMENTS]);
        gives_up.send_replace(true);
        sleep(Duration::from_secs(1)).await;
        let statements: usize = bench.gates.passed().iter().sum();
        sleep(2 * LEASE).await;
        let calls_afterwards = bench.gates.passed().iter().sum::<usize>() - statements;
        let rival = if rival.is_finished() { Some(rival.await.expect("no panic of its own")) } else { None };

        let mut repeats = Vec::new();
        for _ in 0..3 {
            repeats.push(ask(&first_server, post(key, "{}"), Caller::Stays).await);
        }
        keeping.abort();
        let seen = Seen {
            first,
            waited,
            closing_was_over,
            // What a commit answers is stored, whatever else failed.
            closed: true,
            rival,
            store_failed: self.faults != [Fault::Ok; STATEMENTS],
            runs_to_keep: handler.runs(),
            wrote: Some(bench.wrote(key)),
            drained,
            calls_afterwards,
            repeats,
            other_panics: panics::others() - panics_before,
        };
        (seen, called)
    }

    fn handler(self, rivals_turn: &Arc<Notify>, beside: impl Fn() -> Connection + Send + Sync + 'static) -> Handler {
        let (rivals_turn, beside) = (Arc::clone(rivals_turn), Arc::new(beside));
        Handler::scripted(move |call| {
            let (rivals_turn, beside) = (Arc::clone(&rivals_turn), Arc::clone(&beside));
            async move {
                if self.does == Does::WritesBesideItsCommit {
                    let key = call.parts.headers["idempotency-key"].to_str().expect("text");
                    write(&beside(), key, call.run).expect("a row");
                }
                if is_first(&call.parts) {
                    sleep(RIVAL_AT).await;
                    if self.rival != Rival::None {
                        rivals_turn.notify_one();
                    }
                    sleep(RUN - RIVAL_AT).await;
                    self.does.reply(call).await
                } else {
                    sleep(self.rival.takes()).await;
                    Does::Commits.reply(call).await
                }
            }
        })
    }
}

fn play_all(does: Does) -> Tally<Combination, Seen> {
    /// To be late is all that a writer can be that never answers: what it was asked is done when it goes on.
    const FAULTS: [Fault; 4] = [Fault::Ok, Fault::Err, Fault::Slow, Fault::Late];
    on_a_paused_clock(async {
        let (bench, mut tally) = (Bench::set_up().await, Tally::new());
        for (caller, rival) in Caller::ALL.into_iter().flat_map(|caller| Rival::ALL.map(|rival| (caller, rival))) {
            let mut played = Played::default();
            for faults in Played::all(&FAULTS) {
                if !played.has(faults) {
                    let combination = Combination { faults, caller, does, rival };
                    let (seen, called) = combination.play(&bench, &format!("k{}", tally.played)).await;
                    played.add(faults, called);
                    tally.add(combination, seen.broken(), seen);
                }
            }
        }
        tally
    })
}

fn keeps_every_promise(does: Does) {
    play_all(does).keeps_every_promise(250);
}

#[test]
fn a_handler_that_commits_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::Commits);
}

/// V31.
#[test]
fn a_handler_that_commits_and_answers_503_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::CommitsThenAnswers503);
}

/// V31.
#[test]
fn a_handler_that_commits_and_fails_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::CommitsThenFails);
}

/// V31.
#[test]
fn a_handler_that_commits_and_panics_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::CommitsThenPanics);
}

/// V32.
#[test]
fn a_handler_that_is_dropped_while_it_commits_keeps_every_promise_in_all_combinations() {
    keeps_every_promise(Does::CommitsUnderATimeout);
}

/// Seen red: without a commit both the run that was passed and the one that passed it have written.
#[test]
fn a_handler_that_writes_beside_its_commit_writes_twice() {
    let broken = |does| {
        on_a_paused_clock(async {
            let faults = [Fault::Ok, Fault::Err, Fault::Ok, Fault::Ok];
            let passed = Combination { faults, caller: Caller::Stays, does, rival: Rival::Quick };
            passed.play(&Bench::set_up().await, "k").await.0.broken()
        })
    };
    assert_eq!(broken(Does::Commits), []);
    assert_eq!(broken(Does::WritesBesideItsCommit), [Promise::WrittenOnce]);
}
