//! How long to wait; knows no clock and no HTTP.

use std::{
    fmt,
    iter::{Fuse, FusedIterator},
    sync::Arc,
    time::Duration,
};

#[cfg(test)]
mod tests;

/// How long to wait before each retry. Default: [`full(100 ms, 20 s)`](Self::full).
///
/// `v` is `base * 2^n`, at most `cap`, where the first retry has n = 0; `U` is drawn uniformly from [0, 1), anew for
/// each delay. **No delay is above the cap**, jitter included. Arithmetic saturates and zero is legal, so any base and
/// any cap will do. Delays are drawn in nanoseconds, never cut to whole milliseconds or seconds.
///
/// | strategy | delay | who uses it |
/// |---|---|---|
/// | [`none`](Self::none) | 0 | |
/// | [`exponential`](Self::exponential) | v | |
/// | [`proportional`](Self::proportional) | v * [0.9, 1.1) | OpenAI Codex, from 200 ms, without a cap |
/// | [`downward`](Self::downward) | v * (1 - U/4) | Anthropic's SDKs, 0.5 s to 8 s |
/// | [`equal`](Self::equal) | v/2 + U v/2 | |
/// | [`full`](Self::full) | U v | AWS's SDKs, up to 20 s |
/// | [`decorrelated`](Self::decorrelated) | base + U (3 prev - base), at most cap; prev = base at first | |
/// | [`custom`](Self::custom) | what your iterator says | |
///
/// The names and formulas without a user are those of AWS's article
/// [Exponential Backoff and Jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). When
/// many clients fail together, `full` and `decorrelated` are done early and with few calls; `none` makes by far the most
/// calls, and `exponential` takes by far the longest.
#[derive(Clone)]
#[must_use]
pub struct Backoff(Kind);

#[derive(Clone)]
enum Kind {
    Formula(Formula),
    Custom(Factory),
}

type Factory = Arc<dyn Fn(u64) -> Custom + Send + Sync>;
type Custom = Box<dyn Iterator<Item = Duration> + Send>;

#[derive(Clone, Copy, Debug)]
struct Formula {
    shape: Shape,
    base: Duration,
    cap: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Exponential,
    Proportional,
    Downward,
    Equal,
    Full,
    Decorrelated,
}

impl Backoff {
    /// No wait. For a server that is known to be one's own, or for tests.
    pub fn none() -> Self {
        Self::exponential(Duration::ZERO, Duration::ZERO)
    }

    /// `v`, without jitter: clients that failed together come back together.
    pub fn exponential(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Exponential, base, cap)
    }

    /// `v` plus or minus a tenth. Near the cap the range ends at the cap; the delay is drawn from what is left of it.
    pub fn proportional(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Proportional, base, cap)
    }

    /// `v` less up to a quarter.
    pub fn downward(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Downward, base, cap)
    }

    /// Half of `v`, and up to as much again.
    pub fn equal(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Equal, base, cap)
    }

    /// Anything from 0 to `v`.
    pub fn full(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Full, base, cap)
    }

    /// Anything from the base to three times the last delay: grows by what it drew, not by how often.
    pub fn decorrelated(base: Duration, cap: Duration) -> Self {
        Self::formula(Shape::Decorrelated, base, cap)
    }

    /// The delays of an iterator that `factory` makes for each request. When it ends, no further retry is made.
    ///
    /// The argument is a seed from the request's own random stream: draw from it, and requests that fail together do
    /// not come back together. After a server's pushback the factory is called again, with the next seed of that stream.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tower_idempotency::retry::Backoff;
    /// let twice = Backoff::custom(|_seed| [1, 5].into_iter().map(Duration::from_secs));
    /// assert_eq!(twice.delays(0).count(), 2);
    /// ```
    pub fn custom<F, I>(factory: F) -> Self
    where
        F: Fn(u64) -> I + Send + Sync + 'static,
        I: Iterator<Item = Duration> + Send + 'static,
    {
        Self(Kind::Custom(Arc::new(move |seed| Box::new(factory(seed)))))
    }

    /// The delays of one request: the same seed gives the same delays, another one an independent stream.
    pub fn delays(&self, seed: u64) -> Delays {
        let mut random = fastrand::Rng::with_seed(mix(seed));
        let source = self.0.start(&mut random);
        Delays { random, source }
    }

    fn formula(shape: Shape, base: Duration, cap: Duration) -> Self {
        Self(Kind::Formula(Formula { shape, base, cap }))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::full(Duration::from_millis(100), Duration::from_secs(20))
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Formula(formula) => f.debug_tuple("Backoff").field(formula).finish(),
            Kind::Custom(_) => f.write_str("Backoff(Custom)"),
        }
    }
}

impl Kind {
    fn start(&self, random: &mut fastrand::Rng) -> Source {
        match self {
            Self::Formula(formula) => Source::Formula { formula: *formula, n: 0, prev: formula.base },
            Self::Custom(factory) => {
                Source::Custom { factory: Arc::clone(factory), delays: factory(random.u64(..)).fuse() }
            }
        }
    }
}

/// The delays of one request, from [`Backoff::delays`]. Only those of [`Backoff::custom`] can end.
#[must_use]
pub struct Delays {
    random: fastrand::Rng,
    source: Source,
}

enum Source {
    Formula { formula: Formula, n: u32, prev: Duration },
    Custom { factory: Factory, delays: Fuse<Custom> },
}

impl Delays {
    /// The next delay is that of n = 0 again; the random stream goes on.
    pub(super) fn restart(&mut self) {
        let kind = match &self.source {
            Source::Formula { formula, .. } => Kind::Formula(*formula),
            Source::Custom { factory, .. } => Kind::Custom(Arc::clone(factory)),
        };
        self.source = kind.start(&mut self.random);
    }

    /// Draws from the request's random stream, uniformly from [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        self.random.f64()
    }
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        match &mut self.source {
            Source::Formula { formula, n, prev } => {
                let delay = formula.delay(*n, *prev, self.random.f64());
                (*n, *prev) = (n.saturating_add(1), delay);
                Some(delay)
            }
            Source::Custom { delays, .. } => delays.next(),
        }
    }
}

impl FusedIterator for Delays {}

impl fmt::Debug for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delays").finish_non_exhaustive()
    }
}

impl Formula {
    /// The delay before retry `n`, after the delay `prev`, for the draw `u` from [0, 1).
    fn delay(&self, n: u32, prev: Duration, u: f64) -> Duration {
        // Nanoseconds of any duration fit in 95 bits, so only the power can overflow.
        let (base, cap) = (self.base.as_nanos(), self.cap.as_nanos());
        let v = base.saturating_mul(2_u128.saturating_pow(n)).min(cap);
        let nanos = match self.shape {
            Shape::Exponential => v,
            Shape::Proportional => {
                let (low, high) = (v - v / 10, v + v / 10);
                // Cutting the draws instead would make half of all clients meet at the cap.
                low + part(high.min(cap) - low, u)
            }
            Shape::Downward => v - part(v / 4, u),
            Shape::Equal => v / 2 + part(v - v / 2, u),
            Shape::Full => part(v, u),
            Shape::Decorrelated => base + part((3 * prev.as_nanos()).saturating_sub(base), u),
        };
        Duration::from_nanos_u128(nanos.min(cap))
    }
}

fn part(whole: u128, u: f64) -> u128 {
    (whole as f64 * u) as u128
}

/// The finalizer of SplitMix64: neighbouring seeds would begin neighbouring streams.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
