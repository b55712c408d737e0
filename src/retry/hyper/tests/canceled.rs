//! What "canceled" means.

use std::{
    convert::Infallible,
    error::Error,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, StatusCode, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connected, Connection},
    },
    rt::{TokioExecutor, TokioIo},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    net::TcpStream,
    sync::mpsc,
};

use super::peer::{answer, peer, read_head};
use crate::retry::evidence::surely_not_applied;

/// A pipe in memory, for it is closed at once: over a socket the client could write before it hears of that.
#[tokio::test]
async fn a_request_that_came_back_from_the_queue_of_a_closed_connection_proves_it() {
    let (connect, mut connected) = mpsc::unbounded_channel();
    let connector = tower::service_fn(move |_: Uri| {
        let (ours, theirs) = duplex(1024);
        connect.send(theirs).unwrap();
        std::future::ready(Ok::<_, Infallible>(Pipe(TokioIo::new(ours))))
    });
    let client = Client::builder(TokioExecutor::new()).retry_canceled_requests(false).build(connector);
    let exchange = async {
        let mut theirs = connected.recv().await.unwrap();
        assert_ne!(theirs.read(&mut [0; 1024]).await.unwrap(), 0);
        theirs.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        theirs
    };
    let (first, theirs) = tokio::join!(client.request(get("http://pay.example/")), exchange);
    first.unwrap().into_body().collect().await.unwrap();

    let second = client.request(get("http://pay.example/"));
    drop(theirs);
    let failed = second.await.unwrap_err();

    assert!(canceled(failed.source().unwrap()), "{failed:?}");
    assert!(surely_not_applied(&failed));
}

#[tokio::test]
async fn an_upgrade_that_never_came_proves_nothing_though_it_is_canceled_too() {
    let url = peer(async |mut connection| {
        read_head(&mut connection).await;
        answer(&mut connection, b"HTTP/1.1 101 Switching Protocols\r\nupgrade: tunnel\r\nconnection: upgrade\r\n\r\n")
            .await;
    })
    .await;
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut requests, mut connection) = hyper::client::conn::http1::handshake(io).await.unwrap();

    let endless = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post("/").body(endless).unwrap();
    let (response, _) = tokio::join!(requests.send_request(request), &mut connection);
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    drop(connection);
    let failed = hyper::upgrade::on(response).await.unwrap_err();

    assert!(canceled(&failed), "{failed:?}");
    assert!(!surely_not_applied(&failed));
}

fn canceled(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled)
}

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

struct Pipe(TokioIo<DuplexStream>);

impl Connection for Pipe {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
