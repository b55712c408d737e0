//! What is printed: each figure beside the one that is known.

use std::fmt;

use serde::Serialize;
use serde_json::json;

/// Figures, section by section.
#[derive(Clone, Debug, Default)]
pub struct Report {
    sections: Vec<Section>,
}

#[derive(Clone, Debug, Serialize)]
struct Section {
    title: String,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    case: String,
    calls: u64,
    expected: Bound,
    published: String,
    verdict: Verdict,
}

/// What a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// This.
    Exactly(u64),
    /// This or less.
    AtMost(u64),
}

/// How a figure, or all of them, compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it has to be.
    AsExpected,
    /// At least one is another.
    NotAsExpected,
}

impl Report {
    /// Begins a section.
    pub fn section(&mut self, title: impl Into<String>) {
        self.sections.push(Section { title: title.into(), rows: Vec::new() });
    }

    /// Adds calls that were counted to the last section, beside what they have to be and what was published.
    ///
    /// # Panics
    ///
    /// If no section has begun.
    pub fn row(&mut self, case: impl Into<String>, calls: u64, expected: Bound, published: impl Into<String>) {
        let row =
            Row { case: case.into(), calls, expected, published: published.into(), verdict: expected.verdict(calls) };
        self.sections.last_mut().expect("a section has begun").rows.push(row);
    }

    /// Compares each figure.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut rows = self.sections.iter().flat_map(|section| &section.rows);
        if rows.all(|row| row.verdict == Verdict::AsExpected) { Verdict::AsExpected } else { Verdict::NotAsExpected }
    }

    /// One object of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!("{:#}", json!({ "sections": self.sections, "verdict": self.verdict() }))
    }
}

impl Bound {
    fn verdict(self, calls: u64) -> Verdict {
        let held = match self {
            Self::Exactly(figure) => calls == figure,
            Self::AtMost(most) => calls <= most,
        };
        if held { Verdict::AsExpected } else { Verdict::NotAsExpected }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Section { title, rows } in &self.sections {
            writeln!(f, "{title}\n{:<46}{:>6}  {:<10}published", "", "calls", "expected")?;
            for row in rows {
                writeln!(f, "{row}")?;
            }
            writeln!(f)?;
        }
        f.write_str(match self.verdict() {
            Verdict::AsExpected => "as expected",
            Verdict::NotAsExpected => "not as expected",
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, calls, expected, published, verdict } = self;
        write!(f, "  {case:<44}{calls:>6}  {expected:<10}{published}")?;
        match verdict {
            Verdict::AsExpected => Ok(()),
            Verdict::NotAsExpected => f.write_str("  <- differs"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(figure) => f.pad(&figure.to_string()),
            Self::AtMost(most) => f.pad(&format!("<= {most}")),
        }
    }
}
