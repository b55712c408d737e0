//! The other process: this very test, which reads what to do and says what became of it.

use std::{
    collections::HashMap,
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{Router, routing::post as on_post};
use futures_util::future::join_all;
use http::StatusCode;
use lab::exchange::{post, send};
use tower_idempotency::{
    IdempotencyLayer, PostgresStore, RedisStore, Store,
    idempotency::{Claim, CommitError, Scope},
    store::{
        Claimed, Held, Outcome, StoreError, StoredResponse, Token,
        postgres::sqlx::{self, AssertSqlSafe},
    },
};

use crate::stores::{Place, request};

const PLACE: &str = "TWO_HOSTS_PLACE";
const SAYS: &str = "other process: ";

/// A process of its own on the store of a test. Ends with it.
pub(crate) struct Other {
    child: Child,
    asks: Option<ChildStdin>,
    told: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(place: &Place) -> Self {
        Self::spawn(Command::new(env::current_exe().expect("a test is a file")), place)
    }

    /// Its wall clock is off by so much: `+1h`, `-1h`.
    pub(crate) fn with_clock(place: &Place, off: &str) -> Self {
        let mut command = Command::new("faketime");
        command.args(["-f", off]).arg(env::current_exe().expect("a test is a file"));
        // Its timers are none of the wall clock's.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Self::spawn(command, place)
    }

    fn spawn(mut command: Command, place: &Place) -> Self {
        command.args(["--exact", "other::the_other_process", "--nocapture", "--test-threads=1"]);
        command.env(PLACE, format!("{} {} {}", place.kind, place.url, place.name));
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|error| {
            panic!("no {} ({error}): `apt-get install faketime`", command.get_program().display())
        });
        let asks = child.stdin.take();
        let told = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut other = Self { child, asks, told };
        assert_eq!(other.hear(), "ready");
        other
    }

    /// Its answer to what it is told to do.
    pub(crate) fn does(&mut self, what: &str) -> String {
        self.begins(what);
        self.hear()
    }

    pub(crate) fn begins(&mut self, what: &str) {
        writeln!(self.asks.as_mut().expect("it is piped"), "{what}").expect("it reads");
    }

    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.told.read_line(&mut line).expect("it writes") > 0, "it has ended");
            // Behind what the test's own runner says.
            if let Some((_, said)) = line.split_once(SAYS) {
                return said.trim_end().to_owned();
            }
        }
    }

    /// What it reads from its wall clock, in seconds.
    pub(crate) fn now(&mut self) -> i64 {
        self.does("now").parse().expect("a number")
    }
}

/// It ends with what it reads.
impl Drop for Other {
    fn drop(&mut self) {
        drop(self.asks.take());
        // Both fail when it has ended already.
        let _ = std::io::copy(&mut self.told, &mut std::io::sink());
        let _ = self.child.wait();
    }
}

/// Not a test: what the process does that another one of this file has started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_process() {
    let Ok(place) = env::var(PLACE) else { return };
    let [kind, url, name] = place.split(' ').collect::<Vec<_>>()[..] else { panic!("three words: {place}") };
    let place = Place { kind: kind.into(), url: url.into(), name: name.into() };
    match kind {
        "postgres" => {
            let orders = format!("INSERT INTO {name}.orders VALUES ($1)");
            let handler = async move |claim: Claim<PostgresStore>| {
                let mut tx = claim.begin().await?;
                let insert = sqlx::query(AssertSqlSafe(orders)).bind(claim.key().as_str().to_owned());
                insert.execute(&mut *tx).await.expect("the table is there");
                tx.complete(StatusCode::CREATED).await.map_err(|error: CommitError| error)
            };
            let stores = [place.postgres().await, place.postgres().await];
            let app = Router::new().route("/reports", on_post(handler));
            obey(stores, app).await;
        }
        "redis" => {
            let handler = async |_: Claim<RedisStore>| StatusCode::CREATED;
            let stores = [place.redis().await, place.redis().await];
            obey(stores, Router::new().route("/reports", on_post(handler))).await;
        }
        other => panic!("no store: {other}"),
    }
}

async fn obey<S: Store>(stores: [S; 2], app: Router) {
    let app = app.layer(IdempotencyLayer::new(stores[0].clone(), Scope::shared()));
    let mut tokens = HashMap::new();
    say("ready");
    let mut lines = std::io::stdin().lines();
    while let Some(Ok(line)) = tokio::task::block_in_place(|| lines.next()) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["now"] => say(&now().to_string()),
            ["claim", key, lease] => {
                let lease = Duration::from_secs(lease.parse().expect("seconds"));
                let claimed = stores[0].claim(&request(key, lease)).await;
                say(&told(&claimed));
                if let Ok(Claimed::Acquired { token, .. }) = claimed {
                    tokens.insert(key.to_owned(), token);
                }
            }
            [verb, key] if verb != "race" && verb != "submit" => {
                say(&held(on_token(&stores[0], verb, &tokens[key]).await));
            }
            ["race", key] => {
                let asked = request(key, Duration::from_secs(60));
                let claims = (0..50).map(|n| {
                    let (store, asked) = (stores[n % 2].clone(), asked.clone());
                    tokio::spawn(async move { store.claim(&asked).await })
                });
                let claims = join_all(claims.collect::<Vec<_>>()).await;
                let mut ends: Vec<_> = claims.into_iter().map(|claim| told(&claim.expect("it ends"))).collect();
                ends.sort();
                say(&ends.join(", "));
            }
            ["submit", key] => {
                let answer = send(&app, post(key, "body")).await;
                say(&format!("{} {}", answer.status.as_u16(), answer.replayed().unwrap_or("unmarked")));
            }
            _ => panic!("no order: {line}"),
        }
    }
}

async fn on_token<S: Store>(store: &S, verb: &str, token: &Token) -> Result<Held, StoreError> {
    let made = StoredResponse { status: StatusCode::CREATED, headers: http::HeaderMap::new(), body: "made".into() };
    match verb {
        "renew" => store.renew(token, Duration::from_secs(60)).await,
        "complete" => store.complete(token, Outcome::Response(made)).await,
        "release" => store.release(token).await,
        other => panic!("no verb: {other}"),
    }
}

fn told(claimed: &Result<Claimed, StoreError>) -> String {
    match claimed {
        Ok(Claimed::Acquired { attempt, .. }) => format!("granted {attempt}"),
        Ok(Claimed::InFlight { .. }) => "in flight".into(),
        Ok(Claimed::Done(_)) => "done".into(),
        other => format!("{other:?}"),
    }
}

fn held(held: Result<Held, StoreError>) -> String {
    match held {
        Ok(Held::Yes) => "yes".into(),
        Ok(Held::No) => "no".into(),
        Err(error) => format!("{error:?}"),
    }
}

fn say(what: &str) {
    println!("{SAYS}{what}");
}

#[expect(clippy::disallowed_methods, reason = "whether the wall clock of this process is off is what is asked")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs()
}
