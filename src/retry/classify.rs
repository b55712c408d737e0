//! Was it applied? May we repeat it? Should we?

use std::{error::Error, fmt};

use http::{HeaderValue, Method, Response, StatusCode, header::RETRY_AFTER};

use super::{
    evidence,
    hints::ShouldRetry,
    info::{Outcome, RetryInfo},
    keys,
};

/// One attempt that has ended, as [`RetryLayer::with_classifier`](super::RetryLayer::with_classifier) sees it.
pub struct Attempt<'a> {
    pub(super) number: u32,
    pub(super) method: &'a Method,
    pub(super) key_field: Option<&'a HeaderValue>,
    pub(super) replayed: bool,
    /// The request says that it came in early data.
    pub(super) early_data: bool,
    /// An earlier attempt was answered 421.
    pub(super) misdirected: bool,
    pub(super) ended: Result<&'a Response<()>, &'a (dyn Error + 'static)>,
}

/// What is to be done about an attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is what was asked for: handed over, and a success for the budget.
    Success,
    /// Handed over: another attempt would not help.
    Stop,
    /// Another attempt may help; the server may have done the work. Sent again only behind the gate of rule 1.
    Retry,
    /// Another attempt may help, and the server surely did nothing: **any** request may be sent again, a POST without a
    /// key too.
    RetryNotApplied,
}

impl Attempt<'_> {
    /// 1 for the first attempt.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The request's method.
    #[must_use]
    pub fn method(&self) -> &Method {
        self.method
    }

    /// Whether the request carries an idempotency key.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.key_field.is_some_and(|field| keys::read(field).is_some())
    }

    /// Whether the response is marked as a replay.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.replayed
    }

    /// The head of the response, unless the attempt failed without one.
    #[must_use]
    pub fn response(&self) -> Option<&Response<()>> {
        self.ended.ok()
    }

    /// What the inner service failed with; [`AttemptTimeout`](super::AttemptTimeout) if the attempt ran out of time.
    #[must_use]
    pub fn error(&self) -> Option<&(dyn Error + 'static)> {
        self.ended.err()
    }

    /// The verdict of rules 1 and 3, for a classifier that has its own word on a few cases only.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.ended {
            Ok(head) => self.of_response(head),
            Err(error) if evidence::surely_not_applied(error) => Verdict::RetryNotApplied,
            Err(_) => Verdict::Retry,
        }
    }

    /// Rule 11: what this attempt settles by itself, if it is the last.
    pub(super) fn outcome(&self) -> Outcome {
        match self.ended {
            Ok(head) => Outcome::of_answer(head.status(), self.replayed),
            Err(error) if evidence::surely_not_applied(error) => Outcome::NotApplied,
            Err(_) => Outcome::Unknown,
        }
    }

    fn of_response(&self, head: &Response<()>) -> Verdict {
        let status = head.status();
        if status.as_u16() < 400 {
            return Verdict::Success;
        }
        if self.replayed {
            return Verdict::Stop;
        }
        // RFC 8470 §5.2: whoever passes on a request that came in early data has to pass its 425 back.
        if self.early_data && status == StatusCode::TOO_EARLY {
            return Verdict::Stop;
        }
        // RFC 9110 §15.5.20: on another connection; the hyper and reqwest pools may give the same one for ever.
        if self.misdirected && status == StatusCode::MISDIRECTED_REQUEST {
            return Verdict::Stop;
        }
        match ShouldRetry::of(head.headers()) {
            ShouldRetry::No => Verdict::Stop,
            ShouldRetry::Yes if refuses_before_the_work(status) => Verdict::RetryNotApplied,
            ShouldRetry::Yes => Verdict::Retry,
            ShouldRetry::Unspecified => self.of_status(head),
        }
    }

    fn of_status(&self, head: &Response<()>) -> Verdict {
        match head.status().as_u16() {
            421 | 425 => Verdict::RetryNotApplied,
            409 if self.is_keyed() => Verdict::Retry,
            413 if head.headers().contains_key(RETRY_AFTER) => Verdict::Retry,
            408 | 429 => Verdict::Retry,
            // Registered, and as true the next time.
            501 | 505..=508 | 510 | 511 => Verdict::Stop,
            // RFC 9110 §15: an unknown code is its class's x00; from 600 it is a server's error.
            500.. => Verdict::Retry,
            _ => Verdict::Stop,
        }
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.response().map(Response::status);
        f.debug_struct("Attempt")
            .field("number", &self.number)
            .field("method", self.method)
            .field("keyed", &self.is_keyed())
            .field("replayed", &self.replayed)
            .field("status", &status)
            .field("error", &self.error())
            .finish()
    }
}

/// 421: this server would not act on it (RFC 9110 §15.5.20). 425: it did not process it (RFC 8470 §5.2).
fn refuses_before_the_work(status: StatusCode) -> bool {
    matches!(status, StatusCode::MISDIRECTED_REQUEST | StatusCode::TOO_EARLY)
}

/// Rule 11: a layer inside this one has tried, or refused to try, already. One that makes a single attempt, for its keys
/// or its limits, multiplies nothing.
pub(super) fn nested<'a>(ended: Result<&'a Response<()>, &'a (dyn Error + 'static)>) -> Option<&'a RetryInfo> {
    let info: Option<&RetryInfo> = match ended {
        Ok(head) => head.extensions().get(),
        Err(error) => RetryInfo::in_error(error),
    };
    info.filter(|info| info.is_of_a_layer_that_retries())
}
