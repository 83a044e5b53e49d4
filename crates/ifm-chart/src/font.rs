//! The bundled font: Inter, cut down to Latin, Greek, Cyrillic, arrows, mathematics and symbols.
//!
//! With it a bare container draws the same picture as a desktop, and labels are measured by the
//! widths with which they are drawn. Scripts beyond these come from the reader's system.
//! What is not here: the letters of still charts (`still/letters.rs`).

/// The regular font for pages.
pub fn font_woff2() -> &'static [u8] {
    include_bytes!("../assets/font/Inter-Regular.woff2")
}

/// The semibold font (weight 600) for pages.
pub fn font_bold_woff2() -> &'static [u8] {
    include_bytes!("../assets/font/Inter-SemiBold.woff2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_small() {
        for font in [font_woff2(), font_bold_woff2()] {
            assert!(font.len() < 150_000);
        }
        assert_eq!((&font_woff2()[..4], &font_bold_woff2()[..4]), (&b"wOF2"[..], &b"wOF2"[..]));
    }
}
