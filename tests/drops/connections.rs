//! V13: a client that closes its TCP connection, at each point of an exchange with a handler that commits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post as post_route,
};
use lab::{
    app::Hold,
    clock::until,
    exchange::{Answer, post},
    gate::{Gate, GatedStore, Verb},
    wire::{Server, Wire},
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{sync::Semaphore, time::timeout};
use tower_idempotency::{
    IdempotencyLayer, MemoryStore, SqliteStore,
    idempotency::{Claim, CommitError, Scope},
};

/// Far more than any of these takes: no test waits for it.
const NET: Duration = Duration::from_secs(60);

/// More than the sockets between server and client hold.
const LARGE: usize = 16 << 20;

async fn in_time<T>(event: impl Future<Output = T>) -> T {
    timeout(NET, event).await.expect("it happens soon")
}

/// Where the handler is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nowhere,
    BeforeItsCommit,
    AfterItsCommit,
}

#[derive(Clone)]
struct Shop {
    held: Held,
    hold: Hold,
    runs: Arc<AtomicUsize>,
}

/// An axum server whose handler commits a row and a large answer.
struct Bench {
    folder: TempDir,
    shop: Shop,
    layer: IdempotencyLayer<SqliteStore>,
    server: Server,
}

impl Bench {
    async fn holding(held: Held) -> Self {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("db");
        let made = Connection::open(&file).expect("a file").execute_batch("CREATE TABLE orders (id INTEGER) STRICT");
        made.expect("a table");
        let store = SqliteStore::open(file).await.expect("a store");
        let layer = IdempotencyLayer::new(store, Scope::shared()).max_recorded_body(LARGE);
        let shop = Shop { held, hold: Hold::new(), runs: Arc::default() };
        let route = Router::new().route("/reports", post_route(order)).layer(layer.clone());
        let server = Server::start(route.with_state(shop.clone())).await;
        Self { folder, shop, layer, server }
    }

    async fn hangs_up(&self, client: Wire) {
        drop(client);
        in_time(self.server.connections_ended(1)).await;
    }

    /// All work has ended; then a repeat comes. How many rows there were before it, and its answer.
    async fn rows_and_repeat(&self) -> (u32, Answer) {
        in_time(self.layer.drained()).await;
        let rows = self.rows();
        (rows, in_time(self.server.send(post("k", "{}"))).await)
    }

    fn rows(&self) -> u32 {
        let looks = Connection::open(self.folder.path().join("db")).expect("a file");
        looks.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).expect("a number")
    }

    /// The row is there, once, and the repeat gets all of the answer.
    async fn is_done_once(&self) {
        let (rows, repeat) = self.rows_and_repeat().await;
        assert_eq!((rows, self.rows(), self.shop.runs.load(Ordering::SeqCst)), (1, 1, 1));
        assert_eq!((repeat.status, repeat.replayed()), (StatusCode::CREATED, Some("true")));
        assert!(repeat.body == "1".repeat(LARGE), "{} bytes", repeat.body.len());
    }
}

async fn order(State(shop): State<Shop>, claim: Claim<SqliteStore>) -> Result<Response, Failed> {
    let run = shop.runs.fetch_add(1, Ordering::SeqCst) + 1;
    if shop.held == Held::BeforeItsCommit {
        shop.hold.pass().await;
    }
    let ordered = claim.commit(move |tx| {
        tx.execute("INSERT INTO orders DEFAULT VALUES", [])?;
        Ok::<_, Failed>((StatusCode::CREATED, run.to_string().repeat(LARGE)))
    });
    let ordered = ordered.await?;
    if shop.held == Held::AfterItsCommit {
        shop.hold.pass().await;
    }
    Ok(ordered)
}

struct Failed;

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

impl From<CommitError> for Failed {
    fn from(_: CommitError) -> Self {
        Self
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(_: rusqlite::Error) -> Self {
        Self
    }
}

#[tokio::test]
async fn closed_within_the_request_nothing_runs_until_it_comes_again() {
    let bench = Bench::holding(Held::Nowhere).await;
    let mut client = bench.server.connect().await;
    client.write("POST /reports HTTP/1.1\r\nhost: lab\r\nidempotency-key: k\r\ncontent-length: 2\r\n\r\n{").await;

    bench.hangs_up(client).await;

    let (rows, repeat) = bench.rows_and_repeat().await;
    assert_eq!((rows, bench.rows(), bench.shop.runs.load(Ordering::SeqCst)), (0, 1, 1));
    assert_eq!((repeat.status, repeat.replayed()), (StatusCode::CREATED, Some("false")));
}

/// The claim is under way, and will be granted to one whose caller has gone.
#[tokio::test]
async fn closed_while_its_key_is_claimed_the_request_runs_once() {
    let (store, door) = (GatedStore::new(MemoryStore::new()), Arc::new(Semaphore::new(0)));
    store.set(Verb::Claim, Gate::Permit(Arc::clone(&door)));
    let (layer, runs) = (IdempotencyLayer::new(store.clone(), Scope::shared()), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    let handler = move |_: Claim<GatedStore<MemoryStore>>| async move {
        format!("run {}", counted.fetch_add(1, Ordering::SeqCst) + 1)
    };
    let server = Server::start(Router::new().route("/reports", post_route(handler)).layer(layer.clone())).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    in_time(until(|| store.calls(Verb::Claim) == 1)).await;

    drop(client);
    in_time(server.connections_ended(1)).await;
    door.add_permits(2);
    in_time(layer.drained()).await;

    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let repeat = in_time(server.send(post("k", "{}"))).await;
    assert_eq!((repeat.text(), repeat.replayed(), runs.load(Ordering::SeqCst)), ("run 1", Some("true"), 1));
}

#[tokio::test]
async fn closed_while_the_handler_runs_it_commits_once() {
    let bench = Bench::holding(Held::BeforeItsCommit).await;
    let mut client = bench.server.connect().await;
    client.post("k", "{}").await;
    in_time(bench.shop.hold.reached()).await;

    bench.hangs_up(client).await;
    bench.shop.hold.let_go(1);

    bench.is_done_once().await;
}

#[tokio::test]
async fn closed_after_the_commit_the_answer_is_there() {
    let bench = Bench::holding(Held::AfterItsCommit).await;
    let mut client = bench.server.connect().await;
    client.post("k", "{}").await;
    in_time(bench.shop.hold.reached()).await;
    assert_eq!(bench.rows(), 1);

    bench.hangs_up(client).await;
    bench.shop.hold.let_go(1);

    bench.is_done_once().await;
}

#[tokio::test]
async fn closed_while_the_answer_is_sent_all_of_it_is_there() {
    let bench = Bench::holding(Held::Nowhere).await;
    let mut client = bench.server.connect().await;
    client.post("k", "{}").await;
    assert!(in_time(client.read_head()).await.starts_with("HTTP/1.1 201"));

    bench.hangs_up(client).await;

    bench.is_done_once().await;
}
