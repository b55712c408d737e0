//! One process is killed; the other takes its keys over.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use crate::{
    client::{file, state},
    office::{Office, acknowledged, address, reports},
};

/// Too long for a lease of a second.
const FOREVER: Duration = Duration::from_secs(20);

/// The clients of the killed process that have an answer find it stored; those that have none repeat at the other process.
#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_many_commits_leaves_each_key_one_report() {
    let office = Office::open([&["--delay", "30ms", "--lease", "1s"], &["--delay", "0s", "--lease", "1s"]]);
    let ([dies, lives], db) = (office.addresses(), office.db());
    let answered = Arc::new(Semaphore::new(0));
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let answered = Arc::clone(&answered);
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for n in 0..10 {
                    let key = format!("key-{client}-{n}");
                    let id = file(dies, &key).await.map(|answer| acknowledged(&answer).expect("nobody else has it"));
                    answered.add_permits(usize::from(id.is_some()));
                    // What the other process files meanwhile, in its own name.
                    let other = file(lives, &format!("other-{client}-{n}")).await.expect("it lives");
                    assert!(acknowledged(&other).is_some());
                    ids.push((key, id));
                }
                ids
            })
        })
        .collect();

    timeout(FOREVER, answered.acquire_many(20)).await.expect("many are answered").unwrap().forget();
    let [first, _lives] = office.trackers;
    first.kill();

    let ids: Vec<_> = join_all(clients).await.into_iter().flat_map(Result::unwrap).collect();
    assert!(ids.iter().any(|(_, id)| id.is_none()), "it was killed in the middle");
    for (key, id) in &ids {
        let repeat = until_it_ended(lives, key).await;
        if let Some(id) = id {
            assert_eq!((repeat.0, repeat.1.as_deref()), (*id, Some("true")), "{key}");
        }
        assert_eq!(reports(&db)[key], [repeat.0], "{key}");
    }
    assert_eq!(reports(&db).len(), 160);
}

/// V6, with the survivor at work: nobody waits for the dead one but its own keys, and those for a lease.
#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_killed_process_are_taken_over_after_its_lease_by_the_other() {
    let office = Office::open([&["--delay", "1h", "--lease", "1s"], &["--delay", "0s", "--lease", "1s"]]);
    let ([dies, lives], db) = (office.addresses(), office.db());
    let keys: Vec<_> = (0..10).map(|n| format!("key-{n}")).collect();
    let clients: Vec<_> = keys
        .iter()
        .map(|key| {
            let key = key.clone();
            tokio::spawn(async move { file(dies, &key).await })
        })
        .collect();
    for key in &keys {
        let started = Instant::now();
        while state(lives, key).await != "in_progress" {
            assert!(started.elapsed() < FOREVER, "{key} is never claimed");
        }
        assert_eq!(acknowledged(&file(lives, key).await.unwrap()), None, "{key} runs at the other process");
    }

    let [first, second] = office.trackers;
    first.kill();

    for client in clients {
        assert_eq!(client.await.unwrap(), None, "the killed process answered nobody");
    }
    assert!(acknowledged(&file(lives, "another").await.unwrap()).is_some(), "the survivor goes on at once");
    for key in &keys {
        let (id, replayed) = until_it_ended(address(&second), key).await;
        assert_eq!(replayed.as_deref(), Some("false"), "{key} is taken over");
        assert_eq!(reports(&db)[key], [id]);
    }
}

/// Repeats a report until the answer is no 409: its id and the replay mark.
async fn until_it_ended(server: std::net::SocketAddr, key: &str) -> (i64, Option<String>) {
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < FOREVER, "{key} never ends");
        let answer = file(server, key).await.expect("it lives");
        if let Some(id) = acknowledged(&answer) {
            return (id, answer.replayed().map(str::to_owned));
        }
    }
}
