//! The letters of still charts: the bundled font as TrueType, how wide each letter is, which there are.
//!
//! What is not here: shaping; a line of labels is as wide as its letters.

use crate::packed::inflated;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static REGULAR_TTF: LazyLock<Vec<u8>> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-Regular.ttf"))));
static BOLD_TTF: LazyLock<Vec<u8>> =
    LazyLock::new(|| inflated(include_bytes!(concat!(env!("OUT_DIR"), "/Inter-SemiBold.ttf"))));

/// The regular font as TrueType.
pub fn font_ttf() -> &'static [u8] {
    &REGULAR_TTF
}

/// The semibold font (weight 600) as TrueType.
pub fn font_bold_ttf() -> &'static [u8] {
    &BOLD_TTF
}

/// Widths of all letters in em, by code point, of both weights.
pub(crate) fn advances() -> Value {
    json!({ "regular": advances_of(&REGULAR_TTF), "bold": advances_of(&BOLD_TTF) })
}

fn advances_of(font: &[u8]) -> Value {
    let Ok(face) = ttf_parser::Face::parse(font, 0) else { return json!({}) };
    let em = f64::from(face.units_per_em());
    let mut widths = Map::new();
    for code in code_points(&face) {
        let width = char::from_u32(code)
            .and_then(|letter| face.glyph_index(letter))
            .and_then(|glyph| face.glyph_hor_advance(glyph));
        if let Some(width) = width {
            widths.insert(code.to_string(), json!(f64::from(width) / em));
        }
    }
    Value::Object(widths)
}

fn code_points(face: &ttf_parser::Face<'_>) -> Vec<u32> {
    let mut codes = Vec::new();
    if let Some(table) = face.tables().cmap {
        for subtable in table.subtables.into_iter().filter(ttf_parser::cmap::Subtable::is_unicode) {
            subtable.codepoints(|code| codes.push(code));
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Whether the bundled font has all letters of a text.
pub(crate) fn has_all(text: &str) -> bool {
    let Ok(face) = ttf_parser::Face::parse(&REGULAR_TTF, 0) else { return false };
    text.chars().all(|letter| letter.is_whitespace() || face.glyph_index(letter).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reports_write_is_there() {
        assert!(has_all("Größe µs · ≤ ≥ ± × → ⇒ ✓ ✗ ⚠ ● ○ ■ □ Δ ρ ∞ Ελληνικά Кириллица"));
        assert!(!has_all("עברית"));
    }

    #[test]
    fn what_was_packed_is_what_it_was() {
        assert!(font_ttf() == include_bytes!("../../assets/font/Inter-Regular.ttf"));
        assert!(font_bold_ttf() == include_bytes!("../../assets/font/Inter-SemiBold.ttf"));
    }

    #[test]
    fn widths_are_those_of_the_font() {
        // Inter 4.1, regular: digits are 1280 to 1330 of 2048 units; the space is 576.
        let regular = &advances()["regular"];
        assert_eq!(regular["32"].as_f64(), Some(576.0 / 2048.0));
        let bold = &advances()["bold"];
        assert!(bold["77"].as_f64() > regular["77"].as_f64());
    }
}
