//! Sessions that were cut are not counted as served.
//!
//! A session whose context overflows ends early: the long turns that it would have had are in no
//! latency. Above one in a hundred a result of agents does not hold (the rule of InferenceX). Runs of
//! our own have a check for it, `sessions`.

use super::super::subject::Other;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::order::Order as _;
use ifm_core::sheet::{Quantity, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "cut_sessions", title: "hardly any session was cut by its context", look };

/// Share of cut sessions above which a result does not hold.
const SHARE_MAX: f64 = 0.01;
/// How documents name what was cut.
const CUT: [&str; 4] = ["overflow", "truncated", "context exceeded", "context length exceeded"];
/// What is counted.
const THINGS: [&str; 6] = ["session", "request", "conversation", "trajector", "trace", "context"];

fn look(subject: &Subject) -> Looked {
    let mut rows: Vec<(&Cell, Other, Option<f64>)> = Vec::new();
    for role in [RowRole::Measured, RowRole::Summary, RowRole::Stated] {
        for cell in subject.cells(role) {
            let Some(cut) = cell.others().into_iter().find(is_cut) else { continue };
            let share = share(cell, &cut);
            rows.push((cell, cut, share));
        }
    }
    if rows.is_empty() {
        return Looked::Needs("counts of sessions or requests that were cut");
    }
    let seen = rows.len();
    rows.retain(|(_, other, share)| share.map_or(other.value > 0.0, |share| share > SHARE_MAX));
    rows.order_by(|a, b| b.2.unwrap_or(0.0).total_cmp(&a.2.unwrap_or(0.0)));
    let Some((cell, worst, share)) = rows.first() else { return Looked::Found(Vec::new()) };
    let count = if worst.share().is_some() { String::new() } else { format!(" {}", worst.value) };
    let of = share.map(|share| format!(", {:.1} %", share * 100.0)).unwrap_or_default();
    let text = format!(
        "{} of {seen} rows hold sessions or requests that were cut, such as {}: {}{count}{of}; the long \
         turns that they would have had are in no latency and no rate",
        rows.len(),
        cell.name(),
        worst.name,
    );
    // What is called truncated may be answers that reached their length.
    let is_sure = share.is_some() && !worst.name.contains("truncated");
    let level = if is_sure { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .with("cut", worst.value, "")
        .at_all(rows.iter().map(|(_, other, _)| other.spot.clone()))
        .remedy("give a longer context or shorter sessions, and count what was cut as not served");
    Looked::Found(vec![finding])
}

/// Whether it counts what was cut.
fn is_cut(other: &Other) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| other.name.contains(word));
    has(&CUT) && has(&THINGS) && other.value >= 0.0
}

/// The share that was cut: as stated, or of the requests of the row. How many sessions there were, no
/// row tells.
fn share(cell: &Cell, other: &Other) -> Option<f64> {
    if let Some(share) = other.share() {
        return Some(share);
    }
    if !other.name.contains("request") {
        return None;
    }
    let all = cell.row.value(&Quantity::Requests, Statistic::Value);
    let all = all.or_else(|| cell.requests()).filter(|all| *all >= other.value && *all > 0.0)?;
    Some(other.value / all)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(name: &str, count: &str) -> Sheet {
        let figures = [
            (Quantity::RequestsOk, Statistic::Value, "1000", Unit::Count),
            (Quantity::Other(name.to_owned()), Statistic::Value, count, Unit::Count),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn one_in_a_hundred_may_be_cut_and_no_more() {
        let name = "requests_overflowed";
        let spoil = |sheet: &mut Sheet| *sheet = document(name, "42");
        check("cut_sessions", &document(name, "9"), spoil, Level::Strong, "42, 4.2 %");
        // Of how many sessions, nobody says; and answers may be truncated as asked.
        for name in ["sessions_overflowed", "truncated_requests"] {
            let found = found("cut_sessions", &[document(name, "42")]);
            assert_eq!(
                found.iter().map(|it| it.level).collect::<Vec<_>>(),
                [Level::Hint],
                "{name}"
            );
        }
        let ratio = found("cut_sessions", &[document("overflowed_session_ratio", "0.05")]);
        assert_eq!(ratio.iter().map(|it| it.level).collect::<Vec<_>>(), [Level::Strong]);
        assert_eq!(found("cut_sessions", &[document("truncated logs", "42")]), []);
    }
}
