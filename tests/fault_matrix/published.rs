//! The matrix is the article's.

use lab::{
    bug_tracker::Implementation::{KeyAtomic, KeySplit, Naive},
    fault_matrix::{Row, Table},
    harness::KeySource::{Business, None, PerAttempt, ToolCall},
};

/// The figures as the article prints them, typed in once more.
#[tokio::test]
async fn the_table_is_the_published_one() {
    let table = Table::measure(&Row::PUBLISHED, Option::None).await.unwrap();

    let published = [
        (Row::new(Naive, None), vec![2, 2, 2, 2, 2]),
        (Row::new(KeyAtomic, PerAttempt), vec![2, 1, 2, 2, 2]),
        (Row::new(KeySplit, ToolCall), vec![1, 2, 2, 2, 2]),
        (Row::new(KeyAtomic, ToolCall), vec![1, 1, 1, 2, 2]),
        (Row::new(KeyAtomic, Business), vec![1, 1, 1, 1, 2]),
    ];
    assert_eq!(measured(&table), published);
    assert_eq!(table.differences(), []);
}

/// A server without keys stops nothing, whatever the client sends. A new key for each attempt stops nothing either, but for
/// a crash before the write. `key_split` stops a lost response, no crash between its commits and no race; `key_atomic`
/// stops the three faults below the harness; the key of a tool call never stops another call, a business key never
/// another title.
#[tokio::test]
async fn every_combination_is_as_the_text_of_the_article_says() {
    let table = Table::measure(&Row::all(), Option::None).await.unwrap();

    let text = [
        (Row::new(Naive, None), vec![2, 2, 2, 2, 2]),
        (Row::new(Naive, PerAttempt), vec![2, 2, 2, 2, 2]),
        (Row::new(Naive, ToolCall), vec![2, 2, 2, 2, 2]),
        (Row::new(Naive, Business), vec![2, 2, 2, 2, 2]),
        (Row::new(KeySplit, None), vec![0, 0, 0, 0, 0]),
        (Row::new(KeySplit, PerAttempt), vec![2, 2, 2, 2, 2]),
        (Row::new(KeySplit, ToolCall), vec![1, 2, 2, 2, 2]),
        (Row::new(KeySplit, Business), vec![1, 2, 2, 1, 2]),
        (Row::new(KeyAtomic, None), vec![0, 0, 0, 0, 0]),
        (Row::new(KeyAtomic, PerAttempt), vec![2, 1, 2, 2, 2]),
        (Row::new(KeyAtomic, ToolCall), vec![1, 1, 1, 2, 2]),
        (Row::new(KeyAtomic, Business), vec![1, 1, 1, 1, 2]),
    ];
    assert_eq!(measured(&table), text);
    assert_eq!(table.differences(), []);
}

#[test]
fn the_published_rows_are_among_all_rows() {
    let all = Row::all();

    assert_eq!(all.len(), 12);
    assert!(Row::PUBLISHED.iter().all(|row| all.contains(row)));
}

fn measured(table: &Table) -> Vec<(Row, Vec<usize>)> {
    table.rows.iter().map(|measured| (measured.row, measured.reports())).collect()
}
