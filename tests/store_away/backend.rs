//! The two servers, each behind a wire that a test may break, and how it goes away.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use lab::servers::{
    postgres::{self, Postgres},
    redis::RedisServer,
    wire::{Fault, Wire},
};
use tokio::task::block_in_place;
use tower_idempotency::{
    PostgresStore, RedisStore, Store,
    store::{
        postgres::sqlx::{PgPool, postgres::PgPoolOptions},
        redis::Connection,
    },
};
use uuid::Uuid;

use crate::app::LIMIT;

/// How a server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    /// Ended as a crash would end it, and started again on what it had on its disk.
    Killed,
    /// The connection to it fails.
    Wire(Fault),
}

impl Away {
    pub(crate) const EACH: [Self; 4] =
        [Self::Killed, Self::Wire(Fault::LosesQuestions), Self::Wire(Fault::LosesAnswers), Self::Wire(Fault::Silent)];
}

/// A server, a wire to it, the store of the application at its end, and one that no wire keeps from it.
pub(crate) struct Behind<B: Backend> {
    pub(crate) server: B,
    pub(crate) wire: Wire,
    pub(crate) store: B::Store,
    pub(crate) direct: B::Store,
    away: Away,
}

impl<B: Backend> Behind<B> {
    pub(crate) async fn a_wire(away: Away) -> Self {
        // One that is killed is the test's own.
        let server = if away == Away::Killed { B::private().await } else { B::shared().await };
        let wire = Wire::to(server.address()).await;
        let (direct, store) = (server.store(server.address()).await, server.store(wire.address()).await);
        Self { server, wire, store, direct, away }
    }

    /// From now on the server is away.
    pub(crate) fn goes(&mut self) {
        match self.away {
            Away::Killed => block_in_place(|| self.server.kill()),
            Away::Wire(fault) => self.wire.fail(fault),
        }
    }

    /// The server is away from the question that holds this text: the one that is killed then never sees it.
    pub(crate) fn goes_at(&self, text: &[u8]) {
        let fault = match self.away {
            Away::Killed => Fault::LosesQuestions,
            Away::Wire(fault) => fault,
        };
        self.wire.fail_at(text, fault);
    }

    /// After [`goes_at`](Self::goes_at): it has.
    pub(crate) async fn has_gone(&mut self) {
        self.wire.has_met_more_than(0).await;
        if self.away == Away::Killed {
            block_in_place(|| self.server.kill());
        }
    }

    /// It is back.
    pub(crate) async fn returns(&mut self) {
        if self.away == Away::Killed {
            block_in_place(|| self.server.start_again());
        }
        self.wire.mend();
    }

    /// Waits until the store has asked in vain once more, and whoever asked it has given that call up: what comes after is
    /// another try of the layer's, not of the store's.
    pub(crate) async fn is_missed(&self) {
        self.wire.has_met_more_than(self.wire.met()).await;
        tokio::time::sleep(2 * LIMIT).await;
    }
}

pub(crate) trait Backend: Send + Sync + Sized + 'static {
    type Store: Store;

    async fn private() -> Self;
    async fn shared() -> Self;
    fn address(&self) -> SocketAddr;
    /// A store at this address of the same records.
    async fn store(&self, address: SocketAddr) -> Self::Store;
    fn kill(&mut self);
    fn start_again(&mut self);
}

/// Records in a schema of the test's own.
pub(crate) struct OnPostgres {
    private: Option<Postgres>,
    url: String,
    pub(crate) schema: String,
}

impl OnPostgres {
    /// A pool that is patient for no longer than the layer.
    pub(crate) fn pool(&self, address: SocketAddr) -> PgPool {
        let url = self.url.replace(self.host_and_port(), &address.to_string());
        PgPoolOptions::new().max_connections(4).connect_lazy(&url).expect("a URL")
    }

    fn host_and_port(&self) -> &str {
        let rest = self.url.rsplit_once('@').or(self.url.split_once("://")).expect("a URL").1;
        rest.split(['/', '?']).next().expect("host and port")
    }

    async fn at(private: Option<Postgres>, url: String) -> Self {
        let server = Self { private, url, schema: format!("away_{}", Uuid::new_v4().simple()) };
        server.store(server.address()).await.migrate().await.expect("a new schema");
        server
    }
}

impl Backend for OnPostgres {
    type Store = PostgresStore;

    async fn private() -> Self {
        let server = tokio::task::spawn_blocking(Postgres::start).await.expect("it starts");
        let url = server.url();
        Self::at(Some(server), url).await
    }

    async fn shared() -> Self {
        let url = tokio::task::spawn_blocking(postgres::shared_url).await.expect("it starts");
        Self::at(None, url).await
    }

    fn address(&self) -> SocketAddr {
        let mut found = self.host_and_port().to_socket_addrs().expect("host and port");
        found.next().expect("it has an address")
    }

    async fn store(&self, address: SocketAddr) -> PostgresStore {
        // As text, so that a wire knows a statement when it sees it.
        let builder = PostgresStore::builder(self.pool(address)).schema(&self.schema).without_prepared_statements();
        builder.build().expect("a name")
    }

    fn kill(&mut self) {
        self.private.as_mut().expect("it is the test's own").crash();
    }

    fn start_again(&mut self) {
        self.private.as_mut().expect("it is the test's own").restart();
    }
}

/// Records under a prefix of the test's own.
pub(crate) struct OnRedis {
    server: Server,
    prefix: String,
}

enum Server {
    Private(RedisServer),
    Shared(Arc<RedisServer>),
}

impl OnRedis {
    fn on(server: Server) -> Self {
        Self { server, prefix: format!("away-{}:", Uuid::new_v4()) }
    }

    fn its_own(&mut self) -> &mut RedisServer {
        match &mut self.server {
            Server::Private(server) => server,
            Server::Shared(_) => panic!("it is not the test's own"),
        }
    }
}

impl Backend for OnRedis {
    type Store = RedisStore;

    async fn private() -> Self {
        Self::on(Server::Private(tokio::task::spawn_blocking(RedisServer::start).await.expect("it starts")))
    }

    async fn shared() -> Self {
        Self::on(Server::Shared(tokio::task::spawn_blocking(RedisServer::shared).await.expect("it starts")))
    }

    fn address(&self) -> SocketAddr {
        let port = match &self.server {
            Server::Private(server) => server.port(),
            Server::Shared(server) => server.port(),
        };
        ([127, 0, 0, 1], port).into()
    }

    async fn store(&self, address: SocketAddr) -> RedisStore {
        let connection = Connection::open(format!("redis://{address}/")).await.expect("the server answers");
        RedisStore::builder(connection).prefix(&self.prefix).open().await.expect("it does not evict")
    }

    fn kill(&mut self) {
        self.its_own().kill();
    }

    fn start_again(&mut self) {
        self.its_own().start_again();
    }
}

/// What another process does has to be waited for; two minutes are taken for never.
pub(crate) async fn soon<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), event).await.expect("it never came")
}
