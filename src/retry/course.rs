//! One logical request over all its attempts.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Method, Request};
use tokio::time::Instant;

use super::{
    backoff::Delays,
    body::{self, RepeatBody},
    budget::{Permit, Spent},
    error::RetryError,
    info::{FailedAttempt, Failure, Stopped},
    keys,
    marks::{AssumeRepeatable, Repeat},
    settings::Settings,
};
use crate::IdempotencyKey;

pub(super) struct Course<B> {
    pub(super) settings: Arc<Settings>,
    /// What the next attempt sends; `None` where there can be none.
    pub(super) next: Option<Request<B>>,
    pub(super) method: Method,
    pub(super) key_field: Option<HeaderValue>,
    pub(super) assumed_repeatable: bool,
    pub(super) early_data: bool,
    pub(super) stream: u64,
    pub(super) attempt: u32,
    pub(super) first_sent: Instant,
    pub(super) sent: Instant,
    /// Made with the first retry: a first success costs no more than the clone of its request.
    pub(super) trouble: Option<Box<Trouble>>,
}

/// What a request has to remember once it is tried again.
pub(super) struct Trouble {
    pub(super) failures: Vec<FailedAttempt>,
    pub(super) delays: Delays,
    pub(super) wakes: Instant,
    /// Of the retry that is waited for; dropped unspent it is refunded.
    pub(super) permit: Option<Permit>,
    /// Of the last retry that was sent.
    pub(super) spent: Option<Spent>,
    pub(super) maybe_applied: bool,
    pub(super) misdirected: bool,
}

impl Trouble {
    pub(super) fn new(delays: Delays, wakes: Instant) -> Self {
        let (failures, permit, spent) = (Vec::new(), None, None);
        Self { failures, delays, wakes, permit, spent, maybe_applied: false, misdirected: false }
    }
}

impl<B: RepeatBody> Course<B> {
    pub(super) fn begin(mut request: Request<B>, settings: Arc<Settings>) -> Result<(Self, Request<B>), RetryError> {
        let key_field = settings.keys.complete(&mut request);
        let key_field =
            key_field.map_err(|error| RetryError::before_the_first_attempt(Stopped::Key, Failure::Error(error)))?;
        let now = Instant::now();
        let mut course = Self {
            next: None,
            method: request.method().clone(),
            key_field,
            assumed_repeatable: request.extensions().get::<AssumeRepeatable>().is_some(),
            early_data: request.headers().contains_key("early-data"),
            stream: settings.streams.next(),
            attempt: 0,
            first_sent: now,
            sent: now,
            trouble: None,
            settings,
        };
        let first = course.send(request, now);
        Ok((course, first))
    }

    /// The request of the attempt that begins now. A copy stays here if another may follow.
    fn send(&mut self, mut request: Request<B>, now: Instant) -> Request<B> {
        self.attempt += 1;
        self.sent = now;
        if self.attempt < self.settings.max_attempts {
            self.next = body::try_clone(&request);
        }
        let number = self.settings.attempt_header.as_ref().filter(|name| **name != self.settings.keys.header);
        if let Some(name) = number {
            request.headers_mut().insert(name, self.attempt.into());
        }
        if self.attempt > 1 {
            request.extensions_mut().insert(Repeat { number: self.attempt });
        }
        request
    }

    /// The key that the request carries, if a server can be relied on to read it.
    pub(super) fn key(&self) -> Option<IdempotencyKey> {
        self.key_field.as_ref().and_then(keys::read)
    }

    /// Whether another attempt may follow the one that has begun.
    pub(super) fn may_go_on(&self) -> bool {
        self.next.is_some()
    }

    /// The attempt's own limit, or the deadline if that is sooner.
    pub(super) fn attempt_ends(&self) -> Option<Instant> {
        let own = self.settings.attempt_timeout.map(|limit| after(self.sent, limit));
        own.into_iter().chain(self.deadline()).min()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.settings.deadline.map(|limit| after(self.first_sent, limit))
    }

    /// How many bytes of a failed response may be read away, and until when.
    pub(super) fn drain(&self) -> (u64, Instant) {
        let until = after(Instant::now(), self.settings.max_drain_time);
        (self.settings.max_drain_bytes, self.deadline().map_or(until, |deadline| deadline.min(until)))
    }

    pub(super) fn wakes(&self) -> Instant {
        self.trouble.as_ref().expect("a retry is planned").wakes
    }

    pub(super) fn next_attempt(&mut self) -> Request<B> {
        let request = self.next.take().expect("no retry is planned without a request");
        if let Some(trouble) = &mut self.trouble {
            trouble.spent = trouble.permit.take().map(Permit::spend);
        }
        self.send(request, Instant::now())
    }
}

/// Longer than any wait: tokio's timers cannot be set to the end of time.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

pub(super) fn after(from: Instant, time: Duration) -> Instant {
    from + time.min(FAR)
}
