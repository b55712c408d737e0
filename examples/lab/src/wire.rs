//! A server and clients on real TCP connections, on the loopback interface.

use std::{fmt::Display, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1 as client, server::conn::http1 as server};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_util::task::AbortOnDropHandle;
use tower::{BoxError, Service, ServiceExt};

use crate::{
    app::AppService,
    exchange::{Answer, HeldRequest},
};

/// Serves HTTP/1.1 until it is dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    ended: watch::Receiver<usize>,
    _accepting: AbortOnDropHandle<()>,
}

impl Server {
    /// Serves an app whose requests are held in memory.
    pub async fn of_app(app: AppService) -> Self {
        let service = app.map_request(|request: Request<Bytes>| request.map(Full::new));
        Self::start(tower::service_fn(move |request: Request<Incoming>| {
            let service = service.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                service.oneshot(Request::from_parts(parts, body)).await
            }
        }))
        .await
    }

    /// Serves whatever takes the requests that hyper makes.
    pub async fn start<S, R>(service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<R>, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + 'static,
        R: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (count, ended) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let serving = server::Builder::new()
                    .serve_connection(TokioIo::new(connection), TowerToHyperService::new(service.clone()));
                let count = count.clone();
                tokio::spawn(async move {
                    // A client that hangs up is an error here, and no news.
                    let _ = serving.await;
                    count.send_modify(|ended| *ended += 1);
                });
            }
        });
        Self { address, ended, _accepting: AbortOnDropHandle::new(accepting) }
    }

    /// Waits until so many connections have ended, and with them whatever hung on their clients.
    pub async fn connections_ended(&self, count: usize) {
        self.ended.clone().wait_for(|ended| *ended >= count).await.expect("the server counts");
    }

    /// Sends a request over a connection of its own and reads the answer to its end.
    pub async fn send(&self, request: HeldRequest) -> Answer {
        send(self.address, request).await
    }

    /// A connection on which a test writes and reads what it likes.
    pub async fn connect(&self) -> Wire {
        Wire(TcpStream::connect(self.address).await.expect("it listens"))
    }
}

/// Sends a request over a connection of its own and reads the answer to its end.
pub async fn send(to: SocketAddr, request: HeldRequest) -> Answer {
    let connection = TcpStream::connect(to).await.expect("it listens");
    let (mut sender, connection) = client::handshake(TokioIo::new(connection)).await.expect("a connection");
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    Answer::of(sender.send_request(request).await.expect("an answer")).await
}

/// One TCP connection, byte by byte. Dropped it is closed, whatever was under way.
#[derive(Debug)]
pub struct Wire(TcpStream);

impl Wire {
    /// Writes bytes as they are.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.expect("the server reads");
    }

    /// Writes a POST of JSON to `/reports` under this key.
    pub async fn post(&mut self, key: impl Display, body: &str) {
        let length = body.len();
        self.write(format!(
            "POST /reports HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\nidempotency-key: {key}\r\n\
             content-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    /// Reads until the bytes read end so; all of them.
    pub async fn read_until(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            let byte = self.0.read_u8().await.unwrap_or_else(|error| {
                panic!("{error} before {end:?}, after {:?}", String::from_utf8_lossy(&read));
            });
            read.push(byte);
        }
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Reads the head of a response.
    pub async fn read_head(&mut self) -> String {
        self.read_until("\r\n\r\n").await
    }

    /// Whether there is a byte to read now.
    pub fn has_something_to_read(&self) -> bool {
        let mut byte = [0];
        let mut peeked = tokio::io::ReadBuf::new(&mut byte);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        self.0.poll_peek(&mut context, &mut peeked).is_ready()
    }
}
