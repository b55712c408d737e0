//! Shapes and text at pixels.

use std::{error::Error, fmt::Display};

use plotters::{
    backend::SVGBackend,
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, DashedPathElement, PathElement, Polygon, Rectangle, Text},
    style::{
        Color, IntoFont, RGBColor, ShapeStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    axis::Span,
    style::{Dash, FRAME, GRID, GROUND, INK, Look, MUTED, Marker, SMALL, WIDTH},
};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Pixel = (i32, i32);

/// A picture, while it is drawn.
pub(super) struct Canvas<'a> {
    pub(super) area: Area<'a>,
}

/// Where a text stands, beside the pixel it is written at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

/// Draws a picture of this height into a string.
///
/// A string takes what is written to it: no other error can come.
pub(super) fn draw(height: u32, drawing: impl FnOnce(&Canvas<'_>) -> Result<(), Box<dyn Error>>) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    let canvas = Canvas { area };
    let drawn = canvas.ground(height).and_then(|()| drawing(&canvas)).and_then(|()| Ok(canvas.area.present()?));
    drop(canvas);
    drawn.expect("a string takes what is written to it");
    svg
}

impl Canvas<'_> {
    fn ground(&self, height: u32) -> Result<(), Box<dyn Error>> {
        let (right, bottom) = (WIDTH as i32 - 1, height as i32 - 1);
        self.area.fill(&GROUND)?;
        self.outline([(0, 0), (right, bottom)], FRAME.mix(0.5))
    }

    /// Centred on the pixel's height.
    pub(super) fn text(
        &self,
        text: impl Display,
        at: Pixel,
        anchor: Anchor,
        size: i32,
        ink: RGBColor,
    ) -> Result<(), Box<dyn Error>> {
        let across = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        // The backend divides the size by this.
        let style = ("sans-serif", f64::from(size) * 1.24).into_font().color(&ink).pos(Pos::new(across, VPos::Center));
        Ok(self.area.draw(&Text::new(text.to_string(), at, style))?)
    }

    pub(super) fn line(&self, points: Vec<Pixel>, style: impl Into<ShapeStyle>) -> Result<(), Box<dyn Error>> {
        Ok(self.area.draw(&PathElement::new(points, style))?)
    }

    pub(super) fn outline(&self, corners: [Pixel; 2], style: impl Into<ShapeStyle>) -> Result<(), Box<dyn Error>> {
        Ok(self.area.draw(&Rectangle::new(corners, style))?)
    }

    pub(super) fn filled(&self, corners: [Pixel; 2], colour: RGBColor) -> Result<(), Box<dyn Error>> {
        self.outline(corners, colour.filled())
    }

    pub(super) fn shape(&self, corners: Vec<Pixel>, colour: RGBColor) -> Result<(), Box<dyn Error>> {
        Ok(self.area.draw(&Polygon::new(corners, colour.filled()))?)
    }

    /// A line of a series; its markers stand where they are asked for.
    pub(super) fn series(&self, points: &[Pixel], look: Look) -> Result<(), Box<dyn Error>> {
        if points.len() < 2 {
            return Ok(());
        }
        let style = look.colour.stroke_width(2);
        match look.dash {
            Dash::Solid => self.line(points.to_vec(), style),
            Dash::Dashed => Ok(self.area.draw(&DashedPathElement::new(points.to_vec(), 7, 4, style))?),
        }
    }

    pub(super) fn marker(&self, (x, y): Pixel, Look { colour, marker, .. }: Look) -> Result<(), Box<dyn Error>> {
        const HALF: i32 = 4;
        let stroke = || colour.stroke_width(2);
        let polygon =
            |corners: &[Pixel]| self.shape(corners.iter().map(|(right, down)| (x + right, y + down)).collect(), colour);
        match marker {
            Marker::Circle => Ok(self.area.draw(&Circle::new((x, y), HALF, colour.filled()))?),
            Marker::Ring => {
                self.area.draw(&Circle::new((x, y), HALF, GROUND.filled()))?;
                Ok(self.area.draw(&Circle::new((x, y), HALF, stroke()))?)
            }
            Marker::Square => polygon(&[(-HALF, -HALF), (HALF, -HALF), (HALF, HALF), (-HALF, HALF)]),
            Marker::Triangle => polygon(&[(0, -HALF - 1), (HALF + 1, HALF), (-HALF - 1, HALF)]),
            Marker::Diamond => polygon(&[(0, -HALF - 1), (HALF + 1, 0), (0, HALF + 1), (-HALF - 1, 0)]),
            Marker::Cross => {
                self.line(vec![(x - HALF, y - HALF), (x + HALF, y + HALF)], stroke())?;
                self.line(vec![(x - HALF, y + HALF), (x + HALF, y - HALF)], stroke())
            }
            Marker::Plus => {
                self.line(vec![(x - HALF - 1, y), (x + HALF + 1, y)], stroke())?;
                self.line(vec![(x, y - HALF - 1), (x, y + HALF + 1)], stroke())
            }
        }
    }

    /// A piece of a series' line with its label to the right of it.
    pub(super) fn key(&self, (x, y): Pixel, label: &str, look: Look, size: i32) -> Result<(), Box<dyn Error>> {
        self.series(&[(x, y), (x + 30, y)], look)?;
        self.marker((x + 15, y), look)?;
        self.text(label, (x + 38, y), Anchor::Left, size, INK)
    }
}

/// Where the values of two axes stand.
pub(super) struct Frame {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
    pub(super) x: Span,
    pub(super) y: Span,
}

impl Frame {
    /// Positions as pixels; what lies outside stands on the edge.
    pub(super) fn pixel(&self, (x, y): (f64, f64)) -> Pixel {
        (self.across(x), self.bottom - (self.y.part(y) * f64::from(self.bottom - self.top)).round() as i32)
    }

    pub(super) fn across(&self, x: f64) -> i32 {
        self.left + (self.x.part(x) * f64::from(self.right - self.left)).round() as i32
    }

    /// Grid, ticks and their texts.
    pub(super) fn draw(&self, canvas: &Canvas<'_>) -> Result<(), Box<dyn Error>> {
        for (position, text) in &self.y.ticks {
            let (_, y) = self.pixel((self.x.range.start, *position));
            canvas.line(vec![(self.left, y), (self.right, y)], GRID)?;
            canvas.text(text, (self.left - 8, y), Anchor::Right, SMALL, MUTED)?;
        }
        canvas.line(vec![(self.left, self.bottom), (self.right, self.bottom)], FRAME)?;
        for (position, text) in &self.x.ticks {
            let x = self.across(*position);
            canvas.line(vec![(x, self.bottom), (x, self.bottom + 5)], FRAME)?;
            canvas.text(text, (x, self.bottom + 14), Anchor::Middle, SMALL, MUTED)?;
        }
        Ok(())
    }
}
