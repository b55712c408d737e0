//! The article's table, with fewer runs, so that each figure is known less well and still within four standard errors.

use lab::herd::{Cell, Measured, Pace, Strategy, Table, Verdict, published::Published};

use crate::{clients, grid, pace, threads};

const ARTICLE: [Strategy; 6] = [
    Strategy::None,
    Strategy::Exponential,
    Strategy::Proportional,
    Strategy::Equal,
    Strategy::Full,
    Strategy::Decorrelated,
];

#[test]
fn ten_and_fifty_clients_are_as_in_the_article() {
    is_as_in_the_article(&[10, 50], 20);
}

#[test]
fn a_hundred_clients_are_as_in_the_article() {
    is_as_in_the_article(&[100], 6);
}

fn is_as_in_the_article(numbers: &[u32], runs: u32) {
    let table = Table::of(grid(&ARTICLE, numbers, runs, 1), threads(2));

    let compared = |cell: &Measured| cell.calls.standard_errors().is_some() && cell.ms.standard_errors().is_some();
    assert_eq!(table.cells.len(), 6 * numbers.len());
    assert!(table.cells.iter().all(compared));
    assert_eq!(table.verdict(), Verdict::AsInTheArticle, "{table}");
}

/// As the article prints them, typed in once more.
#[test]
fn what_we_compare_with_is_what_the_article_prints() {
    let rows = [
        [(50, 377), (690, 1140), (2427, 2031)],
        [(51, 3534), (624, 36583), (1847, 63188)],
        [(46, 1292), (390, 8122), (927, 12762)],
        [(43, 721), (346, 4191), (812, 6620)],
        [(39, 478), (333, 2884), (796, 4956)],
        [(38, 446), (374, 2197), (1005, 4488)],
    ];
    for (strategy, row) in ARTICLE.into_iter().zip(rows) {
        for (number, (calls, ms)) in [10, 50, 100].into_iter().zip(row) {
            let cell = Cell { strategy, clients: clients(number) };
            let published = Published::of(cell, Pace::PUBLISHED).unwrap();
            assert_eq!((published.calls.printed, published.ms.printed), (calls.into(), ms.into()), "{cell:?}");
        }
    }
}

#[test]
fn nothing_is_published_of_other_settings() {
    let (base, cap) = (Pace::PUBLISHED.base(), Pace::PUBLISHED.cap());
    let of = |strategy, number, pace| Published::of(Cell { strategy, clients: clients(number) }, pace);

    assert_eq!(of(Strategy::Downward, 10, Pace::PUBLISHED), None);
    assert_eq!(of(Strategy::Full, 11, Pace::PUBLISHED), None);
    assert_eq!(of(Strategy::Full, 10, pace(2 * base, cap)), None);
    assert_eq!(of(Strategy::Full, 10, pace(base, 2 * cap)), None);
}

#[test]
fn a_table_without_published_cells_is_not_compared() {
    let table = Table::of(grid(&[Strategy::Downward, Strategy::Full], &[5], 2, 1), threads(1));

    assert_eq!(table.verdict(), Verdict::NotCompared);
    assert!(table.to_string().ends_with("\nnot compared: the article has none of these cells"), "{table}");
}

/// A figure beyond the limit is a difference, one within is none.
#[test]
fn the_limit_is_four_standard_errors_on_either_side() {
    let mut table = Table::of(grid(&[Strategy::Full], &[10], 2, 1), threads(1));
    let Published { calls, .. } = Published::of(table.cells[0].cell, Pace::PUBLISHED).unwrap();
    let mut off_by = |errors: f64| {
        let cell = &mut table.cells[0];
        cell.calls.ours.mean = calls.printed + 1.0;
        let one = calls.standard_errors(cell.calls.ours);
        cell.calls.ours.mean = calls.printed + errors / one;
        let names: Vec<_> = table.differences().iter().map(|difference| difference.figure).collect();
        names
    };

    assert!(off_by(3.9).is_empty() && off_by(-3.9).is_empty());
    assert_eq!((off_by(4.1), off_by(-4.1)), (vec!["calls"], vec!["calls"]));
}
