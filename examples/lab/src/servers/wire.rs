//! A wire between a client and its server, which loses what it carries, or keeps it, when it is told to.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
};
use tokio_util::task::AbortOnDropHandle;

/// What is wrong with a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server never reads what is asked, and the connection breaks.
    LosesQuestions,
    /// The server reads it and does it, and the connection breaks in place of the answer.
    LosesAnswers,
    /// Nothing arrives, on either side, and nothing breaks. What was asked arrives when the wire is mended, though the
    /// client be gone.
    Silent,
}

/// A wire to a server. Dropped, it is cut for good.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    line: Arc<Line>,
    _carrying: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Line {
    state: Mutex<State>,
    /// How many questions have met a fault.
    met: watch::Sender<usize>,
    silent: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    /// A fault that begins with the question that holds this text.
    armed: Option<(Vec<u8>, Fault)>,
}

impl Wire {
    /// A sound wire to the server that listens there.
    ///
    /// # Panics
    ///
    /// Without a free port.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let line =
            Arc::new(Line { state: Mutex::default(), met: watch::Sender::new(0), silent: watch::Sender::new(false) });
        let carried = Arc::clone(&line);
        let carrying = async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let line = Arc::clone(&carried);
                connections.spawn(async move {
                    match TcpStream::connect(server).await {
                        Ok(server) => carry(client, server, &line).await,
                        Err(_) => line.met.send_modify(|met| *met += 1),
                    }
                });
            }
        };
        Self { address, line, _carrying: AbortOnDropHandle::new(tokio::spawn(carrying)) }
    }

    /// Where a client finds it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it has this fault.
    pub fn fail(&self, fault: Fault) {
        self.line.begin(&mut self.line.state(), fault);
    }

    /// From the question that holds this text it has this fault.
    pub fn fail_at(&self, text: &[u8], fault: Fault) {
        self.line.state().armed = Some((text.to_vec(), fault));
    }

    /// It is sound again.
    pub fn mend(&self) {
        *self.line.state() = State::default();
        self.line.silent.send_replace(false);
    }

    /// How many questions have met a fault, or no server.
    pub fn met(&self) -> usize {
        *self.line.met.borrow()
    }

    /// Waits until more questions than this have met a fault, or no server.
    pub async fn has_met_more_than(&self, before: usize) {
        let mut met = self.line.met.subscribe();
        met.wait_for(|met| *met > before).await.expect("the wire is there");
    }
}

impl Line {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while it is held")
    }

    fn begin(&self, state: &mut State, fault: Fault) {
        *state = State { fault: Some(fault), armed: None };
        self.silent.send_replace(fault == Fault::Silent);
    }

    /// What becomes of a question.
    fn judge(&self, question: &[u8]) -> Option<Fault> {
        let mut state = self.state();
        if let Some((text, fault)) = &state.armed {
            let fault = *fault;
            if question.windows(text.len()).any(|part| part == text) {
                self.begin(&mut state, fault);
            }
        }
        if state.fault.is_some() {
            self.met.send_modify(|met| *met += 1);
        }
        state.fault
    }

    async fn until_not_silent(&self) {
        let mut silent = self.silent.subscribe();
        silent.wait_for(|silent| !silent).await.expect("the wire is there");
    }
}

/// How the client's half of a connection ends.
enum Ended {
    /// The client hung up: the server still gets what was asked.
    HungUp,
    /// The wire broke.
    Broke,
}

async fn carry(client: TcpStream, server: TcpStream, line: &Line) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let lost = watch::Sender::new(false);
    let answers = answers(from_server, to_client, line, &lost);
    tokio::pin!(answers);
    tokio::select! {
        ended = questions(from_client, to_server, line, &lost) => match ended {
            Ended::HungUp => answers.await,
            Ended::Broke => {}
        },
        () = &mut answers => {}
    }
}

async fn questions(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, line: &Line, lost: &watch::Sender<bool>) -> Ended {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        match line.judge(&buffer[..read]) {
            None => {}
            Some(Fault::LosesQuestions) => return Ended::Broke,
            Some(Fault::LosesAnswers) => drop(lost.send_replace(true)),
            Some(Fault::Silent) => line.until_not_silent().await,
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return Ended::Broke;
        }
    }
    // Fails where the server has hung up as well.
    let _ = to.shutdown().await;
    Ended::HungUp
}

/// Ends with the server's half, or with an answer that is lost.
async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, line: &Line, lost: &watch::Sender<bool>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if *lost.borrow() {
            return;
        }
        line.until_not_silent().await;
        // A client that hung up wants no answer; the server is heard to its end.
        let _ = to.write_all(&buffer[..read]).await;
    }
}
