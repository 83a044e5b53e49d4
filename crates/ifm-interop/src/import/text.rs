//! Text as lines, with damaged characters put right.

use ifm_core::sheet::{Place, Remark, RemarkKind};

/// Lines of a text, numbered from 1.
#[derive(Debug)]
pub(crate) struct Text {
    lines: Vec<String>,
    /// What was put right.
    pub remarks: Vec<Remark>,
}

/// A line and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub number: u32,
    /// Without its end.
    pub text: &'a str,
}

impl Text {
    /// The lines of a file, UTF-8 or what is left of it.
    pub fn new(bytes: &[u8]) -> Text {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut remarks = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.contains('\u{fffd}') {
                remarks.push(Remark {
                    kind: RemarkKind::Lost,
                    place: Place::line(number),
                    text: "bytes that are no text".to_owned(),
                });
            }
            lines.push(line.trim_end_matches('\r').to_owned());
        }
        Text { lines, remarks }
    }

    /// All lines in order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        (1..).zip(&self.lines).map(|(number, text)| Line { number, text })
    }

    /// The lines from one of this number on.
    pub fn from(&self, number: u32) -> impl Iterator<Item = Line<'_>> {
        self.lines().skip(number.saturating_sub(1) as usize)
    }
}
