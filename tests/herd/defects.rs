//! Mistakes that are planted are found, with any seed: each of them moves the figures that it has to, by far more than four
//! standard errors.

use lab::herd::{Defect, Grid, Measured, Strategy, Table, Verdict};

use crate::{grid, threads};

const SEEDS: [u64; 3] = [1, 2, 3];

/// The waits begin with half of what they should, so that more writes are sent.
#[test]
fn waits_that_begin_with_the_base_send_more_writes() {
    for seed in SEEDS {
        let [cell] = planted(Defect::NFromZero, Strategy::Full, 50, 10, seed);
        assert!(cell.calls.standard_errors() > Some(12.0), "{cell:?}");
    }
}

/// Those that are cut at the cap meet there, and take longer.
#[test]
fn a_cap_after_the_jitter_takes_longer() {
    for seed in SEEDS {
        let [cell] = planted(Defect::CapAfterJitter, Strategy::Proportional, 100, 5, seed);
        assert!(cell.ms.standard_errors() > Some(10.0), "{cell:?}");
    }
}

/// It shows where nothing but the network spreads the writes.
#[test]
fn whole_milliseconds_change_the_herd_that_does_not_wait() {
    for seed in SEEDS {
        let [cell] = planted(Defect::WholeMilliseconds, Strategy::None, 100, 12, seed);
        assert!(cell.calls.standard_errors() < Some(-5.0), "{cell:?}");
    }
}

/// As if there were no jitter.
#[test]
fn one_stream_for_all_is_as_bad_as_no_jitter() {
    for seed in SEEDS {
        for strategy in [Strategy::Proportional, Strategy::Equal, Strategy::Full, Strategy::Decorrelated] {
            let [cell] = planted(Defect::SharedStream, strategy, 50, 3, seed);
            assert!(cell.calls.standard_errors() > Some(30.0), "{cell:?}");
            assert!(cell.ms.standard_errors() > Some(15.0), "{cell:?}");
        }
    }
}

/// What a mistake does not touch stays as the article says, and as it was.
#[test]
fn a_mistake_in_the_waits_leaves_the_herd_that_does_not_wait_alone() {
    let [right] = cells(grid(&[Strategy::None], &[10], 5, 1));
    for defect in [Defect::NFromZero, Defect::CapAfterJitter, Defect::SharedStream] {
        assert_eq!(planted(defect, Strategy::None, 10, 5, 1), [right], "{defect:?}");
    }
}

#[test]
fn the_verdict_names_what_is_off() {
    let grid = Grid { planted: Some(Defect::SharedStream), ..grid(&[Strategy::None, Strategy::Full], &[10], 5, 1) };

    let table = Table::of(grid, threads(2));

    assert_eq!(table.verdict(), Verdict::NotAsInTheArticle);
    let named: Vec<_> = table.differences().iter().map(|off| (off.cell.strategy, off.figure)).collect();
    assert_eq!(named, [(Strategy::Full, "calls"), (Strategy::Full, "ms")]);
}

fn planted(defect: Defect, strategy: Strategy, clients: u32, runs: u32, seed: u64) -> [Measured; 1] {
    cells(Grid { planted: Some(defect), ..grid(&[strategy], &[clients], runs, seed) })
}

fn cells(grid: Grid) -> [Measured; 1] {
    Table::of(grid, threads(2)).cells.try_into().unwrap()
}
