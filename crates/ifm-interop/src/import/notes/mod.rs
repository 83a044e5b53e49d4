//! Text: blocks that tools print, tables, lists and sentences, under headings and among prose.
//!
//! Headings become the path of what stands below them, and factors where they say what was set. A
//! line that no reader took and that holds a number is told. To add a block of a tool: see `block`.

mod section;
mod settle;

use super::block::BLOCKS;
use super::error::ImportError;
use super::head::Head;
use super::input::Input;
use super::outline::{Outline, Role};
use super::text::{Line, Text};
use super::{Recognised, generic};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, Place, Remark, RemarkKind, Source};
use section::Sections;

/// What text is called.
pub(crate) const ABOUT: Recognised =
    Recognised { id: "text", title: "text with tables and blocks" };

/// Remarks that are kept of one text.
const REMARKS_MAX: usize = 1000;

/// Whether a file is text at all.
pub(crate) fn is_text(head: &Head) -> bool {
    let utf_16 = head.bytes().starts_with(&[0xff, 0xfe]) || head.bytes().starts_with(&[0xfe, 0xff]);
    !head.bytes().is_empty() && (utf_16 || !head.bytes().contains(&0))
}

/// Reads every block of a text.
pub(crate) fn read(input: Input<'_>) -> Result<Sheet, ImportError> {
    let name = input.name().to_owned();
    let bytes = input.all()?;
    let text = Text::new(&bytes);
    let mut sheet = Sheet {
        source: Source {
            name: name.clone(),
            format: ABOUT.id.to_owned(),
            bytes: bytes.len() as u64,
            ..Source::default()
        },
        parts: Vec::new(),
        remarks: text.remarks.clone(),
    };
    Reader::new(&text, &mut sheet).run();
    match sheet.parts.is_empty() {
        true => Err(ImportError::NotKnown { name, guesses: Vec::new() }),
        false => Ok(sheet),
    }
}

/// One way through a text.
struct Reader<'a> {
    text: &'a Text,
    outline: Outline,
    sections: Sections,
    sheet: &'a mut Sheet,
    /// Lines with numbers that no reader took.
    unread: Vec<u32>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a Text, sheet: &'a mut Sheet) -> Reader<'a> {
        let outline = Outline::of(text);
        Reader { text, outline, sections: Sections::default(), sheet, unread: Vec::new() }
    }

    fn run(mut self) {
        let text = self.text;
        let headings = self.outline.headings().to_vec();
        let mut headings = headings.iter().peekable();
        // Lines up to `done` are read; up to `tried` no generic form begins.
        let (mut done, mut tried) = (0, 0);
        for line in text.lines() {
            while let Some(heading) = headings.next_if(|heading| heading.line <= line.number) {
                self.sections.enter(heading);
            }
            if line.number <= done || self.outline.role(line.number) == Role::Mark {
                continue;
            }
            if let Some(found) = BLOCKS.iter().find_map(|block| block.read(line, text)) {
                done = found.last_line;
                self.remark(found.remarks);
                found.parts.into_iter().for_each(|part| self.keep(part));
                continue;
            }
            if line.number > tried
                && let Some(form) = generic::read(line, text)
            {
                tried = form.last_line;
                self.remark(form.remarks);
                if let Some(part) = form.part {
                    done = form.last_line;
                    self.keep(part);
                    continue;
                }
            }
            self.loose(line);
        }
        self.tell_unread();
        for block in BLOCKS {
            block.join(&mut self.sheet.parts, &mut self.sheet.remarks);
        }
        settle::settle(self.sheet, &self.sections);
    }

    /// A line that is part of no block.
    fn loose(&mut self, line: Line<'_>) {
        if self.sections.learn(line.text) {
            return;
        }
        if line.text.bytes().any(|byte| byte.is_ascii_digit()) {
            self.unread.push(line.number);
        }
    }

    fn keep(&mut self, mut part: Part) {
        part.headings = self.sections.path();
        part.factors = part.factors.within(&self.sections.factors());
        self.sheet.parts.push(part);
    }

    fn remark(&mut self, remarks: Vec<Remark>) {
        let room = REMARKS_MAX.saturating_sub(self.sheet.remarks.len());
        self.sheet.remarks.extend(remarks.into_iter().take(room));
    }

    fn tell_unread(&mut self) {
        let Some(first) = self.unread.first() else { return };
        let place = Place::line(*first);
        let text =
            format!("lines with numbers that nothing here understands: {}", ranges(&self.unread));
        self.remark(vec![Remark { kind: RemarkKind::Skipped, place, text }]);
    }
}

/// Ranges that a list of lines names at most.
const RANGES_MAX: usize = 40;

/// Lines in order as ranges: `3-5, 9`.
fn ranges(lines: &[u32]) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for &line in lines {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => found.push((line, line)),
        }
    }
    let more = found.len().saturating_sub(RANGES_MAX);
    let shown = found.iter().take(RANGES_MAX).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more places") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_a_row_are_one_range() {
        assert_eq!(ranges(&[3, 4, 5, 9]), "3-5, 9");
        let far: Vec<u32> = (0..50).map(|at| 2 * at).collect();
        assert!(ranges(&far).ends_with("and 10 more places"));
    }
}
