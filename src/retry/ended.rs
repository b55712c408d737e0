//! An attempt has ended: judge it, and go on or hand it over.

use std::{error::Error, mem};

use http::{Response, StatusCode};
use tokio::time::Instant;
use tower::BoxError;

use super::{
    body::RepeatBody,
    budget::Cause,
    classify::{self, Attempt, Verdict},
    course::Course,
    error::{AttemptTimeout, RetryError},
    evidence,
    hints::Wait,
    info::{FailedAttempt, Failure, Outcome, Record, RetryInfo, Stopped},
};

/// What follows an attempt.
pub(super) enum Next<A, E> {
    /// Another one, after a wait.
    Again(A),
    /// Nothing: the caller gets this.
    End(E),
}

struct Judged {
    verdict: Verdict,
    /// A layer inside had the word.
    nested: bool,
    /// What this attempt tells, by itself.
    outcome: Outcome,
}

impl<B: RepeatBody> Course<B> {
    pub(super) fn answered<R>(&mut self, response: Response<R>) -> Next<R, Result<Response<R>, RetryError>> {
        let (head, body) = response.into_parts();
        let mut head = Response::from_parts(head, ());
        let replayed = head.headers().get(&self.settings.replayed_header).is_some_and(|mark| mark == "true");
        let judged = self.judge(Ok(&head), replayed);
        let cause = match head.status() {
            StatusCode::TOO_MANY_REQUESTS => Cause::Throttled,
            _ => Cause::Other,
        };
        let stopped = match self.follow(&judged, cause, || Wait::of(head.headers())) {
            Ok(()) => {
                // Rule 10: whatever the service put there is not held during the wait.
                head.extensions_mut().clear();
                self.note(Failure::Response(head), judged.verdict);
                return Next::Again(body);
            }
            Err(stopped) => stopped,
        };
        let outcome = self.outcome(judged.outcome);
        // Rule 11: a first answer that needed no other carries nothing; what a layer inside wrote stands.
        let nothing_to_tell = matches!(stopped, Stopped::Succeeded | Stopped::NotRetryable | Stopped::Nested)
            && Outcome::of(&head) == outcome;
        let mut response = head.map(|()| body);
        if self.trouble.is_some() || !nothing_to_tell {
            response.extensions_mut().insert(RetryInfo::from(self.record(stopped, outcome)));
        }
        Next::End(Ok(response))
    }

    pub(super) fn failed(&mut self, error: BoxError) -> Next<(), RetryError> {
        let judged = self.judge(Err(&*error), false);
        let cause = if evidence::is_timeout(&*error) { Cause::Timeout } else { Cause::Other };
        match self.follow(&judged, cause, || Wait::Unspecified) {
            Ok(()) => {
                self.note(Failure::Error(error), judged.verdict);
                Next::Again(())
            }
            Err(stopped) => Next::End(self.give_up(stopped, judged.outcome, Failure::Error(error))),
        }
    }

    /// The attempt's time is up: its own, or that of the whole.
    pub(super) fn timed_out(&mut self) -> Next<(), RetryError> {
        if self.too_late(Instant::now()) == Some(Stopped::Deadline) {
            return Next::End(self.give_up(Stopped::Deadline, Outcome::Unknown, Failure::Deadline));
        }
        self.failed(AttemptTimeout.into())
    }

    /// The time for another attempt passed before it could begin.
    pub(super) fn out_of_time(&mut self, stopped: Stopped) -> RetryError {
        let outcome = self.outcome(Outcome::NotApplied);
        RetryError::new(self.record(stopped, outcome).into())
    }

    /// Rule 10: a service that failed to be ready is not asked again.
    pub(super) fn not_ready(&mut self, error: BoxError) -> RetryError {
        self.sent = Instant::now();
        self.give_up(Stopped::NotReady, Outcome::NotApplied, Failure::NotReady(error))
    }

    fn judge(&self, ended: Result<&Response<()>, &(dyn Error + 'static)>, replayed: bool) -> Judged {
        if let Some(inner) = classify::nested(ended) {
            let succeeded = inner.stopped() == Stopped::Succeeded;
            let verdict = if succeeded { Verdict::Success } else { Verdict::Stop };
            let outcome = match (ended, inner.outcome()) {
                // Below another error it may be that of another exchange: of what the request's body was read from.
                (Err(error), Outcome::NotApplied) if !error.is::<RetryError>() => Outcome::Unknown,
                (_, outcome) => outcome,
            };
            return Judged { verdict, nested: true, outcome };
        }
        let attempt = Attempt {
            number: self.attempt,
            method: &self.method,
            key_field: self.key_field.as_ref(),
            replayed,
            early_data: self.early_data,
            misdirected: self.trouble.as_ref().is_some_and(|trouble| trouble.misdirected),
            ended,
        };
        let verdict = match (self.settings.classify)(&attempt) {
            // Rule 3: the stored answer stays what it is, however often it is asked for.
            Verdict::Retry | Verdict::RetryNotApplied if replayed => Verdict::Stop,
            Verdict::Success if ended.is_err() => Verdict::Stop,
            verdict => verdict,
        };
        let outcome = match verdict {
            Verdict::Success => Outcome::Applied,
            Verdict::RetryNotApplied => Outcome::NotApplied,
            Verdict::Stop | Verdict::Retry => attempt.outcome(),
        };
        Judged { verdict, nested: false, outcome }
    }

    /// Plans another attempt, or says why there is none.
    fn follow(&mut self, judged: &Judged, cause: Cause, wait: impl FnOnce() -> Wait) -> Result<(), Stopped> {
        let budget = self.settings.budget.as_ref();
        match judged.verdict {
            Verdict::Success => {
                let spent = self.trouble.as_mut().and_then(|trouble| trouble.spent.take());
                budget.inspect(|budget| budget.succeeded(spent));
                Err(Stopped::Succeeded)
            }
            Verdict::Stop if judged.nested => Err(Stopped::Nested),
            Verdict::Stop => Err(Stopped::NotRetryable),
            Verdict::Retry | Verdict::RetryNotApplied => {
                budget.inspect(|budget| budget.failed());
                self.plan(judged.verdict, cause, wait())
            }
        }
    }

    fn note(&mut self, failure: Failure, verdict: Verdict) {
        let (after, took) = (self.sent - self.first_sent, self.sent.elapsed());
        let trouble = self.trouble.as_mut().expect("a retry is planned");
        trouble.misdirected |=
            matches!(&failure, Failure::Response(head) if head.status() == StatusCode::MISDIRECTED_REQUEST);
        trouble.maybe_applied |= verdict == Verdict::Retry;
        let wait = trouble.wakes.saturating_duration_since(Instant::now());
        tracing::debug!(attempt = self.attempt, %failure, ?wait, "trying again");
        trouble.failures.push(FailedAttempt { after, took, failure });
    }

    fn give_up(&mut self, stopped: Stopped, outcome: Outcome, failure: Failure) -> RetryError {
        let last = FailedAttempt { after: self.sent - self.first_sent, took: self.sent.elapsed(), failure };
        let outcome = self.outcome(outcome);
        let mut record = self.record(stopped, outcome);
        record.failures.push(last);
        RetryError::new(record.into())
    }

    /// Rule 11: once an attempt was maybe applied, only an answer that says so settles it.
    fn outcome(&self, last: Outcome) -> Outcome {
        match last {
            Outcome::NotApplied if self.trouble.as_ref().is_some_and(|trouble| trouble.maybe_applied) => {
                Outcome::Unknown
            }
            last => last,
        }
    }

    fn record(&mut self, stopped: Stopped, outcome: Outcome) -> Record {
        let failures = match &mut self.trouble {
            Some(trouble) => {
                // Refunded now, not when somebody drops the future.
                trouble.permit = None;
                mem::take(&mut trouble.failures)
            }
            None => Vec::new(),
        };
        tracing::debug!(attempts = self.attempt, ?stopped, ?outcome, "no further attempt");
        Record {
            key: self.key(),
            first_sent: Some(self.first_sent),
            attempts: self.attempt,
            elapsed: self.first_sent.elapsed(),
            stopped,
            outcome,
            failures,
            retries: self.settings.max_attempts > 1,
        }
    }
}
