//! Rule 7: all of it comes from the seed, and nothing from elsewhere.

use std::ops::ControlFlow;

use lab::herd::{Cell, Defect, Herd, Outcome, Strategy, Table, simulate};

use crate::{grid, herd, threads};

#[test]
fn the_same_seed_gives_the_same_outcome() {
    for strategy in Strategy::ALL {
        // Others in between: nothing is shared by the runs of a process.
        let [first, _, again] = [1, 2, 1].map(|seed| simulate(&herd(strategy, 30, seed)));
        assert_eq!(first, again, "{strategy}");
    }
}

#[test]
fn another_seed_gives_another_outcome() {
    for strategy in Strategy::ALL {
        assert_ne!(simulate(&herd(strategy, 10, 1)), simulate(&herd(strategy, 10, 2)), "{strategy}");
    }
}

#[test]
fn another_seed_gives_another_table() {
    let [one, other] =
        [1, 2].map(|seed| Table::of(grid(&[Strategy::Full, Strategy::None], &[10], 3, seed), threads(1)).cells);

    assert!(one.iter().zip(&other).all(|(one, other)| one.ms.ours != other.ms.ours), "{one:?}, {other:?}");
}

#[test]
fn a_table_does_not_depend_on_the_number_of_threads() {
    let strategies = [Strategy::None, Strategy::Full, Strategy::Decorrelated];
    let [one, three, eight] = [1, 3, 8].map(|number| Table::of(grid(&strategies, &[5, 20], 7, 1), threads(number)));

    assert_eq!(one, three);
    assert_eq!(one, eight);
}

#[test]
fn runs_are_told_of_in_the_same_order_with_any_number_of_threads() {
    let [one, four] = [1, 4].map(|number| told(7, number, usize::MAX).0);

    let order: Vec<_> = one.iter().map(|(cell, run, _)| (cell.clients.get(), *run)).collect();
    assert_eq!(
        order,
        [40, 2].into_iter().flat_map(|clients| (0..7).map(move |run| (clients, run))).collect::<Vec<_>>()
    );
    assert_eq!(one, four);
}

#[test]
fn a_run_can_be_played_again_alone() {
    let grid = grid(&[Strategy::Full], &[40, 2], 7, 1);
    let (runs, _) = told(7, 2, usize::MAX);

    let (cell, run, outcome) = &runs[9];
    assert_eq!(simulate(&grid.herd(*cell, *run)), *outcome);
}

#[test]
fn a_cell_depends_neither_on_the_other_cells_nor_on_the_runs_that_follow() {
    let alone = Table::of(grid(&[Strategy::Full], &[10], 5, 1), threads(2)).cells;
    let among = Table::of(grid(&Strategy::ALL, &[5, 10], 5, 1), threads(2)).cells;
    assert!(among.contains(&alone[0]), "{among:?}");

    let (short, long) = (told(3, 1, usize::MAX).0, told(7, 1, usize::MAX).0);
    assert_eq!(short[..3], long[..3]);
}

#[test]
fn the_runs_of_a_cell_differ() {
    let (runs, _) = told(7, 1, usize::MAX);

    for (number, (_, _, outcome)) in runs.iter().enumerate() {
        assert!(runs[..number].iter().all(|(_, _, before)| before != outcome), "{number}");
    }
}

/// Nobody's draws are those of another.
#[test]
fn clients_draw_from_streams_of_their_own() {
    let outcome = simulate(&herd(Strategy::Full, 100, 1));
    let mut first: Vec<f64> = outcome.arrivals.iter().take(50).map(|write| write.at).collect();
    first.dedup();

    assert_eq!(first.len(), 50);
}

/// One stream is the waits only: the network stays as it was, so nothing changes until the second attempts.
#[test]
fn a_shared_stream_leaves_the_network_alone() {
    let right = simulate(&herd(Strategy::Full, 20, 1));
    let planted = simulate(&Herd { planted: Some(Defect::SharedStream), ..herd(Strategy::Full, 20, 1) });
    let first_writes = |outcome: &Outcome| -> Vec<_> {
        let mut seen = std::collections::BTreeSet::new();
        outcome
            .arrivals
            .iter()
            .filter(|write| seen.insert(write.client))
            .map(|write| (write.client, write.at))
            .collect()
    };

    assert_eq!(first_writes(&right), first_writes(&planted));
    assert_ne!(right, planted);
}

#[test]
fn a_grid_that_is_broken_off_tells_of_nothing_more_and_ends() {
    for number in [1, 4] {
        let (runs, flow) = told(7, number, 3);
        assert_eq!((runs.len(), flow), (3, ControlFlow::Break("enough")), "{number} threads");
    }
}

type Run = (Cell, u32, Outcome);

/// What is told of 40 and of 2 clients, until there are so many.
fn told(runs: u32, number: usize, enough: usize) -> (Vec<Run>, ControlFlow<&'static str>) {
    let mut told = Vec::new();
    let flow = grid(&[Strategy::Full], &[40, 2], runs, 1).play(threads(number), |finished| {
        told.push((finished.cell, finished.run, finished.outcome.clone()));
        if told.len() == enough { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    (told, flow)
}
