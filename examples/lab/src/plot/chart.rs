//! Lines.

use std::error::Error;

use super::{
    axis::Axis,
    canvas::{Anchor, Canvas, Frame, draw},
    style::{FRAME, INK, LARGE, Look, MEDIUM, MUTED, SHADE, SMALL, WIDTH, look_of},
};

/// Lines in panels that share their x axis, their legend and the looks of their series.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above all.
    pub title: String,
    /// Shared by the panels.
    pub x: Axis,
    /// How the panels stand.
    pub layout: Layout,
    /// From left to right, or from the top down.
    pub panels: Vec<Panel>,
    /// Stretches of the x axis to be shaded.
    pub bands: Vec<Band>,
}

/// How panels stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// From left to right.
    SideBySide,
    /// From the top down.
    Stacked,
}

/// One drawing of lines. Series of the same number look the same in each panel, and the legend names those of the first.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the lines show.
    pub y: Axis,
    /// The lines; later ones above earlier ones.
    pub series: Vec<Series>,
    /// A value to compare with, and its name: a thin line across.
    pub reference: Option<(f64, String)>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is called.
    pub label: String,
    /// By their x.
    pub points: Vec<(f64, f64)>,
}

/// A stretch of the x axis.
#[derive(Clone, Debug)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is.
    pub label: String,
}

const MARGIN: i32 = 16;
const TITLE: i32 = 40;
const PANEL_NAME: i32 = 24;
const X_AXIS: i32 = 52;
const Y_TICKS: i32 = 58;
const LEGEND_ROW: i32 = 24;
const LEGEND_COLUMNS: usize = 4;
/// A line with more points has this many markers.
const MARKERS: usize = 12;

impl Chart {
    /// As an SVG document.
    pub fn to_svg(&self) -> String {
        let keys = self.panels.first().map_or(0, |panel| panel.series.len()) + self.bands.len();
        let legend = keys.div_ceil(LEGEND_COLUMNS) as i32 * LEGEND_ROW;
        let (columns, rows, plot) = match self.layout {
            Layout::SideBySide => (self.panels.len().max(1) as i32, 1, 270),
            Layout::Stacked => (1, self.panels.len().max(1) as i32, 160),
        };
        let each = PANEL_NAME + plot + X_AXIS;
        let height = TITLE + legend + rows * each + MARGIN / 2;
        draw(height.unsigned_abs(), |canvas| {
            canvas.text(&self.title, (MARGIN, MARGIN + 8), Anchor::Left, LARGE, INK)?;
            self.legend(canvas)?;
            let width = (WIDTH as i32 - MARGIN) / columns;
            for (number, panel) in (0..).zip(&self.panels) {
                let (column, row) = (number % columns, number / columns);
                let (left, top) = (MARGIN / 2 + column * width, TITLE + legend + row * each);
                let edges = [left + Y_TICKS, left + width - MARGIN, top + PANEL_NAME + 8, top + PANEL_NAME + plot];
                self.panel(canvas, panel, edges)?;
            }
            Ok(())
        })
    }

    fn legend(&self, canvas: &Canvas<'_>) -> Result<(), Box<dyn Error>> {
        let series = self.panels.first().map_or(&[][..], |panel| &panel.series);
        let column = (WIDTH as i32 - 2 * MARGIN) / LEGEND_COLUMNS as i32;
        let at = |number: usize| {
            let (across, down) = ((number % LEGEND_COLUMNS) as i32, (number / LEGEND_COLUMNS) as i32);
            (MARGIN + across * column, TITLE + 10 + down * LEGEND_ROW)
        };
        for (number, series) in series.iter().enumerate() {
            canvas.key(at(number), &series.label, look_of(number), MEDIUM)?;
        }
        for (number, band) in (series.len()..).zip(&self.bands) {
            let (x, y) = at(number);
            canvas.filled([(x, y - 7), (x + 30, y + 7)], SHADE)?;
            canvas.text(&band.label, (x + 38, y), Anchor::Left, MEDIUM, INK)?;
        }
        Ok(())
    }

    fn panel(&self, canvas: &Canvas<'_>, panel: &Panel, edges: [i32; 4]) -> Result<(), Box<dyn Error>> {
        let [left, right, top, bottom] = edges;
        let every = || self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let bands = self.bands.iter().flat_map(|band| [band.from, band.to]);
        let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
        let reference = panel.reference.iter().map(|(value, _)| *value);
        let x = self.x.span(every().map(|point| point.0).chain(bands), 9);
        let y = panel.y.span(values.chain(reference), 9);
        let frame = Frame { left, right, top, bottom, x, y };
        for band in &self.bands {
            self.shade(canvas, &frame, band)?;
        }
        frame.draw(canvas)?;
        canvas.text(&panel.y.name, (left - Y_TICKS + 10, top - 20), Anchor::Left, MEDIUM, INK)?;
        canvas.text(&self.x.name, (left.midpoint(right), bottom + 34), Anchor::Middle, MEDIUM, INK)?;
        if let Some((value, name)) = &panel.reference
            && let Some(y) = panel.y.position(*value)
        {
            let (_, y) = frame.pixel((0.0, y));
            canvas.line(vec![(left, y), (right, y)], FRAME)?;
            canvas.text(name, (right - 4, y - 10), Anchor::Right, SMALL, MUTED)?;
        }
        for (number, series) in panel.series.iter().enumerate() {
            self.series(canvas, &frame, panel, series, look_of(number))?;
        }
        Ok(())
    }

    fn shade(&self, canvas: &Canvas<'_>, frame: &Frame, band: &Band) -> Result<(), Box<dyn Error>> {
        let (Some(from), Some(to)) = (self.x.position(band.from), self.x.position(band.to)) else { return Ok(()) };
        let (from, to) = (frame.across(from), frame.across(to));
        canvas.filled([(from, frame.top), (to, frame.bottom)], SHADE)
    }

    fn series(
        &self,
        canvas: &Canvas<'_>,
        frame: &Frame,
        panel: &Panel,
        series: &Series,
        look: Look,
    ) -> Result<(), Box<dyn Error>> {
        let position = |&(x, y): &(f64, f64)| Some((self.x.position(x)?, panel.y.position(y)?));
        let pixels: Vec<_> = series.points.iter().filter_map(position).map(|point| frame.pixel(point)).collect();
        canvas.series(&pixels, look)?;
        for &pixel in pixels.iter().step_by(pixels.len().div_ceil(MARKERS).max(1)) {
            canvas.marker(pixel, look)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
