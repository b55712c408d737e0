//! The word that both layers share: an idempotency key.
//!
//! A key names one logical operation, and every attempt at it carries the same one. Where the key comes from decides
//! which repeats are recognised:
//!
//! | A key from | is the same |
//! |---|---|
//! | [`IdempotencyKey::random`] | on every attempt that the code which made it still steers |
//! | [`IdempotencyKey::for_tool_call`] | on every attempt at one tool call, after a restart of the harness too |
//! | [`IdempotencyKey::from_content`] | when a model asks again under another tool call, if it repeats the content |
//! | [`IdempotencyKey::child`] | for one step of an operation that has a key itself, on every attempt |
//!
//! A derived key, that is one of the last three, can be computed by whoever knows what it was derived from: **send it
//! to a scoped layer only**, or to one whose callers are all one principal. In a scoped layer a key is an identifier and
//! no secret. In a shared one, whoever knows key and request can read the answer.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

mod invalid;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use invalid::{InvalidKey, InvalidKeyKind, NotBare};

/// The field that carries the key, `Idempotency-Key`, unless an API uses another.
///
/// The name is that of draft-ietf-httpapi-idempotency-key-header-07, which has expired and is no RFC.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that marks a response: `true` on a replay, `false` on a first answer.
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Names one logical operation: every attempt at it carries the same key.
///
/// Printable ASCII (`0x20` to `0x7E`, what a structured field String can carry), not blank. Keys compare octet by
/// octet: case matters. A clone is cheap.
///
/// ```
/// use tower_idempotency::IdempotencyKey;
///
/// let quoted = IdempotencyKey::parse(r#""8e03978e-40d5-43e8-bc93-6894a57f9324""#)?;
/// let bare = IdempotencyKey::parse("8e03978e-40d5-43e8-bc93-6894a57f9324")?;
/// assert_eq!(quoted, bare);
/// # Ok::<(), tower_idempotency::key::InvalidKey>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Arc<str>);

/// How the value of a key's field is read. Whitespace around it is not part of it (RFC 9110 §5.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeySyntax {
    /// Quoted or bare, the default: a value that begins with `"` is read as [`Strict`](Self::Strict) does, any other
    /// is the key as it stands. `"abc"` and `abc` are the same key.
    ///
    /// Most APIs send keys bare, and a bare UUID is a structured field Token only if it begins with a letter.
    #[default]
    Lenient,
    /// A structured field Item that is a String (RFC 9651 §3.3.3), as draft-07 wants it. Its parameters are ignored.
    Strict,
    /// The value is the key as it stands, quotes included.
    Raw,
}

impl IdempotencyKey {
    /// The length, in characters, above which a key is refused unless a layer is set otherwise: 255, as in Stripe's API
    /// and the Agentic Commerce Protocol. A String's length is counted without quotes and escapes.
    pub const DEFAULT_MAX_LEN: usize = 255;

    /// A key that no one can guess: a UUIDv4, as draft-07 §2.2 recommends.
    #[must_use]
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    /// Reads the value of a field as [`KeySyntax::Lenient`] does, up to
    /// [`DEFAULT_MAX_LEN`](Self::DEFAULT_MAX_LEN) characters.
    ///
    /// # Errors
    ///
    /// See [`InvalidKeyKind`].
    pub fn parse(value: &str) -> Result<Self, InvalidKey> {
        Self::parse_as(value.as_bytes(), KeySyntax::Lenient, Self::DEFAULT_MAX_LEN)
    }

    /// Reads the field `name`; `None` if there is no such field. `max_len` is in characters of the key.
    ///
    /// # Errors
    ///
    /// See [`InvalidKeyKind`]. A field that is there and cannot be read is an error, never `None`: to run without the
    /// protection that the client asked for would be worse than to refuse.
    pub fn from_headers(
        headers: &HeaderMap,
        name: &HeaderName,
        syntax: KeySyntax,
        max_len: usize,
    ) -> Result<Option<Self>, InvalidKey> {
        let mut lines = headers.get_all(name).iter();
        let Some(line) = lines.next() else { return Ok(None) };
        if lines.next().is_some() {
            // RFC 9651 §4.2 joins the lines with a comma, which makes a List and no Item. Even `"a` and `b"`, which
            // would join to a String, may fail.
            return Err(InvalidKeyKind::SeveralLines.into());
        }
        Self::parse_as(line.as_bytes(), syntax, max_len).map(Some)
    }

    /// The key of one tool call of one run: `run-042:toolu_01`.
    ///
    /// Two pairs never share a key. A pair that this form could confuse with another (`run_id` has a colon) or that
    /// makes no key that can be sent bare (other than printable ASCII, over 255 characters, a quote or a space first,
    /// a space last) becomes `tool-call-v1-` and the SHA-256 of both ids in hex; that has no colon, so it
    /// is never the plain form of another pair.
    #[must_use]
    pub fn for_tool_call(run_id: &str, tool_use_id: &str) -> Self {
        let plain = format!("{run_id}:{tool_use_id}");
        let fits = plain.len() <= Self::DEFAULT_MAX_LEN && plain.bytes().all(is_printable) && reads_bare(&plain);
        if fits && !run_id.contains(':') {
            Self(plain.into())
        } else {
            Self::derived("tool-call", [run_id, tool_use_id])
        }
    }

    /// A business key: the same content, the same key. `content-v1-` and the SHA-256 of the parts in hex.
    ///
    /// `["ab", "c"]` and `["a", "bc"]` are different keys. Bring each part into one form first: see
    /// [`normalize_title`].
    ///
    /// ```
    /// use tower_idempotency::{IdempotencyKey, key::normalize_title};
    ///
    /// let key = |title| IdempotencyKey::from_content(["run-042", "billing", &normalize_title(title)]);
    /// assert_eq!(key("Totals are  wrong"), key(" totals are wrong "));
    /// assert_ne!(key("Totals are wrong"), key("The totals are wrong"));
    /// ```
    #[must_use]
    pub fn from_content<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        Self::derived("content", parts)
    }

    /// The key of one step of the operation that this key names: `child-v1-` and the SHA-256 of both in hex.
    ///
    /// The same on every attempt, different for every other step and every other parent. A child may have children.
    #[must_use]
    pub fn child(&self, step: &str) -> Self {
        Self::child_of(self.0.as_bytes(), step)
    }

    /// A child of a key in its scope: the scopes of one server are one principal to the next one.
    #[cfg_attr(not(feature = "idempotency"), expect(dead_code, reason = "only the server has scopes"))]
    pub(crate) fn child_in(scoped: &[u8], step: &str) -> Self {
        Self::child_of(scoped, step)
    }

    fn child_of(parent: &[u8], step: &str) -> Self {
        Self::derived("child", [parent, step.as_bytes()])
    }

    /// The key's text, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as a structured field String, `"abc"`: the default form on the wire, and draft-07's.
    #[must_use]
    pub fn to_header_value(&self) -> HeaderValue {
        let escaped = self.0.replace('\\', r"\\").replace('"', r#"\""#);
        HeaderValue::try_from(format!("\"{escaped}\"")).expect("printable ASCII")
    }

    /// The key as it stands, `abc`, for servers that would take quotes for a part of it.
    ///
    /// # Errors
    ///
    /// [`NotBare`] if the key begins with a quote, or begins or ends with a space: a server that reads
    /// [`KeySyntax::Lenient`] would find another key in it, or none.
    pub fn to_bare_header_value(&self) -> Result<HeaderValue, NotBare> {
        if !reads_bare(&self.0) {
            return Err(NotBare::new());
        }
        Ok(HeaderValue::from_str(&self.0).expect("printable ASCII"))
    }

    /// Reads a key that stands elsewhere, in a body or a query, as [`from_headers`](Self::from_headers) reads it in a
    /// field. `max_len` is in characters of the key.
    ///
    /// # Errors
    ///
    /// See [`InvalidKeyKind`].
    pub fn parse_as(value: &[u8], syntax: KeySyntax, max_len: usize) -> Result<Self, InvalidKey> {
        let value = trim_whitespace(value);
        if value.is_empty() {
            return Err(InvalidKeyKind::Empty.into());
        }
        // In a String too: RFC 9651 §4.2.5 fails on all of these.
        let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(is_printable));
        let text = text.ok_or(InvalidKeyKind::NotPrintableAscii)?;
        let key = match syntax {
            KeySyntax::Strict => parse_string(text)?,
            KeySyntax::Lenient if text.starts_with('"') => parse_string(text)?,
            KeySyntax::Lenient | KeySyntax::Raw => Cow::Borrowed(text),
        };
        if key.len() > max_len {
            return Err(InvalidKeyKind::TooLong { max_len }.into());
        }
        if key.trim().is_empty() {
            return Err(InvalidKeyKind::Empty.into());
        }
        Ok(Self(key.into()))
    }

    fn derived<P: AsRef<[u8]>>(kind: &str, parts: impl IntoIterator<Item = P>) -> Self {
        let digest = digest(&format!("tower-idempotency/1/{kind}"), parts);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{kind}-v1-{hex}").into())
    }
}

/// As [`IdempotencyKey::parse`].
impl FromStr for IdempotencyKey {
    type Err = InvalidKey;

    fn from_str(value: &str) -> Result<Self, InvalidKey> {
        Self::parse(value)
    }
}

impl AsRef<str> for IdempotencyKey {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One form for titles that differ in case and whitespace only: lower case, no whitespace around, one space between
/// words.
///
/// Letters and whitespace are Unicode's. Composed and decomposed accents stay different, and so does a title in other
/// words.
#[must_use]
pub fn normalize_title(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// SHA-256 over the domain and the parts, each with its length before it: other parts, other input.
pub(crate) fn digest<P: AsRef<[u8]>>(domain: &str, parts: impl IntoIterator<Item = P>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut add = |part: &[u8]| {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    };
    add(domain.as_bytes());
    parts.into_iter().for_each(|part| add(part.as_ref()));
    hasher.finalize().into()
}

fn parse_string(text: &str) -> Result<Cow<'_, str>, InvalidKey> {
    match sfv::Parser::new(text).parse_item::<Cow<'_, sfv::StringRef>>() {
        Ok(Cow::Borrowed(key)) => Ok(Cow::Borrowed(key.as_str())),
        Ok(Cow::Owned(key)) => Ok(Cow::Owned(key.into())),
        Err(source) => Err(InvalidKey::bad_syntax(source)),
    }
}

/// RFC 9110 §5.6.3: optional whitespace is spaces and tabs.
fn trim_whitespace(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn is_printable(byte: u8) -> bool {
    (0x20..=0x7E).contains(&byte)
}

fn reads_bare(key: &str) -> bool {
    !key.starts_with('"') && key.trim_matches(' ') == key
}
