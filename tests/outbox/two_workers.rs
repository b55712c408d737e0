//! Rules 3 and 4 of the outbox: two workers on one file, which take each row at the same moment.

use std::collections::HashMap;

use crate::{
    front::{Door, Front, kept},
    office::{Office, file},
};

const TITLES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_send_each_row_twice_at_most_and_it_is_done_once() {
    let (front, office) = two_workers("sent").await;

    assert_eq!(copies(&front), [2; 5]);
    assert_eq!(kept(&office.notes), TITLES);
}

#[tokio::test(flavor = "multi_thread")]
async fn seen_red_without_the_key_each_row_is_done_twice() {
    let (front, office) = two_workers("withheld").await;

    assert_eq!(copies(&front), [2; 5]);
    assert_eq!(kept(&office.notes).len(), 10);
}

/// Neither gets an answer for a row before both have sent it.
async fn two_workers(row_key: &str) -> (Front, Office) {
    let office = Office::open();
    let tracker = office.tracker([]);
    let front = Front::open(&office.notes, Door::InPairs).await;
    let _workers = [(); 2].map(|()| office.worker(&front.url, ["--row-key", row_key]));
    file(&tracker, &TITLES);
    front.until_answered(10).await;
    (front, office)
}

/// How often each body came.
fn copies(front: &Front) -> Vec<usize> {
    let mut copies = HashMap::new();
    for body in front.came() {
        *copies.entry(body).or_default() += 1;
    }
    copies.into_values().collect()
}
