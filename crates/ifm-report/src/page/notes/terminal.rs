//! The notes of the author for a terminal: their words, without marks.

use super::{HEADING, Notes, Piece, Span};

/// The chapter; `wrapped` breaks a line, given the prefix of the lines that follow.
pub(in super::super) fn terminal(notes: &Notes, wrapped: &dyn Fn(&str, &str) -> String) -> String {
    let line = "=".repeat(HEADING.chars().count());
    let words = pieces(&notes.pieces, "", wrapped);
    format!("\n{HEADING}\n{line}\n{}{words}", wrapped(&notes.source(), ""))
}

fn pieces(all: &[Piece], before: &str, wrapped: &dyn Fn(&str, &str) -> String) -> String {
    let line = |text: &str| format!("{before}{}", wrapped(text, before));
    let piece = |piece: &Piece| match piece {
        Piece::Heading(_, words) => format!("\n{}", line(&spans(words))),
        Piece::Paragraph(words) => line(&spans(words)),
        Piece::Code(code) => {
            code.lines().map(|code| format!("{before}  {code}\n")).collect::<String>()
        }
        Piece::Quote(inside) => pieces(inside, &format!("{before}> "), wrapped),
        Piece::List(_, points) => points
            .iter()
            .map(|point| {
                let inside = pieces(point, &format!("{before}  "), wrapped);
                // The bullet replaces the indentation of the first line.
                inside.replacen(&format!("{before}  "), &format!("{before}- "), 1)
            })
            .collect(),
        Piece::Table(heads, rows) => std::iter::once(heads)
            .chain(rows)
            .map(|row| {
                let cells: Vec<String> = row.iter().map(|cell| spans(cell)).collect();
                line(&cells.join("  "))
            })
            .collect(),
        Piece::Rule => line("---"),
    };
    all.iter().map(piece).collect()
}

fn spans(all: &[Span]) -> String {
    let word = |span: &Span| match span {
        Span::Text(text) | Span::Code(text) => text.replace('\n', " "),
        Span::Strong(inside) | Span::Emphasis(inside) => spans(inside),
        Span::Break => " ".to_owned(),
    };
    all.iter().map(word).collect()
}
