//! Gates inside SQLite: triggers on the store's table ask before each statement that changes a record.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::Duration,
};

use rusqlite::{Connection, ffi, functions::FunctionFlags};
use tokio::{sync::watch, time::advance};

use crate::combination::Fault;

/// The statements that pass a gate: claim, renewal, the end of a record (by completion or commit), release.
pub(crate) const STATEMENTS: usize = 4;

pub(crate) const TRIGGERS: &str = "
    CREATE TRIGGER claims BEFORE INSERT ON tower_idempotency_records
        BEGIN SELECT passes_gate(0); END;
    CREATE TRIGGER renews BEFORE UPDATE ON tower_idempotency_records WHEN NEW.ended_at IS NULL
        BEGIN SELECT passes_gate(1); END;
    CREATE TRIGGER ends BEFORE UPDATE ON tower_idempotency_records WHEN NEW.ended_at IS NOT NULL
        BEGIN SELECT passes_gate(2); END;
    CREATE TRIGGER releases BEFORE DELETE ON tower_idempotency_records
        BEGIN SELECT passes_gate(3); END;";

/// One for each store: its connections ask here.
#[derive(Clone, Debug)]
pub(crate) struct Gates(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    let_go: Condvar,
    /// The fault that holds the writer now.
    holds: watch::Sender<Option<Fault>>,
}

#[derive(Debug)]
struct State {
    faults: [Fault; STATEMENTS],
    passed: [usize; STATEMENTS],
    held: bool,
}

impl Gates {
    pub(crate) fn open() -> Self {
        let state = State { faults: [Fault::Ok; STATEMENTS], passed: [0; STATEMENTS], held: false };
        Self(Arc::new(Shared { state: Mutex::new(state), let_go: Condvar::new(), holds: watch::Sender::new(None) }))
    }

    /// Makes the triggers on this connection ask here.
    pub(crate) fn stand_on(&self, connection: &Connection) -> rusqlite::Result<()> {
        let gates = self.clone();
        connection.create_scalar_function("passes_gate", 1, FunctionFlags::SQLITE_UTF8, move |call| {
            gates.pass(call.get::<u32>(0)? as usize)
        })
    }

    pub(crate) fn set(&self, faults: [Fault; STATEMENTS]) {
        let mut state = self.state();
        state.faults = faults;
        state.passed = [0; STATEMENTS];
    }

    /// How often each was asked.
    pub(crate) fn passed(&self) -> [usize; STATEMENTS] {
        self.state().passed
    }

    /// Lets time pass while a gate holds the writer: as long as it is slow for, or until `given_up` for one that is
    /// late. A thread that is held keeps tokio's paused clock from going on by itself.
    pub(crate) async fn keep(&self, given_up: watch::Receiver<bool>) {
        const STEP: Duration = Duration::from_millis(250);
        let mut holds = self.0.holds.subscribe();
        loop {
            let held = holds.wait_for(Option::is_some).await.expect("the sender is here").expect("held");
            let mut left = Fault::SLOW;
            while !*given_up.borrow() && (held != Fault::Slow || !left.is_zero()) {
                advance(STEP).await;
                left = left.saturating_sub(STEP);
            }
            self.0.holds.send_replace(None);
            self.state().held = false;
            self.0.let_go.notify_all();
        }
    }

    fn pass(&self, statement: usize) -> rusqlite::Result<bool> {
        let mut state = self.state();
        state.passed[statement] += 1;
        match state.faults[statement] {
            Fault::Ok => {}
            Fault::Err => return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)),
            fault @ (Fault::Slow | Fault::Never | Fault::Lost | Fault::Late) => {
                state.held = true;
                self.0.holds.send_replace(Some(fault));
                drop(self.0.let_go.wait_while(state, |state| state.held).expect("no panic while it is held"));
            }
        }
        Ok(true)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no panic while it is held")
    }
}
