//! The author's own text next to the measurements.
//!
//! They come as Markdown and become a small tree, from which every format writes them again, so
//! that none of them can hold more than the tree: no HTML, no picture, no link that is followed.
//! HTML in the text stays text; a picture becomes its description and its address. Not here:
//! which file they come from (`inferometer`).

mod html;
mod markdown;
mod terminal;
#[cfg(test)]
mod tests;

pub(super) use html::html;
pub(super) use markdown::markdown;
pub(super) use terminal::terminal;

use crate::format::harmless;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};
use std::iter::Peekable;

/// Heading of the chapter in every format.
pub(super) const HEADING: &str = "Notes of the author";
/// Levels of quotes, lists and emphasis that are kept; what is deeper becomes plain text.
const DEPTH_MAX: usize = 16;

/// The report author's own text.
#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// Name of their file, without its folder.
    pub name: String,
    /// Their Markdown as it was written, except characters that could steer a terminal.
    pub text: String,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of the notes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// A heading of this level, 1 to 6.
    Heading(usize, Vec<Span>),
    Paragraph(Vec<Span>),
    Code(String),
    Quote(Vec<Piece>),
    /// Points; numbered from a number, where they are.
    List(Option<u64>, Vec<Vec<Piece>>),
    /// The heads and the rows.
    Table(Vec<Vec<Span>>, Vec<Vec<Vec<Span>>>),
    Rule,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Span {
    Text(String),
    Code(String),
    Strong(Vec<Span>),
    Emphasis(Vec<Span>),
    /// The end of a line that the author wanted there.
    Break,
}

impl Notes {
    /// Reads Markdown: CommonMark with tables.
    pub fn new(name: &str, text: &str) -> Notes {
        let kept = |c: char| if c == '\n' || c == '\t' { c } else { harmless(c) };
        let text: String = text.replace("\r\n", "\n").chars().map(kept).collect();
        let mut events =
            Reader { events: Parser::new_ext(&text, Options::ENABLE_TABLES).peekable() };
        let pieces = events.pieces(0);
        Notes { name: crate::format::plain(name), text, pieces }
    }

    /// The line under the heading: whose words these are.
    pub(super) fn source(&self) -> String {
        format!(
            "Written by the author of this report ({}), not computed from measurements.",
            self.name
        )
    }
}

/// The events of the parser, which come properly nested.
struct Reader<'t> {
    events: Peekable<Parser<'t>>,
}

impl Reader<'_> {
    /// Pieces up to and including the end of the enclosing element.
    fn pieces(&mut self, depth: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::End(_) => break,
                Event::Rule => pieces.push(Piece::Rule),
                Event::Start(tag) => self.started(tag, depth, &mut pieces),
                // A point of a tight list holds words without a paragraph around them.
                event => pieces.push(Piece::Paragraph(self.loose(event, depth))),
            }
        }
        pieces
    }

    fn started(&mut self, tag: Tag, depth: usize, pieces: &mut Vec<Piece>) {
        let next = depth + 1;
        match tag {
            Tag::BlockQuote(_) | Tag::List(_) if depth >= DEPTH_MAX => {
                pieces.push(Piece::Paragraph(vec![Span::Text(self.flat())]));
            }
            Tag::Paragraph => pieces.push(Piece::Paragraph(self.spans(next))),
            Tag::Heading { level, .. } => {
                pieces.push(Piece::Heading(level as usize, self.spans(next)));
            }
            Tag::BlockQuote(_) => pieces.push(Piece::Quote(self.pieces(next))),
            Tag::CodeBlock(_) => pieces.push(Piece::Code(self.flat())),
            Tag::HtmlBlock => pieces.push(Piece::Paragraph(vec![Span::Text(self.flat())])),
            Tag::List(first) => {
                let mut points = Vec::new();
                while let Some(Event::Start(_)) = self.events.next() {
                    points.push(self.pieces(next));
                }
                pieces.push(Piece::List(first, points));
            }
            Tag::Table(_) => pieces.push(self.table(next)),
            // Emphasis, strong or a link at the beginning of a point of a tight list.
            tag => pieces.push(Piece::Paragraph(self.loose(Event::Start(tag), depth))),
        }
    }

    fn table(&mut self, depth: usize) -> Piece {
        let (mut heads, mut rows) = (Vec::new(), Vec::new());
        while let Some(Event::Start(tag)) = self.events.next() {
            let mut cells = Vec::new();
            while let Some(Event::Start(_)) = self.events.next() {
                cells.push(self.spans(depth));
            }
            match tag {
                Tag::TableHead => heads = cells,
                _ => rows.push(cells),
            }
        }
        Piece::Table(heads, rows)
    }

    /// Spans up to and including the end of the enclosing element.
    fn spans(&mut self, depth: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        while let Some(event) = self.events.next() {
            if matches!(event, Event::End(_)) {
                break;
            }
            self.span(event, depth, &mut spans);
        }
        merged(spans)
    }

    /// Spans from an event up to the next piece or the end, neither of which is taken.
    fn loose(&mut self, first: Event, depth: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        self.span(first, depth, &mut spans);
        while let Some(event) = self.events.next_if(is_of_line) {
            self.span(event, depth, &mut spans);
        }
        merged(spans)
    }

    fn span(&mut self, event: Event, depth: usize, spans: &mut Vec<Span>) {
        let next = depth + 1;
        match event {
            Event::Start(_) if depth >= DEPTH_MAX => spans.push(Span::Text(self.flat())),
            Event::Start(Tag::Strong) => spans.push(Span::Strong(self.spans(next))),
            Event::Start(Tag::Emphasis) => spans.push(Span::Emphasis(self.spans(next))),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let words = self.spans(next);
                let is_bare = matches!(words.as_slice(), [Span::Text(text)] if *text == *dest_url);
                spans.extend(words);
                if !is_bare {
                    spans.push(address(&dest_url));
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                spans.push(Span::Text("[picture: ".to_owned()));
                spans.extend(self.spans(next));
                spans.push(Span::Text("]".to_owned()));
                spans.push(address(&dest_url));
            }
            Event::Start(_) => spans.extend(self.spans(next)),
            Event::Code(code) => spans.push(Span::Code(code.into_string())),
            Event::SoftBreak => spans.push(Span::Text(" ".to_owned())),
            Event::HardBreak => spans.push(Span::Break),
            event => spans.extend(text_of(event).map(Span::Text)),
        }
    }

    /// All text up to the end of what was started, which is taken too.
    fn flat(&mut self) -> String {
        let (mut text, mut open) = (String::new(), 1_usize);
        for event in self.events.by_ref() {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) if open == 1 => break,
                Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    open -= 1;
                    text.push('\n');
                }
                Event::End(_) => open -= 1,
                Event::SoftBreak | Event::HardBreak => text.push('\n'),
                event => text.extend(text_of(event)),
            }
        }
        text
    }
}

/// The words of an event; HTML is text like any other.
fn text_of(event: Event) -> Option<String> {
    match event {
        Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
            Some(text.into_string())
        }
        _ => None,
    }
}

/// Words that follow each other as one.
fn merged(spans: Vec<Span>) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match (merged.last_mut(), span) {
            (Some(Span::Text(before)), Span::Text(text)) => before.push_str(&text),
            (_, span) => merged.push(span),
        }
    }
    merged
}

/// The target of a link, in brackets: readers copy it to follow it.
fn address(url: &CowStr) -> Span {
    Span::Text(format!(" ({url})"))
}

/// Whether an event belongs into a line rather than beginning or ending a piece.
fn is_of_line(event: &Event) -> bool {
    match event {
        Event::Start(tag) => matches!(
            tag,
            Tag::Strong | Tag::Emphasis | Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough
        ),
        Event::End(_) | Event::Rule => false,
        _ => true,
    }
}
