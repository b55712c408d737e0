//! The lease has to be longer than the client's timeout. The article adds the longest processing; our lease is renewed.

use std::{net::TcpListener, process::Output, time::Duration};

use clap::Parser;
use lab::{
    bug_tracker::{Options, Server, StartError},
    process::{self, BugTracker},
};

/// A process with these arguments, and a port that is taken: without the check it would end too, and say that instead.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let Output { status, stderr, .. } = process::bug_tracker([&["--addr", &addr], args].concat());
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Article: "the lease must be longer than the harness's client timeout".
#[test]
fn a_lease_that_is_not_longer_than_the_client_timeout_is_refused_with_both_values_and_what_to_do() {
    let shorter = refused(&["--lease", "1s", "--client-timeout", "2s"]);

    let says = "error: a lease of 1s is not longer than the 2s that a client waits: make --lease longer, or \
                --client-timeout shorter if the clients do not wait that long\n";
    assert_eq!(shorter, (Some(1), says.to_owned()));
}

/// The harness waits 2 s, and the tracker knows.
#[test]
fn the_client_timeout_is_that_of_the_harness_unless_it_is_told() {
    let (code, says) = refused(&["--lease", "1500ms"]);

    assert_eq!(code, Some(1));
    assert!(says.contains("a lease of 1s 500ms is not longer than the 2s"), "{says}");
}

/// Longer is longer: at the same instant the repeat would take over.
#[tokio::test]
async fn a_lease_as_long_as_the_client_timeout_is_refused_and_one_that_is_a_millisecond_longer_starts() {
    let start = async |lease: &str| {
        let args = ["bug_tracker", "--addr", "127.0.0.1:0", "--client-timeout", "3s", "--lease", lease];
        Server::start(&Options::parse_from(args)).await
    };
    let three = Duration::from_secs(3);

    let same = start("3s").await;

    match same {
        Err(StartError::LeaseTooShort { lease, client_timeout }) => assert_eq!((lease, client_timeout), (three, three)),
        other => panic!("{other:?}"),
    }
    assert!(start("3001ms").await.is_ok());
}

/// 10 s and 2 s.
#[test]
fn the_defaults_start() {
    let tracker = BugTracker::start(["--delay", "0s"]);

    assert_eq!(tracker.submit("abc", r#"{"run_id":"r","module":"m","title":"t","steps":[]}"#).status, 201);
}
