//! Text: blocks that tools print, under headings and among prose.
//!
//! Headings become the path of the blocks below them.

use super::Recognised;
use super::block::BLOCKS;
use super::error::ImportError;
use super::head::Head;
use super::input::Input;
use super::text::{Line, Text};
use ifm_core::Sheet;
use ifm_core::sheet::Source;

/// What text is called.
pub(crate) const ABOUT: Recognised =
    Recognised { id: "text", title: "text with tables and blocks" };

/// Whether a file is text at all.
pub(crate) fn is_text(head: &Head) -> bool {
    !head.bytes().contains(&0) && !head.bytes().is_empty()
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
    let mut headings = Headings::default();
    let mut done = 0;
    for line in text.lines() {
        if line.number <= done {
            continue;
        }
        headings.see(line);
        let Some(found) = BLOCKS.iter().find_map(|block| block.read(line, &text)) else { continue };
        done = found.last_line;
        sheet.remarks.extend(found.remarks);
        sheet.parts.extend(found.parts.into_iter().map(|mut part| {
            part.headings = headings.path();
            part
        }));
    }
    for block in BLOCKS {
        block.join(&mut sheet.parts, &mut sheet.remarks);
    }
    match sheet.parts.is_empty() {
        true => Err(ImportError::NotKnown { name, guesses: Vec::new() }),
        false => Ok(sheet),
    }
}

/// The headings above a line.
#[derive(Debug, Default)]
struct Headings(Vec<(usize, String)>);

impl Headings {
    fn see(&mut self, line: Line<'_>) {
        let marks = line.text.chars().take_while(|&c| c == '#').count();
        let title = line.text.get(marks..).and_then(|rest| rest.strip_prefix(' '));
        if let Some(title) = title.filter(|_| (1..=6).contains(&marks)) {
            self.0.retain(|(depth, _)| *depth < marks);
            self.0.push((marks, title.trim().to_owned()));
        }
    }

    fn path(&self) -> Vec<String> {
        self.0.iter().map(|(_, title)| title.clone()).collect()
    }
}
