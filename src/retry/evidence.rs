//! What a failure proves.

use std::{error::Error, io};

use tower::load_shed::error::Overloaded;

use super::{
    error::{AttemptTimeout, RetryError},
    hold::CutResponse,
    info::Outcome,
};

#[cfg(test)]
mod tests;

/// What one error tells of the attempt that failed with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Evidence {
    /// The server did not act on the request: it may be sent again.
    NotApplied,
    /// Nothing, and no more do its sources: the attempt was maybe applied.
    Nothing,
    /// Unknown here, and perhaps a wrapper: its source is asked.
    InItsSource,
}

/// Does the failure of an attempt that got no response prove that the server did not act on it?
///
/// Errors are read from the outside in, and the first that is known decides. To look further for one that pleases would
/// find the failures of other requests: a request body that is read from elsewhere fails with that client's
/// "connection refused", and by then half of it has been written here.
pub(super) fn surely_not_applied(failure: &(dyn Error + 'static)) -> bool {
    // These only where they are the failure itself: deeper they may be that of a tunnel, or of the request's body.
    if let Some(error) = failure.downcast_ref::<io::Error>() {
        return error.kind() == io::ErrorKind::ConnectionRefused;
    }
    if let Some(error) = failure.downcast_ref::<RetryError>() {
        return error.outcome() == Outcome::NotApplied;
    }
    if failure.is::<Overloaded>() {
        return true;
    }
    chain(failure).map(evidence).find(|evidence| *evidence != Evidence::InItsSource) == Some(Evidence::NotApplied)
}

fn evidence(error: &(dyn Error + 'static)) -> Evidence {
    #[cfg(feature = "reqwest")]
    if let known @ (Evidence::NotApplied | Evidence::Nothing) = super::reqwest::evidence(error) {
        return known;
    }
    #[cfg(feature = "hyper")]
    if let known @ (Evidence::NotApplied | Evidence::Nothing) = super::hyper::evidence(error) {
        return known;
    }
    // A transport's: what it wraps may be the failure of a tunnel or a proxy that had taken the request. A cut answer's:
    // the head had come, and what cut the body may be the failure of another exchange.
    if error.is::<io::Error>() || error.is::<CutResponse>() { Evidence::Nothing } else { Evidence::InItsSource }
}

/// Is it a timeout, somewhere in the chain? The server may still be at work then.
pub(super) fn is_timeout(failure: &(dyn Error + 'static)) -> bool {
    chain(failure).any(|error| {
        #[cfg(feature = "reqwest")]
        if super::reqwest::is_timeout(error) {
            return true;
        }
        #[cfg(feature = "hyper")]
        if super::hyper::is_timeout(error) {
            return true;
        }
        let is_io = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        error.is::<AttemptTimeout>()
            || error.is::<tower::timeout::error::Elapsed>()
            || error.is::<tokio::time::error::Elapsed>()
            || error.downcast_ref().is_some_and(is_io)
    })
}

pub(super) fn chain<'a>(failure: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(failure), |&error| error.source())
}
