//! The table for machines.

use serde_json::{Value, json};

use super::{
    statistic::LIMIT,
    table::{Compared, Difference, Measured, Table, Verdict},
};

impl Table {
    /// All of it.
    pub fn to_json(&self) -> Value {
        let grid = &self.grid;
        let cells: Vec<_> = self.cells.iter().map(measured).collect();
        let differences: Vec<_> = self.differences().iter().map(difference).collect();
        json!({
            "seed": grid.seed,
            "runs": grid.runs,
            "base_ms": grid.pace.base().as_secs_f64() * 1e3,
            "cap_ms": grid.pace.cap().as_secs_f64() * 1e3,
            "planted": grid.planted,
            "limit": LIMIT,
            "compared": self.verdict() != Verdict::NotCompared,
            "cells": cells,
            "differences": differences,
        })
    }
}

fn measured(Measured { cell, calls, ms }: &Measured) -> Value {
    json!({ "strategy": cell.strategy, "clients": cell.clients, "calls": figure(calls), "ms": figure(ms) })
}

fn figure(figure: &Compared) -> Value {
    json!({
        "mean": figure.ours.mean,
        "deviation": figure.ours.deviation,
        "published": figure.published.map(|published| published.printed),
        "standard_errors": figure.standard_errors(),
    })
}

fn difference(difference: &Difference) -> Value {
    let Difference { cell, figure, mean, published, standard_errors } = difference;
    json!({
        "strategy": cell.strategy,
        "clients": cell.clients,
        "figure": figure,
        "mean": mean,
        "published": published,
        "standard_errors": standard_errors,
    })
}
