//! How much is played, how long, and what is left of it.

use std::{path::Path, time::Duration};

use lab::{
    clock::until,
    exchange::{self, Answer},
    lab_page::steps::{Bounds, routes_within},
    problem,
    wire::Server,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// It takes as long as a lease.
const SLOW: &str = "/lab/steps?fault=taken_over&implementation=key_atomic&key_source=tool_call";

fn bounds(folder: &TempDir) -> Bounds {
    Bounds {
        plays: 1,
        wait: Duration::from_millis(10),
        limit: Duration::from_secs(60),
        matrix_limit: Duration::from_secs(60),
        within: folder.path().to_owned(),
    }
}

async fn server(bounds: Bounds) -> Server {
    Server::start(routes_within(bounds, &CancellationToken::new())).await
}

fn left(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn is_busy(answer: &Answer) {
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")), "{answer:?}");
    problem::of(answer);
}

#[tokio::test]
async fn whoever_finds_no_place_is_told_to_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(Bounds { plays: 0, ..bounds(&folder) }).await;

    is_busy(&server.send(exchange::get(SLOW)).await);

    assert_eq!(left(folder.path()), 0);
}

/// A matrix takes seconds, a graceful stop should not.
#[tokio::test]
async fn a_server_that_is_asked_to_stop_ends_a_play_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let closing = CancellationToken::new();
    let server = Server::start(routes_within(bounds(&folder), &closing)).await;

    let (answer, ()) = tokio::join!(server.send(exchange::get("/lab/matrix")), async {
        until(|| left(folder.path()) > 0).await;
        closing.cancel();
    });

    is_busy(&answer);
    until(|| left(folder.path()) == 0).await;
}

#[tokio::test]
async fn whoever_waits_for_a_place_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(Bounds { wait: Duration::from_secs(60), ..bounds(&folder) }).await;

    let (one, other) = tokio::join!(server.send(exchange::get(SLOW)), server.send(exchange::get(SLOW)));

    assert_eq!((one.status.as_u16(), other.status.as_u16()), (200, 200));
    assert_eq!(left(folder.path()), 0);
}

#[tokio::test]
async fn one_matrix_is_played_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(bounds(&folder)).await;
    let mut first = server.connect().await;
    first.write("GET /lab/matrix HTTP/1.1\r\nhost: lab\r\n\r\n").await;
    until(|| left(folder.path()) > 0).await;

    is_busy(&server.send(exchange::get("/lab/matrix")).await);
}

#[tokio::test]
async fn a_play_that_takes_too_long_is_dropped_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let short = Duration::from_millis(100);
    let server = server(Bounds { limit: short, matrix_limit: short, ..bounds(&folder) }).await;

    is_busy(&server.send(exchange::get(SLOW)).await);
    is_busy(&server.send(exchange::get("/lab/matrix")).await);

    until(|| left(folder.path()) == 0).await;
}

#[tokio::test]
async fn a_play_whose_client_leaves_is_dropped_with_its_folder_and_its_place_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(bounds(&folder)).await;
    let mut client = server.connect().await;
    client.write(format!("GET {SLOW} HTTP/1.1\r\nhost: lab\r\n\r\n")).await;
    until(|| left(folder.path()) == 1).await;

    drop(client);
    server.connections_ended(1).await;

    assert_eq!(left(folder.path()), 0);
    assert_eq!(server.send(exchange::get(SLOW)).await.status, 200);
}
