//! What the errors of hyper's client prove. Read in hyper 1.12, hyper-util 0.1.21 and h2 0.4.20; the tests hold each
//! fact against connections.
//!
//! Only [`legacy::Error`] is believed, the error of a request that got no response's head. What is not, and why:
//!
//! - **A bare `hyper::Error` or `h2::Error`.** It may be that of a response's body, or of an upgrade that never came, which
//!   is "canceled" as well: the server has answered by then.
//! - **GOAWAY.** h2 fails the streams above the last one that the server took, but its error does not say so, and hyper
//!   answers a request whose stream the server did take with the same error: it asks the connection whether it is
//!   still open once more after the request was handed over, and a GOAWAY may have come in between.
//! - **A closed or reset connection, an answer cut short, a body that failed**: the request was written, or some of it.

use std::error::Error;

use h2::Reason;
use hyper_util::client::legacy;

use super::evidence::Evidence;

#[cfg(test)]
pub(super) mod tests;

/// What an error of hyper-util's, hyper's or h2's client tells.
pub(super) fn evidence(error: &(dyn Error + 'static)) -> Evidence {
    match error.downcast_ref::<legacy::Error>() {
        Some(error) if surely_not_applied(error) => Evidence::NotApplied,
        Some(_) => Evidence::Nothing,
        None if error.is::<hyper::Error>() || error.is::<h2::Error>() => Evidence::Nothing,
        None => Evidence::InItsSource,
    }
}

fn surely_not_applied(error: &legacy::Error) -> bool {
    // Said while the client still looks for a connection (`connection_for`), before it hands the request to one.
    if error.is_connect() {
        return true;
    }
    let Some(error) = error.source().and_then(|source| source.downcast_ref::<hyper::Error>()) else { return false };
    // A request that came back out of the connection's queue, or never got in. The client awaits no upgrade.
    if error.is_canceled() {
        return true;
    }
    // What the caller's own body failed with stands below an error of the user, and may be of any type.
    !error.is_user() && error.source().and_then(|source| source.downcast_ref::<h2::Error>()).is_some_and(is_refusal)
}

/// RFC 9113 §8.7: the stream was closed "prior to any processing having occurred". The peer has to have said so: on our
/// side too a stream can be reset with any reason.
fn is_refusal(error: &h2::Error) -> bool {
    error.is_reset() && error.is_remote() && error.reason() == Some(Reason::REFUSED_STREAM)
}

pub(super) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout)
}
