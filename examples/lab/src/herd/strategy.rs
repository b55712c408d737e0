//! How the clients wait.

use std::{fmt, str::FromStr, time::Duration};

use serde::Serialize;
use tower_idempotency::retry::Backoff;

use super::{pace::Pace, simulate::Defect};

/// The six of the article, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// No wait.
    None,
    /// Twice as long each time, without jitter.
    Exponential,
    /// The same, plus or minus a tenth: as OpenAI's Codex.
    Proportional,
    /// Half of it, and up to as much again.
    Equal,
    /// Anything up to it.
    Full,
    /// Anything from the base to three times the last wait.
    Decorrelated,
    /// Up to a quarter less than the exponential: as Anthropic's SDKs. Not in the article.
    Downward,
}

/// Longer than any wait.
const NO_CAP: Duration = Duration::from_secs(1 << 32);

impl Strategy {
    /// All of them, those of the article in its order.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Exponential,
        Self::Proportional,
        Self::Equal,
        Self::Full,
        Self::Decorrelated,
        Self::Downward,
    ];

    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exponential => "exponential",
            Self::Proportional => "proportional",
            Self::Equal => "equal",
            Self::Full => "full",
            Self::Decorrelated => "decorrelated",
            Self::Downward => "downward",
        }
    }

    /// The delays of the herd: the library's formulas from twice the base on, but for the one that goes above its cap.
    pub fn backoff(self, pace: Pace, planted: Option<Defect>) -> Backoff {
        let (base, cap) = (pace.base(), pace.cap());
        // The published simulator counts its attempts from 1.
        let first = if planted == Some(Defect::NFromZero) { base } else { 2 * base };
        if planted == Some(Defect::CapAfterJitter) && self != Self::Decorrelated {
            let uncapped = self.formula(first, base, NO_CAP);
            return Backoff::custom(move |seed| uncapped.delays(seed).map(move |delay| delay.min(cap)));
        }
        self.formula(first, base, cap)
    }

    fn formula(self, first: Duration, base: Duration, cap: Duration) -> Backoff {
        match self {
            Self::None => Backoff::none(),
            Self::Exponential => Backoff::exponential(first, cap),
            Self::Proportional => proportional(first, cap),
            Self::Equal => Backoff::equal(first, cap),
            Self::Full => Backoff::full(first, cap),
            Self::Decorrelated => Backoff::decorrelated(base, cap),
            Self::Downward => Backoff::downward(first, cap),
        }
    }
}

/// As published: up to a tenth above the cap, where [`Backoff::proportional`] ends at it.
fn proportional(first: Duration, cap: Duration) -> Backoff {
    Backoff::custom(move |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        Backoff::exponential(first, cap).delays(0).map(move |delay| delay.mul_f64(0.9 + 0.2 * random.f64()))
    })
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no strategy {name:?}; there are {names}")
        })
    }
}
