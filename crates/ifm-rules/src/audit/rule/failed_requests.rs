//! Hardly any request of a level failed.
//!
//! Latencies and rates cover the answered requests: a server that refuses part of the work is quick
//! with the rest.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic};
use ifm_metrics::slo::ERROR_RATE_MAX;

pub(super) const RULE: Rule =
    Rule { id: "failed_requests", title: "hardly any request of a level failed", look };

/// Share of failed requests from which the rest says little about the requested load.
const STRONG: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let levels: Vec<(&Cell, f64, f64)> = subject
        .cells(RowRole::Measured)
        .filter_map(|cell| counts(cell).map(|(failed, all)| (cell, failed, all)))
        .collect();
    if levels.is_empty() {
        return Looked::Needs("counts of requests and of those that failed");
    }
    let share = |level: &(&Cell, f64, f64)| level.1 / level.2;
    let mut high: Vec<_> = levels.iter().filter(|level| share(level) > ERROR_RATE_MAX).collect();
    high.order_by(|a, b| share(b).total_cmp(&share(a)));
    let Some(worst) = high.first() else { return Looked::Found(Vec::new()) };
    let (cell, failed, all) = worst;
    let text = format!(
        "{} of {} levels had more than {:.0} % of their requests fail, such as {}: {failed} of {all}; \
         latencies and rates cover only the answered requests, and a server that refuses a part of \
         the work is quick with the rest",
        high.len(),
        levels.len(),
        ERROR_RATE_MAX * 100.0,
        cell.name(),
    );
    let level = if share(worst) > STRONG { Level::Strong } else { Level::Hint };
    let finding = Finding::new(RULE.id, level, text)
        .at_all(high.iter().map(|(cell, ..)| cell.spot()))
        .with("failed", *failed, "requests")
        .with("all", *all, "requests")
        .remedy("find out why they failed, or state their share with every latency");
    Looked::Found(vec![finding])
}

/// Requests that failed, and all.
fn counts(cell: &Cell) -> Option<(f64, f64)> {
    let value = |quantity: Metric| cell.row.value(quantity, Statistic::Value);
    let failed = value(Metric::RequestsFailed)?;
    let all = value(Metric::RequestsOk).map(|ok| ok + failed);
    let all = all.or_else(|| value(Metric::Requests)).filter(|all| *all > 0.0)?;
    (failed >= 0.0 && failed <= all).then_some((failed, all))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(failed: &str, others: (Metric, &str)) -> Sheet {
        let value = Statistic::Value;
        let row = row(
            3,
            &[
                (Metric::RequestsFailed, value, failed, Unit::Count),
                (others.0, value, others.1, Unit::Count),
            ],
        );
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn reports_levels_with_failed_requests() {
        let sound = document("1", (Metric::RequestsOk, "99"));
        let some = |sheet: &mut Sheet| *sheet = document("2", (Metric::RequestsOk, "98"));
        check("failed_requests", &sound, some, Level::Hint, "2 of 100");
        let many = |sheet: &mut Sheet| *sheet = document("25", (Metric::Requests, "100"));
        check("failed_requests", &sound, many, Level::Strong, "25 of 100");
        assert_eq!(found("failed_requests", &[document("0", (Metric::Requests, "0"))]), []);
    }
}
