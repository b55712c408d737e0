//! Why a value is no key, and why a key has no bare form.

use std::{error::Error, fmt};

/// Why a value is no key. Never holds the value. Keeps its source.
#[derive(Debug)]
pub struct InvalidKey {
    kind: InvalidKeyKind,
    source: Option<sfv::Error>,
}

/// What is wrong with the value of a key's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidKeyKind {
    /// Nothing there, or spaces only.
    Empty,
    /// Longer than the layer allows. A key is never cut.
    TooLong {
        /// The most characters that are allowed.
        max_len: usize,
    },
    /// More than one field line, even if they are alike.
    SeveralLines,
    /// A control character, DEL, a tab inside, or a byte from `0x80`.
    NotPrintableAscii,
    /// No structured field String, where one was due.
    BadSyntax,
}

impl InvalidKey {
    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> InvalidKeyKind {
        self.kind
    }

    pub(super) fn bad_syntax(source: sfv::Error) -> Self {
        Self { kind: InvalidKeyKind::BadSyntax, source: Some(source) }
    }
}

impl From<InvalidKeyKind> for InvalidKey {
    fn from(kind: InvalidKeyKind) -> Self {
        Self { kind, source: None }
    }
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            InvalidKeyKind::Empty => f.write_str("the idempotency key is empty"),
            InvalidKeyKind::TooLong { max_len } => {
                write!(f, "the idempotency key is longer than {max_len} characters")
            }
            InvalidKeyKind::SeveralLines => f.write_str("the idempotency key is given more than once"),
            InvalidKeyKind::NotPrintableAscii => {
                f.write_str("the idempotency key has characters other than printable ASCII")
            }
            InvalidKeyKind::BadSyntax => f.write_str("the idempotency key is not a structured field string"),
        }
    }
}

impl Error for InvalidKey {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// A key that can only be sent quoted: see [`to_bare_header_value`](super::IdempotencyKey::to_bare_header_value).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBare(());

impl NotBare {
    pub(super) fn new() -> Self {
        Self(())
    }
}

impl fmt::Display for NotBare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the idempotency key would not be read back as the same key without quotes")
    }
}

impl Error for NotBare {}
