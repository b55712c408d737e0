//! Who listens sees each report.

use std::time::Duration;

use clap::Parser;
use http::StatusCode;
use lab::{
    bug_tracker::{Implementation, Options, Server},
    lab_page::{
        page::LISTENERS,
        reports::{LOOK_AGAIN, SHOWN},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::scene::{List, Lists, Scene};

#[tokio::test]
async fn the_list_comes_at_once_and_after_each_report() {
    for implementation in Implementation::ALL {
        let scene = Scene::of(implementation).await;
        let mut lists = scene.listen().await;
        let none = lists.next().await.unwrap();
        scene.file("a", "Total is wrong").await;
        let one = lists.next().await.unwrap();
        scene.file("b", "Total is negative").await;
        let two = lists.next().await.unwrap();

        assert_eq!((none.total(), none.ids()), (0, vec![]), "{implementation}");
        assert_eq!((one.total(), one.ids()), (1, vec![1]), "{implementation}");
        assert_eq!((two.total(), two.titles()), (2, vec!["Total is negative", "Total is wrong"]), "{implementation}");
    }
}

/// The clock stands still, so a report that only the next look finds would come a second later.
#[tokio::test(start_paused = true)]
async fn a_report_of_this_process_is_sent_at_once() {
    let scene = Scene::of(Implementation::Naive).await;
    let mut lists = scene.listen().await;
    lists.next().await.unwrap();
    let waiting = waiting(lists).await;

    let begun = Instant::now();
    scene.file("a", "Total is wrong").await;

    assert_eq!(waiting.await.unwrap().ids(), [1]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_report_of_another_process_is_sent_within_a_second() {
    let scene = Scene::of(Implementation::Naive).await;
    let mut lists = scene.listen().await;
    lists.next().await.unwrap();
    let waiting = waiting(lists).await;

    let begun = Instant::now();
    scene.file_elsewhere(1);

    assert_eq!(waiting.await.unwrap().titles(), ["from elsewhere"]);
    assert!(begun.elapsed() <= LOOK_AGAIN && LOOK_AGAIN <= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn what_files_nothing_sends_nothing() {
    let scene = Scene::of(Implementation::KeySplit).await;
    scene.file("a", "Total is wrong").await;
    let mut lists = scene.listen().await;
    lists.next().await.unwrap();
    let waiting = waiting(lists).await;

    let replay = scene.file("a", "Total is wrong").await;
    sleep(LOOK_AGAIN * 3).await;
    scene.file("b", "Total is negative").await;

    assert_eq!(replay.replayed(), Some("true"));
    assert_eq!(waiting.await.unwrap().ids(), [2, 1]);
}

#[tokio::test]
async fn a_long_list_is_sent_with_its_newest_and_the_number_of_all() {
    let scene = Scene::of(Implementation::KeyAtomic).await;
    scene.file_elsewhere(SHOWN + 1);

    let list = scene.listen().await.next().await.unwrap();

    let newest: Vec<u64> = (2..=u64::from(SHOWN) + 1).rev().collect();
    assert_eq!((list.total(), list.ids()), (u64::from(SHOWN) + 1, newest));
}

#[tokio::test]
async fn one_listener_too_many_is_503_until_another_leaves() {
    let scene = Scene::of(Implementation::KeyAtomic).await;
    let mut listening = Vec::new();
    for _ in 0..LISTENERS {
        listening.push(scene.listen().await);
    }

    let refused = timeout(Duration::from_secs(30), scene.get("/lab/reports/events")).await.expect("no list");
    listening.pop();
    let mut welcome = scene.listen().await;

    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(welcome.next().await.unwrap().total(), 0);
}

#[tokio::test]
async fn the_lists_end_with_the_server_and_none_begins_after_it() {
    let scene = Scene::of(Implementation::KeyAtomic).await;
    let mut before = scene.listen().await;
    before.next().await.unwrap();

    scene.page.close();

    assert!(before.next().await.is_none());
    assert!(scene.listen().await.next().await.is_none());
}

#[tokio::test]
async fn an_open_page_does_not_hold_a_server_that_is_asked_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("bugs.db");
    let options = Options::parse_from(["bug_tracker", "--addr", "127.0.0.1:0", "--db", db.to_str().unwrap()]);
    let server = Server::start(&options).await.unwrap();
    let mut page = TcpStream::connect(server.addr().unwrap()).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async { stopped.await.unwrap() }));
    page.write_all(b"GET /lab/reports/events HTTP/1.1\r\nhost: lab\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    page.read_exact(&mut head).await.unwrap();

    stop.send(()).unwrap();
    let ended = timeout(Duration::from_secs(30), serving).await;

    assert_eq!(&head, b"HTTP/1.1 200");
    ended.expect("it ends").unwrap().unwrap();
}

/// Waits for a further list. The paused clock goes on only once everything waits, so it does when this returns.
async fn waiting(mut lists: Lists) -> JoinHandle<List> {
    let next = tokio::spawn(async move { lists.next().await.unwrap() });
    sleep(Duration::from_millis(1)).await;
    next
}
