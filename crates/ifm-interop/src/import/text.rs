//! Text as lines, with damaged characters put right and without what terminals add.

use super::bounds::{LINE_BYTES_MAX, LINES_MAX};
use super::encoding::Repairs;
use super::terminal;
use ifm_core::sheet::{Place, Remark, RemarkKind};
use std::collections::BTreeSet;

/// Lines of a text, numbered from 1.
#[derive(Debug)]
pub(crate) struct Text {
    body: String,
    /// Where each line ends in the body.
    ends: Vec<u32>,
    /// Lines that a logger wrote.
    logged: BTreeSet<u32>,
    /// What was put right, and what was lost.
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

/// The limit that a text exceeds, in words.
pub(crate) fn exceeded(bytes: &[u8]) -> Option<String> {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    if let Some(at) = lines.position(|line| line.len() > LINE_BYTES_MAX) {
        return Some(format!("line {} has more than {} MiB", at + 1, LINE_BYTES_MAX >> 20));
    }
    let count = memchr::memchr_iter(b'\n', bytes).count();
    (count > LINES_MAX).then(|| format!("more than {LINES_MAX} lines"))
}

impl Text {
    /// The lines of a file, UTF-8 or what is left of it.
    pub fn new(bytes: &[u8]) -> Text {
        let mut repairs = Repairs::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            if repairs.is_damaged() {
                break;
            }
            if line.len() <= LINE_BYTES_MAX && !line.is_ascii() {
                std::str::from_utf8(line).iter().for_each(|line| repairs.note_damage(line));
            }
        }
        let mut text = Text {
            body: String::with_capacity(bytes.len()),
            ends: Vec::new(),
            logged: BTreeSet::new(),
            remarks: Vec::new(),
        };
        let mut rest = bytes;
        let mut number = 0;
        let (mut long, mut first_long) = (0, None);
        while !rest.is_empty() {
            number += 1;
            if text.ends.len() == LINES_MAX {
                text.remarks.push(Remark {
                    kind: RemarkKind::Lost,
                    place: Place::line(number),
                    text: format!("the rest: more than {LINES_MAX} lines"),
                });
                break;
            }
            let line = match memchr::memchr(b'\n', rest) {
                Some(at) => rest.split_at(at + 1),
                None => (rest, [].as_slice()),
            };
            rest = line.1;
            let line = line.0.strip_suffix(b"\n").unwrap_or(line.0);
            let is_short = line.len() <= LINE_BYTES_MAX;
            text.push(if is_short { line } else { b"" }, number, &mut repairs);
            long += u32::from(!is_short);
            first_long = first_long.or((!is_short).then_some(number));
        }
        text.remarks.extend(first_long.map(|number| Remark {
            kind: RemarkKind::Lost,
            place: Place::line(number),
            text: format!("lines of more than {} MiB are not read: {long}", LINE_BYTES_MAX >> 20),
        }));
        text.remarks.extend(repairs.remarks());
        text
    }

    fn push(&mut self, line: &[u8], number: u32, repairs: &mut Repairs) {
        let line = match std::str::from_utf8(line) {
            Ok(line) => repairs.repair(line, number),
            Err(_) => repairs.foreign(line, number).into(),
        };
        if terminal::is_logged(&line) {
            self.logged.insert(number);
        }
        self.body.push_str(&terminal::clean(&line));
        self.ends.push(u32::try_from(self.body.len()).unwrap_or(u32::MAX));
    }

    /// All lines in order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.from(1)
    }

    /// The lines from one of this number on.
    pub fn from(&self, number: u32) -> impl Iterator<Item = Line<'_>> {
        (number.max(1)..=self.len()).filter_map(|number| self.line(number))
    }

    /// A line by its number.
    pub fn line(&self, number: u32) -> Option<Line<'_>> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = usize::try_from(*self.ends.get(at)?).ok()?;
        let start = match at.checked_sub(1) {
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
            None => 0,
        };
        Some(Line { number, text: self.body.get(start..end)? })
    }

    /// Whether a logger wrote the line of this number.
    pub fn is_logged(&self, number: u32) -> bool {
        self.logged.contains(&number)
    }

    /// Number of lines.
    pub fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let text = Text::new(b"one\r\n\ntwo\nthree \xc2\xb1");
        let lines: Vec<(u32, &str)> = text.lines().map(|line| (line.number, line.text)).collect();
        assert_eq!(lines, [(1, "one"), (2, ""), (3, "two"), (4, "three ±")]);
        assert_eq!(text.from(3).next().map(|line| line.text), Some("two"));
        assert!(text.line(5).is_none() && text.remarks.is_empty());
        assert_eq!(Text::new(b"").lines().count(), 0);
    }

    #[test]
    fn latin_1_lines_are_read_and_told() {
        let text = Text::new(b"fine\n5 \xb1 1\n");
        assert_eq!(text.line(2).map(|line| line.text), Some("5 ± 1"));
        assert_eq!(text.remarks[0].kind, RemarkKind::Repaired);
        assert_eq!(text.remarks[0].place.line, Some(2));
    }
}
