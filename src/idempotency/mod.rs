//! Run each keyed request once.
//!
//! [`IdempotencyLayer`] wraps any HTTP service. A client names each logical operation with an `Idempotency-Key` and sends
//! the same key with every attempt at it; the layer runs the first attempt and answers the others from its record. These
//! are the rules; the number of each stands at the test that holds it.
//!
//! 1. **Which requests.** POST and PATCH, unless [set](IdempotencyLayer::methods) otherwise. Every other request passes
//!    through untouched and unbuffered, and the store is not asked. So does a request that carries a [`Claim`] of this
//!    store's type already: a layer inside another one lets it pass, and warns once.
//! 2. **No key**: passes through untouched, or 400 where a key is [required](IdempotencyLayer::require_key).
//! 3. **A malformed key** is 400 before anything else: empty or blank, too long, other than printable ASCII, more than
//!    one field line, a broken quoted string. [`KeySyntax`](crate::key::KeySyntax) says how the field is read; unless it
//!    is set otherwise `"abc"` and `abc` are the same key.
//! 4. **The body** is read into memory up to a [limit](IdempotencyLayer::max_request_body); over it, 413 before any claim,
//!    and 408 if it does not arrive [in time](IdempotencyLayer::max_read). The handler gets the identical bytes. `Accept-Encoding` is
//!    [taken off](IdempotencyLayer::keep_accept_encoding), so that every repeat can read what is stored.
//! 5. **Scope.** The same key in another [`Scope`] is another key. A scope that fails answers its own response, and
//!    nothing is claimed.
//! 6. **Fingerprint.** SHA-256 over method, original path and query, content type and the exact body
//!    ([`Fingerprint::exact`](crate::store::Fingerprint::exact)); JSON by meaning, or your own, by
//!    [setting](IdempotencyLayer::with_fingerprint).
//! 7. **The first request** runs. Its response goes out with `Idempotency-Replayed: false`, otherwise untouched.
//! 8. **A repeat after it ended** gets the same status, headers and body, with `Idempotency-Replayed: true`. The handler
//!    is not called.
//! 9. **A repeat while it runs** is 409 with `Retry-After`, never more than what is left of the lease; or it
//!    [waits](IdempotencyLayer::wait_for), within a [bound](IdempotencyLayer::max_waiters), and asks again at growing
//!    intervals. Whoever loses a race for a key gets 409 or a replay, never a 5xx.
//! 10. **The same key with another request** is 422, whether the first has ended or still runs. The record is left as it
//!     was; the problem names what differs, never the data.
//! 11. **A claim is a lease**, renewed while its holder lives. When it lapses (killed, paused, cut off) the next repeat
//!     takes over; lapsing alone changes nothing. A passed holder runs on and can complete nothing: what it tries to
//!     commit is rolled back, and its caller gets the recorded answer if it is to the same request, else 409. At
//!     [`max_run`](IdempotencyLayer::max_run) the handler is dropped: 503.
//! 12. **Fences order, holders identify.** A token is a fence, which rises for the life of the store, and a random holder;
//!     both are compared.
//! 13. **What is recorded**: every outcome of the work. Not recorded, so that a repeat runs at once: panics, errors of the
//!     inner service, 5xx ([a setting](OnFailure)), and the 4xx that refuse a request before the work (400, 401, 403,
//!     405, 406, 408, 409, 411, 413-415, 417, 421, 422, 425, 426, 428, 429, 431). A handler overrides it with a
//!     [`Recording`] in its response's extensions.
//! 14. **The caller going away does not stop the work.** The exchange goes on as a task of its own; only reading the
//!     request's body, before the claim, and the pause between a waiter's asks end with the caller. [`drained`](IdempotencyLayer::drained) waits for such tasks on shutdown.
//! 15. **Nothing of a response leaves before its key is closed**, unless closing failed (17). A body in memory is recorded
//!     whole. One that is too large, that streams events, or that stalls closes its key as *not replayable* and is
//!     streamed: a repeat gets 410, never a second run.
//! 16. **Never stored**: hop-by-hop fields, `Proxy-Auth*`, `Date`, `Age`, `Set-Cookie`
//!     ([opt in](IdempotencyLayer::keep_set_cookie)), trailers. Repeated lines keep number and order, and
//!     `Content-Length` always matches.
//! 17. **The store fails.** Each call has a [limit](IdempotencyLayer::store_timeout). At the claim: 503, the handler is not
//!     called. At a renewal: tried again. At a release: tried again in the background, for one lease. At a completion:
//!     tried again for one lease while the lease is renewed; then the caller gets its answer, and the lease is left to
//!     lapse. At a commit whose outcome is unknown: 503, and the record decides.
//! 18. **Retention** counts from the end of the request. A record with a live lease never expires. Old ones are purged in
//!     small batches, from the first guarded request until the last clone of the layer is dropped.
//! 19. **Refusals** are RFC 9457 problems with a `type` of their own, `Cache-Control: no-store`, and nothing of what is
//!     stored; the [`Rejection`] is in the response's extensions.
//! 20. **To be seen**: a tracing event for each outcome of a keyed request and, with the feature `metrics`, the counter
//!     `tower_idempotency_outcomes_total` and the histograms `tower_idempotency_claim_seconds` and
//!     `tower_idempotency_complete_seconds`.
//!
//! # The life of a claim
//!
//! ```text
//!            claim granted                 complete: the answer is kept, or closed as not replayable
//!  absent ──────────────────▶ in flight ─────────────────────────────────────────────────────────────▶ done
//!    ▲  ▲                      │  │  ▲                                                                  │
//!    │  └──── released ────────┘  │  └── taken over by a repeat, with a higher fence                     │
//!    │                            └────▶ lapsed ──┘                                                     │
//!    └──────────────────────────────────── past its retention ─────────────────────────────────────────┘
//! ```
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{Service, ServiceExt, ServiceBuilder};
//! use tower_idempotency::{IdempotencyLayer, MemoryStore, idempotency::{MaybeHeld, Scope}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut bookings = 0;
//! let mut service = ServiceBuilder::new()
//!     .layer(IdempotencyLayer::new(MemoryStore::new(), Scope::shared()))
//!     .service(tower::service_fn(move |_: Request<MaybeHeld<Full<Bytes>>>| {
//!         bookings += 1;
//!         let booked = Response::new(Full::from(format!("booking {bookings}")));
//!         async move { Ok::<_, std::convert::Infallible>(booked) }
//!     }));
//!
//! let book = |flight: &'static str| {
//!     Request::post("/bookings").header("Idempotency-Key", "order-17").body(Full::from(flight)).unwrap()
//! };
//! let first = service.ready().await?.call(book("LH 454")).await?;
//! let again = service.ready().await?.call(book("LH 454")).await?;
//! let other = service.ready().await?.call(book("UA 59")).await?;
//!
//! assert_eq!(first.headers()["Idempotency-Replayed"], "false");
//! assert_eq!(again.headers()["Idempotency-Replayed"], "true"); // booking 1 again
//! assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY); // the key belongs to another request
//! # Ok(())
//! # }
//! ```

// A request walks down: service (guard it or let it pass), exchange (one keyed exchange: acquire, execute, record,
// answer), and its parts: scope and fingerprint before the claim; claim, commit, lease and holder while the handler runs;
// recording and rejection for the answer. settings and guard are what all exchanges of a layer share.
#[cfg(feature = "axum")]
mod axum;
mod body;
mod claim;
#[cfg_attr(
    not(any(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "only a store that commits begins a commit")
)]
mod commit;
mod exchange;
mod fingerprint;
mod guard;
mod holder;
mod in_place;
mod layer;
mod lease;
mod metrics;
mod recording;
mod rejection;
mod scope;
mod service;
mod settings;
mod status;

#[cfg(all(feature = "axum", any(feature = "sqlite", feature = "postgres")))]
pub(crate) use self::axum::in_memory;
pub use body::MaybeHeld;
pub use claim::Claim;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use commit::Commit;
#[cfg(feature = "postgres")]
pub(crate) use commit::Joined;
pub use commit::{CommitError, CommitErrorKind};
#[cfg(all(test, feature = "sqlite"))]
pub(crate) use commit::{CommitState, Ended};
pub use layer::IdempotencyLayer;
#[cfg(feature = "sqlite")]
pub(crate) use recording::Recorder;
pub use recording::{OnFailure, Recording};
pub use rejection::{Rejection, RejectionKind};
pub use scope::{Scope, ScopeFailure};
pub use service::{Idempotency, ResponseFuture};
pub use settings::Settings;
