//! How many reports each play leaves.

use lab::{
    bug_tracker::Implementation,
    fault_matrix::{Row, Scene},
    harness::KeySource,
    steps::{Choice, Fault, Fencing, Matrix},
};

use crate::lines::{cell, played};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_play_leaves_as_many_reports_as_are_expected() {
    let folder = tempfile::tempdir().unwrap();

    let matrix = Matrix::play(folder.path()).await.unwrap();

    let seen: Vec<_> = matrix.cells.iter().map(|cell| (cell.fault, cell.fencing, cell.reports)).collect();
    let expected: Vec<_> =
        Choice::all().into_iter().map(|choice| (choice.fault(), choice.fencing(), choice.expected())).collect();
    assert_eq!(seen, expected);
    for cell in matrix.cells {
        // A server that refuses the request does not come to where the fault strikes; two keys take nothing over.
        let strikes = cell.expected > 0 && (cell.fault, cell.key_source) != (Fault::TakenOver, KeySource::PerAttempt);
        assert_eq!(cell.struck, strikes, "{cell:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no temporary folder stays");
}

#[test]
fn a_cell_of_the_matrix_is_expected_to_leave_what_the_matrix_expects() {
    for row in Row::all() {
        let expected = Scene::ALL.map(|scene| cell(row.implementation, row.key_source, scene).expected());
        assert_eq!(expected, row.expected(), "{row}");
    }
}

/// The article: one with the fence, two without.
#[tokio::test]
async fn the_fence_makes_the_difference_where_a_slow_request_is_taken_over() {
    let reports =
        async |fencing| played(Choice::TakenOver { key_source: KeySource::ToolCall, fencing }).await.outcome.reports;

    assert_eq!((reports(Fencing::On).await, reports(Fencing::Off).await), (1, 2));
}

/// A play before a witness is the play without.
#[tokio::test]
async fn a_recorder_changes_no_figure() {
    let choice = cell(Implementation::KeySplit, KeySource::Business, Scene::Concurrent);
    let Choice::Cell { row, scene } = choice else { unreachable!() };

    let unseen = lab::fault_matrix::cell::play(row, scene).await.unwrap();

    assert_eq!(played(choice).await.outcome.reports, unseen.reports.len());
}
