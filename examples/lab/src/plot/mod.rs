//! Pictures of what was measured, as SVG.
//!
//! [`Chart`] draws lines, in panels that share their x axis and their legend; [`Arrivals`] draws one histogram a row on one
//! axis of time. Both take plain data and know nothing of where it comes from; the same data, the same bytes.
//!
//! 1. A picture is [`WIDTH`] wide, its text is text and at least [`SMALL`] high, so that it can be read in a page.
//! 2. It brings its own white ground: it looks the same where the page is dark.
//! 3. Series differ in colour, dash and marker. The colours stand out from the ground at 3:1 or more (WCAG 2.2, 1.4.11),
//!    and are told apart by those who do not see red or green.
//! 4. What cannot be drawn is left out: a value that is not finite, and on a logarithmic axis what is not positive.

mod arrivals;
mod axis;
mod canvas;
mod chart;
mod picture;
mod style;

pub use arrivals::{Arrivals, Row};
pub use axis::{Axis, Scale};
pub use chart::{Band, Chart, Layout, Panel, Series};
pub use picture::Picture;
pub use style::{SMALL, WIDTH};
