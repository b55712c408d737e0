//! The routes over TCP: what they answer, and what they refuse.

use lab::{exchange, lab_page::steps::routes, problem, wire::Server};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

async fn answer(path: &str) -> exchange::Answer {
    Server::start(routes(&CancellationToken::new())).await.send(exchange::get(path)).await
}

async fn refusal(path: &str) -> String {
    let answer = answer(path).await;
    assert_eq!(answer.status, 400, "{path}");
    problem::of(&answer)["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_play_is_answered_with_its_figures_and_its_steps() {
    let answer = answer("/lab/steps?fault=taken_over&implementation=key_atomic&key_source=business&fencing=off").await;

    let played: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("application/json")));
    assert_eq!((&played["reports"], &played["wanted"], &played["expected"]), (&2.into(), &1.into(), &2.into()));
    assert_eq!((&played["fault"], &played["fencing"]), (&"taken_over".into(), &"off".into()));
    let first = &played["steps"][0];
    assert_eq!((&first["kind"], &first["client"], &first["attempt"]), (&"sent".into(), &1.into(), &1.into()));
}

/// Its steps name the problem that a client is told.
#[tokio::test]
async fn an_answer_that_is_a_problem_has_its_title() {
    let answer = answer("/lab/steps?fault=crash&implementation=key_atomic&key_source=none").await;

    let played: Value = serde_json::from_slice(&answer.body).unwrap();
    let answered = played["steps"].as_array().unwrap().iter().find(|step| step["kind"] == "answered").unwrap();
    assert_eq!((&answered["status"], answered["title"].is_string()), (&400.into(), true), "{answered}");
}

#[tokio::test]
async fn an_unknown_value_is_refused_and_the_allowed_ones_are_named() {
    assert_eq!(
        refusal("/lab/steps?fault=fire&implementation=naive&key_source=none").await,
        "fault is one of lost_response, crash, concurrent, new_id, new_title, taken_over."
    );
    assert_eq!(
        refusal("/lab/steps?fault=crash&implementation=key-split&key_source=none").await,
        "implementation is one of naive, key_split, key_atomic."
    );
    assert_eq!(
        refusal("/lab/steps?fault=crash&implementation=naive&key_source=").await,
        "key_source is one of none, per_attempt, tool_call, business."
    );
    assert_eq!(
        refusal("/lab/steps?fault=taken_over&implementation=key_atomic&key_source=none&fencing=maybe").await,
        "fencing is one of on, off."
    );
}

#[tokio::test]
async fn what_is_missing_twice_or_unknown_is_refused() {
    assert_eq!(
        refusal("/lab/steps?fault=crash&implementation=naive").await,
        "key_source is missing: one of none, per_attempt, tool_call, business."
    );
    assert!(refusal("/lab/steps").await.starts_with("fault is missing: one of "));
    assert_eq!(
        refusal("/lab/steps?fault=crash&fault=crash&implementation=naive&key_source=none").await,
        "fault is there twice."
    );
    assert_eq!(
        refusal("/lab/steps?fault=crash&implementation=naive&key_source=none&delay=1").await,
        "There is no delay: only fault, implementation, key_source and fencing."
    );
    assert_eq!(refusal("/lab/matrix?fault=crash").await, "All are played: there is nothing to choose.");
}

#[tokio::test]
async fn a_choice_without_a_play_is_refused() {
    assert_eq!(
        refusal("/lab/steps?fault=taken_over&implementation=key_split&key_source=tool_call").await,
        "No such play: key_split claims no key, so there is nothing to take over: taken_over goes with key_atomic."
    );
    assert_eq!(
        refusal("/lab/steps?fault=crash&implementation=key_atomic&key_source=tool_call&fencing=off").await,
        "No such play: fencing goes with the fault taken_over only."
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_matrix_is_all_plays() {
    let answer = answer("/lab/matrix").await;

    let matrix: Value = serde_json::from_slice(&answer.body).unwrap();
    let cells = matrix["cells"].as_array().unwrap();
    assert_eq!((answer.status.as_u16(), cells.len()), (200, 68));
    assert!(cells.iter().all(|cell| cell["reports"] == cell["expected"]), "{cells:?}");
    assert!(cells[0].get("steps").is_none());
}
