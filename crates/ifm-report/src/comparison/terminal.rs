//! A comparison for people at a terminal.
//!
//! What is not here: runs by themselves.

use super::headline::headline;
use super::words;
use crate::TerminalStyle;
use crate::format::{ABSENT, plain};
use crate::terminal::{Color, wrap};
use crate::words::target;
use ifm_compare::comparison::{Cell, Comparison, Difference, DifferenceKind, Pair, Row, Verdict};

/// Most characters of the label of a side.
const LABEL_MAX: usize = 16;
/// The same where the terminal is narrow and the values are shorter.
const SHORT_LABEL: usize = 8;
/// Between two columns.
const GAP: usize = 2;

/// The whole comparison; ends with a line break.
pub fn comparison_terminal(comparison: &Comparison, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let base = words::side(&comparison.baseline.label, &comparison.baseline.runs);
        push(&mut out, &headline(comparison, pair), "  ", Some(Color::Bold), style);
        if let Some(line) = words::single_runs(pair) {
            push(&mut out, &format!("⚠        {line}"), "         ", Some(Color::Yellow), style);
        }
        let title = format!("{} against {base}", words::side(&pair.side.label, &pair.side.runs));
        push(&mut out, &format!("sides    {title}"), "         ", Some(Color::Dim), style);
        out.push_str(&differences(&pair.differences, style));
        out.push('\n');
        out.push_str(&table(comparison, pair, style));
        out.push_str(&capacity(pair, style));
        out.push('\n');
        for line in words::summary(comparison, pair) {
            push(&mut out, &format!(" ● {line}"), "   ", None, style);
        }
        for line in doubts(comparison, pair, style) {
            push(&mut out, &format!(" · {line}"), "   ", Some(Color::Dim), style);
        }
        if comparison.pairs.len() > 1 {
            out.push('\n');
        }
    }
    out
}

/// Why rows are inconclusive. Each row has its reason in a few words; with `-v` all follow in full.
fn doubts(comparison: &Comparison, pair: &Pair, style: &TerminalStyle) -> Vec<String> {
    let all = words::doubts(pair, is_inter_event(comparison, pair));
    let open = pair.rows.iter().filter(|row| row.doubt.is_some()).count();
    match style.verbose || open == 0 {
        true => all,
        false => {
            let rows = words::has_runs(pair).then(|| words::OF_RUNS.to_owned());
            let more = "-v explains each inconclusive row".to_owned();
            rows.into_iter().chain([more]).collect()
        }
    }
}

fn is_inter_event(comparison: &Comparison, pair: &Pair) -> bool {
    comparison.baseline.is_inter_event || pair.side.is_inter_event
}

/// A paragraph, broken at the width.
fn push(out: &mut String, text: &str, indent: &str, color: Option<Color>, style: &TerminalStyle) {
    for line in wrap(&style.text(text), style.width, indent) {
        out.push_str(&color.map_or_else(|| line.clone(), |color| style.paint(color, &line)));
        out.push('\n');
    }
}

/// What two sides differ in, and what they share.
pub(crate) fn differences(found: &[Difference], style: &TerminalStyle) -> String {
    let mut out = String::new();
    for (kind, line) in words::differences(found) {
        let color = match kind {
            DifferenceKind::Same => Some(Color::Dim),
            DifferenceKind::Expected => None,
            DifferenceKind::Warning => Some(Color::Yellow),
            DifferenceKind::Unlike => Some(Color::Red),
        };
        let head = words::kind(kind);
        push(&mut out, &format!("{head:<9}{line}"), "         ", color, style);
    }
    out
}

/// A row as it is printed: measure, both sides, change, verdict.
struct Line<'r> {
    row: &'r Row,
    cells: [String; 4],
    verdict: String,
}

impl<'r> Line<'r> {
    fn of(row: &'r Row, is_inter_event: bool, style: &TerminalStyle) -> Line<'r> {
        let side = |cell: Option<Cell>| {
            cell.map_or_else(|| ABSENT.to_owned(), |cell| words::cell(row.measure.unit(), &cell))
        };
        let name = format!("  {}", words::measure(row.measure, is_inter_event));
        let cells = [name, side(row.a), side(row.b), words::row_change(row)];
        Line {
            row,
            cells: cells.map(|cell| style.text(&cell)),
            verdict: style.text(&words::row_verdict(row)),
        }
    }

    /// Leaves out the intervals of the values of both sides.
    fn without_intervals(&mut self) {
        for (place, cell) in [(1, self.row.a), (2, self.row.b)] {
            if let (Some(cell), Some(text)) = (cell, self.cells.get_mut(place)) {
                *text =
                    words::cell(self.row.measure.unit(), &Cell { low: None, high: None, ..cell });
            }
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A label of up to that many characters.
fn cut_to(text: &str, most: usize, style: &TerminalStyle) -> String {
    match length(text) > most {
        true => style.text(&format!("{}…", text.chars().take(most - 1).collect::<String>())),
        false => text.to_owned(),
    }
}

/// Widths of the columns before the verdict, with the gap after each.
fn widths(head: &[String; 4], lines: &[Line]) -> [usize; 4] {
    std::array::from_fn(|column| {
        let cells = lines.iter().map(|line| length(&line.cells[column]));
        cells.chain([length(&head[column])]).max().unwrap_or(0) + GAP
    })
}

fn table(comparison: &Comparison, pair: &Pair, style: &TerminalStyle) -> String {
    if pair.rows.is_empty() {
        return String::new();
    }
    let is_inter_event = is_inter_event(comparison, pair);
    let cut = |text: &str| style.text(&cut_to(&plain(text), LABEL_MAX, style));
    let head = [String::new(), cut(&comparison.baseline.label), cut(&pair.side.label)];
    let [name, a, b] = head;
    let mut head = [name, a, b, "change".to_owned()];
    let of = |row| Line::of(row, is_inter_event, style);
    let mut all: Vec<Line> = pair.rows.iter().map(of).collect();
    // A reason that does not fit goes on the next line.
    let word = |line: &Line| length(line.verdict.split(" (").next().unwrap_or_default());
    let verdict = all.iter().map(word).max().unwrap_or(0);
    let mut widths = widths(&head, &all);
    // Where the terminal is too narrow, the values go without their intervals and names are cut; then values are left
    // out: the change has both.
    if style.width < widths.iter().sum::<usize>() + verdict {
        all.iter_mut().for_each(Line::without_intervals);
        for column in [1, 2] {
            let widest = all.iter().map(|line| length(&line.cells[column])).max().unwrap_or(0);
            head[column] = cut_to(&head[column], widest.max(SHORT_LABEL), style);
        }
        widths = self::widths(&head, &all);
    }
    let with_sides = style.width >= widths.iter().sum::<usize>() + verdict;
    let columns: &[usize] = if with_sides { &[0, 1, 2, 3] } else { &[0, 3] };
    let pad = |cells: &[String; 4]| -> String {
        columns.iter().map(|at| format!("{:<width$}", cells[*at], width = widths[*at])).collect()
    };
    let mut out = style.paint(Color::Bold, &format!("{}verdict", pad(&head)));
    out.push('\n');
    let mut lines = all.iter();
    for (load, rows) in words::by_load(pair) {
        let is_read = rows.iter().any(|row| row.is_interpolated());
        let mark = if is_read { "   ≈ read between measured loads" } else { "" };
        let title = format!(" {}{mark}", words::condition(load));
        out.push_str(&style.paint(Color::Dim, &style.text(&title)));
        out.push('\n');
        for line in lines.by_ref().take(rows.len()) {
            let (cells, color) = (pad(&line.cells), color(line.row.verdict));
            let room = style.width.saturating_sub(length(&cells));
            // A verdict that does not fit goes on with its reason.
            match line.verdict.split_once(" (") {
                Some((word, reason)) if length(&line.verdict) > room => {
                    let reason = format!("{:>width$}({reason}", "", width = widths[0]);
                    out.push_str(&format!("{cells}{}\n", style.paint(color, word)));
                    out.push_str(&style.paint(color, &reason));
                }
                _ => out.push_str(&format!("{cells}{}", style.paint(color, &line.verdict))),
            }
            out.push('\n');
        }
    }
    out
}

fn color(verdict: Verdict) -> Color {
    match verdict {
        Verdict::Better => Color::Green,
        Verdict::Worse => Color::Red,
        Verdict::PredictedAbove | Verdict::PredictedBelow | Verdict::Inconclusive => Color::Yellow,
        Verdict::NoRelevantDifference | Verdict::NoDifferenceShown => Color::Dim,
    }
}

fn capacity(pair: &Pair, style: &TerminalStyle) -> String {
    let Some(found) = &pair.capacity else { return String::new() };
    let (a, b, ratio) = words::capacity(found);
    let mut out = String::new();
    let line = format!(
        " {} inside {}: {a} → {b}{}{ratio}",
        words::capacity_unit(found),
        target(&found.slo),
        if ratio.is_empty() { "" } else { ", " }
    );
    push(&mut out, &line, "   ", None, style);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::words::by_load;
    use crate::testing::compared;

    const PLAIN: TerminalStyle =
        TerminalStyle { width: 100, color: false, ascii: false, verbose: false };

    #[test]
    fn two_sweeps() {
        insta::assert_snapshot!(comparison_terminal(&compared(), &PLAIN));
    }

    #[test]
    fn what_single_runs_leave_out_comes_before_the_verdicts() {
        let text = comparison_terminal(&compared(), &PLAIN);
        let place = |words: &str| text.find(words).expect(words);
        assert!(text.starts_with("other vs base (one run each): "), "{text}");
        assert!(place("one run on each side") < place("verdict"), "{text}");
    }

    #[test]
    fn every_width_is_kept_and_ascii_is_ascii() {
        let comparison = compared();
        for width in [70, 80, 100, 140] {
            let style = TerminalStyle { width, ascii: true, ..PLAIN };
            let text = comparison_terminal(&comparison, &style);
            assert!(text.is_ascii(), "{text}");
            for line in text.lines() {
                assert!(line.len() <= width.max(74), "{width}: {line}");
            }
        }
        let color = comparison_terminal(&comparison, &TerminalStyle { color: true, ..PLAIN });
        assert!(color.contains("\u{1b}[32m") && color.contains("\u{1b}[31m"));
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut comparison = compared();
        comparison.baseline.label = "a\u{1b}[2J".to_owned();
        if let Some(found) = comparison.pairs[0].differences.first_mut() {
            found.a = Some("b\u{7}".to_owned());
        }
        let text = comparison_terminal(&comparison, &PLAIN);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
        assert!(by_load(&comparison.pairs[0]).len() > 1);
    }
}
