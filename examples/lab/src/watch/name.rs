//! Which request it is, on both ends of a connection.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// An attempt of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Name {
    /// 1 for the first.
    pub client: u32,
    /// 1 for the first; 0 for what is no attempt.
    pub attempt: u32,
}

impl Name {
    /// Sends it along.
    pub fn write(self, headers: &mut HeaderMap) {
        let name = HeaderValue::try_from(self.to_string()).expect("digits and a dash");
        headers.insert(REQUEST_ID, name);
    }

    /// Reads what was sent along.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let (client, attempt) = headers.get(REQUEST_ID)?.to_str().ok()?.split_once('-')?;
        Some(Self { client: client.parse().ok()?, attempt: attempt.parse().ok()? })
    }
}

/// `1-2`
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.client, self.attempt)
    }
}
