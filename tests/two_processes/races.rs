//! The same keys at both processes.

use std::thread;

use rusqlite::Connection;

use crate::{
    client::file_at_once,
    office::{Office, acknowledged, file_each_at_both, reports},
};

fn keys(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("key-{n}")).collect()
}

/// V1, V2.
#[tokio::test(flavor = "multi_thread")]
async fn v01_fifty_requests_with_one_key_at_two_processes_are_one_report() {
    let office = Office::open([&["--delay", "0s"], &["--delay", "0s"]]);
    let [a, b] = office.addresses();
    for key in keys(10) {
        let fifty: Vec<_> = (0..50).map(|n| ([a, b][n % 2], key.as_str())).collect();

        let answers = file_at_once(&fifty).await;

        let ids: Vec<_> = answers.iter().filter_map(acknowledged).collect();
        let first = answers.iter().filter(|answer| answer.replayed() == Some("false"));
        assert_eq!(first.count(), 1, "one ran it");
        assert_eq!(reports(&office.db())[&key], [ids[0]], "one report");
        assert!(ids.iter().all(|id| *id == ids[0]), "the others got its answer, or a 409: {ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_keys_at_both_processes_at_once_is_one_report() {
    let office = Office::open([&["--delay", "0s"], &["--delay", "0s"]]);
    let keys = keys(60);

    let first = file_each_at_both(office.addresses(), &keys).await;
    let repeats = file_each_at_both(office.addresses(), &keys).await;

    let stored = reports(&office.db());
    assert_eq!(stored.keys().collect::<Vec<_>>(), first.keys().collect::<Vec<_>>());
    for (key, ids) in stored {
        assert_eq!(ids.len(), 1, "{key}");
        assert!(!first[&key].is_empty() && first[&key].iter().all(|id| *id == ids[0]), "{key}: {first:?}");
        assert_eq!(repeats[&key], [ids[0], ids[0]], "{key}: what was acknowledged is what is stored");
    }
}

/// A third program has the file locked when the requests come, and lets it go within the busy timeout.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_a_third_program_costs_nobody_an_answer() {
    const WORK: &str = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 500)
        INSERT INTO others SELECT n FROM n";
    let office = Office::open([&["--delay", "0s"], &["--delay", "0s"]]);
    let third = Connection::open(office.db()).unwrap();
    third.execute_batch("CREATE TABLE others (n INTEGER); BEGIN IMMEDIATE").unwrap();
    let writing = thread::spawn(move || {
        for _ in 0..10 {
            third.execute_batch(&format!("{WORK}; COMMIT; BEGIN IMMEDIATE")).unwrap();
        }
        third.execute_batch("COMMIT").unwrap();
    });

    file_each_at_both(office.addresses(), &keys(30)).await;

    writing.join().unwrap();
    let stored = reports(&office.db());
    assert_eq!(stored.len(), 30);
    assert!(stored.values().all(|ids| ids.len() == 1), "{stored:?}");
}
