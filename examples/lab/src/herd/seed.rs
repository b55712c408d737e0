//! Random streams that do not meet.

/// A seed, from which others are derived by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(pub(super) u64);

impl Seed {
    /// Another one for each number.
    pub(super) fn child(self, number: u64) -> Self {
        Self(mix(self.0 ^ mix(number)))
    }
}

/// The finalizer of SplitMix64: neighbouring seeds would begin neighbouring streams.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
