//! The notes of the author as Markdown, written again from the tree.

use super::{HEADING, Notes, Piece, Span};
use crate::markdown::{escape, fenced};

/// Levels by which headings are moved down, under the heading of the chapter.
const BELOW: usize = 2;
const LEVEL_MAX: usize = 6;

/// The chapter.
pub(in super::super) fn markdown(notes: &Notes) -> String {
    format!("\n## {HEADING}\n\n*{}*\n{}", escape(&notes.source()), pieces(&notes.pieces))
}

fn pieces(all: &[Piece]) -> String {
    all.iter().map(|piece| format!("\n{}\n", of(piece))).collect()
}

fn of(piece: &Piece) -> String {
    match piece {
        Piece::Heading(level, words) => {
            format!("{} {}", "#".repeat((level + BELOW).min(LEVEL_MAX)), spans(words))
        }
        Piece::Paragraph(words) => at_line_start(&spans(words)),
        Piece::Code(code) => fenced(code).trim_matches('\n').to_owned(),
        Piece::Quote(inside) => indented(&pieces(inside), "> ", "> "),
        Piece::List(first, points) => points
            .iter()
            .zip(first.unwrap_or(0)..)
            .map(|(point, number)| match first {
                Some(_) => indented(&pieces(point), &format!("{number}. "), "    "),
                None => indented(&pieces(point), "- ", "  "),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        Piece::Table(heads, rows) => {
            let line = |cells: &[Vec<Span>]| {
                let cells: Vec<String> = cells.iter().map(|cell| spans(cell)).collect();
                format!("| {} |", cells.join(" | "))
            };
            let rule = format!("|{}", "---|".repeat(heads.len()));
            let rows = rows.iter().map(|row| line(row));
            [line(heads), rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
        }
        Piece::Rule => "---".to_owned(),
    }
}

/// Lines after a sign: `first` before the first one, `others` before those that follow.
fn indented(text: &str, first: &str, others: &str) -> String {
    let mut lines = Vec::new();
    for (index, line) in text.trim_matches('\n').lines().enumerate() {
        let sign = if index == 0 { first } else { others };
        lines.push(format!("{sign}{line}").trim_end().to_owned());
    }
    lines.join("\n")
}

fn spans(all: &[Span]) -> String {
    let word = |span: &Span| match span {
        Span::Text(text) => escape(&text.replace('\n', " ")),
        // A span of code would have to be fenced by what it does not hold: as words it is safe.
        Span::Code(code) if code.contains('`') => escape(code),
        Span::Code(code) => format!("`{code}`"),
        Span::Strong(inside) => format!("**{}**", spans(inside)),
        Span::Emphasis(inside) => format!("*{}*", spans(inside)),
        Span::Break => "\\\n".to_owned(),
    };
    all.iter().map(word).collect()
}

/// A paragraph whose beginning does not mark a list, a heading or a rule.
fn at_line_start(text: &str) -> String {
    let line = |line: &str| {
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        match line.get(digits..).and_then(|rest| rest.chars().next()) {
            Some('.' | ')') if digits > 0 => format!("{}\\{}", &line[..digits], &line[digits..]),
            Some('-' | '+' | '=' | ':') if digits == 0 => format!("\\{line}"),
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
