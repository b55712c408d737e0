//! The whole of some plays: who does what, and which rows it changes.

use lab::{
    bug_tracker::Implementation::{KeyAtomic, KeySplit},
    fault_matrix::Scene,
    harness::KeySource::{self, Business, ToolCall},
    steps::{Choice, Fencing},
};

use crate::lines::{cell, lines, played};

async fn plays(choice: Choice, expected: &[&str]) {
    assert_eq!(lines(&played(choice).await), expected, "{choice:?}");
}

#[tokio::test]
async fn after_a_lost_response_the_crates_server_replays() {
    plays(
        cell(KeyAtomic, ToolCall, Scene::LostResponse),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "1-1 report_inserted 1",
            "1-1 committed; reports: + 1; keys: ~ done fence 1",
            "1-1 answer_lost 201",
            "1-1 no_answer",
            "1-2 waited",
            "1-2 sent",
            "1-2 arrived",
            "1-2 looked_up done",
            "1-2 answered 201 replayed",
            "1-2 received 201 replayed",
            "1-0 ended created 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn after_a_crash_the_crates_server_has_given_the_key_back() {
    plays(
        cell(KeyAtomic, ToolCall, Scene::Crash),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "1-1 crashed",
            "1-1 released; keys: - in_progress fence 1",
            "1-1 answered 500",
            "1-1 received 500",
            "1-2 waited",
            "1-2 sent",
            "1-2 arrived",
            "1-2 claimed fence 2 run 1; keys: + in_progress fence 2",
            "1-2 working",
            "1-2 report_inserted 1",
            "1-2 committed; reports: + 1; keys: ~ done fence 2",
            "1-2 answered 201",
            "1-2 received 201",
            "1-0 ended created 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn of_two_at_once_the_crates_server_refuses_one_and_replays_later() {
    plays(
        cell(KeyAtomic, ToolCall, Scene::Concurrent),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "2-1 sent",
            "2-1 arrived",
            "2-1 looked_up in_progress",
            "2-1 answered 409",
            "2-1 received 409",
            "1-1 report_inserted 1",
            "1-1 committed; reports: + 1; keys: ~ done fence 1",
            "1-1 answered 201",
            "1-1 received 201",
            "1-0 ended created 1",
            "2-2 waited",
            "2-2 sent",
            "2-2 arrived",
            "2-2 looked_up done",
            "2-2 answered 201 replayed",
            "2-2 received 201 replayed",
            "2-0 ended created 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn after_a_crash_the_split_server_files_a_second_report() {
    plays(
        cell(KeySplit, ToolCall, Scene::Crash),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 looked_up nothing",
            "1-1 working",
            "1-1 report_committed 1; reports: + 1",
            "1-1 crashed",
            "1-1 answered 500",
            "1-1 received 500",
            "1-2 waited",
            "1-2 sent",
            "1-2 arrived",
            "1-2 looked_up nothing",
            "1-2 working",
            "1-2 report_committed 2; reports: + 2",
            "1-2 key_registered; keys: + done",
            "1-2 answered 201",
            "1-2 received 201",
            "1-0 ended created 2",
        ],
    )
    .await;
}

#[tokio::test]
async fn of_two_at_once_the_split_server_lets_both_past_the_look_up() {
    plays(
        cell(KeySplit, ToolCall, Scene::Concurrent),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 looked_up nothing",
            "1-1 working",
            "2-1 sent",
            "2-1 arrived",
            "2-1 looked_up nothing",
            "2-1 working",
            "1-1 report_committed 1; reports: + 1",
            "1-1 key_registered; keys: + done",
            "1-1 answered 201",
            "1-1 received 201",
            "1-0 ended created 1",
            "2-1 report_committed 2; reports: + 2",
            "2-1 key_taken",
            "2-1 answered 500",
            "2-1 received 500",
            "2-2 waited",
            "2-2 sent",
            "2-2 arrived",
            "2-2 looked_up done",
            "2-2 answered 201 replayed",
            "2-2 received 201 replayed",
            "2-0 ended created 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_knows_keys_refuses_a_request_without_one() {
    plays(
        cell(KeyAtomic, KeySource::None, Scene::Concurrent),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 refused",
            "1-1 answered 400",
            "1-1 received 400",
            "1-0 ended refused  400",
            "2-1 sent",
            "2-1 arrived",
            "2-1 refused",
            "2-1 answered 400",
            "2-1 received 400",
            "2-0 ended refused  400",
        ],
    )
    .await;
}

#[tokio::test]
async fn another_title_is_another_key() {
    plays(
        cell(KeyAtomic, Business, Scene::NewTitle),
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "1-1 report_inserted 1",
            "1-1 committed; reports: + 1; keys: ~ done fence 1",
            "1-1 answer_lost 201",
            "1-1 no_answer",
            "1-0 ended unknown",
            "2-1 sent",
            "2-1 arrived",
            "2-1 claimed fence 2 run 1; keys: + in_progress fence 2",
            "2-1 working",
            "2-1 report_inserted 2",
            "2-1 committed; reports: + 2; keys: ~ done fence 2",
            "2-1 answered 201",
            "2-1 received 201",
            "2-0 ended created 2",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_slow_request_that_is_taken_over_is_fenced_out() {
    plays(
        Choice::TakenOver { key_source: ToolCall, fencing: Fencing::On },
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "1-1 lease_lapsed",
            "2-1 sent",
            "2-1 arrived",
            "2-1 claimed fence 2 run 2; keys: ~ in_progress fence 2",
            "2-1 working",
            "2-1 report_inserted 1",
            "2-1 committed; reports: + 1; keys: ~ done fence 2",
            "2-1 answered 201",
            "2-1 received 201",
            "2-0 ended created 1",
            "1-1 woke",
            "1-1 report_inserted 2",
            "1-1 fenced_out",
            "1-1 answered 201 replayed",
            "1-1 received 201 replayed",
            "1-0 ended created 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn without_a_fence_a_slow_request_that_is_taken_over_files_a_second_report() {
    plays(
        Choice::TakenOver { key_source: ToolCall, fencing: Fencing::Off },
        &[
            "1-1 sent",
            "1-1 arrived",
            "1-1 claimed fence 1 run 1; keys: + in_progress fence 1",
            "1-1 working",
            "1-1 lease_lapsed",
            "2-1 sent",
            "2-1 arrived",
            "2-1 claimed fence 2 run 2; keys: ~ in_progress fence 2",
            "2-1 working",
            "2-1 report_inserted 1",
            "2-1 committed_unfenced; reports: + 1; keys: ~ done fence 2",
            "2-1 answered 201",
            "2-1 received 201",
            "2-0 ended created 1",
            "1-1 woke",
            "1-1 report_inserted 2",
            "1-1 committed_unfenced; reports: + 2; keys: ~ done fence 2",
            "1-1 answered 201",
            "1-1 received 201",
            "1-0 ended created 2",
        ],
    )
    .await;
}
