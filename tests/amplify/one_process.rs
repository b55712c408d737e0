//! Rules 11 and 12 in one process: a layer sees another one through its mark, and multiplies where that is lost.

use lab::amplify::{
    client::attempts,
    one_process::{mark_hidden, mark_seen},
};

/// Rule 12: the figure of the articles.
#[tokio::test]
async fn a_harness_of_four_attempts_around_an_sdk_of_three_is_12_calls() {
    assert_eq!(mark_hidden(attempts(4), attempts(3)).await.unwrap(), 12);
}

#[tokio::test]
async fn one_attempt_fewer_in_harness_or_sdk_is_9_or_8_calls() {
    assert_eq!(mark_hidden(attempts(3), attempts(3)).await.unwrap(), 9);
    assert_eq!(mark_hidden(attempts(4), attempts(2)).await.unwrap(), 8);
}

/// Rule 12: switch the retries of what is below off.
#[tokio::test]
async fn an_sdk_whose_retries_are_off_leaves_the_harness_its_4_calls() {
    assert_eq!(mark_hidden(attempts(4), attempts(1)).await.unwrap(), 4);
}

/// Rule 11: with the same attempts as in the 9 and the 12 above.
#[tokio::test]
async fn a_layer_that_sees_the_mark_of_another_adds_no_call() {
    assert_eq!(mark_seen(attempts(3), attempts(3)).await.unwrap(), 3);
    assert_eq!(mark_seen(attempts(4), attempts(3)).await.unwrap(), 3);
}

/// Rule 11: one that makes a single attempt has no mark.
#[tokio::test]
async fn a_layer_inside_that_tries_once_leaves_the_one_outside_its_3_calls() {
    assert_eq!(mark_seen(attempts(3), attempts(1)).await.unwrap(), 3);
}
