//! The harness has given up, and the model submits again: another call of the tool, with another id.

use lab::{
    bug_tracker::reports::NewReport,
    harness::{FinalResult, KeySource, Submission},
};

use crate::tracker::{Tracker, call, ends, first_hand, replay, report, titled};

/// How many reports there are after the article's report and this one, and what came of this one.
async fn after(again: &NewReport, source: KeySource) -> (usize, Submission) {
    let tracker = Tracker::start().await;
    let harness = tracker.harness(source);
    harness.submit(&report(), &call("toolu_01")).await;
    let again = harness.submit(again, &call("toolu_02")).await;
    (tracker.reports().await.len(), again)
}

/// Article: "`key_atomic` with the key of the tool call does not hold off a model that submits with a new id".
#[tokio::test]
async fn the_same_content_with_a_new_id_is_a_second_report_under_the_key_of_the_tool_call() {
    let (reports, again) = after(&report(), KeySource::ToolCall).await;

    assert_eq!(reports, 2);
    assert_eq!((ends(&again), again.result), (vec![first_hand("201")], FinalResult::Created { report_id: 2 }));
}

/// Article: "a business key holds off the new id".
#[tokio::test]
async fn the_same_content_with_a_new_id_is_one_report_under_the_business_key() {
    let (reports, again) = after(&report(), KeySource::Business).await;

    assert_eq!(reports, 1);
    assert_eq!((ends(&again), again.result), (vec![replay("201")], FinalResult::Created { report_id: 1 }));
}

/// Article: "and does not hold off a model that rewords the title".
#[tokio::test]
async fn a_reworded_title_is_a_second_report_under_the_business_key_too() {
    let reworded = titled("The sum in the cart is wrong");

    for source in [KeySource::ToolCall, KeySource::Business] {
        let (reports, again) = after(&reworded, source).await;

        assert_eq!((reports, again.result), (2, FinalResult::Created { report_id: 2 }), "{source:?}");
    }
}

/// Article: "run, module, and the title normalised". One report; and since the bodies differ the model is told so, and
/// not that its own spelling was filed.
#[tokio::test]
async fn a_title_in_other_case_and_whitespace_is_one_report_under_the_business_key() {
    let (reports, again) = after(&titled("  TOTAL \t is  wrong "), KeySource::Business).await;

    assert_eq!(reports, 1);
    assert_eq!(ends(&again), [first_hand("422")]);
    assert!(again.tool_message().contains("belongs to an earlier submission"), "{}", again.tool_message());
}

/// The other source looks at no title.
#[tokio::test]
async fn a_title_in_other_case_and_whitespace_is_a_second_report_under_the_key_of_the_tool_call() {
    let (reports, _) = after(&titled("  TOTAL \t is  wrong "), KeySource::ToolCall).await;

    assert_eq!(reports, 2);
}
