//! A client that closes its TCP connection (V13).

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
    routing::post,
};
use lab::exchange::{post as request, send};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
};
use tower_idempotency::{SqliteStore, idempotency::Claim};

use crate::tracker::{Failure, Stop, Tracker, file, seen};

/// V13.
#[tokio::test]
async fn a_client_that_leaves_between_the_commit_and_the_answer_finds_it_recorded() {
    let (tracker, committed, left) = (Tracker::open().await, Stop::default(), Arc::new(Notify::new()));
    let layer = tracker.layer();
    let stop = committed.clone();
    let handler = async move |claim: Claim<SqliteStore>| -> Result<Response, Failure> {
        let answer = claim.commit(file("slow page")).await;
        stop.here().await;
        answer
    };
    let leaves = Arc::clone(&left);
    let tell = middleware::from_fn(move |request: Request, next: Next| {
        let leaves = TellsWhenDropped(Arc::clone(&leaves));
        async move {
            let _dropped_with_the_connection = leaves;
            next.run(request).await
        }
    });
    let app = Router::new().route("/reports", post(handler)).layer(layer.clone()).layer(tell);
    let client = submit_to(serve(app.clone()).await).await;
    committed.reached().await;

    drop(client);
    left.notified().await;
    committed.let_go();
    layer.drained().await;

    let repeat = send(&app, request("k", "{}")).await;
    assert_eq!(seen(&repeat), (201, "slow page", Some("true")));
    assert_eq!(tracker.reports(), ["slow page"]);
}

/// V13.
#[tokio::test]
async fn a_client_that_leaves_while_the_answer_is_being_sent_finds_it_recorded() {
    let tracker = Tracker::open().await;
    let large = "x".repeat(1 << 20);
    let sent = large.clone();
    let app = tracker
        .app(async move |claim: Claim<SqliteStore>| claim.commit(move |tx| file("slow page")(tx).map(|_| large)).await);
    let mut client = submit_to(serve(app.clone()).await).await;

    // The buffers between the two hold a fraction of the answer: the rest cannot have left the server.
    let mut beginning = [0; 1024];
    client.read_exact(&mut beginning).await.unwrap();
    drop(client);

    assert!(beginning.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&beginning));
    let repeat = send(&app, request("k", "{}")).await;
    assert_eq!((repeat.status.as_u16(), repeat.replayed()), (200, Some("true")));
    assert!(repeat.text() == sent, "{} bytes", repeat.body.len());
    assert_eq!(tracker.reports(), ["slow page"]);
}

const SMALL: u32 = 4096;

async fn serve(app: Router) -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SMALL).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: TcpListener = socket.listen(16).unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    addr
}

/// Sends a report, and nothing more.
async fn submit_to(addr: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(SMALL).unwrap();
    let mut client = socket.connect(addr).await.unwrap();
    let sent = "POST /reports HTTP/1.1\r\nHost: tracker\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n\
                Content-Length: 2\r\n\r\n{}";
    client.write_all(sent.as_bytes()).await.unwrap();
    client
}

struct TellsWhenDropped(Arc<Notify>);

impl Drop for TellsWhenDropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
