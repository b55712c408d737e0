//! A wire between the store and its server that can be cut behind a command, before its answer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use lab::servers::redis::RedisServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::task::AbortOnDropHandle;
use tower_idempotency::{
    RedisStore, Store,
    store::{Claimed, Held, redis::redis},
};

use crate::{LEASE, acquire, done, lapsing, lease_left, outcome, replayed, request, response};

/// Dropped, it is cut for good.
pub(crate) struct Wire {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
    cuts: Arc<AtomicUsize>,
    _carrying: AbortOnDropHandle<()>,
}

impl Wire {
    pub(crate) async fn to(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, port) = (listener.local_addr().unwrap(), server.port());
        let (cut, cuts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (is_cut, counted) = (Arc::clone(&cut), Arc::clone(&cuts));
        let carrying = async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                connections.spawn(carry(client, server, Arc::clone(&is_cut), Arc::clone(&counted)));
            }
        };
        Self { address, cut, cuts, _carrying: AbortOnDropHandle::new(tokio::spawn(carrying)) }
    }

    pub(crate) async fn store(&self) -> RedisStore {
        let store = RedisStore::open(format!("redis://{}/", self.address)).await.unwrap();
        // So that the server knows the scripts: a command that is cut is the verb itself.
        done(&store, "before", "made").await;
        assert_eq!(store.renew(&acquire(&store, &request("before 2")).await, LEASE).await.unwrap(), Held::Yes);
        assert_eq!(store.release(&acquire(&store, &request("before 3")).await).await.unwrap(), Held::Yes);
        store
    }

    /// The next answer does not come: its command has arrived, and the connection ends.
    fn lose_the_next_answer(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    fn lost(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, cut: Arc<AtomicBool>, cuts: Arc<AtomicUsize>) {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(bytes @ 1..) => server.write_all(&asked[..bytes]).await.unwrap(),
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(_) if cut.swap(false, Ordering::SeqCst) => {
                    cuts.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                Ok(bytes @ 1..) => client.write_all(&answered[..bytes]).await.unwrap(),
                _ => return,
            },
        }
    }
}

/// It is granted once, to the one who asked: neither refused by its own first asking nor run by two.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_asked_for_again_and_granted_once() {
    let server = RedisServer::start();
    let wire = Wire::to(&server).await;
    let store = wire.store().await;
    for (asked, attempts) in [(request("new"), 1), (request("lapsed"), 2)] {
        if attempts == 2 {
            acquire(&store, &lapsing("lapsed")).await;
        }
        let lost = wire.lost();
        wire.lose_the_next_answer();

        let claimed = store.claim(&asked).await.unwrap();

        assert_eq!(wire.lost(), lost + 1, "an answer was lost");
        let Claimed::Acquired { token, attempt } = claimed else { panic!("granted: {claimed:?}") };
        assert_eq!(attempt, attempts, "the second asking is no takeover");
        assert!(matches!(store.claim(&asked).await.unwrap(), Claimed::InFlight { .. }), "granted once");
        assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);
    }
}

#[tokio::test]
async fn a_completion_and_a_renewal_whose_answers_were_lost_are_asked_for_again() {
    let server = RedisServer::start();
    let wire = Wire::to(&server).await;
    let store = wire.store().await;
    let token = acquire(&store, &request("k")).await;

    wire.lose_the_next_answer();
    assert_eq!(store.renew(&token, 6 * LEASE).await.unwrap(), Held::Yes);
    assert!(lease_left(&store, &request("k")).await > 5 * LEASE);
    wire.lose_the_next_answer();
    assert_eq!(store.complete(&token, outcome("made")).await.unwrap(), Held::Yes);

    assert_eq!(wire.lost(), 2, "answers were lost");
    assert_eq!(replayed(&store, &request("k")).await, response("made"));
}

/// Whether it was released is not known, so it is not said; the layer asks again.
#[tokio::test]
async fn a_release_whose_answer_was_lost_is_a_transient_error() {
    let server = RedisServer::start();
    let wire = Wire::to(&server).await;
    let store = wire.store().await;
    let token = acquire(&store, &request("k")).await;
    wire.lose_the_next_answer();

    let error = store.release(&token).await.expect_err("its answer was lost");

    assert!(error.is_transient(), "{error:?}");
    acquire(&store, &request("k")).await;
}

/// What a `ConnectionManager` promises, which the page of the store relies on: it does not send a command again.
#[tokio::test]
async fn the_connection_manager_sends_no_command_twice() {
    let server = RedisServer::start();
    let wire = Wire::to(&server).await;
    let client = redis::Client::open(format!("redis://{}/", wire.address)).unwrap();
    let mut connection = redis::aio::ConnectionManager::new(client).await.unwrap();
    wire.lose_the_next_answer();

    let lost: redis::RedisResult<u64> = redis::cmd("INCR").arg("n").query_async(&mut connection).await;

    assert!(lost.is_err());
    assert_eq!(server.cli(["get", "n"]), "1");
}
