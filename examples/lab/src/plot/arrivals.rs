//! What arrived when.

use std::error::Error;

use super::{
    axis::{Axis, Span},
    canvas::{Anchor, Canvas, Frame, Pixel, draw},
    style::{DARK, FRAME, GRID, INK, LARGE, LIGHT, MEDIUM, MUTED, SMALL, WIDTH},
};

/// One histogram a row, all on one axis of time and with one height for a count.
///
/// A row that goes on beyond the end of the axis is cut there, and says how much of it is not shown.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Above all.
    pub title: String,
    /// The name of the axis of time, with its unit.
    pub time: String,
    /// Where the axis ends; what comes later is counted and not drawn.
    pub until: f64,
    /// The count that is as high as a row; a bar of more is cut there, and the highest count is written above the row.
    pub height: u32,
    /// What the dark part of a bar is.
    pub dark: String,
    /// What the light part is, above it.
    pub light: String,
    /// From the top down.
    pub rows: Vec<Row>,
}

/// One histogram.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called.
    pub label: String,
    /// What more there is to say of it, in a few words.
    pub note: String,
    /// When each of the dark ones came, in any order.
    pub dark: Vec<f64>,
    /// When each of the light ones came, in any order.
    pub light: Vec<f64>,
}

const MARGIN: i32 = 16;
const HEAD: i32 = 84;
const ROW: i32 = 52;
const GAP: i32 = 24;
const FOOT: i32 = 52;
const LABELS: i32 = 190;
/// Bars across; each is this wide.
const BINS: usize = 190;
const BIN: i32 = 3;

/// Arrivals in each bin, dark and all.
type Bins = Vec<(usize, usize)>;

impl Arrivals {
    /// As an SVG document.
    pub fn to_svg(&self) -> String {
        let height = HEAD + self.rows.len().max(1) as i32 * (ROW + GAP) + FOOT;
        let bins: Vec<_> = self.rows.iter().map(|row| self.bins(row)).collect();
        draw(height.unsigned_abs(), |canvas| {
            canvas.text(&self.title, (MARGIN, MARGIN + 8), Anchor::Left, LARGE, INK)?;
            self.legend(canvas)?;
            for ((number, row), bins) in (0..).zip(&self.rows).zip(&bins) {
                self.row(canvas, row, bins, HEAD + number * (ROW + GAP))?;
            }
            self.axis(canvas, HEAD + self.rows.len().max(1) as i32 * (ROW + GAP))
        })
    }

    fn end(&self) -> f64 {
        if self.until.is_finite() && self.until > 0.0 { self.until } else { 1.0 }
    }

    fn bins(&self, row: &Row) -> Bins {
        let mut bins = vec![(0, 0); BINS];
        let mut count = |times: &[f64], dark: usize| {
            for time in times.iter().filter(|time| (0.0..self.end()).contains(*time)) {
                let bin = &mut bins[((time / self.end() * BINS as f64) as usize).min(BINS - 1)];
                *bin = (bin.0 + dark, bin.1 + 1);
            }
        };
        count(&row.dark, 1);
        count(&row.light, 0);
        bins
    }

    fn legend(&self, canvas: &Canvas<'_>) -> Result<(), Box<dyn Error>> {
        for (x, colour, name) in [(LABELS, DARK, &self.dark), (LABELS + 200, LIGHT, &self.light)] {
            canvas.filled([(x, 44), (x + 12, 56)], colour)?;
            canvas.text(name, (x + 20, 50), Anchor::Left, MEDIUM, INK)?;
        }
        let width = self.end() / BINS as f64;
        canvas.text(
            format!("height: how many in {width:.2} s"),
            (WIDTH as i32 - MARGIN, 50),
            Anchor::Right,
            SMALL,
            MUTED,
        )
    }

    fn row(&self, canvas: &Canvas<'_>, row: &Row, bins: &Bins, top: i32) -> Result<(), Box<dyn Error>> {
        let (bottom, right) = (top + ROW, LABELS + BINS as i32 * BIN);
        canvas.text(&row.label, (MARGIN, top + 20), Anchor::Left, MEDIUM, INK)?;
        canvas.text(&row.note, (MARGIN, top + 38), Anchor::Left, SMALL, MUTED)?;
        let full = self.height.max(1) as usize;
        canvas.line(vec![(LABELS, top), (right, top)], GRID)?;
        canvas.text(full, (LABELS - 8, top + 4), Anchor::Right, SMALL, MUTED)?;
        let height = |count: usize| (count.min(full) as f64 / full as f64 * f64::from(ROW)).ceil() as i32;
        for (colour, of) in [(LIGHT, (|bin| bin.1) as fn(&(usize, usize)) -> usize), (DARK, |bin| bin.0)] {
            for outline in steps(bins.iter().map(|bin| height(of(bin))), (LABELS, bottom)) {
                canvas.shape(outline, colour)?;
            }
        }
        canvas.line(vec![(LABELS, bottom), (right, bottom)], FRAME)?;
        let highest = bins.iter().map(|(_, all)| *all).max().filter(|most| *most > full);
        let later = row.dark.iter().chain(&row.light).filter(|time| **time >= self.end()).count();
        let cut = highest.map(|most| format!("highest bar {most}"));
        let notes: Vec<_> = cut.into_iter().chain((later > 0).then(|| format!("{later} later →"))).collect();
        if !notes.is_empty() {
            // Above the row, where no bar is.
            canvas.text(notes.join(", "), (right, top - 9), Anchor::Right, SMALL, MUTED)?;
        }
        Ok(())
    }

    fn axis(&self, canvas: &Canvas<'_>, top: i32) -> Result<(), Box<dyn Error>> {
        let axis = Axis::linear(&self.time);
        let mut x = axis.span([self.end()].into_iter(), 9);
        x.range = 0.0..self.end();
        x.ticks.retain(|(tick, _)| *tick <= self.end());
        let (right, bottom) = (LABELS + BINS as i32 * BIN, top - GAP + 4);
        let y = Axis::linear("").span([].into_iter(), 1);
        let frame = Frame { left: LABELS, right, top: bottom, bottom, x, y: Span { ticks: Vec::new(), ..y } };
        frame.draw(canvas)?;
        canvas.text(&self.time, (LABELS.midpoint(right), bottom + 34), Anchor::Middle, MEDIUM, INK)
    }
}

/// The outline of each run of bars that are not empty, from the lower left on.
fn steps(heights: impl Iterator<Item = i32>, (left, bottom): Pixel) -> Vec<Vec<Pixel>> {
    let mut outlines = Vec::new();
    let mut outline: Vec<Pixel> = Vec::new();
    for (x, height) in (left..).step_by(BIN as usize).zip(heights.chain([0])) {
        match (outline.is_empty(), height) {
            (true, 0) => {}
            (false, 0) => {
                outline.push((x, bottom));
                outlines.push(std::mem::take(&mut outline));
            }
            (empty, _) => {
                if empty {
                    outline.push((x, bottom));
                }
                outline.extend([(x, bottom - height), (x + BIN, bottom - height)]);
            }
        }
    }
    outlines
}

#[cfg(test)]
mod tests;
