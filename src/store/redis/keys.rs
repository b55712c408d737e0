//! Which keys a record has in Redis.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::store::ScopedKey;

/// A power of two.
const BUCKETS: u16 = 1024;

/// What stands before every key.
#[derive(Clone, Debug)]
pub(super) struct Prefix(Arc<str>);

impl Prefix {
    /// `None` if it holds a brace: the first pair in a key is its hash tag.
    pub(super) fn parse(prefix: &str) -> Option<Self> {
        (!prefix.contains(['{', '}'])).then(|| Self(prefix.into()))
    }

    /// The key of the record.
    pub(super) fn record(&self, key: &ScopedKey) -> Vec<u8> {
        let mut bytes = self.bucket(key, "r:");
        bytes.extend_from_slice(key.as_bytes());
        bytes
    }

    /// The key of the fences of its bucket.
    pub(super) fn fence(&self, key: &ScopedKey) -> Vec<u8> {
        self.bucket(key, "fence")
    }

    fn bucket(&self, key: &ScopedKey, what: &str) -> Vec<u8> {
        format!("{}{{{:x}}}:{what}", self.0, bucket(key)).into_bytes()
    }
}

/// The same in every version of this crate, or records would be lost.
fn bucket(key: &ScopedKey) -> u16 {
    let digest = Sha256::digest(key.as_bytes());
    u16::from_be_bytes([digest[0], digest[1]]) % BUCKETS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::IdempotencyKey;

    fn scoped(key: &str) -> ScopedKey {
        ScopedKey::new("shop", &IdempotencyKey::parse(key).unwrap())
    }

    #[test]
    fn a_record_and_its_fence_have_one_hash_tag() {
        let prefix = Prefix::parse("p:").unwrap();

        assert_eq!(prefix.record(&scoped("{k}")), b"p:{3d6}:r:\0\0\0\0\0\0\0\x04shop{k}");
        assert_eq!(prefix.fence(&scoped("{k}")), b"p:{3d6}:fence");
    }

    #[test]
    fn keys_are_spread_over_all_buckets() {
        let buckets: HashSet<_> = (0..20_000).map(|n| bucket(&scoped(&n.to_string()))).collect();

        assert_eq!(buckets.len(), usize::from(BUCKETS));
    }

    #[test]
    fn a_prefix_has_no_hash_tag_of_its_own() {
        assert!(Prefix::parse("").is_some());
        assert!(Prefix::parse("a{b}:").is_none());
        assert!(Prefix::parse("a}").is_none());
    }
}
