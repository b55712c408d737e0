//! Rule 7: with a budget in each service retries add up, and multiply no more.

use futures_util::future::join_all;
use lab::amplify::{
    chain::Chain,
    client::attempts,
    figures::{calls, most_calls},
};
use tower_idempotency::{RetryLayer, retry::Budget};

const REQUESTS: u64 = 10;

/// A layer with a bucket of its own.
fn with_tokens(tokens: u32) -> RetryLayer {
    attempts(3).budget(Budget::new(tokens))
}

/// Rule 7: five for a retry, ten retries in each of five services.
#[tokio::test]
async fn fifty_tokens_in_each_service_are_fifty_calls_more() {
    assert_eq!(most_calls(REQUESTS, 5, 50), 60);
    assert_eq!(calls([50; 5].map(with_tokens), REQUESTS).await.unwrap(), 60);
}

#[tokio::test]
async fn tokens_for_no_retry_are_no_call_more() {
    for tokens in [0, 4] {
        assert_eq!(calls([tokens; 5].map(with_tokens), REQUESTS).await.unwrap(), REQUESTS);
    }
}

#[tokio::test]
async fn tokens_for_one_retry_in_each_service_are_five_calls_more() {
    for tokens in [5, 9] {
        assert_eq!(calls([tokens; 5].map(with_tokens), REQUESTS).await.unwrap(), REQUESTS + 5);
    }
}

/// A bucket that is larger than what can be spent bounds nothing.
#[tokio::test]
async fn the_default_budget_lets_one_request_through_two_services_multiply() {
    assert_eq!(calls([500; 2].map(with_tokens), 1).await.unwrap(), 9);
}

/// Rule 7: the bucket is taken from in one step, whoever asks at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_the_same_time_are_bounded_by_the_same_tokens() {
    let chain = Chain::start([50; 5].map(with_tokens)).await;

    let answers = join_all((0..REQUESTS).map(|_| chain.request())).await;

    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!((REQUESTS..=most_calls(REQUESTS, 5, 50)).contains(&chain.calls()), "{}", chain.calls());
}

/// Seen red: one service without a budget, and the bound is broken.
#[tokio::test]
async fn one_service_without_a_budget_breaks_the_bound() {
    let mut layers = [50; 5].map(with_tokens);
    layers[4] = attempts(3);

    let calls = calls(layers, REQUESTS).await.unwrap();

    assert_eq!(calls, 3 * most_calls(REQUESTS, 4, 50));
    assert!(calls > most_calls(REQUESTS, 5, 50));
}
