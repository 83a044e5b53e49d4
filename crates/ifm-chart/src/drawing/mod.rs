//! A chart with everything decided but pixels: places from 0 to 1, words, ticks.
//!
//! It is what the drawing code in JavaScript is handed, in a page as well as without a browser,
//! so that both draw the same picture. Words are cleaned here: what no XML may hold is gone, and
//! nothing is longer than a drawing can bear. What is not here: colours, fonts, pixels.

mod cartesian;
mod grid;

pub(crate) use cartesian::{Placing, head, placing};
pub(crate) use grid::step;

use crate::description::{Chart, Plot};
use serde_json::{Value, json};

/// Letters of a name that a drawing takes; it shows fewer still.
const LONGEST: usize = 400;

/// From a drawing to an option of ECharts, in pages and without a browser.
pub(crate) const DRAWING: &str = concat!(
    include_str!("../../assets/drawing/frame.js"),
    include_str!("../../assets/drawing/series.js"),
    include_str!("../../assets/drawing/cartesian.js"),
    include_str!("../../assets/drawing/grid.js"),
    include_str!("../../assets/drawing/option.js"),
);

/// The drawing of a chart as JSON.
pub(crate) fn drawing(chart: &Chart) -> Value {
    let mut value = match &chart.plot {
        Plot::Cartesian(plot) => cartesian::drawing(plot),
        Plot::Heatmap(plot) => grid::heatmap(plot),
        Plot::Mask(plot) => grid::mask(plot),
    };
    if let Value::Object(fields) = &mut value {
        fields.insert("id".to_owned(), json!(slug(&chart.id)));
        fields.insert("title".to_owned(), json!(clean(&chart.title)));
        fields.insert("subject".to_owned(), json!(clean(&chart.subject)));
        fields.insert("description".to_owned(), json!(clean(&chart.description)));
    }
    value
}

/// An id that is safe in attributes and selectors.
pub(crate) fn slug(id: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = id.chars().take(80).map(letter).collect();
    // An id begins with a letter.
    if slug.starts_with(|c: char| c.is_ascii_alphabetic()) { slug } else { format!("c{slug}") }
}

/// Words without control characters, of bounded length.
pub(crate) fn clean(text: &str) -> String {
    let is_drawable = |c: &char| !c.is_control() && !matches!(*c, '\u{fffe}' | '\u{ffff}');
    // Spaces at which no line ends stay what they are.
    let is_space = |c: char| c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{202F}');
    let spaced = text.chars().map(|c| if is_space(c) { ' ' } else { c });
    let mut cleaned: String = spaced.clone().filter(is_drawable).take(LONGEST).collect();
    if spaced.filter(is_drawable).nth(LONGEST).is_some() {
        cleaned.push('…');
    }
    cleaned
}

/// Text that is safe in XML, in content and in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}
