//! The tables after a step.

use lab::{
    bug_tracker::Implementation,
    fault_matrix::Scene,
    harness::KeySource,
    steps::{Choice, Fencing, Played},
};
use serde_json::{Value, json};

use crate::lines::{cell, played};

async fn play(implementation: Implementation, scene: Scene) -> Value {
    json(&played(cell(implementation, KeySource::ToolCall, scene)).await)
}

fn json(played: &Played) -> Value {
    serde_json::to_value(played).unwrap()
}

/// The steps of this kind.
fn of<'a>(played: &'a Value, kind: &str) -> Vec<&'a Value> {
    played["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == kind).collect()
}

fn key(change: &Value, status: &str, fence: u64, response_status: &Value) -> Value {
    json!([{
        "key": "run-042:toolu_01",
        "status": status,
        "fence": fence,
        "run": 1,
        "response_status": response_status,
        "report_id": null,
        "change": change,
    }])
}

#[tokio::test]
async fn a_claim_is_a_new_row_and_a_commit_changes_it() {
    let played = play(Implementation::KeyAtomic, Scene::LostResponse).await;

    assert_eq!(of(&played, "claimed")[0]["keys"], key(&json!("new"), "in_progress", 1, &Value::Null));
    assert_eq!(of(&played, "working")[0]["keys"], key(&Value::Null, "in_progress", 1, &Value::Null));
    assert_eq!(of(&played, "committed")[0]["keys"], key(&json!("changed"), "done", 1, &json!(201)));
    let report = json!([{ "id": 1, "module": "cart", "title": "Total is wrong", "change": "new" }]);
    assert_eq!(of(&played, "committed")[0]["reports"], report);
}

#[tokio::test]
async fn what_an_open_transaction_has_written_is_not_in_the_table() {
    let played = play(Implementation::KeyAtomic, Scene::LostResponse).await;

    assert_eq!(of(&played, "report_inserted")[0]["reports"], json!([]));
}

#[tokio::test]
async fn a_claim_that_is_given_back_is_gone_for_one_step() {
    let played = play(Implementation::KeyAtomic, Scene::Crash).await;

    assert_eq!(of(&played, "released")[0]["keys"], key(&json!("gone"), "in_progress", 1, &Value::Null));
    assert_eq!(of(&played, "answered")[0]["keys"], json!([]));
    assert_eq!(of(&played, "claimed")[1]["keys"], key(&json!("new"), "in_progress", 2, &Value::Null));
}

#[tokio::test]
async fn the_split_server_has_a_report_without_a_key_after_its_crash() {
    let played = play(Implementation::KeySplit, Scene::Crash).await;

    let crashed = of(&played, "crashed")[0];
    assert_eq!((crashed["reports"].as_array().unwrap().len(), &crashed["keys"]), (1, &json!([])));
}

#[tokio::test]
async fn without_the_fence_the_slow_request_writes_over_the_other_ones_record() {
    let choice = Choice::TakenOver { key_source: KeySource::ToolCall, fencing: Fencing::Off };
    let played = json(&played(choice).await);

    let last = of(&played, "committed_unfenced")[1];
    let row = json!([{
        "key": "run-042:toolu_01",
        "status": "done",
        "fence": 2,
        "run": null,
        "response_status": null,
        "report_id": 2,
        "change": "changed",
    }]);
    assert_eq!((&last["keys"], last["reports"][1]["change"].as_str()), (&row, Some("new")));
}

#[tokio::test]
async fn the_last_step_shows_as_many_reports_as_are_counted() {
    for implementation in Implementation::ALL {
        let played = played(cell(implementation, KeySource::ToolCall, Scene::NewId)).await;
        assert_eq!(played.steps.last().unwrap().reports.len(), played.outcome.reports);
    }
}
