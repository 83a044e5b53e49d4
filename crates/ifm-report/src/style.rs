//! How a terminal is written to: its width, its colours, its characters, and lines that fit.
//!
//! Not here: what is written (`terminal`, `page`).

use crate::format::{ascii, harmless, spaced};

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Columns of the terminal; the table drops columns in a fixed order to fit.
    pub width: usize,
    /// Whether colours are shown. Nothing is said in colour only.
    pub color: bool,
    /// Whether only ASCII may be printed.
    pub ascii: bool,
    /// Whether long lists are shown in full: rows that say nothing, reasons that rows already name.
    pub verbose: bool,
}

impl TerminalStyle {
    /// The same with long lists in full, or not.
    #[must_use]
    pub fn verbose(self, verbose: bool) -> TerminalStyle {
        TerminalStyle { verbose, ..self }
    }
}

/// The colours that are used.
#[derive(Clone, Copy)]
pub(crate) enum Color {
    Dim,
    Bold,
    Green,
    Yellow,
    Red,
}

impl TerminalStyle {
    /// Text in a color, if colors are on. The text's width must be set before.
    pub(crate) fn paint(&self, color: Color, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match color {
            Color::Dim => "2",
            Color::Bold => "1",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Red => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A text from anywhere as lines that fit, without characters that could steer the terminal;
    /// those after the first start with `indent`.
    pub fn paragraph(&self, text: &str, indent: &str) -> Vec<String> {
        let harmless: String = text.chars().map(harmless).collect();
        wrap(&self.text(&harmless), self.width, indent)
    }

    /// Text in the characters that may be printed.
    pub fn text(&self, text: &str) -> String {
        if self.ascii { ascii(text) } else { spaced(text) }
    }
}

/// Breaks a line at spaces so that no part is wider than `width`, if words allow; parts after the
/// first start with `indent`.
pub(crate) fn wrap(line: &str, width: usize, indent: &str) -> Vec<String> {
    let width = width.max(indent.len() + 20);
    let mut lines = Vec::new();
    let mut current = String::new();
    // Leading spaces belong to the line, so the first word carries them.
    let lead = line.len() - line.trim_start().len();
    let (lead, rest) = line.split_at(lead);
    current.push_str(lead);
    let mut is_fresh = true;
    for word in rest.split(' ') {
        let extra = usize::from(!is_fresh) + word.chars().count();
        if !is_fresh && current.chars().count() + extra > width {
            lines.push(current.trim_end().to_owned());
            current = indent.to_owned();
            is_fresh = true;
        }
        if !is_fresh {
            current.push(' ');
        }
        current.push_str(word);
        is_fresh = false;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_at_words() {
        assert_eq!(wrap("  one two three", 100, "  "), ["  one two three"]);
        let lines = wrap("  aaaaaaaaaa bbbbbbbbbb cccccccccc", 24, "    ");
        assert_eq!(lines, ["  aaaaaaaaaa bbbbbbbbbb", "    cccccccccc"]);
    }
}
