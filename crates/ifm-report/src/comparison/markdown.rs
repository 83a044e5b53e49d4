//! A comparison as Markdown, for a pull request or a note.
//!
//! What is not here: all detail; the JSON document has that.

use super::headline::headline;
use super::words;
use crate::format::ABSENT;
use crate::markdown::escape;
use crate::words::target;
use ifm_compare::comparison::{Comparison, Difference, Pair, Row, Verdict};

/// The comparison as Markdown; ends with a line break.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for pair in &comparison.pairs {
        let base = words::side(&comparison.baseline.label, &comparison.baseline.runs);
        let other = words::side(&pair.side.label, &pair.side.runs);
        out.push_str(&format!("## {} against {}\n\n", escape(&other), escape(&base)));
        out.push_str(&format!("**{}**\n\n", escape(&headline(comparison, pair))));
        if let Some(line) = words::single_runs(pair) {
            out.push_str(&format!("⚠ {}\n\n", escape(&line)));
        }
        for line in words::summary(comparison, pair) {
            out.push_str(&format!("- {}\n", escape(&line)));
        }
        if let Some(found) = &pair.capacity {
            let (a, b, ratio) = words::capacity(found);
            let line = format!(
                "{} inside {}: {a} → {b} {ratio}",
                words::capacity_unit(found),
                target(&found.slo)
            );
            out.push_str(&format!("- {}\n", escape(line.trim_end())));
        }
        out.push('\n');
        out.push_str(&table(comparison, pair));
        out.push_str(&details(comparison, pair));
    }
    out
}

fn table(comparison: &Comparison, pair: &Pair) -> String {
    let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
    let heads = [
        "load",
        "metric",
        &escape(&crate::format::plain(&comparison.baseline.label)),
        &escape(&crate::format::plain(&pair.side.label)),
        "change",
        "verdict",
    ]
    .join(" | ");
    let mut out = format!("| {heads} |\n|---|---|--:|--:|--:|---|\n");
    for row in &pair.rows {
        let cells = cells(row, is_inter_event).map(|cell| escape(&cell));
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

fn cells(row: &Row, is_inter_event: bool) -> [String; 6] {
    let unit = row.measure.unit();
    let side = |cell: Option<ifm_compare::comparison::Cell>| {
        cell.map_or_else(|| ABSENT.to_owned(), |cell| words::cell(unit, &cell))
    };
    let sign = match row.verdict {
        Verdict::Better => "✓ ",
        Verdict::Worse => "✗ ",
        _ => "",
    };
    [
        words::condition(&row.at),
        words::measure(row.measure, is_inter_event),
        side(row.a),
        side(row.b),
        words::row_change(row),
        format!("{sign}{}", words::row_verdict(row)),
    ]
}

fn details(comparison: &Comparison, pair: &Pair) -> String {
    let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
    let mut out = String::from("\n<details><summary>What differs, and what is open</summary>\n\n");
    out.push_str(&differences(&pair.differences));
    for line in words::doubts(pair, is_inter_event) {
        out.push_str(&format!("- inconclusive: {}\n", escape(&line)));
    }
    out.push_str("\n</details>\n\n");
    out
}

/// What two sides differ in, as a list.
pub(crate) fn differences(found: &[Difference]) -> String {
    let lines = words::differences(found).into_iter();
    lines.map(|(kind, line)| format!("- {}: {}\n", words::kind(kind), escape(&line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn two_sweeps() {
        insta::assert_snapshot!(comparison_markdown(&compared()));
    }

    #[test]
    fn names_cannot_add_markup() {
        let mut comparison = compared();
        comparison.baseline.label = "a|b<script>[x](y)".to_owned();
        let text = comparison_markdown(&comparison);
        assert!(!text.contains("<script>") && !text.contains("[x](y)"), "{text}");
    }
}
