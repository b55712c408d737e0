//! A witness of what a harness and a bug tracker do: told of each [`Event`], and asked before a request goes on.
//!
//! Both ends call a [`Watch`], which names the request, and calls nobody unless there is a [`Witness`]. The client's goes
//! with its [`Harness`](crate::harness::Harness) and names each attempt in `x-request-id`; the [`door`] of a server reads the
//! name again, and hands the handler a watch of its own.

pub mod door;
pub mod event;
pub mod name;

use std::{convert::Infallible, fmt, pin::Pin, sync::Arc};

use axum::extract::FromRequestParts;
use http::request::Parts;

pub use event::{Event, Found, Side, Told};
pub use name::Name;

/// Where a witness may hold a request up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// The client has made it, and sends it next.
    Sending,
    /// The server has looked its key up or claimed it, and writes next.
    Writing,
}

/// Sees what happens.
pub trait Witness: fmt::Debug + Send + Sync {
    /// This request does this now.
    fn saw(&self, request: Name, event: Event);

    /// Resolves when this request may go on.
    fn hold(&self, request: Name, before: Before) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// One request, before a witness or before nobody.
#[derive(Clone, Debug, Default)]
pub struct Watch(Option<(Arc<dyn Witness>, Name)>);

impl Watch {
    /// Nobody sees it.
    #[must_use]
    pub fn nobody() -> Self {
        Self(None)
    }

    /// This witness sees the requests of this client.
    pub fn of(witness: Arc<dyn Witness>, client: u32) -> Self {
        Self(Some((witness, Name { client, attempt: 0 })))
    }

    /// The same client's attempt of this number.
    #[must_use]
    pub fn attempt(&self, attempt: u32) -> Self {
        Self(self.0.clone().map(|(witness, name)| (witness, Name { attempt, ..name })))
    }

    /// Which request this is, if somebody wants to know.
    pub fn name(&self) -> Option<Name> {
        self.0.as_ref().map(|&(_, name)| name)
    }

    /// Tells the witness.
    pub fn saw(&self, event: Event) {
        if let Some((witness, name)) = &self.0 {
            witness.saw(*name, event);
        }
    }

    /// Waits until the witness lets it go on.
    pub async fn hold(&self, before: Before) {
        if let Some((witness, name)) = &self.0 {
            witness.hold(*name, before).await;
        }
    }
}

/// Of a request that came through a [`door`]; of any other one nobody sees anything.
impl<S: Sync> FromRequestParts<S> for Watch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}
