//! The second service in the test's own process, with a door in front of it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use bytes::Bytes;
use lab::notifications::{app, table};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::{Barrier, watch},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

/// Too long for anything here.
const FOREVER: Duration = Duration::from_secs(60);

/// What the door does with a request.
#[derive(Clone)]
pub(crate) enum Door {
    Open,
    /// The first two copies of a body go in together.
    InPairs,
    /// It takes requests and never answers.
    Never,
}

/// A service that listens, and counts what comes.
pub(crate) struct Front {
    pub(crate) url: String,
    wire: Wire,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Wire {
    door: Door,
    pairs: Arc<Mutex<HashMap<Bytes, Arc<Barrier>>>>,
    came: Arc<watch::Sender<Vec<Bytes>>>,
    answered: Arc<watch::Sender<usize>>,
}

impl Front {
    /// On a free port.
    pub(crate) async fn open(notes: &str, door: Door) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), notes, door).await
    }

    /// On a port that was reserved.
    pub(crate) async fn on(listener: TcpListener, notes: &str, door: Door) -> Self {
        let wire = Wire { door, pairs: Arc::default(), came: Arc::default(), answered: Arc::default() };
        let url = url(listener.local_addr().unwrap());
        let app = service(notes).await.layer(from_fn_with_state(wire.clone(), pass));
        let serving = async { axum::serve(listener, app).await.unwrap() };
        Self { url, wire, _serving: AbortOnDropHandle::new(tokio::spawn(serving)) }
    }

    /// The bodies that came, in their order.
    pub(crate) fn came(&self) -> Vec<Bytes> {
        self.wire.came.borrow().clone()
    }

    /// Waits until so many requests have come.
    pub(crate) async fn until_came(&self, requests: usize) {
        let mut came = self.wire.came.subscribe();
        timeout(FOREVER, came.wait_for(|came| came.len() >= requests)).await.expect("they come").unwrap();
    }

    /// Waits until so many requests are answered.
    pub(crate) async fn until_answered(&self, requests: usize) {
        let mut answered = self.wire.answered.subscribe();
        timeout(FOREVER, answered.wait_for(|answered| *answered >= requests))
            .await
            .expect("they are answered")
            .unwrap();
    }
}

async fn pass(State(wire): State<Wire>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let copies = {
        let mut copies = 0;
        wire.came.send_modify(|came| {
            came.push(body.clone());
            copies = came.iter().filter(|&other| *other == body).count();
        });
        copies
    };
    match wire.door {
        Door::Open => {}
        Door::InPairs if copies > 2 => {}
        Door::InPairs => {
            let pair = || Arc::new(Barrier::new(2));
            let pair = Arc::clone(wire.pairs.lock().unwrap().entry(body.clone()).or_insert_with(pair));
            pair.wait().await;
        }
        Door::Never => std::future::pending().await,
    }
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    wire.answered.send_modify(|answered| *answered += 1);
    answer
}

/// The second service without a door.
pub(crate) async fn service(notes: &str) -> Router {
    let store = table::open(Path::new(notes)).await.unwrap();
    app::app(app::idempotency(store), notes.into())
}

/// A port where connections are refused until it listens.
pub(crate) fn reserved_port() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = url(socket.local_addr().unwrap());
    (socket, url)
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/notifications")
}

/// The titles in the file of the second service, in its order.
pub(crate) fn kept(notes: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(notes).unwrap();
    table::all(&connection).unwrap().into_iter().map(|notification| notification.title).collect()
}
