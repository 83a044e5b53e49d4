//! The notes of the author in a page. The template engine escapes every word.

use super::{HEADING, Notes, Piece, Span};
use maud::{Markup, html};

/// The chapter.
pub(in super::super) fn html(notes: &Notes) -> Markup {
    html! {
        section class="notes" aria-labelledby="notes" {
            h2 id="notes" { (HEADING) }
            p class="detail" { (notes.source()) }
            (pieces(&notes.pieces))
        }
    }
}

fn pieces(all: &[Piece]) -> Markup {
    html! { @for piece in all { (of(piece)) } }
}

fn of(piece: &Piece) -> Markup {
    match piece {
        Piece::Heading(1 | 2, words) => html! { h3 { (spans(words)) } },
        Piece::Heading(3, words) => html! { h4 { (spans(words)) } },
        Piece::Heading(_, words) => html! { h5 { (spans(words)) } },
        Piece::Paragraph(words) => html! { p { (spans(words)) } },
        Piece::Code(code) => html! { pre { (code) } },
        Piece::Quote(inside) => html! { blockquote { (pieces(inside)) } },
        Piece::List(None, points) => {
            html! { ul { @for point in points { li { (pieces(point)) } } } }
        }
        Piece::List(Some(first), points) => {
            html! { ol start=(first) { @for point in points { li { (pieces(point)) } } } }
        }
        Piece::Table(heads, rows) => table(heads, rows),
        Piece::Rule => html! { hr; },
    }
}

fn table(heads: &[Vec<Span>], rows: &[Vec<Vec<Span>>]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="A table of the author" {
            table {
                caption { "A table of the author." }
                thead { tr { @for head in heads { th scope="col" class="text" { (spans(head)) } } } }
                tbody {
                    @for row in rows {
                        tr { @for cell in row { td class="text" { (spans(cell)) } } }
                    }
                }
            }
        }
    }
}

fn spans(all: &[Span]) -> Markup {
    html! {
        @for span in all {
            @match span {
                Span::Text(text) => (text),
                Span::Code(code) => code { (code) },
                Span::Strong(inside) => strong { (spans(inside)) },
                Span::Emphasis(inside) => em { (spans(inside)) },
                Span::Break => br;,
            }
        }
    }
}
