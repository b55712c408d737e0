//! A server that answers as it was told, and says what it was sent.

use std::{net::SocketAddr, sync::mpsc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub(crate) struct Server {
    address: SocketAddr,
    seen: mpsc::Receiver<String>,
}

#[derive(Clone)]
enum Answer {
    /// To each request, one a connection.
    Http(String),
    /// To each stream of HTTP/2, one a connection.
    RefuseStream,
}

impl Server {
    pub(crate) async fn answering(answer: impl Into<String>) -> Self {
        Self::serving(Answer::Http(answer.into())).await
    }

    pub(crate) async fn redirecting(status: u16, location: &str) -> Self {
        let head = format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}");
        Self::answering(format!("{head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")).await
    }

    pub(crate) async fn refusing_streams() -> Self {
        Self::serving(Answer::RefuseStream).await
    }

    async fn serving(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (see, seen) = mpsc::channel();
        tokio::spawn(async move {
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let request = match &answer {
                    Answer::Http(answer) => exchange(&mut connection, answer).await,
                    Answer::RefuseStream => refuse_stream(&mut connection).await,
                };
                see.send(request).ok();
                // The client closes last, or what it still sends would reset the answer.
                connection.shutdown().await.ok();
                connection.read_to_end(&mut Vec::new()).await.ok();
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What has been sent so far, a string each request.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.try_iter().collect()
    }
}

async fn exchange(connection: &mut TcpStream, answer: &str) -> String {
    let request = read_request(connection).await;
    connection.write_all(answer.as_bytes()).await.unwrap();
    request
}

/// To the end of the body that its length announces; without one, to the end of the head.
async fn read_request(connection: &mut TcpStream) -> String {
    let mut request = String::new();
    loop {
        if let Some((head, body)) = request.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse().unwrap() {
                return request;
            }
        }
        let mut some = [0; 1024];
        let read = connection.read(&mut some).await.unwrap();
        assert_ne!(read, 0, "a whole request");
        request.push_str(std::str::from_utf8(&some[..read]).unwrap());
    }
}

async fn refuse_stream(connection: &mut TcpStream) -> String {
    connection.write_all(&frame(SETTINGS, 0, &[])).await.unwrap();
    connection.read_exact(&mut [0; b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).await.unwrap();
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).await.unwrap();
        let [_, high, low, kind, _, _, _, _, stream] = head;
        connection.read_exact(&mut vec![0; usize::from(u16::from_be_bytes([high, low]))]).await.unwrap();
        if kind == HEADERS {
            connection.write_all(&frame(RST_STREAM, stream, &REFUSED_STREAM)).await.unwrap();
            return format!("stream {stream}");
        }
    }
}

// RFC 9113 §6 and §7.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];

fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, 0, 0, 0, 0, stream], payload].concat()
}
