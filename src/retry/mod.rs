//! Try again where it can do no harm.
//!
//! [`RetryLayer`] wraps any HTTP client. A client that timed out does not know whether the server did the work; this
//! layer sends a request again only where a second copy is harmless, waits in between so that a herd spreads, and stops
//! when its budget, its deadline or the server says so. These are the rules; the number of each stands at the test that
//! holds it.
//!
//! 1. **Gate.** A request is repeated only if its method is idempotent (GET, HEAD, OPTIONS, TRACE, PUT, DELETE, QUERY),
//!    or it carries an idempotency key, or its caller marked it ([`AssumeRepeatable`]), or the failure proves that it was
//!    *not applied*: connection refused, shed under load, 421, 425, and what the client's own errors can tell (features
//!    `hyper`, `reqwest`). Everything else is *maybe applied*: a POST without a key is sent exactly once.
//! 2. **Keys.** [`with_idempotency_keys`](RetryLayer::with_idempotency_keys) puts one UUIDv4 on each logical request of a
//!    [guarded method](RetryLayer::guarded_methods), before the first attempt, the same bytes on every attempt. A key
//!    that the caller set is never touched. After its [lifetime](RetryLayer::key_lifetime) there is no further attempt,
//!    and never a new key.
//! 3. **What is retried**: errors of the transport, 408, 421 (once in all), 425, 429, 500, 502, 503, 504, unregistered 5xx, 413
//!    with `Retry-After`, and 409 when keyed. Not 400, 422, 501, nor the 425 to a request
//!    with an `Early-Data` field, which has to be passed back (RFC 8470 §5.2). A response marked
//!    `Idempotency-Replayed: true` is final. `x-should-retry` and `Stripe-Should-Retry` override the status, but none of
//!    the other rules.
//!    [`with_classifier`](RetryLayer::with_classifier) plugs in another judgement.
//! 4. **[`Backoff`].** The cap is a true ceiling, jitter included. Each request has its own random stream; a
//!    [seed](RetryLayer::seed) makes it repeatable.
//! 5. **What the server asks for**: `grpc-retry-pushback-ms` (exactly), else `retry-after-ms`, `Retry-After` or `RateLimit`: a
//!    floor, with the backoff and up to a tenth of the floor at random above it. Beyond a
//!    [maximum](RetryLayer::max_hint) or the deadline the response is returned now. What cannot be read is ignored; but a
//!    pushback that is negative or cannot be read ends the retries (gRPC A6).
//! 6. **[Attempts](RetryLayer::max_attempts), [attempt timeout](RetryLayer::attempt_timeout), [deadline](RetryLayer::deadline).**
//!    No wait begins that would end after the deadline. The last real failure is what the caller gets: where its response
//!    was read away already, as the head in a [`RetryError`].
//! 7. **[`Budget`].** A bucket of tokens, shared by the services of a layer and its clones. It is asked last; a retry that
//!    is never sent is refunded. Empty, the failure is returned at once, and says so.
//! 8. **Bodies** are repeated byte for byte or not at all ([`RepeatBody`]). One that cannot be is sent once, which is no error. No copy is made where no retry can follow.
//! 9. **Connections.** A failed response is read away, [bounded](RetryLayer::max_drain), and dropped before the wait. An
//!    answer that is cut in its body is repeated only under [`HoldResponses`], which reads it first.
//! 10. **tower.** The instance that is ready is the one that is called; each attempt is preceded by `poll_ready`, and a
//!     service that fails to be ready is not asked again; nothing of the service is held during a wait. Dropping the future, at any point, ends the wait or the attempt and leaves
//!     the budget exact.
//! 11. **What the caller learns**: [`RetryInfo`], in [`RetryError`] and, when a retry was made or refused, in the
//!     response's extensions. Its [`Outcome`] covers all attempts: once one was maybe applied only a 2xx, a 3xx or a
//!     marked replay settles it. A `RetryLayer` around this one sees it and does not multiply, unless
//!     a timeout or [`HoldResponses`] between the two has thrown it away.
//! 12. **One retry in the stack**, around a service that makes one exchange for each call. Attempts across layers and hops multiply; [`RetryLayer`] says where the one stands, and
//!     the page of the reqwest adapter how to switch reqwest's own off.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{Service, ServiceBuilder, ServiceExt};
//! use tower_idempotency::{RetryLayer, retry::{Outcome, RetryInfo, Stopped}};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server that is busy for every odd request.
//! let mut calls = 0;
//! let server = tower::service_fn(move |_: Request<Full<Bytes>>| {
//!     calls += 1;
//!     let status = if calls % 2 == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::CREATED };
//!     async move { Ok::<_, std::io::Error>(Response::builder().status(status).body(Full::<Bytes>::default()).unwrap()) }
//! });
//! let mut client = ServiceBuilder::new().layer(RetryLayer::new()).service(server);
//!
//! let keyed = Request::post("/charges").header("Idempotency-Key", "\"order-17\"").body(Full::from("42 EUR"))?;
//! let created = client.ready().await?.call(keyed).await?;
//! assert_eq!(created.status(), StatusCode::CREATED);
//! assert_eq!(created.extensions().get::<RetryInfo>().unwrap().attempts(), 2);
//!
//! // Without a key a second copy could charge twice: it is sent once.
//! let bare = Request::post("/charges").body(Full::from("42 EUR"))?;
//! let busy = client.ready().await?.call(bare).await?;
//! assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
//! let info = busy.extensions().get::<RetryInfo>().unwrap();
//! assert_eq!((info.attempts(), info.stopped(), info.outcome()), (1, Stopped::NotRepeatable, Outcome::Unknown));
//! # Ok(())
//! # }
//! ```

// A request walks down: service (takes the ready service, begins), future (calling, draining, sleeping, readying), course
// (one request over all its attempts), whose parts are keys before the first attempt, ended after each with classify and evidence for
// its verdict, and plan for whether and when there is another, from backoff, budget and hints. body and hold are what
// requests and responses are made of; info and error are what the caller gets.
mod backoff;
mod body;
mod budget;
mod classify;
mod course;
mod ended;
mod error;
mod evidence;
mod future;
mod hints;
mod hold;
#[cfg(feature = "hyper")]
mod hyper;
mod info;
mod keys;
mod layer;
mod marks;
mod plan;
#[cfg(feature = "reqwest")]
pub mod reqwest;
mod service;
mod settings;

pub use backoff::{Backoff, Delays};
pub use body::{RepeatBody, SentOnce};
pub use budget::Budget;
pub use classify::{Attempt, Verdict};
pub use error::{AttemptTimeout, RetryError};
pub use future::ResponseFuture;
pub use hold::{CutResponse, HeldBody, Hold, HoldResponses, Holding};
pub use info::{FailedAttempt, Failure, Outcome, RetryInfo, Stopped};
pub use layer::RetryLayer;
pub use marks::{AssumeRepeatable, Repeat};
pub use service::Retry;
