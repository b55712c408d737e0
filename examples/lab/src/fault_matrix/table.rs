//! Many cells, and how they compare with the article's.

use serde::Serialize;
use tokio::task::JoinSet;
use tower::BoxError;

use super::{
    cell::{self, Cell, Struck},
    row::{Defect, Row},
    scene::Scene,
    why::why,
};

/// The matrix, measured.
#[derive(Clone, Debug)]
pub struct Table {
    /// From top to bottom.
    pub rows: Vec<Measured>,
}

/// A row, measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which.
    pub row: Row,
    /// One for each scene, in their order.
    pub cells: Vec<Cell>,
}

/// A cell that is not as the article says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its row.
    pub row: Row,
    /// Its column.
    pub scene: Scene,
    /// How many reports there are.
    pub reports: usize,
    /// How many there should be.
    pub expected: usize,
    /// Whether its fault struck.
    pub struck: Struck,
}

/// Two rows, and where they differ.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The lower one.
    pub row: Row,
    /// The one before it.
    pub other: Row,
    /// What the row stops that the other does not, or the other way round.
    pub changes: Vec<Change>,
}

/// Where two rows differ.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Change {
    /// In this column.
    #[serde(rename = "fault")]
    pub scene: Scene,
    /// The reports of the other row.
    pub there: usize,
    /// The reports of this row.
    pub here: usize,
    /// Why this row has so many, by the article.
    pub why: &'static str,
}

impl Table {
    /// Plays all scenes with these rows, side by side; with the defect planted, if there is one.
    pub async fn measure(rows: &[Row], defect: Option<Defect>) -> Result<Self, BoxError> {
        let mut playing = JoinSet::new();
        for (number, &row) in rows.iter().enumerate() {
            let played = defect.map_or(row, |defect| defect.planted(row));
            for (column, scene) in Scene::ALL.into_iter().enumerate() {
                playing.spawn(async move { ((number, column), cell::play(played, scene).await) });
            }
        }
        let mut cells = playing.join_all().await;
        cells.sort_by_key(|(place, _)| *place);
        let mut cells = cells.into_iter().map(|(_, cell)| cell);
        let measured =
            |&row| Ok(Measured { row, cells: cells.by_ref().take(Scene::ALL.len()).collect::<Result<_, _>>()? });
        Ok(Self { rows: rows.iter().map(measured).collect::<Result<_, BoxError>>()? })
    }

    /// The cells that are not as the article says.
    pub fn differences(&self) -> Vec<Difference> {
        self.rows.iter().flat_map(Measured::differences).collect()
    }

    /// Each row but the first, compared with the nearest rows before it that have the same server or the same source of
    /// keys; with the row above, if none has.
    pub fn comparisons(&self) -> Vec<Comparison> {
        let rows: Vec<_> = self.rows.iter().map(|measured| measured.row).collect();
        let with_those_before = |number: usize| {
            let (here, before) = (rows[number], &rows[..number]);
            let server = before.iter().rposition(|row| row.implementation == here.implementation);
            let source = before.iter().rposition(|row| row.key_source == here.key_source);
            let alike: Vec<_> = [server, source].into_iter().flatten().collect();
            let others = if alike.is_empty() { vec![number - 1] } else { alike };
            others.into_iter().map(move |other| Comparison::of(here, before[other]))
        };
        (1..rows.len()).flat_map(with_those_before).collect()
    }
}

impl Measured {
    /// How many reports each scene left.
    pub fn reports(&self) -> Vec<usize> {
        self.cells.iter().map(|cell| cell.reports.len()).collect()
    }

    fn differences(&self) -> impl Iterator<Item = Difference> {
        self.cells.iter().zip(self.row.expected()).filter_map(|(cell, expected)| {
            let Cell { scene, struck, ref reports, .. } = *cell;
            // A server that refuses a report does not come to where its fault strikes.
            let as_expected = reports.len() == expected && (struck == Struck::Yes || expected == 0);
            let difference = Difference { row: self.row, scene, reports: reports.len(), expected, struck };
            (!as_expected).then_some(difference)
        })
    }
}

impl Comparison {
    /// By what the article says of both.
    pub fn of(row: Row, other: Row) -> Self {
        let both = other.expected().into_iter().zip(row.expected()).zip(Scene::ALL);
        let changes = both
            .filter(|((there, here), _)| there != here)
            .map(|((there, here), scene)| Change { scene, there, here, why: why(row, scene) })
            .collect();
        Self { row, other, changes }
    }
}
