//! Clients that file one report after the other, each until it is acknowledged.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{sync::watch, time::sleep};
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_idempotency::{
    RetryLayer,
    key::IDEMPOTENCY_KEY,
    retry::{Backoff, HeldBody, HoldResponses, RetryError, RetryInfo},
};

use crate::{ledger::Ledger, size::Size};

/// Shorter than the lease, as the page of the lease says.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_millis(600);

/// What all clients share.
#[derive(Clone)]
pub(crate) struct Clients {
    size: Size,
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    told: Mutex<(Ledger, Counted)>,
    begun: watch::Sender<usize>,
    acknowledged: watch::Sender<usize>,
    enough: watch::Sender<bool>,
}

/// What the clients went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Attempts beyond the first of a call.
    pub(crate) retries: u32,
    /// Calls that ended without a number, and were made again under the same key.
    pub(crate) calls_again: u32,
    /// Answers that were replays.
    pub(crate) replays: u32,
    /// Acknowledged reports that were sent once more.
    pub(crate) sent_once_more: u32,
}

type Client = BoxCloneSyncService<Request<Full<Bytes>>, Response<Bytes>, RetryError>;

impl Clients {
    pub(crate) fn new(size: Size, server: SocketAddr) -> Self {
        Self { size, url: format!("http://{server}/reports"), shared: Arc::default() }
    }

    /// Resolves when so many reports are acknowledged.
    pub(crate) async fn acknowledged(&self, count: usize) {
        let mut acknowledged = self.shared.acknowledged.subscribe();
        acknowledged.wait_for(|now| *now >= count).await.expect("we hold the sender");
    }

    /// Lets each client end with the report it is at, once there are enough.
    pub(crate) fn enough(&self) {
        self.shared.enough.send_replace(true);
    }

    /// Files reports until there are enough.
    pub(crate) async fn run(&self) -> (Ledger, Counted) {
        let clients = (0..self.size.clients).map(|number| tokio::spawn(self.clone().one(number)));
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("a client does not panic");
        }
        std::mem::take(&mut *self.shared.told.lock().expect("nobody panics while it is held"))
    }

    async fn one(self, number: usize) {
        let mut random = fastrand::Rng::with_seed(self.size.seed.wrapping_mul(1_000).wrapping_add(number as u64));
        let client = client(random.u64(..));
        while let Some(operation) = self.next() {
            let title = format!("report {operation}");
            let key = key(self.size, operation);
            let id = self.until_acknowledged(&client, &mut random, &key, &title).await;
            self.told(|ledger, _| ledger.acknowledged(&title, id));
            self.shared.acknowledged.send_modify(|count| *count += 1);
            if random.u8(..8) == 0 {
                let again = self.until_acknowledged(&client, &mut random, &key, &title).await;
                self.told(|ledger, counted| {
                    ledger.acknowledged(&title, again);
                    counted.sent_once_more += 1;
                });
            }
        }
    }

    fn next(&self) -> Option<usize> {
        let mut next = None;
        self.shared.begun.send_if_modified(|begun| {
            if *begun < self.size.operations || !*self.shared.enough.borrow() {
                *begun += 1;
                next = Some(*begun);
            }
            next.is_some()
        });
        next
    }

    /// Its result may be unknown for long; then the same is sent again, under the same key.
    async fn until_acknowledged(&self, client: &Client, random: &mut fastrand::Rng, key: &str, title: &str) -> i64 {
        loop {
            let ended = client.clone().oneshot(self.request(random, key, title)).await;
            let retries = RetryInfo::of(&ended).map_or(0, |info| info.attempts().saturating_sub(1));
            let id = ended.ok().and_then(|answer| match answer.status().as_u16() {
                201 => Some((report_id(answer.body()), replayed(&answer))),
                // A key in flight, or a server or store that is down.
                409 | 500.. => None,
                _ => panic!("{title}: {answer:?}"),
            });
            self.told(|_, counted| {
                counted.retries += retries;
                counted.calls_again += u32::from(id.is_none());
                counted.replays += u32::from(id.is_some_and(|(_, replayed)| replayed));
            });
            match id {
                Some((id, _)) => return id,
                None => sleep(Duration::from_millis(random.u64(50..150))).await,
            }
        }
    }

    fn request(&self, random: &mut fastrand::Rng, key: &str, title: &str) -> Request<Full<Bytes>> {
        let report = format!(r#"{{"run_id":"cluster","module":"m","title":"{title}","steps":["one","two"]}}"#);
        let mut request = Request::post(&self.url).body(Full::from(report)).expect("a request");
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(IDEMPOTENCY_KEY, key.parse().expect("a header value"));
        // Now and then the next one goes to another server: one that was started again gets its share.
        if random.u8(..8) == 0 {
            request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        request
    }

    fn told(&self, tell: impl FnOnce(&mut Ledger, &mut Counted)) {
        let (ledger, counted) = &mut *self.shared.told.lock().expect("nobody panics while it is held");
        tell(ledger, counted);
    }
}

/// The key of a report.
pub(crate) fn key(size: Size, operation: usize) -> String {
    format!("cluster-{}-{operation}", size.seed)
}

fn client(seed: u64) -> Client {
    // hyper tries nothing again: that is the retry layer's.
    let http = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .retry_canceled_requests(false)
        .build_http::<Full<Bytes>>();
    let retry = RetryLayer::new()
        .max_attempts(5)
        .attempt_timeout(CLIENT_TIMEOUT)
        .backoff(Backoff::full(Duration::from_millis(20), Duration::from_millis(300)))
        .seed(seed);
    let read = ServiceBuilder::new().layer(retry).layer(HoldResponses::up_to(64 << 10)).service(http);
    BoxCloneSyncService::new(read.and_then(async |answer: Response<HeldBody<Incoming>>| {
        let (head, body) = answer.into_parts();
        // Held before: it is all there.
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Ok(Response::from_parts(head, body))
    }))
}

fn report_id(body: &[u8]) -> i64 {
    let body: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    body["report_id"].as_i64().expect("a number")
}

fn replayed(answer: &Response<Bytes>) -> bool {
    answer.headers().get("idempotency-replayed").is_some_and(|mark| mark == "true")
}
