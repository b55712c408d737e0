//! The stack of the client, its settings, and one submission through it.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{client::legacy, rt::TokioExecutor};
use tower::{
    ServiceBuilder, ServiceExt,
    util::{BoxCloneSyncService, MapRequestLayer},
};
use tower_idempotency::{
    IdempotencyKey, RetryLayer,
    key::IDEMPOTENCY_KEY,
    retry::{AssumeRepeatable, Attempt, Backoff, HeldBody, HoldResponses, RetryError, Verdict},
};

use super::{
    attempts::{Attempts, ListAttempts},
    key::{KeySource, ToolCall, with_a_new_key},
    submission::{FinalResult, Submission},
    url::BaseUrl,
};
use crate::{
    bug_tracker::reports::NewReport,
    watch::{Event, Told, Watch},
};

/// An answer is a few lines; one that is longer is not read.
pub(super) const LONGEST_ANSWER: u64 = 64 << 10;

/// Files bug reports for a model. A clone shares its budget of retries.
#[derive(Clone, Debug)]
pub struct Harness {
    client: BoxCloneSyncService<Request<Full<Bytes>>, Response<HeldBody<Incoming>>, RetryError>,
    reports: Uri,
    key_source: KeySource,
    watch: Watch,
}

/// How a harness tries.
///
/// # Default
///
/// 4 attempts; full jitter from 20 ms up to 200 ms; 2 s for one attempt; a random seed.
#[derive(Clone, Debug)]
#[must_use]
pub struct Settings {
    key_source: KeySource,
    retry: RetryLayer,
}

impl Settings {
    /// The defaults, and this source of keys.
    pub fn new(key_source: KeySource) -> Self {
        let retry = RetryLayer::new()
            .max_attempts(4)
            .attempt_timeout(Duration::from_secs(2))
            .backoff(Backoff::full(Duration::from_millis(20), Duration::from_millis(200)))
            .with_classifier(judge);
        Self { key_source, retry }
    }

    /// How long the whole answer to one attempt may take. Default: 2 s.
    pub fn attempt_timeout(self, limit: Duration) -> Self {
        Self { retry: self.retry.attempt_timeout(limit), ..self }
    }

    /// After how many attempts the harness gives up. Default: 4.
    pub fn max_attempts(self, attempts: u32) -> Self {
        Self { retry: self.retry.max_attempts(attempts), ..self }
    }

    /// Makes the waits between attempts repeatable. Default: a random seed.
    pub fn seed(self, seed: u64) -> Self {
        Self { retry: self.retry.seed(seed), ..self }
    }
}

impl Harness {
    /// Files reports with the bug tracker at this address.
    pub fn new(bug_tracker: &BaseUrl, settings: Settings) -> Self {
        let Settings { key_source, retry } = settings;
        // One attempt is one connection: what became of one says nothing about the next, and hyper tries nothing again.
        let http = legacy::Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .pool_max_idle_per_host(0)
            .build_http();
        let new_keys = (key_source == KeySource::PerAttempt).then(|| MapRequestLayer::new(with_a_new_key));
        let client = ServiceBuilder::new()
            .layer(retry)
            .option_layer(new_keys)
            .layer(ListAttempts)
            .layer(HoldResponses::up_to(LONGEST_ANSWER))
            .service(http);
        Self {
            client: BoxCloneSyncService::new(client),
            reports: bug_tracker.reports(),
            key_source,
            watch: Watch::nobody(),
        }
    }

    /// The same before a witness. Each attempt then names itself in `x-request-id`.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// Files a report for one call of the tool: one logical request, however many attempts it takes.
    pub async fn submit(&self, report: &NewReport, call: &ToolCall) -> Submission {
        let key = self.key_source.key(report, call);
        let attempts = Attempts::new(self.watch.clone(), report, call);
        let request = self.request(report, key.as_ref(), &attempts);
        let answer = self.client.clone().oneshot(request).await;
        let result = match answer {
            Ok(answer) => FinalResult::of_answer(answer).await,
            Err(error) => FinalResult::of_error(&error),
        };
        self.watch.saw(Event::Ended(Told::from(&result)));
        let key = key.map(|key| key.to_string());
        Submission { key_source: self.key_source, key, attempts: attempts.take(), result }
    }

    fn request(&self, report: &NewReport, key: Option<&IdempotencyKey>, attempts: &Attempts) -> Request<Full<Bytes>> {
        let body = serde_json::to_vec(report).expect("strings are JSON");
        let mut request = Request::post(&self.reports)
            .header(header::CONTENT_TYPE, "application/json")
            .extension(attempts.clone())
            .body(Full::from(body))
            .expect("a request");
        match key {
            Some(key) => {
                request.headers_mut().insert(IDEMPOTENCY_KEY, key.to_header_value());
            }
            // Not so: the articles' rows without a key show what comes of it.
            None => {
                request.extensions_mut().insert(AssumeRepeatable);
            }
        }
        request
    }
}

/// Retries what the articles' client retries, with a key or without; errors of the transport are judged as always.
fn judge(attempt: &Attempt<'_>) -> Verdict {
    let Some(head) = attempt.response() else { return attempt.verdict() };
    match head.status().as_u16() {
        ..400 => Verdict::Success,
        _ if attempt.is_replay() => Verdict::Stop,
        409 | 429 | 500 | 502 | 503 | 504 => Verdict::Retry,
        _ => Verdict::Stop,
    }
}
