//! The bundled font: Inter, cut down to Latin, Greek, Cyrillic, arrows, mathematics and symbols.
//!
//! With it a bare container draws the same picture as a desktop, and labels are measured by the
//! widths with which they are drawn. Scripts beyond these come from the reader's system.
//! What is not here: shaping; a line of labels is as wide as its letters.

use crate::packed::{BOLD_TTF, REGULAR_TTF};
use serde_json::{Map, Value, json};

/// The regular font as TrueType.
pub fn font_ttf() -> &'static [u8] {
    &REGULAR_TTF
}

/// The semibold font (weight 600) as TrueType.
pub fn font_bold_ttf() -> &'static [u8] {
    &BOLD_TTF
}

/// The regular font for pages.
pub fn font_woff2() -> &'static [u8] {
    include_bytes!("../assets/font/Inter-Regular.woff2")
}

/// The semibold font (weight 600) for pages.
pub fn font_bold_woff2() -> &'static [u8] {
    include_bytes!("../assets/font/Inter-SemiBold.woff2")
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
    fn each_file_is_small() {
        for font in [font_ttf(), font_bold_ttf(), font_woff2(), font_bold_woff2()] {
            assert!(font.len() < 150_000);
        }
        assert_eq!((&font_woff2()[..4], &font_bold_woff2()[..4]), (&b"wOF2"[..], &b"wOF2"[..]));
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
