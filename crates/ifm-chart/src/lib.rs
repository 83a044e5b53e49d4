//! Charts: one description of a chart, and its drawings.
//!
//! A [`Chart`] says what is compared, in which units, and which figures; it holds no pixel and no
//! colour. From it come the live chart of a page, the same picture as SVG without a browser, as
//! PNG, as characters for a terminal, and the table of exactly the numbers that are drawn.
//! What is not here: what a figure means, and which charts a report has.

#![forbid(unsafe_code)]

mod description;

pub use description::{
    Along, Axis, Block, Cartesian, Cell, CellState, Chart, Dash, Form, GREY, Guide, Heading,
    HeatScale, Heatmap, Mark, Mask, Note, Plot, Point, Scale, Second, Series, Tone, Weight,
};
