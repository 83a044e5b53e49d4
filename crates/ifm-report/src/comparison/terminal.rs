//! A comparison for people at a terminal.
//!
//! What is not here: runs by themselves.

use super::words;
use crate::TerminalStyle;
use crate::format::{ABSENT, plain};
use crate::terminal::{Color, wrap};
use crate::words::target;
use ifm_analysis::comparison::{Comparison, Difference, DifferenceKind, Pair, Row, Verdict};

/// Widths of the columns: measure (at least), each side, change. The verdict takes the rest.
const MEASURE: usize = 16;
const SIDE: usize = 18;
const CHANGE: usize = 27;
/// What the verdict needs beside the sides; where it has less, they are left out.
const VERDICT: usize = 16;

/// The whole comparison; ends with a line break.
pub fn comparison_terminal(comparison: &Comparison, style: &TerminalStyle) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let base = words::side(&comparison.baseline.label, &comparison.baseline.runs);
        let title = format!("{} against {base}", words::side(&pair.side.label, &pair.side.runs));
        out.push_str(&style.paint(Color::Bold, &style.text(&title)));
        out.push('\n');
        out.push_str(&differences(&pair.differences, style));
        if let Some(line) = words::single_runs(pair) {
            push(&mut out, &format!("⚠        {line}"), "         ", Some(Color::Yellow), style);
        }
        out.push('\n');
        out.push_str(&table(comparison, pair, style));
        out.push_str(&capacity(pair, style));
        out.push('\n');
        for line in words::summary(comparison, pair) {
            push(&mut out, &format!(" ● {line}"), "   ", None, style);
        }
        for line in words::doubts(pair, is_inter_event(comparison, pair)) {
            push(&mut out, &format!(" · {line}"), "   ", Some(Color::Dim), style);
        }
        if comparison.pairs.len() > 1 {
            out.push('\n');
        }
    }
    out
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

fn table(comparison: &Comparison, pair: &Pair, style: &TerminalStyle) -> String {
    if pair.rows.is_empty() {
        return String::new();
    }
    let is_inter_event = is_inter_event(comparison, pair);
    let name = |row: &Row| format!("  {}", words::measure(row.measure, is_inter_event));
    let measure = pair.rows.iter().map(|row| name(row).chars().count() + 1).max();
    let measure = measure.unwrap_or_default().max(MEASURE);
    let with_sides = style.width >= measure + 2 * SIDE + CHANGE + VERDICT;
    let cut = |text: &str| -> String {
        let whole = plain(text);
        match whole.chars().count() > SIDE - 2 {
            true => style.text(&format!("{}…", whole.chars().take(SIDE - 3).collect::<String>())),
            false => style.text(&whole),
        }
    };
    let mut head = format!("{:measure$}", "");
    if with_sides {
        let (a, b) = (cut(&comparison.baseline.label), cut(&pair.side.label));
        head.push_str(&format!("{a:<SIDE$}{b:<SIDE$}"));
    }
    head.push_str(&format!("{:<CHANGE$}verdict", "change"));
    let mut out = style.paint(Color::Bold, &head);
    out.push('\n');
    for (load, rows) in words::by_load(pair) {
        let is_read = rows.iter().any(|row| row.is_interpolated());
        let mark = if is_read { "   ≈ read between measured loads" } else { "" };
        let title = format!(" {}{mark}", words::condition(load));
        out.push_str(&style.paint(Color::Dim, &style.text(&title)));
        out.push('\n');
        for row in rows {
            let name = format!("{:<measure$}", name(row));
            out.push_str(&line(row, &name, with_sides, style));
            out.push('\n');
        }
    }
    out
}

fn line(row: &Row, name: &str, with_sides: bool, style: &TerminalStyle) -> String {
    let unit = row.measure.unit();
    let mut line = name.to_owned();
    if with_sides {
        for cell in [row.a, row.b] {
            let text = cell.map_or_else(|| ABSENT.to_owned(), |cell| words::cell(unit, &cell));
            line.push_str(&format!("{:<SIDE$}", style.text(&text)));
        }
    }
    line.push_str(&format!("{:<CHANGE$}", style.text(&words::row_change(row))));
    let color = match row.verdict {
        Verdict::Better => Color::Green,
        Verdict::Worse => Color::Red,
        Verdict::Inconclusive => Color::Yellow,
        Verdict::NoRelevantDifference | Verdict::NoDifferenceShown => Color::Dim,
    };
    line.push_str(&style.paint(color, words::verdict(row.verdict)));
    line
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

    const PLAIN: TerminalStyle = TerminalStyle { width: 100, color: false, ascii: false };

    #[test]
    fn two_sweeps() {
        insta::assert_snapshot!(comparison_terminal(&compared(), &PLAIN));
    }

    #[test]
    fn what_single_runs_leave_out_comes_before_the_verdicts() {
        let text = comparison_terminal(&compared(), &PLAIN);
        let place = |words: &str| text.find(words).expect(words);
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
