//! One key for each logical request.

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, Request, header::Entry};
use tower::BoxError;

use crate::{
    IdempotencyKey,
    key::{IDEMPOTENCY_KEY, KeySyntax},
};

/// How keys are found, made and written.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) header: HeaderName,
    pub(super) insert: bool,
    pub(super) methods: Arc<[Method]>,
    pub(super) bare: bool,
    pub(super) max_length: usize,
    pub(super) lifetime: Duration,
    pub(super) generate: Arc<dyn Fn() -> IdempotencyKey + Send + Sync>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            header: IDEMPOTENCY_KEY,
            insert: false,
            methods: [Method::POST, Method::PATCH].into(),
            bare: false,
            max_length: IdempotencyKey::DEFAULT_MAX_LEN,
            lifetime: Duration::from_secs(24 * 60 * 60),
            generate: Arc::new(IdempotencyKey::random),
        }
    }
}

impl Keys {
    /// The field that the request goes out with, after one was put there if it is to have one. `None` without a key,
    /// or with more than one line: what a server makes of that is not known.
    pub(super) fn complete<B>(&self, request: &mut Request<B>) -> Result<Option<HeaderValue>, BoxError> {
        let insert = self.insert && self.methods.contains(request.method());
        if !insert && !request.headers().contains_key(&self.header) {
            return Ok(None);
        }
        match request.headers_mut().try_entry(&self.header)? {
            Entry::Occupied(set) => {
                let mut lines = set.iter();
                Ok(lines.next().filter(|_| lines.next().is_none()).cloned())
            }
            Entry::Vacant(free) => {
                let value = self.write(&(self.generate)())?;
                free.try_insert(value.clone())?;
                Ok(Some(value))
            }
        }
    }

    fn write(&self, key: &IdempotencyKey) -> Result<HeaderValue, BoxError> {
        let quoted = key.to_header_value();
        IdempotencyKey::parse_as(quoted.as_bytes(), KeySyntax::Strict, self.max_length)?;
        Ok(if self.bare { key.to_bare_header_value()? } else { quoted })
    }
}

/// `None` if no server can be relied on to read it as a key.
pub(super) fn read(field: &HeaderValue) -> Option<IdempotencyKey> {
    IdempotencyKey::parse_as(field.as_bytes(), KeySyntax::Lenient, usize::MAX).ok()
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("header", &self.header)
            .field("insert", &self.insert)
            .field("methods", &self.methods)
            .field("bare", &self.bare)
            .field("max_length", &self.max_length)
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}
