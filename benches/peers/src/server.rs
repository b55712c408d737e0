//! An HTTP/1.1 server on loopback that counts connections.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// More than a client reads without being asked to, less than what we read away.
const BUSY_BODY: usize = 48 * 1024;

#[derive(Default)]
struct Log {
    connections: usize,
    /// The methods of the requests to `/jobs`.
    jobs: Vec<String>,
}

/// Answers the first request to `/jobs` with 503 and a body, every other one with 200.
#[derive(Clone)]
pub(crate) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    answered: Arc<Notify>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = Self { address, log: Arc::default(), answered: Arc::default() };
        tokio::spawn(server.clone().accept(listener));
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.lock().expect("a lock").connections
    }

    /// The methods of the requests to `/jobs`.
    pub(crate) fn jobs(&self) -> Vec<String> {
        self.log.lock().expect("a lock").jobs.clone()
    }

    /// Until the first 503 is sent.
    pub(crate) async fn first_busy(&self) {
        self.answered.notified().await;
    }

    async fn accept(self, listener: TcpListener) {
        while let Ok((connection, _)) = listener.accept().await {
            self.log.lock().expect("a lock").connections += 1;
            tokio::spawn(self.clone().serve(connection));
        }
    }

    /// Requests without a body only.
    async fn serve(self, mut connection: TcpStream) {
        let mut read = Vec::new();
        loop {
            while !read.ends_with(b"\r\n\r\n") {
                match connection.read_buf(&mut read).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
            }
            let busy = self.note(&String::from_utf8_lossy(&read));
            read.clear();
            let length = if busy { BUSY_BODY } else { 0 };
            let status = if busy { "503 Service Unavailable" } else { "200 OK" };
            let mut answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n").into_bytes();
            answer.resize(answer.len() + length, b'.');
            if busy {
                self.answered.notify_one();
            }
            if connection.write_all(&answer).await.is_err() {
                return;
            }
        }
    }

    /// Whether it is to be answered that the server is busy.
    fn note(&self, request: &str) -> bool {
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if path != "/jobs" {
            return false;
        }
        let jobs = &mut self.log.lock().expect("a lock").jobs;
        jobs.push(method.to_owned());
        jobs.len() == 1
    }
}
