//! Requests that start at the same instant, each on a connection of its own.

use std::{net::SocketAddr, sync::Arc};

use futures_util::future::join_all;
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lab::exchange::{Answer, HeldRequest, get, post};
use tokio::{net::TcpStream, sync::Barrier};
use tokio_util::task::AbortOnDropHandle;

/// Files the report of a key: its title is the key.
pub(crate) fn report(key: &str) -> HeldRequest {
    let mut request = post(key, format!(r#"{{"run_id":"r","module":"m","title":"{key}","steps":[]}}"#));
    request.headers_mut().insert("host", "lab".parse().unwrap());
    request
}

/// Files one report. `None`: the server died.
pub(crate) async fn file(server: SocketAddr, key: &str) -> Option<Answer> {
    Connection::to(server).await?.send(report(key)).await
}

/// What a server says of a key.
pub(crate) async fn state(server: SocketAddr, key: &str) -> String {
    let mut request = get(&format!("/idempotency?key={key}"));
    request.headers_mut().insert("host", "lab".parse().unwrap());
    let answer = Connection::to(server).await.unwrap().send(request).await.unwrap();
    let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    status["state"].as_str().unwrap().to_owned()
}

/// Files all of these at the same instant: each has its connection before any is sent.
pub(crate) async fn file_at_once(reports: &[(SocketAddr, &str)]) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(reports.len()));
    let connections = join_all(reports.iter().map(|(server, _)| Connection::to(*server))).await;
    let filing = connections.into_iter().zip(reports).map(|(connection, (_, key))| {
        let (connection, start, report) = (connection.expect("it listens"), Arc::clone(&start), report(key));
        tokio::spawn(async move {
            start.wait().await;
            connection.send(report).await.expect("an answer")
        })
    });
    let filing: Vec<_> = filing.collect();
    join_all(filing).await.into_iter().map(Result::unwrap).collect()
}

struct Connection {
    sender: http1::SendRequest<http_body_util::Full<bytes::Bytes>>,
    _driver: AbortOnDropHandle<()>,
}

impl Connection {
    async fn to(server: SocketAddr) -> Option<Self> {
        let stream = TcpStream::connect(server).await.ok()?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        // Its end is seen where the answer does not come.
        let _driver = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        Some(Self { sender, _driver })
    }

    async fn send(mut self, request: HeldRequest) -> Option<Answer> {
        let (parts, body) = self.sender.send_request(request).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer { status: parts.status, headers: parts.headers, body })
    }
}
