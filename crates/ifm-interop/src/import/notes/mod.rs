//! Text: blocks that tools print, tables, lists and sentences, under headings and among prose.
//!
//! Headings become the path of the content below them, and factors where they contain settings. A
//! line that no reader took and that holds a number is reported. To add a block of a tool: see
//! `block`.

mod caption;
mod claim;
mod command;
mod planned;
mod section;
mod settle;
mod stated;
mod training;

use super::block::BLOCKS;
use super::bounds::{self, Room};
use super::head::Head;
use super::outline::{Outline, Role};
use super::text::Text;
use super::{Recognised, generic};
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Part, PartKind, Place, Remark, RemarkKind, Row, Source};
use planned::Planned;
use section::Sections;
use serde_json::Map;
pub(crate) use settle::decide_kind;
use stated::{Context, Sentence};

/// ID and title of text.
pub(crate) const ABOUT: Recognised =
    Recognised { id: "text", title: "text with tables and blocks" };

/// Memory of a part in addition to its rows and headings, bytes.
const PART_MEMORY: usize = 2 * size_of::<Part>();
/// Rows that are kept of one text.
const ROWS_MAX: usize = 500_000;
/// Remarks that are kept of one text.
const REMARKS_MAX: usize = 1000;

/// Whether a file is text at all.
pub(crate) fn is_text(head: &Head) -> bool {
    !head.bytes().is_empty() && !head.bytes().contains(&0)
}

/// Reads every block of a text; nothing where it holds none.
pub(crate) fn read(name: String, bytes: &[u8]) -> Option<Sheet> {
    let text = Text::new(bytes);
    let mut sheet = Sheet {
        source: Source {
            name,
            format: ABOUT.id.to_owned(),
            bytes: bytes.len() as u64,
            ..Source::default()
        },
        parts: Vec::new(),
        remarks: text.remarks.clone(),
    };
    Reader::new(&text, &mut sheet).run();
    (!sheet.parts.is_empty()).then_some(sheet)
}

/// One way through a text.
struct Reader<'a> {
    text: &'a Text,
    outline: Outline,
    sections: Sections,
    sheet: &'a mut Sheet,
    planned: Planned,
    /// Line of the last heading, and parts that there were then.
    heading: (u32, usize),
    /// Lines since the last heading that no block took.
    loose: Vec<u32>,
    /// Lines with numbers that no reader took.
    unread: Vec<u32>,
    /// Rows that are kept, memory for more, and rows for which there is no room.
    rows: usize,
    room: Room,
    lost: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a Text, sheet: &'a mut Sheet) -> Reader<'a> {
        Reader {
            text,
            outline: Outline::of(text),
            sections: Sections::default(),
            sheet,
            planned: Planned::default(),
            heading: (1, 0),
            loose: Vec::new(),
            unread: Vec::new(),
            rows: 0,
            room: Room::new(bounds::ROWS_MEMORY_MAX),
            lost: 0,
        }
    }

    fn run(mut self) {
        let text = self.text;
        let headings = self.outline.headings().to_vec();
        let mut headings = headings.iter().peekable();
        // Lines up to `done` are read; up to `tried` no generic form begins.
        let (mut done, mut tried) = (0, 0);
        for line in text.lines() {
            while let Some(heading) = headings.next_if(|heading| heading.line <= line.number) {
                self.close_section();
                self.sections.enter(heading);
                self.heading = (heading.line, self.sheet.parts.len());
            }
            if line.number <= done || self.outline.role(line.number) == Role::Mark {
                continue;
            }
            if let Some(found) = BLOCKS.iter().find_map(|block| block.read(line, text)) {
                done = found.last_line;
                self.sheet.remarks.extend(found.remarks);
                found.parts.into_iter().for_each(|part| self.keep(part));
                continue;
            }
            if let Some(command) = command::continued(line, text)
                && self.sections.learn_command(&command.text)
            {
                done = command.last_line;
                continue;
            }
            if line.number > tried
                && let Some(form) = generic::read(line, text, &|| self.sections.path())
            {
                tried = form.last_line;
                self.sheet.remarks.extend(form.remarks);
                if let Some(part) = form.part {
                    done = form.last_line;
                    self.keep(part);
                    continue;
                }
            }
            if !self.sections.learn(line.text) {
                self.loose.push(line.number);
            }
        }
        self.close_section();
        for block in BLOCKS {
            block.join(&mut self.sheet.parts, &mut self.sheet.remarks);
        }
        self.planned.finish(self.sheet);
        self.sheet.parts.order_by_key(|part| part.place.line);
        settle::settle(self.sheet, &self.sections);
        let remarks = &mut self.sheet.remarks;
        let more = remarks.len().saturating_sub(REMARKS_MAX);
        if more > 0 {
            remarks.truncate(REMARKS_MAX);
            remarks.push(Remark {
                kind: RemarkKind::Lost,
                place: Place::default(),
                text: format!("{more} more remarks on this text are not kept"),
            });
        }
        if self.lost > 0 {
            remarks.push(Remark {
                kind: RemarkKind::Lost,
                place: Place::default(),
                text: format!("{} rows beyond the first {} are not kept", self.lost, self.rows),
            });
        }
        remarks.extend(told(&self.unread));
    }

    /// What the lines of a section say that no block took.
    fn close_section(&mut self) {
        let text = self.text;
        let loose = std::mem::take(&mut self.loose);
        let lines: Vec<(u32, &str)> = loose
            .iter()
            .filter_map(|number| text.line(*number))
            .map(|line| (line.number, line.text))
            .collect();
        let path = self.sections.path();
        let factors = self.sections.factors();
        let (heading, parts) = self.heading;
        let empty = self.sheet.parts.len() == parts;
        if empty && self.planned.see(heading, &path, &factors, &lines) {
            return;
        }
        let mut taken = Vec::new();
        if path.iter().any(|title| training::is_about(title))
            && let Some((row, lines)) = training::row(&lines)
        {
            taken = lines;
            self.keep_rows(training::KIND, vec![row]);
        } else {
            let mut rows = self.stated(&lines, path.last().map(String::as_str));
            self.sheet.remarks.extend(caption::apply(&lines, &mut rows));
            rows.extend(caption::counts(&lines));
            rows.order_by_key(|row| row.place.line);
            let with_figures = rows.iter().filter(|row| !row.figures.is_empty());
            taken.extend(with_figures.filter_map(|row| row.place.line));
            if !rows.is_empty() {
                self.keep_rows(PartKind::Conclusion, rows);
            }
        }
        let unread = lines.iter().filter(|(number, text)| {
            text.bytes().any(|byte| byte.is_ascii_digit()) && !taken.contains(number)
        });
        self.unread.extend(unread.map(|(number, _)| *number));
    }

    /// The figures in sentences, paragraph by paragraph, and the claims of those without.
    fn stated(&self, lines: &[(u32, &str)], heading: Option<&str>) -> Vec<Row> {
        let model_of = |side: &str| self.sections.model_of(side).map(str::to_owned);
        let context = Context { heading, model_of: &model_of };
        let mut rows = Vec::new();
        let mut paragraph = String::new();
        // Where each line of the paragraph begins.
        let mut starts: Vec<(usize, u32)> = Vec::new();
        let flush =
            |paragraph: &mut String, starts: &mut Vec<(usize, u32)>, rows: &mut Vec<Row>| {
                let is_log = claim::is_log(paragraph)
                    || starts.iter().any(|(_, line)| self.text.is_logged(*line));
                for range in stated::sentences(paragraph) {
                    let text = paragraph.get(range.clone()).unwrap_or_default();
                    let first = range.start + (text.len() - text.trim_start().len());
                    let line = starts.iter().rev().find(|(start, _)| *start <= first);
                    let line = line.map_or(1, |(_, line)| *line);
                    let sentence = Sentence { line, text, code: false };
                    let figures = stated::rows(&sentence, &context);
                    match figures.is_empty() {
                        true if is_log => {}
                        true => rows.extend(claim::row(&sentence)),
                        false => rows.extend(figures),
                    }
                }
                paragraph.clear();
                starts.clear();
            };
        for (number, text) in lines {
            let follows = starts.last().is_some_and(|(_, last)| last + 1 == *number);
            let bullet = text.trim_start().starts_with(['-', '*', '•', '|']);
            if !follows || bullet || paragraph.len() + text.len() > PARAGRAPH_BYTES_MAX {
                flush(&mut paragraph, &mut starts, &mut rows);
            }
            if self.outline.role(*number) == Role::Code || !stated::is_prose(text) {
                let sentence = Sentence { line: *number, text, code: true };
                rows.extend(stated::rows(&sentence, &context));
                continue;
            }
            starts.push((paragraph.len(), *number));
            paragraph.push_str(text);
            paragraph.push(' ');
        }
        flush(&mut paragraph, &mut starts, &mut rows);
        rows
    }

    fn keep_rows(&mut self, kind: PartKind, rows: Vec<Row>) {
        let place = rows.first().map(|row| row.place.clone()).unwrap_or_default();
        self.keep(Part {
            kind,
            tool: None,
            headings: Vec::new(),
            place,
            factors: ifm_core::sheet::Factors::default(),
            rows,
            unknown: Map::new(),
        });
    }

    fn keep(&mut self, mut part: Part) {
        part.headings = self.sections.path();
        part.factors = part.factors.within(&self.sections.factors());
        let memory = PART_MEMORY + part.headings.iter().map(String::len).sum::<usize>();
        let mut kept = 0;
        if self.lost == 0 && self.room.take(memory) {
            let room = ROWS_MAX.saturating_sub(self.rows);
            let fits = |row: &&Row| self.room.take(bounds::row_memory(row));
            kept = part.rows.iter().take(room).take_while(fits).count();
        }
        self.lost += part.rows.len() - kept;
        part.rows.truncate(kept);
        self.rows += kept;
        if !part.rows.is_empty() {
            self.sheet.parts.push(part);
        }
    }
}

/// Longest paragraph that is read as one, bytes.
const PARAGRAPH_BYTES_MAX: usize = 64 * 1024;

/// The remark about lines that no reader took.
fn told(unread: &[u32]) -> Option<Remark> {
    let place = Place::line(*unread.first()?);
    let text = format!("lines whose numbers were not read: {}", ranges(unread));
    Some(Remark { kind: RemarkKind::Lost, place, text })
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
