//! What a request carries in its extensions, to this layer and from it.

/// Says of this very request that a second copy of it does no harm: it may be sent again as one with a key may.
///
/// **For what the caller knows, never for what another party claims**: an annotation that a server or a model supplies
/// (MCP's `idempotentHint`) is a hint from somebody who does not bear the harm.
///
/// It stays on the request: a service that sends what it is given on, through a `RetryLayer` of its own, opens that one's
/// gate too.
///
/// ```
/// # use bytes::Bytes;
/// # use http_body_util::Full;
/// use http::Request;
/// use tower_idempotency::retry::AssumeRepeatable;
///
/// let request = Request::post("/searches").extension(AssumeRepeatable).body(Full::<Bytes>::default())?;
/// # Ok::<_, http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssumeRepeatable;

/// Stands in the extensions of each attempt after the first: a connector can do without early data (RFC 8470 §5.2), a
/// log can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    pub(super) number: u32,
}

impl Repeat {
    /// The number of the attempt: 2 for the first repeat.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }
}
