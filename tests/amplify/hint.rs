//! Rule 1: what an untrusted server says of its tool does not open the gate.

use http::StatusCode;
use lab::amplify::{
    client::{attempts, send},
    tool::ToolServer,
};
use tower_idempotency::retry::{AssumeRepeatable, Outcome, RetryInfo, Stopped, Verdict};

/// Rule 1; and rule 3: `x-should-retry: true` overrides the status, and not the gate.
#[tokio::test]
async fn a_call_without_a_key_is_sent_once_whatever_its_server_claims() {
    let server = ToolServer::start().await;
    let tool = server.tool().await.unwrap();
    assert!(tool.annotations.idempotent_hint);

    let answer = send(&attempts(3), server.call_of(&tool)).await.unwrap();

    assert_eq!((answer.status(), server.reports()), (StatusCode::SERVICE_UNAVAILABLE, 1));
    assert_eq!(answer.headers()["x-should-retry"], "true");
    let info: &RetryInfo = answer.extensions().get().unwrap();
    assert_eq!((info.attempts(), info.stopped(), info.outcome()), (1, Stopped::NotRepeatable, Outcome::Unknown));
}

/// Rule 1: the caller's word, who bears the harm.
#[tokio::test]
async fn a_call_that_its_caller_marks_is_sent_again() {
    let server = ToolServer::start().await;
    let mut call = server.call_of(&server.tool().await.unwrap());
    call.extensions_mut().insert(AssumeRepeatable);

    let answer = send(&attempts(3), call).await.unwrap();

    assert_eq!((answer.status(), server.reports()), (StatusCode::OK, 2));
}

/// Rule 1: the gate stands above a classifier.
#[tokio::test]
async fn a_classifier_that_takes_the_hint_for_a_reason_to_retry_sends_once() {
    let server = ToolServer::start().await;
    let tool = server.tool().await.unwrap();
    let hint = tool.annotations.idempotent_hint;
    let hopeful = attempts(3).with_classifier(move |attempt| if hint { Verdict::Retry } else { attempt.verdict() });

    send(&hopeful, server.call_of(&tool)).await.unwrap();

    assert_eq!(server.reports(), 1);
}

/// Seen red: whoever writes "the server surely did nothing" because of the hint has two reports.
#[tokio::test]
async fn a_classifier_that_believes_the_hint_sends_twice() {
    let server = ToolServer::start().await;
    let tool = server.tool().await.unwrap();
    let hint = tool.annotations.idempotent_hint;
    let believing = attempts(3).with_classifier(move |attempt| match attempt.verdict() {
        Verdict::Retry if hint => Verdict::RetryNotApplied,
        verdict => verdict,
    });

    let answer = send(&believing, server.call_of(&tool)).await.unwrap();

    assert_eq!((answer.status(), server.reports()), (StatusCode::OK, 2));
}

/// Seen red: so has whoever makes the hint the caller's word.
#[tokio::test]
async fn a_client_that_marks_a_call_because_of_the_hint_sends_twice() {
    let server = ToolServer::start().await;
    let tool = server.tool().await.unwrap();
    let mut call = server.call_of(&tool);
    if tool.annotations.idempotent_hint {
        call.extensions_mut().insert(AssumeRepeatable);
    }

    send(&attempts(3), call).await.unwrap();

    assert_eq!(server.reports(), 2);
}
