//! The same small cases on other retry libraries and on tower-idempotency.
//!
//! Exits 1 if tower-idempotency fails a case, or if a fault that is told of a peer is not seen (any more).

use std::process::ExitCode;

mod cases;
mod clock;
mod scripted;
mod server;
mod table;

fn main() -> ExitCode {
    let mut wrong = Vec::new();
    table::print_head();
    for case in cases::ALL {
        let row = case();
        table::print(&row);
        if !row.peer.fault_seen {
            wrong.push(format!("{}: the fault of {} was not seen", row.point, row.peer.name));
        }
        if !row.ours.passed {
            wrong.push(format!("{}: tower-idempotency fails", row.point));
        }
    }
    println!();
    if wrong.is_empty() {
        println!("{} cases: each fault was seen, and tower-idempotency passes each.", cases::ALL.len());
        return ExitCode::SUCCESS;
    }
    for line in wrong {
        println!("WRONG {line}");
    }
    ExitCode::FAILURE
}
