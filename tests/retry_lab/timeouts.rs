//! Real timeouts: curl gives up after 50 ms, once the server has committed.

use lab::retry_lab::trial::{Figures, Observed, PLAIN_POST, SAME_KEY, Trial};

use crate::scene::seen;

/// Article: the real timeout of a plain POST.
#[tokio::test]
async fn a_plain_post_that_times_out_and_is_sent_again_is_two_jobs() {
    let Observed { figures, answer, .. } = PLAIN_POST.run().await.unwrap();

    assert_eq!(figures, Figures { after_timeout: 1, after_retry: 2, id: Some(2) });
    assert_eq!(seen(&answer), (201, None, Some(2)));
}

/// Article: the real timeout under one key.
#[tokio::test]
async fn a_keyed_post_that_times_out_and_is_sent_again_is_one_job_and_its_first_answer() {
    let Observed { figures, answer, .. } = SAME_KEY.run().await.unwrap();

    assert_eq!(figures, Figures { after_timeout: 1, after_retry: 1, id: Some(1) });
    assert_eq!(seen(&answer), (201, Some("true"), Some(1)));
}

/// Article, its text: a key that is made anew for each attempt protects nothing.
#[tokio::test]
async fn a_new_key_for_each_attempt_is_two_jobs() {
    let new_keys = Trial { keys: [Some("attempt-1"), Some("attempt-2")], ..SAME_KEY };

    let Observed { figures, answer, .. } = new_keys.run().await.unwrap();

    assert_eq!(figures, PLAIN_POST.expected);
    assert_eq!(seen(&answer), (201, Some("false"), Some(2)));
}
