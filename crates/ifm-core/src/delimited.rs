//! Texts from elsewhere as cells of CSV and labels of other formats.
//!
//! A cell that begins like a formula runs in a spreadsheet, control characters steer a terminal that shows the file, and
//! direction marks make a text read as another one. Not here: the rows (`ifm-report`, `ifm-interop`).

/// Characters with which spreadsheets begin a formula, those of full width included, white space that they skip before
/// one, and the apostrophe itself, so that a reader can remove what was added.
const FORMULA_STARTS: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠'];

/// Whether a character changes the direction of the text around it.
pub fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text without direction marks and without control characters other than tabs and line ends.
pub fn without_controls(text: &str) -> String {
    let stays =
        |c: &char| matches!(c, '\t' | '\n' | '\r') || !(c.is_control() || is_direction_mark(*c));
    text.chars().filter(stays).collect()
}

/// A cell of a CSV line, quoted as RFC 4180 has it. A text that a spreadsheet would take for a formula gets an
/// apostrophe in front.
pub fn csv_cell(text: &str) -> String {
    let text = without_controls(text);
    let is_formula = text.starts_with(FORMULA_STARTS) && text.parse::<f64>().is_err();
    let cell = if is_formula { format!("'{text}") } else { text };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_cells_and_guards_formulas() {
        for (text, expect) in [
            ("a", "a"),
            ("", ""),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1+1", "'\t=1+1"),
            ("\r=1+1", "\"'\r=1+1\""),
            ("\n=1+1", "\"'\n=1+1\""),
            ("＝1+1", "'＝1+1"),
            ("'quoted", "''quoted"),
            ("-1.5", "-1.5"),
            ("+2e3", "+2e3"),
            ("-1.5x", "'-1.5x"),
            // What is removed hides no formula.
            ("\u{1b}=1+1", "'=1+1"),
            ("\u{202e}\u{0}=1+1", "'=1+1"),
        ] {
            assert_eq!(csv_cell(text), expect, "{text:?}");
        }
    }

    #[test]
    fn removes_what_steers_a_terminal_or_the_direction() {
        let text = "a\u{1b}[31mb\u{9b}c\u{7f}\u{61c}\u{200f}\u{2066}d\u{202e}e\tf\n";
        assert_eq!(without_controls(text), "a[31mbcde\tf\n");
        assert_eq!(without_controls("naïve — مرحبا"), "naïve — مرحبا");
    }
}
