//! Gates to text, JSON, Markdown and JUnit, and the thresholds file to begin with.
//!
//! What is not here: verdicts, which come from [`ifm_compare::gate`], and exit codes.

mod junit;
mod template;

pub use junit::{Undecided, gate_junit};
pub use template::gate_template;

use crate::TerminalStyle;
use crate::comparison::{
    alone_json, cell_json, differences_json, differences_markdown, differences_terminal, load_json,
    unit_json, words,
};
use crate::format::{ABSENT, command_line, number, percent};
use crate::json::{Object, SCHEMA_VERSION};
use crate::markdown::escape;
use crate::terminal::{Color, wrap};
use ifm_compare::comparison::{Measure, Unit};
use ifm_compare::gate::{Bound, GateResult, GateRow, GateState, GateStretch, Limit, Threshold};
use ifm_core::words::counted;
use ifm_metrics::Severity;
use serde_json::{Value, json};

/// A threshold and its load, `ITL p99 at 64 users`.
pub(crate) fn name(row: &GateRow, is_inter_event: bool) -> String {
    let threshold = &row.threshold;
    let measure = words::measure(row.measure, is_inter_event);
    let against = match threshold.limit {
        Limit::Value(_) => "",
        Limit::Change(_) => " vs baseline",
        Limit::Band => " vs history",
    };
    format!("{measure} at {}{against}", words::condition(&row.at))
}

/// What was found, with its interval.
pub(crate) fn found(row: &GateRow) -> String {
    let unit = row.threshold.measure.unit();
    match row.threshold.limit {
        Limit::Value(_) => {
            row.value.map_or_else(|| ABSENT.to_owned(), |cell| words::bounds(unit, &cell))
        }
        Limit::Change(_) | Limit::Band => {
            words::gate_change(row.threshold.measure.is_share(), row.change, row.difference)
        }
    }
}

/// The limit, `≤ 50 ms`, `≥ −3 %`.
pub(crate) fn limit(threshold: &Threshold) -> String {
    let sign = match threshold.bound {
        Bound::Max => "≤",
        Bound::Min => "≥",
    };
    format!("{sign} {}", limit_value(threshold.measure, threshold.limit))
}

fn limit_value(measure: Measure, limit: Limit) -> String {
    match (limit, measure.unit()) {
        (Limit::Band, _) => "band".to_owned(),
        (Limit::Value(ns), Unit::Ns) => crate::format::limit(ns / 1e6),
        (
            Limit::Value(value),
            Unit::TokPerS
            | Unit::ReqPerS
            | Unit::StepPerS
            | Unit::SessionPerHour
            | Unit::ImagePerS
            | Unit::MegapixelPerS
            | Unit::Plain,
        ) => number(value),
        (Limit::Value(share), Unit::Share) => format!("{} %", short(share * 100.0)),
        (Limit::Value(value), unit) => words::value(unit, value),
        (Limit::Change(change), _) => {
            let sign = if change < 0.0 { "−" } else { "+" };
            let of = if measure.is_share() { "points" } else { "%" };
            format!("{sign}{} {of}", short(change.abs() * 100.0))
        }
    }
}

/// A number as it was written, without the last digits of binary fractions.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The state in capitals, as people look for it in a log.
pub(crate) fn state(state: GateState) -> &'static str {
    match state {
        GateState::Pass => "PASS",
        GateState::Fail => "FAIL",
        GateState::Inconclusive => "INCONCLUSIVE",
    }
}

/// The state with its reason.
pub(crate) fn verdict(row: &GateRow) -> String {
    match &row.reason {
        Some(reason) => format!("{} ({reason})", state(row.state)),
        None => state(row.state).to_owned(),
    }
}

/// How many came to what: `1 failed, 1 inconclusive, 3 passed`, and what the undecided ones count as
/// where the caller says it.
pub(crate) fn tally(result: &GateResult, undecided: Undecided) -> String {
    let inconclusive = result.count(GateState::Inconclusive);
    let counts_as = match undecided {
        _ if inconclusive == 0 => "",
        Undecided::Report => "",
        Undecided::Pass => " (counts as passed)",
        Undecided::Fail => " (counts as failed)",
    };
    format!(
        "{} failed, {inconclusive} inconclusive{counts_as}, {} passed",
        result.count(GateState::Fail),
        result.count(GateState::Pass)
    )
}

/// The command that measures the same again, if anything did not pass.
pub(crate) fn repeat(result: &GateResult) -> Option<String> {
    let is_wanted = result.state != GateState::Pass && !result.run.command.is_empty();
    is_wanted.then(|| command_line(&result.run.command))
}

/// That the intervals of one run do not contain how runs differ, which comes before any verdict; absent
/// where repeats or a history show it.
pub(crate) fn single_run(result: &GateResult) -> Option<String> {
    let is_single = |row: &GateRow| match (row.threshold.limit, row.value) {
        (Limit::Value(_), Some(cell)) => {
            cell.runs == 1 && (cell.low.is_some() || cell.high.is_some())
        }
        (Limit::Change(_), Some(cell)) => {
            let is_one = row.baseline.is_some_and(|base| base.runs == 1) && cell.runs == 1;
            is_one && row.change.is_some()
        }
        _ => false,
    };
    let is_time = |row: &&GateRow| !row.threshold.measure.is_share();
    result.rows.iter().filter(is_time).any(is_single).then(|| SINGLE_RUN.to_owned())
}

/// What the intervals of one run leave out, and what to do about it.
const SINGLE_RUN: &str = "one run: the intervals exclude run-to-run variation; measure three \
    times and check a1,a2,a3";

/// The gate for people at a terminal; ends with a line break.
pub fn gate_terminal(result: &GateResult, undecided: Undecided, style: &TerminalStyle) -> String {
    let is_inter_event = result.run.is_inter_event;
    let confidence = percent(result.confidence);
    let heads = ["threshold".to_owned(), format!("value [{confidence}]"), "limit".to_owned()];
    let rows: Vec<([String; 3], &GateRow)> = result
        .rows
        .iter()
        .map(|row| ([name(row, is_inter_event), found(row), limit(&row.threshold)], row))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|(cells, _)| cells).chain([&heads]);
        let widths = cells.filter_map(|cells| cells.get(column));
        widths.map(|cell| style.text(cell).chars().count()).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let padded = |cells: &[String; 3]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            line.push_str(&format!(" {:<width$}  ", style.text(cell)));
        }
        line
    };
    let mut out = String::new();
    if let Some(line) = single_run(result) {
        for line in wrap(&style.text(&format!(" ⚠ {line}")), style.width, "   ") {
            out.push_str(&style.paint(Color::Yellow, &line));
            out.push('\n');
        }
    }
    out.push_str(&style.paint(Color::Bold, &format!("{}verdict", padded(&heads))));
    out.push('\n');
    for (cells, row) in &rows {
        let color = match row.state {
            GateState::Pass => Color::Green,
            GateState::Fail => Color::Red,
            GateState::Inconclusive => Color::Yellow,
        };
        let (cells, said) = (padded(cells), style.text(&verdict(row)));
        let room = style.width.saturating_sub(cells.chars().count());
        let word = said.split(" (").next().unwrap_or_default();
        // A verdict or a reason that does not fit goes to the next line.
        if word.chars().count() > room {
            out.push_str(&format!("{}\n", cells.trim_end()));
            for line in wrap(&format!("   {said}"), style.width, "    ") {
                out.push_str(&format!("{}\n", style.paint(color, &line)));
            }
            continue;
        }
        out.push_str(&cells);
        match said.split_once(" (") {
            Some((word, reason)) if said.chars().count() > room => {
                out.push_str(&format!("{}\n", style.paint(color, word)));
                let reasons = wrap(&format!("   ({reason}"), style.width, "    ");
                let reasons: Vec<String> =
                    reasons.iter().map(|line| style.paint(color, line)).collect();
                out.push_str(&reasons.join("\n"));
            }
            _ => out.push_str(&style.paint(color, &said)),
        }
        out.push('\n');
    }
    out.push_str(&format!(" {}\n", tally(result, undecided)));
    if let Some(command) = repeat(result) {
        for line in wrap(&style.text(&format!(" repeat: {command}")), style.width, "   ") {
            out.push_str(&line);
            out.push('\n');
        }
    }
    for line in stretches(result) {
        for line in wrap(&style.text(&format!(" {line}")), style.width, "   ") {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out.push_str(&differences_terminal(&loud(result), style));
    for (severity, text) in words::cautions(&result.cautions) {
        let color = if severity == Severity::Invalid { Color::Red } else { Color::Yellow };
        let text = style.text(&format!(" {} {text}", crate::words::sign(severity)));
        for line in wrap(&text, style.width, "   ") {
            out.push_str(&style.paint(color, &line));
            out.push('\n');
        }
    }
    out
}

/// What run and baseline differ in that may explain a change.
fn loud(result: &GateResult) -> Vec<ifm_compare::comparison::Difference> {
    let kind = ifm_compare::comparison::DifferenceKind::Warning;
    result.differences.iter().filter(|found| found.kind >= kind).cloned().collect()
}

/// The gate as Markdown; ends with a line break.
pub fn gate_markdown(result: &GateResult, undecided: Undecided) -> String {
    let is_inter_event = result.run.is_inter_event;
    let title = words::side(&result.run.label, &result.run.runs);
    let against = result.baseline.as_ref().map(|side| words::side(&side.label, &side.runs));
    let mut out = format!("## {} {}", state(result.state), escape(&title));
    if let Some(against) = against {
        out.push_str(&format!(" against {}", escape(&against)));
    }
    if let Some(line) = single_run(result) {
        out.push_str(&format!("\n\n⚠ {}", escape(&line)));
    }
    let confidence = percent(result.confidence);
    out.push_str(&format!(
        "\n\n{}\n\n| threshold | value [{confidence}] | limit | verdict |\n|---|--:|--:|---|\n",
        tally(result, undecided)
    ));
    for row in &result.rows {
        let sign = match row.state {
            GateState::Pass => "✓",
            GateState::Fail => "✗",
            GateState::Inconclusive => "⚠",
        };
        let cells = [
            name(row, is_inter_event),
            found(row),
            limit(&row.threshold),
            format!("{sign} {}", verdict(row)),
        ]
        .map(|cell| escape(&cell));
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
    for line in stretches(result) {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    out.push_str(&differences_markdown(&loud(result)));
    for (severity, text) in words::cautions(&result.cautions) {
        out.push_str(&format!("- {} {}\n", crate::words::sign(severity), escape(&text)));
    }
    if let Some(command) = repeat(result) {
        // A fence longer than any run of backticks inside cannot be closed by the command.
        out.push_str(&format!("\nRepeat:\n\n````\n{}\n````\n", command.replace("````", "'''' ")));
    }
    out
}

/// The gate as one JSON document; ends with a line break.
pub fn gate_json(result: &GateResult) -> String {
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "kind": "gate",
        "state": result.state.word(),
        "confidence": result.confidence,
        "run": {"label": result.run.label, "runs": result.run.runs},
        "baseline": result
            .baseline
            .as_ref()
            .map_or(Value::Null, |side| json!({"label": side.label, "runs": side.runs})),
        "thresholds": result.rows.iter().map(row_json).collect::<Vec<_>>(),
        "differences": differences_json(&result.differences),
        "cautions": words::cautions(&result.cautions)
            .into_iter()
            .map(|(severity, text)| json!({"severity": severity.word(), "text": text}))
            .collect::<Vec<_>>(),
    });
    let mut object = document;
    if let Some(fields) = object.as_object_mut().filter(|fields| fields["baseline"].is_null()) {
        fields.remove("baseline");
    }
    format!("{object:#}\n")
}

fn row_json(row: &GateRow) -> Value {
    let threshold = &row.threshold;
    let (unit, per) = unit_json(threshold.measure.unit());
    let bound = match threshold.bound {
        Bound::Max => "max",
        Bound::Min => "min",
    };
    let limit = match threshold.limit {
        Limit::Value(value) => json!({"value": value / per}),
        Limit::Change(change) => json!({"change": change}),
        Limit::Band => json!({"band": true}),
    };
    let mut object = Object::default();
    object
        .set("metric", threshold.measure.to_string())
        .set("load", load_json(&row.at))
        .set("unit", unit)
        .set(bound, limit)
        .set("is_implied", row.is_implied)
        .set_known("value", row.value.map(|cell| cell_json(&cell, per)))
        .set_known("baseline", row.baseline.map(|cell| cell_json(&cell, per)))
        .set_known(
            "change",
            row.change
                .map(|found| json!({"value": found.value, "low": found.low, "high": found.high}))
                .or(row.difference.map(alone_json)),
        )
        .set_known("history", row.stretch.as_ref().map(stretch_json))
        .set("state", row.state.word())
        .set_known("reason", row.reason.as_ref().map(ToString::to_string))
        .take()
}

/// Which runs of a history were compared.
fn stretch_json(stretch: &GateStretch) -> Value {
    let mut object = Object::default();
    object
        .set("before", stretch.before)
        .set("after", stretch.after)
        .set_known("since", stretch.since.clone())
        .take()
}

/// For lasting changes that began before the checked run: which runs were compared with which, each
/// line once.
pub(crate) fn stretches(result: &GateResult) -> Vec<String> {
    let mut found: Vec<(&GateStretch, Vec<String>)> = Vec::new();
    for row in &result.rows {
        let Some(stretch) = row.stretch.as_ref().filter(|stretch| stretch.since.is_some()) else {
            continue;
        };
        let name = words::measure(row.measure, result.run.is_inter_event);
        let name = format!("{name} at {}", words::condition(&row.at));
        match found.iter_mut().find(|(known, _)| *known == stretch) {
            Some((_, names)) => names.push(name),
            None => found.push((stretch, vec![name])),
        }
    }
    let line = |(stretch, names): (&GateStretch, Vec<String>)| {
        format!(
            "{}: changed with run {}; {} since then compared with the {} before",
            names.join(", "),
            crate::format::plain(stretch.since.as_deref().unwrap_or_default()),
            counted(stretch.after as u64, "run"),
            stretch.before
        )
    };
    found.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gated;

    const PLAIN: TerminalStyle =
        TerminalStyle { width: 110, color: false, ascii: false, verbose: false };

    #[test]
    fn no_verdict_is_broken_at_the_edge() {
        for width in [80, 100, 120] {
            let text =
                gate_terminal(&gated(), Undecided::Report, &TerminalStyle { width, ..PLAIN });
            let is_wide = |line: &&str| line.chars().count() > width;
            assert_eq!(text.lines().find(is_wide), None, "{width}: {text}");
        }
    }

    #[test]
    fn a_gate_with_all_three_states() {
        insta::assert_snapshot!(gate_terminal(&gated(), Undecided::Report, &PLAIN));
    }

    #[test]
    fn what_a_single_run_leaves_out_comes_before_the_verdicts() {
        let text = gate_terminal(&gated(), Undecided::Report, &PLAIN);
        let place = |words: &str| text.find(words).expect(words);
        assert!(place("one run: ") < place("verdict"), "{text}");
    }

    #[test]
    fn a_gate_as_markdown() {
        insta::assert_snapshot!(gate_markdown(&gated(), Undecided::Report));
    }

    #[test]
    fn a_gate_as_json() {
        let text = gate_json(&gated());
        assert!(!text.contains("null"), "what is not known is left out");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["state"], "fail");
        let states: Vec<_> = document["thresholds"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["state"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(states, ["pass", "fail", "inconclusive", "fail", "pass"]);
        let first = &document["thresholds"][0];
        assert_eq!((&first["metric"], &first["max"]["value"]), (&"itl.p50".into(), &0.05.into()));
        assert_eq!(document["thresholds"][3]["min"]["change"], -0.03);
        assert_eq!(document["thresholds"][4]["is_implied"], true);
    }
}
