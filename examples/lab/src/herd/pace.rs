//! Base and cap.

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, error::ErrorKind};

/// What the waits begin with, and what they grow to: neither is zero, and the cap is not below the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    base: Duration,
    cap: Duration,
}

impl Pace {
    /// The article's: 5 ms, 2 s.
    pub const PUBLISHED: Self = Self { base: Duration::from_millis(5), cap: Duration::from_secs(2) };

    /// The longest cap.
    pub const LONGEST: Duration = Duration::from_secs(60 * 60);

    /// These, if they make sense.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, String> {
        let text = humantime::format_duration;
        match () {
            () if base.is_zero() => Err("the base is zero: that is the strategy `none`".to_owned()),
            () if cap < base => Err(format!("the cap ({}) is below the base ({})", text(cap), text(base))),
            () if cap > Self::LONGEST => Err(format!("the cap is above {}", text(Self::LONGEST))),
            () => Ok(Self { base, cap }),
        }
    }

    /// What the waits begin with.
    pub const fn base(self) -> Duration {
        self.base
    }

    /// What they grow to.
    pub const fn cap(self) -> Duration {
        self.cap
    }

    /// So many times slower.
    pub(super) fn times(self, scale: u32) -> Self {
        Self { base: self.base * scale, cap: self.cap * scale }
    }
}

#[derive(Debug, Args)]
struct Options {
    /// What the waits begin with
    #[arg(long, default_value = "5ms", value_parser = humantime::parse_duration)]
    base: Duration,

    /// The longest wait
    #[arg(long, default_value = "2s", value_parser = humantime::parse_duration)]
    cap: Duration,
}

// By hand, since clap's derive knows no condition on two values.
impl Args for Pace {
    fn augment_args(command: clap::Command) -> clap::Command {
        Options::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Options::augment_args_for_update(command)
    }
}

impl FromArgMatches for Pace {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Options { base, cap } = Options::from_arg_matches(matches)?;
        Self::new(base, cap).map_err(|why| clap::Error::raw(ErrorKind::ValueValidation, format!("{why}\n")))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
