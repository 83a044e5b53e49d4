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
mod engine;
mod font;
mod number;
mod packed;
mod page;
mod png;
mod scale;
mod svg;
mod table;
mod terminal;
mod theme;

pub use description::{
    Along, Axis, Block, Cartesian, Cell, CellState, Chart, Dash, Form, GREY, Guide, Heading,
    HeatScale, Heatmap, Mark, Mask, Note, Plot, Point, Scale, Second, Series, Tone, Weight,
};
pub use font::{font_bold_ttf, font_bold_woff2, font_ttf, font_woff2};
pub use number::rounded;
pub use page::{css, figure, script};
pub use png::png;
pub use svg::{WIDTH_PX, svg, svg_sized};
pub use table::{Table, csv, table};
pub use terminal::{Screen, braille};
pub use theme::Theme;

/// Why a chart was not drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
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
