//! The matrix for machines.

use serde_json::{Value, json};

use super::{
    cell::{Cell, Struck},
    table::{Difference, Measured, Table},
    why::{not_stopped, why},
};

impl Table {
    /// All of it: each attempt, what is in each file, how the rows differ and why.
    pub fn to_json(&self) -> Value {
        let rows: Vec<_> = self.rows.iter().map(measured).collect();
        let differences: Vec<_> = self.differences().iter().map(difference).collect();
        // Told of the expected figures: they say nothing of others.
        let comparisons = if differences.is_empty() { self.comparisons() } else { Vec::new() };
        json!({ "rows": rows, "comparisons": comparisons, "differences": differences })
    }
}

fn measured(Measured { row, cells }: &Measured) -> Value {
    let cells: Vec<_> =
        cells.iter().zip(row.expected()).map(|(seen, expected)| cell(seen, expected, why(*row, seen.scene))).collect();
    json!({
        "implementation": row.implementation,
        "key_source": row.key_source,
        "not_stopped": not_stopped(*row),
        "cells": cells,
    })
}

fn cell(Cell { scene, submissions, reports, struck }: &Cell, expected: usize, why: &str) -> Value {
    let submissions: Vec<_> = submissions.iter().map(|submission| json!(submission.with_tool_result())).collect();
    json!({
        "fault": scene,
        "reports": reports.len(),
        "expected": expected,
        "struck": *struck == Struck::Yes,
        "why": why,
        "submissions": submissions,
        "filed": reports,
    })
}

fn difference(Difference { row, scene, reports, expected, struck }: &Difference) -> Value {
    json!({
        "row": row,
        "fault": scene,
        "reports": reports,
        "expected": expected,
        "struck": *struck == Struck::Yes,
    })
}
