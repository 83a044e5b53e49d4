//! Charts: one description of a chart, and its drawings.
//!
//! A [`Chart`] says what is compared, in which units, and which figures; it holds no pixel and no
//! colour. From it come the live chart of a page, the same picture as SVG without a browser, as
//! PNG, as characters for a terminal, and the table of exactly the numbers that are drawn.
//! What is not here: what a figure means, and which charts a report has.

#![forbid(unsafe_code)]

mod build;
mod description;
mod drawing;
mod font;
mod number;
mod packed;
mod page;
mod scale;
#[cfg(feature = "still")]
mod still;
#[cfg(not(feature = "still"))]
#[path = "no_still.rs"]
mod still;
mod table;
mod terminal;
mod theme;

pub use description::{
    Along, Axis, Block, Cartesian, Cell, CellState, Chart, Dash, Form, GREY, Guide, Heading,
    HeatScale, Heatmap, Mark, Mask, Note, Plot, Point, Scale, Second, Series, Tone, Weight,
};
pub use font::{font_bold_woff2, font_woff2};
pub use number::rounded;
pub use page::{css, figure, script};
#[cfg(feature = "still")]
pub use still::{font_bold_ttf, font_ttf};
pub use still::{png, svg, svg_sized};
pub use table::{Table, csv, table};
pub use terminal::{Screen, braille};
pub use theme::Theme;

/// Default width of a drawing, CSS pixels.
pub const WIDTH_PX: u32 = 720;

/// Why a chart was not drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// This program was built without what draws charts; a page still draws its own.
    #[error(
        "this program was built without the charts engine (slim); HTML reports draw their charts in the browser"
    )]
    NotBuilt,
    /// The drawing script failed; the text is its own.
    #[error("the chart could not be drawn: {0}")]
    Engine(String),
    /// The drawing is not well-formed; the text says where.
    #[error("the drawing is not well-formed SVG: {0}")]
    Svg(String),
    /// The picture could not be made.
    #[error("the picture could not be made: {0}")]
    Png(String),
}
