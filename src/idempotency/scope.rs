//! Whose key it is.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{Response, StatusCode, request::Parts};

use crate::{IdempotencyKey, store::ScopedKey};

type Identify = dyn Fn(&Parts) -> Result<String, ScopeFailure> + Send + Sync;

/// Whose key it is: the same key in another scope is another key, and neither sees anything of the other.
#[derive(Clone)]
pub struct Scope(Option<Arc<Identify>>);

impl Scope {
    /// One scope for all callers: **whoever knows a key and its request can read the stored answer.** Right where all
    /// callers are one principal; where they are not, keys have to be secrets, random and never derived.
    ///
    /// The scope's name is the empty string, which [`Scope::by`] cannot give.
    #[must_use]
    pub fn shared() -> Self {
        Self(None)
    }

    /// One scope for each principal, told by `identify` from what the server itself has authenticated: an extension
    /// that an authentication layer has set. Never from a header that the client may choose.
    ///
    /// A failure is answered as it is, and nothing is claimed. An empty name is taken for a mistake and answered 500.
    ///
    /// ```
    /// # use http::{StatusCode, request::Parts};
    /// # use tower_idempotency::idempotency::Scope;
    /// #[derive(Clone)]
    /// struct User(String); // set by the authentication layer outside
    ///
    /// let scope = Scope::by(|parts: &Parts| match parts.extensions.get::<User>() {
    ///     Some(user) => Ok(user.0.clone()),
    ///     None => Err(StatusCode::UNAUTHORIZED),
    /// });
    /// ```
    pub fn by<F, T, E>(identify: F) -> Self
    where
        F: Fn(&Parts) -> Result<T, E> + Send + Sync + 'static,
        T: Into<String>,
        E: Into<ScopeFailure>,
    {
        Self(Some(Arc::new(move |parts| identify(parts).map(Into::into).map_err(Into::into))))
    }

    pub(super) fn of(&self, parts: &Parts, key: &IdempotencyKey) -> Result<ScopedKey, ScopeFailure> {
        let Some(identify) = &self.0 else { return Ok(ScopedKey::new("", key)) };
        let name = identify(parts)?;
        if name.is_empty() {
            tracing::error!("the scope of an idempotency key is empty; the request was refused");
            return Err(StatusCode::INTERNAL_SERVER_ERROR.into());
        }
        Ok(ScopedKey::new(&name, key))
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Scope::shared()" } else { "Scope::by(..)" })
    }
}

/// The response of a [`Scope`] that fails: a status, or a whole response.
#[derive(Debug)]
pub struct ScopeFailure(Box<Response<Bytes>>);

impl ScopeFailure {
    /// The response that the caller gets.
    #[must_use]
    pub fn into_response(self) -> Response<Bytes> {
        *self.0
    }
}

impl From<StatusCode> for ScopeFailure {
    fn from(status: StatusCode) -> Self {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        Self::from(response)
    }
}

impl From<Response<Bytes>> for ScopeFailure {
    fn from(response: Response<Bytes>) -> Self {
        Self(Box::new(response))
    }
}
