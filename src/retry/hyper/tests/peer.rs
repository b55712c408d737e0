//! The other end of a connection.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

/// The URL of a server that serves one connection.
pub(in crate::retry) async fn peer<F>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        serve(connection).await;
    });
    format!("http://{address}/")
}

/// A port that nobody listens on, and that nobody else gets while the value lives.
pub(in crate::retry) struct Nobody(TcpSocket);

impl Nobody {
    pub(in crate::retry) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self(socket)
    }

    pub(in crate::retry) fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().unwrap())
    }
}

/// Reads the head of an HTTP/1.1 request, and what comes with it.
pub(in crate::retry) async fn read_head(connection: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        assert_ne!(connection.read_buf(&mut head).await.unwrap(), 0, "a whole head");
    }
}

/// Answers, and closes after the client: else what it still sends could reset the answer.
pub(in crate::retry) async fn answer(connection: &mut TcpStream, answer: &[u8]) {
    connection.write_all(answer).await.unwrap();
    connection.shutdown().await.unwrap();
    connection.read_to_end(&mut Vec::new()).await.ok();
}

// RFC 9113 §6.
pub(in crate::retry) const HEADERS: u8 = 1;
pub(in crate::retry) const RST_STREAM: u8 = 3;
pub(in crate::retry) const GOAWAY: u8 = 7;
const SETTINGS: u8 = 4;

pub(in crate::retry) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Opens a connection of HTTP/2 and reads up to the head of the first request, which is stream 1.
pub(in crate::retry) async fn read_http2_head(connection: &mut TcpStream) {
    connection.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    connection.read_exact(&mut [0; b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).await.unwrap();
        let [_, high, low, kind, _, _, _, _, stream] = head;
        connection.read_exact(&mut vec![0; usize::from(u16::from_be_bytes([high, low]))]).await.unwrap();
        if kind == HEADERS {
            assert_eq!(stream, 1);
            return;
        }
    }
}
