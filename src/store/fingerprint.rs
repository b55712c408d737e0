//! What tells requests apart, as a store keeps it. How it is made of a request stands with the layer.

use std::fmt;

/// What tells whether two requests are the same: three SHA-256 digests, of the target, the content type and the body.
///
/// Made by [`Fingerprint::exact`], [`Fingerprint::json`] or [`Fingerprint::of`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    pub(crate) target: [u8; 32],
    pub(crate) content_type: [u8; 32],
    pub(crate) body: [u8; 32],
}

impl Fingerprint {
    /// The length of [`to_bytes`](Self::to_bytes).
    pub const LEN: usize = 96;

    /// What differs between this request and the one that the record belongs to; `None` if they are the same.
    #[must_use]
    pub fn differs_from(&self, recorded: &Self) -> Option<Differs> {
        (self != recorded).then(|| Differs {
            target: self.target != recorded.target,
            content_type: self.content_type != recorded.content_type,
            body: self.body != recorded.body,
        })
    }

    /// What a store keeps.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..32].copy_from_slice(&self.target);
        bytes[32..64].copy_from_slice(&self.content_type);
        bytes[64..].copy_from_slice(&self.body);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; `None` if the length is another.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let part = |at: usize| <[u8; 32]>::try_from(&bytes[at..at + 32]).expect("32 bytes");
        (bytes.len() == Self::LEN).then(|| Self { target: part(0), content_type: part(32), body: part(64) })
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |digest: &[u8; 32]| u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        write!(
            f,
            "Fingerprint({:08x}-{:08x}-{:08x})",
            short(&self.target),
            short(&self.content_type),
            short(&self.body)
        )
    }
}

/// In what a request differs from the one that its key belongs to. Never the data itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differs {
    /// Method, path or query.
    pub target: bool,
    /// The `Content-Type` field.
    pub content_type: bool,
    /// The body.
    pub body: bool,
}

impl Differs {
    /// The names of what differs: `"target"`, `"content_type"`, `"body"`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        [(self.target, "target"), (self.content_type, "content_type"), (self.body, "body")]
            .into_iter()
            .filter_map(|(differs, name)| differs.then_some(name))
    }
}
