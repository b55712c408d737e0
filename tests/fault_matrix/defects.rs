//! Mistakes that are planted change the cells that the article says, and no others.

use lab::fault_matrix::{Defect, Row, Scene, Table, cell::Struck};

#[tokio::test]
async fn a_key_for_each_attempt_in_place_of_the_tool_calls_loses_what_the_key_stopped() {
    let changed = planted(Defect::KeyPerAttempt).await;

    let expected = [
        ("key_split / tool_call", Scene::LostResponse, 1, 2),
        ("key_atomic / tool_call", Scene::LostResponse, 1, 2),
        ("key_atomic / tool_call", Scene::Concurrent, 1, 2),
    ];
    assert_eq!(changed, expected.map(named));
}

#[tokio::test]
async fn two_commits_in_place_of_one_let_crash_and_race_through() {
    let changed = planted(Defect::TwoCommits).await;

    let expected = [
        ("key_atomic / per_attempt", Scene::Crash, 1, 2),
        ("key_atomic / tool_call", Scene::Crash, 1, 2),
        ("key_atomic / tool_call", Scene::Concurrent, 1, 2),
        ("key_atomic / business", Scene::Crash, 1, 2),
        ("key_atomic / business", Scene::Concurrent, 1, 2),
    ];
    assert_eq!(changed, expected.map(named));
}

#[tokio::test]
async fn a_server_that_ignores_keys_stops_nothing() {
    let changed = planted(Defect::KeyIgnored).await;

    let stopped: Vec<_> = Row::PUBLISHED
        .into_iter()
        .flat_map(|row| Scene::ALL.into_iter().zip(row.expected()).map(move |(scene, reports)| (row, scene, reports)))
        .filter(|(_, _, reports)| *reports == 1)
        .map(|(row, scene, _)| (row.to_string(), scene, 1, 2))
        .collect();
    assert_eq!(stopped.len(), 9);
    assert_eq!(changed, stopped);
}

#[tokio::test]
async fn the_tool_calls_key_in_place_of_the_business_key_does_not_know_the_models_second_call() {
    let changed = planted(Defect::KeyOfTheCall).await;

    assert_eq!(changed, [named(("key_atomic / business", Scene::NewId, 1, 2))]);
}

/// Else a matrix in which nothing goes wrong would be as good.
#[tokio::test]
async fn a_cell_whose_fault_did_not_strike_differs_whatever_its_figure() {
    let mut table = Table::measure(&Row::PUBLISHED[..1], None).await.unwrap();
    table.rows[0].cells[1].struck = Struck::No;

    let differences = table.differences();

    let named: Vec<_> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["naive / none, crash: 2, expected 2 (the fault did not strike)"]);
}

type Changed = (String, Scene, usize, usize);

/// Each cell that differs: its row, its column, what is expected, what there is.
async fn planted(defect: Defect) -> Vec<Changed> {
    let table = Table::measure(&Row::PUBLISHED, Some(defect)).await.unwrap();
    let differences = table.differences();
    differences.iter().map(|cell| (cell.row.to_string(), cell.scene, cell.expected, cell.reports)).collect()
}

fn named((row, scene, expected, reports): (&str, Scene, usize, usize)) -> Changed {
    (row.to_owned(), scene, expected, reports)
}
