//! How many retries may be spent; knows no HTTP, and is told the time.
//!
//! One mechanism serves every preset. A retry is granted if the bucket keeps its reserve after paying for it; a failed
//! attempt takes its toll; a success earns the reward, or the last retry's cost if that is more.
//!
//! | | capacity | retry, after a timeout, throttled | failure | reward | reserve |
//! |---|---|---|---|---|---|
//! | AWS v2.0 | 500 | 5, 10, 5 | 0 | 1 | 0 |
//! | AWS v2.1 | 500 | 14, 14, 5 | 0 | 1 | 0 |
//! | gRPC | 10 | 0, 0, 0 | 1 | 0.1 | just above 5 |

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// In trillionths of a token: a thousandth a second is one a nanosecond, so that a refill leaves no remainder.
type Amount = u128;

const TOKEN: Amount = 1_000_000_000_000;
const THOUSANDTH: Amount = TOKEN / 1000;

/// How many retries a client may spend: a bucket of tokens. Default: [`Budget::aws_v2_0`].
///
/// While few requests fail, every one of them is retried. When most fail, retries are only more load: the bucket
/// empties, and failures are returned at once. It begins full. Clones share the bucket; a setter changes the handle it
/// is called on and not its clones, so set first, then clone.
///
/// With three attempts a request, a full bucket drains when more than this share of attempts fails for long: 32 % at a
/// cost of 5, 25 % at 10, 21 % at 14, 9 % with [`Budget::grpc`].
///
/// ```
/// # use tower_idempotency::retry::Budget;
/// // 20 retries that fail, then one for each ten successes.
/// let budget = Budget::new(20).retry_cost(1).timeout_cost(1).throttled_cost(1).success_reward(0.1);
/// assert_eq!(budget.available(), 20.0);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Budget {
    bucket: Arc<Mutex<Bucket>>,
    rule: Rule,
}

#[derive(Debug)]
struct Bucket {
    tokens: Amount,
    capacity: Amount,
    refilled_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    retry: Amount,
    after_timeout: Amount,
    throttled: Amount,
    /// What each failed attempt takes, whether it is retried or not.
    failure: Amount,
    success: Amount,
    /// What a retry must leave.
    reserve: Amount,
    /// Trillionths a nanosecond, which are thousandths a second.
    refill_per_nanosecond: Amount,
}

/// Why the retry is wanted: it decides the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The attempt timed out.
    Timeout,
    /// The server refused for now (429).
    Throttled,
    /// Every other failure.
    Other,
}

impl Budget {
    /// The AWS SDKs' retry behaviour v2.0, the `standard` mode until 2026: 500 tokens; a retry costs 5, after a timeout
    /// 10; a success at the first try earns 1; a success after retries gives the last cost back.
    ///
    /// Source: [Retry behavior](https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html).
    pub fn aws_v2_0() -> Self {
        Self::new(500)
    }

    /// The AWS SDKs' retry behaviour v2.1: as [`aws_v2_0`](Self::aws_v2_0), but a retry costs 14, after a throttled
    /// response 5.
    pub fn aws_v2_1() -> Self {
        Self::new(500).retry_cost(14).timeout_cost(14).throttled_cost(5)
    }

    /// gRPC's retry throttling with its usual numbers: [`grpc_with(10, 0.1)`](Self::grpc_with).
    pub fn grpc() -> Self {
        Self::grpc_with(10, 0.1)
    }

    /// gRPC's retry throttling: each failed attempt takes 1 token, each success earns `token_ratio` (to three decimals,
    /// further ones are ignored), and a retry, itself free, is made only while the bucket is more than half full.
    ///
    /// Source: [gRFC A6](https://github.com/grpc/proposal/blob/master/A6-client-retries.md#throttling-retry-attempts-and-hedged-rpcs).
    pub fn grpc_with(max_tokens: u32, token_ratio: f64) -> Self {
        let mut budget =
            Self::new(max_tokens).retry_cost(0).timeout_cost(0).throttled_cost(0).success_reward(token_ratio);
        budget.rule.failure = TOKEN;
        // "More than half" is at least half and the smallest part of a token.
        budget.rule.reserve = tokens(max_tokens) / 2 + 1;
        budget
    }

    /// `capacity` tokens, at the prices of [`aws_v2_0`](Self::aws_v2_0). A capacity below the cost allows no retry.
    pub fn new(capacity: u32) -> Self {
        let capacity = tokens(capacity);
        let rule = Rule {
            retry: tokens(5),
            after_timeout: tokens(10),
            throttled: tokens(5),
            failure: 0,
            success: TOKEN,
            reserve: 0,
            refill_per_nanosecond: 0,
        };
        Self { bucket: Arc::new(Mutex::new(Bucket { tokens: capacity, capacity, refilled_at: None })), rule }
    }

    /// What a retry costs, but for those after a timeout or a throttled response. Default 5 tokens.
    pub fn retry_cost(mut self, cost: u32) -> Self {
        self.rule.retry = tokens(cost);
        self
    }

    /// What a retry after a timeout costs. Default 10 tokens: the slowest failures hold most of the server's resources.
    pub fn timeout_cost(mut self, cost: u32) -> Self {
        self.rule.after_timeout = tokens(cost);
        self
    }

    /// What a retry after a throttled response costs. Default 5 tokens.
    pub fn throttled_cost(mut self, cost: u32) -> Self {
        self.rule.throttled = tokens(cost);
        self
    }

    /// What a success earns, in tokens, to three decimals; after retries it is the last one's cost, if that is more.
    /// Default 1.
    ///
    /// Negative amounts and NaN count as zero.
    pub fn success_reward(mut self, reward: f64) -> Self {
        self.rule.success = Amount::from(thousandths(reward)) * THOUSANDTH;
        self
    }

    /// What flows in with time, in tokens a second, to three decimals. Default 0: only successes fill the bucket.
    ///
    /// Time counts from the first retry that is asked for. Negative amounts and NaN count as zero.
    pub fn refill_per_second(mut self, rate: f64) -> Self {
        self.rule.refill_per_nanosecond = thousandths(rate).into();
        self
    }

    /// The tokens in the bucket now, to be watched: by the time it is read it may have changed.
    #[must_use]
    pub fn available(&self) -> f64 {
        self.available_at(Instant::now())
    }

    fn available_at(&self, now: Instant) -> f64 {
        self.refilled(now).tokens as f64 / TOKEN as f64
    }

    /// Takes the cost of one retry, in one step; `None` if the bucket cannot pay and keep its reserve.
    pub(super) fn withdraw(&self, cause: Cause, now: Instant) -> Option<Permit> {
        let cost = match cause {
            Cause::Timeout => self.rule.after_timeout,
            Cause::Throttled => self.rule.throttled,
            Cause::Other => self.rule.retry,
        };
        let mut bucket = self.refilled(now);
        if bucket.tokens < cost + self.rule.reserve {
            return None;
        }
        bucket.tokens -= cost;
        drop(bucket);
        Some(Permit { bucket: Arc::clone(&self.bucket), cost })
    }

    /// An attempt failed: to be said before [`withdraw`](Self::withdraw), and when no retry is wanted too (A6).
    pub(super) fn failed(&self) {
        let mut bucket = lock(&self.bucket);
        bucket.tokens = bucket.tokens.saturating_sub(self.rule.failure);
    }

    /// A request succeeded: at the first try (`None`), or after retries, the last of which cost `last`.
    pub(super) fn succeeded(&self, last: Option<Spent>) {
        let refund = last.map_or(0, |spent| spent.0);
        lock(&self.bucket).put(refund.max(self.rule.success));
    }

    fn refilled(&self, now: Instant) -> MutexGuard<'_, Bucket> {
        let mut bucket = lock(&self.bucket);
        let since = now.saturating_duration_since(bucket.refilled_at.unwrap_or(now));
        bucket.put(since.as_nanos().saturating_mul(self.rule.refill_per_nanosecond));
        bucket.refilled_at = bucket.refilled_at.max(Some(now));
        bucket
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::aws_v2_0()
    }
}

impl Bucket {
    fn put(&mut self, amount: Amount) {
        self.tokens = self.tokens.saturating_add(amount).min(self.capacity);
    }
}

/// The cost of a retry that has not been sent: dropped, it goes back into the bucket.
#[derive(Debug)]
#[must_use = "a dropped permit is refunded"]
pub(super) struct Permit {
    bucket: Arc<Mutex<Bucket>>,
    cost: Amount,
}

impl Permit {
    /// The retry is sent.
    pub(super) fn spend(mut self) -> Spent {
        Spent(mem::take(&mut self.cost))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.cost > 0 {
            lock(&self.bucket).put(self.cost);
        }
    }
}

/// What a retry that was sent has cost.
#[derive(Debug)]
pub(super) struct Spent(Amount);

fn lock(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    // No step leaves the bucket half changed.
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tokens(count: u32) -> Amount {
    Amount::from(count) * TOKEN
}

fn thousandths(count: f64) -> u64 {
    // By way of millionths, as 0.29 is a little less than 290 thousandths. The cast saturates and takes NaN for zero.
    (count * 1e6).round() as u64 / 1000
}
