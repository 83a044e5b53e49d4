//! Sessions that were cut are not counted as served.
//!
//! A session whose context overflows ends early: the long turns that it would have had are in no
//! latency. Above one in a hundred a result of agents does not hold (the rule of InferenceX). Runs of
//! our own have a check for it, `sessions`.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Figure, Quantity, RowRole, Statistic, Unit};

pub(super) const RULE: Rule =
    Rule { id: "cut_sessions", title: "hardly any session was cut by its context", look };

/// Share of cut sessions above which a result does not hold.
const SHARE_MAX: f64 = 0.01;
/// How documents name what was cut.
const CUT: [&str; 4] = ["overflow", "truncated", "context exceeded", "context length exceeded"];
/// What is counted.
const THINGS: [&str; 6] = ["session", "request", "conversation", "trajector", "trace", "context"];

fn look(subject: &Subject) -> Looked {
    let mut rows: Vec<(&Cell, &Figure, f64, Option<f64>)> = Vec::new();
    for role in [RowRole::Measured, RowRole::Summary, RowRole::Stated] {
        for cell in subject.cells(role) {
            let cut = cell.row.figures.iter().find_map(|figure| Some((figure, cut(figure)?)));
            rows.extend(
                cut.map(|(figure, count)| (cell, figure, count, share(cell, figure, count))),
            );
        }
    }
    if rows.is_empty() {
        return Looked::Needs("counts of sessions or requests that were cut");
    }
    let seen = rows.len();
    rows.retain(|(_, _, count, share)| share.map_or(*count > 0.0, |share| share > SHARE_MAX));
    rows.sort_by(|a, b| b.3.unwrap_or(0.0).total_cmp(&a.3.unwrap_or(0.0)));
    let Some((cell, figure, _, share)) = rows.first() else { return Looked::Found(Vec::new()) };
    let of = share.map(|share| format!(", {:.1} %", share * 100.0)).unwrap_or_default();
    let text = format!(
        "{} of {seen} rows hold sessions or requests that were cut, such as {}: {} {}{of}; the long \
         turns that they would have had are in no latency and no rate",
        rows.len(),
        cell.name(),
        figure.quantity,
        super::super::subject::shown(figure),
    );
    let level = if share.is_some() { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .with("cut", figure.value.unwrap_or_default(), "")
        .at_all(rows.iter().map(|(cell, figure, ..)| cell.spot_of_figure(figure)))
        .remedy("give a longer context or shorter sessions, and count what was cut as not served");
    Looked::Found(vec![finding])
}

/// How many were cut, or which share.
fn cut(figure: &Figure) -> Option<f64> {
    let Quantity::Other(name) = &figure.quantity else { return None };
    let name = name.to_lowercase().replace(['_', '-'], " ");
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_count = matches!(figure.unit, Unit::Count | Unit::One | Unit::Percent);
    let is_one = matches!(figure.statistic, Statistic::Value | Statistic::Sum);
    let value = figure.canonical().filter(|_| is_count && is_one && has(&CUT) && has(&THINGS))?;
    (value >= 0.0).then_some(value)
}

/// The share that was cut: as stated, or of the requests of the row.
fn share(cell: &Cell, figure: &Figure, count: f64) -> Option<f64> {
    if figure.unit == Unit::Percent {
        return Some(count);
    }
    let all = cell.row.value(&Quantity::Requests, Statistic::Value);
    let all = all.or_else(|| cell.requests()).filter(|all| *all >= count && *all > 0.0)?;
    Some(count / all)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::PartKind;

    fn document(name: &str, count: &str) -> Sheet {
        let figures = [
            (Quantity::RequestsOk, Statistic::Value, "1000", Unit::Count),
            (Quantity::Other(name.to_owned()), Statistic::Value, count, Unit::Count),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn one_in_a_hundred_may_be_cut_and_no_more() {
        let name = "sessions_overflowed";
        let spoil = |sheet: &mut Sheet| *sheet = document(name, "42");
        check("cut_sessions", &document(name, "9"), spoil, Level::Strong, "42, 4.2 %");
        assert_eq!(found("cut_sessions", &[document("truncated logs", "42")]), []);
    }
}
