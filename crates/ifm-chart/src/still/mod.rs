//! Charts without a browser: the drawing code in an engine of its own, its SVG made fit for files and pages,
//! and pixels of that.
//!
//! What is not here: the chart that a page draws (`page`), which is the same code in the reader's browser.

mod engine;
mod letters;
mod png;
mod svg;

pub use letters::{font_bold_ttf, font_ttf};
pub use png::png;
pub use svg::{svg, svg_sized};
