//! Writers that leave out one guard each, and the closure that each of them gets wrong.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use rusqlite::{Connection, Result};
use tempfile::TempDir;

use crate::shop::set_up;

/// What a writer leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    Nothing,
    /// Each closure in a savepoint of its own.
    Savepoints,
    /// A name of the savepoint that no closure knows.
    SecretName,
    /// The look, after each closure, whether the transaction still stands.
    Check,
    /// The commit hook that turns a closure's COMMIT into a rollback.
    CommitHook,
    /// The wait for the COMMIT before anybody is answered.
    Patience,
}

use Without::{Check, CommitHook, Nothing, Patience, Savepoints, SecretName};

type Closure = fn(&Connection) -> Result<()>;

/// Runs closures as one group, and returns which of them are acknowledged.
fn group<const N: usize>(connection: &Connection, closures: [Closure; N], without: Without) -> Result<[bool; N]> {
    let name = if without == SecretName { "job" } else { "secret" };
    let in_job = Arc::new(AtomicBool::new(false));
    if without != CommitHook {
        let in_job = Arc::clone(&in_job);
        connection.commit_hook(Some(move || in_job.load(Relaxed)))?;
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut acknowledged = [false; N];
    let mut stands = true;
    for (closure, acknowledged) in closures.into_iter().zip(&mut acknowledged) {
        if without != Savepoints && connection.execute_batch(&format!("SAVEPOINT {name}")).is_err() {
            stands = false;
        }
        in_job.store(true, Relaxed);
        let kept = closure(connection).is_ok();
        in_job.store(false, Relaxed);
        *acknowledged = kept;
        if without == Savepoints {
            continue;
        }
        let undo = if kept { "" } else { &format!("ROLLBACK TO {name};") };
        let released = connection.execute_batch(&format!("{undo} RELEASE {name}"));
        stands &= without == Check || released.is_ok();
        if !stands {
            break;
        }
    }
    let committed = stands && connection.execute_batch("COMMIT").is_ok();
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    if !committed && without != Patience {
        acknowledged = [false; N];
    }
    Ok(acknowledged)
}

/// Which of three orders are acknowledged, and which are written; the second does this.
fn plays(foul: Closure, without: Without) -> ([bool; 3], [bool; 3]) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.db");
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    set_up(&connection).unwrap();
    let before: Closure = |tx| tx.execute("INSERT INTO orders VALUES ('before')", []).map(drop);
    let after: Closure = |tx| tx.execute("INSERT INTO orders VALUES ('after')", []).map(drop);
    let acknowledged = group(&connection, [before, foul, after], without).unwrap();
    let outside = Connection::open(&file).unwrap();
    let written = ["before", "foul", "after"]
        .map(|note| outside.prepare("SELECT 1 FROM orders WHERE note = ?1").unwrap().exists([note]).unwrap());
    (acknowledged, written)
}

/// With all guards who is acknowledged is written, and nobody else; without this one they differ.
fn goes_wrong_without(guard: Without, foul: Closure) {
    let (acknowledged, written) = plays(foul, Nothing);
    assert_eq!(acknowledged, written, "with all guards");
    let (acknowledged, written) = plays(foul, guard);
    assert_ne!(acknowledged, written, "without {guard:?}");
}

#[test]
fn without_savepoints_what_a_failed_closure_wrote_is_kept() {
    goes_wrong_without(Savepoints, |tx| {
        tx.execute("INSERT INTO orders VALUES ('foul')", [])?;
        Err(rusqlite::Error::InvalidQuery)
    });
}

#[test]
fn without_a_secret_name_a_closure_hides_that_it_ended_the_transaction() {
    goes_wrong_without(SecretName, |tx| {
        tx.execute_batch("ROLLBACK; BEGIN; SAVEPOINT job; INSERT INTO orders VALUES ('foul')")
    });
}

#[test]
fn without_a_secret_name_a_failed_closure_keeps_what_it_wrote() {
    goes_wrong_without(SecretName, |tx| {
        tx.execute_batch("INSERT INTO orders VALUES ('foul'); SAVEPOINT job")?;
        Err(rusqlite::Error::InvalidQuery)
    });
}

#[test]
fn without_the_check_a_neighbour_is_acknowledged_whose_write_is_gone() {
    goes_wrong_without(Check, |tx| tx.execute_batch("ROLLBACK; BEGIN; INSERT INTO orders VALUES ('foul')"));
}

#[test]
fn without_the_commit_hook_a_neighbour_is_written_and_not_acknowledged() {
    goes_wrong_without(CommitHook, |tx| tx.execute_batch("INSERT INTO orders VALUES ('foul'); COMMIT"));
}

#[test]
fn without_patience_a_deferred_violation_leaves_everybody_acknowledged_and_nobody_written() {
    let violates: Closure = |tx| tx.execute_batch("INSERT INTO orders VALUES ('foul'); INSERT INTO parts VALUES (99)");
    goes_wrong_without(Patience, violates);
    assert_eq!(plays(violates, Patience), ([true; 3], [false; 3]));
}
