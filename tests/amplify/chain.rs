//! Rule 12 over HTTP: what a layer writes on a response does not travel, so that hops multiply.

use http::StatusCode;
use lab::amplify::{chain::Chain, client::attempts, figures::calls};

/// Rule 12: 3^5, the figure of the Amazon Builders' Library.
#[tokio::test]
async fn five_services_with_three_attempts_each_are_243_calls() {
    assert_eq!(calls([3; 5].map(attempts), 1).await.unwrap(), 243);
}

/// Rule 12: 2 * 3^4.
#[tokio::test]
async fn one_attempt_fewer_in_one_service_wherever_it_stands_is_162_calls() {
    for place in 0..5 {
        let mut each = [3; 5];
        each[place] = 2;
        assert_eq!(calls(each.map(attempts), 1).await.unwrap(), 162, "{place}");
    }
}

/// Rule 12: the one retry in the stack.
#[tokio::test]
async fn one_service_that_retries_wherever_it_stands_is_3_calls() {
    for place in 0..5 {
        let mut each = [1; 5];
        each[place] = 3;
        assert_eq!(calls(each.map(attempts), 1).await.unwrap(), 3, "{place}");
    }
}

#[tokio::test]
async fn without_a_retry_a_request_is_one_call() {
    assert_eq!(calls([1; 5].map(attempts), 1).await.unwrap(), 1);
}

#[tokio::test]
async fn each_request_multiplies_anew() {
    assert_eq!(calls([3; 3].map(attempts), 4).await.unwrap(), 4 * 27);
}

#[tokio::test]
async fn the_caller_at_the_top_gets_the_answer_of_the_bottom() {
    let chain = Chain::start([3; 5].map(attempts)).await;

    assert_eq!(chain.request().await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
}
