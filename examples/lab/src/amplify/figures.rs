//! What is measured, and what is known of it.

use tower::BoxError;
use tower_idempotency::{
    RetryLayer,
    retry::{AssumeRepeatable, Budget},
};

use super::{
    chain::Chain,
    client::{attempts, send},
    one_process::{mark_hidden, mark_seen},
    report::{Bound, Report},
    tool::ToolServer,
};

/// What a retry after a 503 costs a [`Budget`] that is told nothing else.
pub const RETRY_COST: u32 = 5;

/// Measures everything; the budgets with a stream of so many requests.
///
/// # Errors
///
/// Those of a connection: there are no figures then.
pub async fn measure(requests: u32) -> Result<Report, BoxError> {
    let mut report = Report::default();
    multiply(&mut report).await?;
    in_one_process(&mut report).await?;
    stream(&mut report, requests.into()).await?;
    hint(&mut report).await?;
    Ok(report)
}

/// Calls at the bottom for so many requests, one after the other, through a service for each layer.
///
/// # Errors
///
/// Those of a connection.
pub async fn calls(retries: impl IntoIterator<Item = RetryLayer>, requests: u64) -> Result<u64, BoxError> {
    let chain = Chain::start(retries.into_iter().collect::<Vec<_>>()).await;
    for _ in 0..requests {
        chain.request().await?;
    }
    Ok(chain.calls())
}

/// The most that such budgets allow: each service adds the retries that its own tokens pay, and multiplies nothing.
pub fn most_calls(requests: u64, services: u64, tokens: u32) -> u64 {
    requests + services * u64::from(tokens / RETRY_COST)
}

async fn multiply(report: &mut Report) -> Result<(), BoxError> {
    report.section("one request, five services over HTTP, a dead database");
    let seen = calls([3, 3, 3, 3, 3].map(attempts), 1).await?;
    report.row("3 attempts in each", seen, Bound::Exactly(243), "243 = 3^5, Amazon Builders' Library");
    let seen = calls([3, 1, 1, 1, 1].map(attempts), 1).await?;
    report.row(
        "3 attempts in the first, 1 in the others",
        seen,
        Bound::Exactly(3),
        "its advice: retry at one place in the stack",
    );
    Ok(())
}

async fn in_one_process(report: &mut Report) -> Result<(), BoxError> {
    report.section("one keyed POST, two layers in one process, a dead server");
    let seen = mark_hidden(attempts(4), attempts(3)).await?;
    report.row("harness 4 x SDK 3, whose types hide the mark", seen, Bound::Exactly(12), "12, the article");
    let seen = mark_hidden(attempts(4), attempts(1)).await?;
    report.row("harness 4, the SDK's own retries off", seen, Bound::Exactly(4), "the article's advice: max_retries 0");
    let seen = mark_hidden(attempts(3), attempts(3)).await?;
    report.row("3 x 3, the mark hidden", seen, Bound::Exactly(9), "9, Codex: two layers, 503 with Retry-After");
    let seen = mark_seen(attempts(3), attempts(3)).await?;
    report.row("RetryLayer 3 around RetryLayer 3", seen, Bound::Exactly(3), "no figure; the mark is seen: not 9");
    Ok(())
}

async fn stream(report: &mut Report, requests: u64) -> Result<(), BoxError> {
    report.section(format!("{requests} requests, five services of 3 attempts each, a dead database"));
    let seen = calls([3; 5].map(attempts), requests).await?;
    report.row("no budget", seen, Bound::Exactly(243 * requests), "243 for each");
    for (name, tokens) in [("Budget::default(), 500 tokens in each", 500), ("Budget::new(50) in each", 50)] {
        let budgeted = || attempts(3).budget(Budget::new(tokens));
        let seen = calls([(); 5].map(|()| budgeted()), requests).await?;
        let most = most_calls(requests, 5, tokens);
        report.row(name, seen, Bound::AtMost(most), "Amazon: a local bucket of tokens");
    }
    Ok(())
}

async fn hint(report: &mut Report) -> Result<(), BoxError> {
    let server = ToolServer::start().await;
    let tool = server.tool().await?;
    let hint = tool.annotations.idempotent_hint;
    report
        .section(format!("one POST without a key, to a tool of which its server says idempotentHint: {hint}, and 503"));
    send(&attempts(3), server.call_of(&tool)).await?;
    report.row(
        "the hint changes nothing",
        server.reports(),
        Bound::Exactly(1),
        "MCP: no decision on an untrusted hint",
    );

    let server = ToolServer::start().await;
    let mut call = server.call_of(&server.tool().await?);
    call.extensions_mut().insert(AssumeRepeatable);
    send(&attempts(3), call).await?;
    report.row(
        "the caller's own AssumeRepeatable does",
        server.reports(),
        Bound::Exactly(2),
        "no figure; the word of who bears the harm",
    );
    Ok(())
}
