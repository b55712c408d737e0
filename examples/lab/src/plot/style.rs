//! Colours, dashes, markers and sizes.

use plotters::style::RGBColor;

/// In pixels.
pub const WIDTH: u32 = 800;

/// The height of the smallest text, in pixels.
pub const SMALL: i32 = 12;

pub(super) const MEDIUM: i32 = 13;
pub(super) const LARGE: i32 = 16;

pub(super) const GROUND: RGBColor = RGBColor(255, 255, 255);
pub(super) const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
pub(super) const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);
pub(super) const GRID: RGBColor = RGBColor(0xe4, 0xe7, 0xea);
pub(super) const FRAME: RGBColor = RGBColor(0x8c, 0x95, 0x9f);
pub(super) const SHADE: RGBColor = RGBColor(0xec, 0xee, 0xf1);

/// The lower and the upper part of a bar.
pub(super) const DARK: RGBColor = RGBColor(0x00, 0x4b, 0x87);
pub(super) const LIGHT: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// How a series is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) dash: Dash,
    pub(super) marker: Marker,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    /// In one.
    Solid,
    /// In pieces.
    Dashed,
}

/// What stands at points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Ring,
    Cross,
    Plus,
}

const LOOKS: [Look; 7] = [
    // Okabe and Ito's colours, without those that are too light on white, and three dark ones.
    look(RGBColor(0x00, 0x00, 0x00), Dash::Solid, Marker::Square),
    look(RGBColor(0xd5, 0x5e, 0x00), Dash::Solid, Marker::Triangle),
    look(RGBColor(0x00, 0x72, 0xb2), Dash::Dashed, Marker::Circle),
    look(RGBColor(0x00, 0x85, 0x60), Dash::Solid, Marker::Diamond),
    look(RGBColor(0xaa, 0x33, 0x77), Dash::Dashed, Marker::Cross),
    look(RGBColor(0x8a, 0x6d, 0x00), Dash::Solid, Marker::Ring),
    look(RGBColor(0x66, 0x75, 0x7f), Dash::Dashed, Marker::Plus),
];

/// Of the series with this number; the eighth looks as the first.
pub(super) fn look_of(series: usize) -> Look {
    LOOKS[series % LOOKS.len()]
}

const fn look(colour: RGBColor, dash: Dash, marker: Marker) -> Look {
    Look { colour, dash, marker }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn lines_and_bars_stand_out_from_what_they_are_drawn_on() {
        for colour in LOOKS.map(|look| look.colour).into_iter().chain([DARK, LIGHT]) {
            for ground in [GROUND, SHADE] {
                assert!(contrast(colour, ground) >= 3.0, "{colour:?} on {ground:?}: {}", contrast(colour, ground));
            }
        }
    }

    #[test]
    fn text_can_be_read_on_what_it_is_written_on() {
        for (ink, ground) in [(INK, GROUND), (MUTED, GROUND), (MUTED, SHADE)] {
            assert!(contrast(ink, ground) >= 4.5, "{ink:?} on {ground:?}: {}", contrast(ink, ground));
        }
    }

    #[test]
    fn no_two_series_share_a_marker() {
        for (number, look) in LOOKS.iter().enumerate() {
            assert!(LOOKS[..number].iter().all(|other| other.marker != look.marker), "{look:?}");
        }
    }
}
