//! May it be tried again, and when?

use std::time::Duration;

use tokio::time::Instant;

use super::{
    body::RepeatBody,
    budget::Cause,
    classify::Verdict,
    course::{Course, Trouble, after},
    hints::Wait,
    info::Stopped,
};

/// Above a floor that a server set, up to this part of the floor is added at random: those that were told the same time
/// do not come back together.
const SPREAD: f64 = 0.1;

impl<B: RepeatBody> Course<B> {
    /// Rule 1, then what a further attempt needs; the budget last, so that nothing is taken for a retry that is refused.
    pub(super) fn plan(&mut self, verdict: Verdict, cause: Cause, wait: Wait) -> Result<(), Stopped> {
        if verdict != Verdict::RetryNotApplied && !self.may_be_repeated() {
            return Err(Stopped::NotRepeatable);
        }
        if self.attempt >= self.settings.max_attempts {
            return Err(Stopped::Attempts);
        }
        if self.next.is_none() {
            return Err(Stopped::Body);
        }
        let now = Instant::now();
        let delay = self.delay(wait)?;
        let wakes = after(now, delay);
        if let Some(stopped) = self.too_late(wakes) {
            return Err(stopped);
        }
        let permit = match &self.settings.budget {
            Some(budget) => Some(budget.withdraw(cause, now).ok_or(Stopped::Budget)?),
            None => None,
        };
        let trouble = self.trouble();
        trouble.wakes = wakes;
        trouble.permit = permit;
        Ok(())
    }

    /// Rule 1: a second copy can do no harm.
    fn may_be_repeated(&self) -> bool {
        // `is_idempotent` is RFC 9110 §9.2.2; that of older releases of http does not know QUERY (RFC 10008).
        self.assumed_repeatable
            || self.method.is_idempotent()
            || self.method.as_str() == "QUERY"
            || self.key().is_some()
    }

    /// Rules 2 and 6: why no attempt may begin at this time, if so. Asked again after a wait, which may have been longer
    /// than it was to be.
    pub(super) fn too_late(&self, at: Instant) -> Option<Stopped> {
        let passed = |end: Option<Instant>| end.is_some_and(|end| end <= at);
        if passed(self.deadline()) {
            return Some(Stopped::Deadline);
        }
        passed(self.key_expires()).then_some(Stopped::KeyExpired)
    }

    /// Until when a service is waited for that is not ready for another attempt.
    pub(super) fn ready_by(&self) -> Option<Instant> {
        self.key_expires().into_iter().chain(self.deadline()).min()
    }

    fn key_expires(&self) -> Option<Instant> {
        self.key().map(|_| after(self.first_sent, self.settings.keys.lifetime))
    }

    /// Rules 4 and 5.
    fn delay(&mut self, wait: Wait) -> Result<Duration, Stopped> {
        let max_hint = self.settings.max_hint;
        let delays = &mut self.trouble().delays;
        match wait {
            Wait::Never => Err(Stopped::Pushback),
            Wait::AtLeast(hint) | Wait::Exactly(hint) if hint > max_hint => Err(Stopped::Hint),
            Wait::Exactly(hint) => {
                delays.restart();
                Ok(hint)
            }
            Wait::AtLeast(floor) => {
                let above = delays.next().ok_or(Stopped::Backoff)?;
                let spread = Duration::try_from_secs_f64(floor.as_secs_f64() * SPREAD * delays.unit());
                Ok(floor.saturating_add(spread.unwrap_or(Duration::MAX)).saturating_add(above))
            }
            Wait::Unspecified => delays.next().ok_or(Stopped::Backoff),
        }
    }

    fn trouble(&mut self) -> &mut Trouble {
        let (settings, stream, now) = (&self.settings, self.stream, self.first_sent);
        self.trouble.get_or_insert_with(|| Box::new(Trouble::new(settings.backoff.delays(stream), now)))
    }
}
