//! A chart as PNG, drawn from its SVG without a browser.
//!
//! The bundled font comes first; fonts of the system are only looked for where a name has letters
//! that it lacks, so that the picture is the same everywhere otherwise. What is not here: colours
//! of pages, which have no pixels without a page.

use super::letters::{font_bold_ttf, font_ttf, has_all};
use super::svg::svg_sized;
use crate::ChartError;
use crate::WIDTH_PX;
use crate::description::Chart;
use crate::theme::Theme;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Scales that a picture may have, pixels per CSS pixel.
const SCALES: (f32, f32) = (0.1, 8.0);

/// Draws a chart as PNG, [`WIDTH_PX`] CSS pixels wide; `scale` is pixels per CSS pixel, 2 for sharp
/// screens and print. [`Theme::Page`] is drawn as [`Theme::Light`].
///
/// # Errors
/// [`ChartError`] if the drawing code fails or the picture does not fit into memory.
pub fn png(chart: &Chart, theme: Theme, scale: f32) -> Result<Vec<u8>, ChartError> {
    let theme = if theme == Theme::Page { Theme::Light } else { theme };
    pixels(&svg_sized(chart, theme, WIDTH_PX, None)?, scale)
}

fn pixels(svg: &str, scale: f32) -> Result<Vec<u8>, ChartError> {
    let failed = |reason: &dyn std::fmt::Display| ChartError::Png(reason.to_string());
    let mut fonts = fontdb::Database::new();
    for font in [font_ttf(), font_bold_ttf()] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(font)));
    }
    if !has_all(svg) {
        fonts.load_system_fonts();
    }
    fonts.set_sans_serif_family("Inter");
    let options =
        Options { font_family: "Inter".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let scale = if scale.is_finite() { scale.clamp(SCALES.0, SCALES.1) } else { 1.0 };
    let size = tree.size();
    let whole = |length: f32| (length * scale).ceil() as u32;
    let mut pixmap = Pixmap::new(whole(size.width()), whole(size.height()))
        .ok_or_else(|| failed(&"the picture is too large"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| failed(&error))
}
