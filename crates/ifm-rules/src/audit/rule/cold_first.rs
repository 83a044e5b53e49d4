//! Measurements before the server was warm show up in the tail.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic, key};
use ifm_metrics::cold::{At, is_break, neighbors};

pub(super) const RULE: Rule =
    Rule { id: "cold_first", title: "tails contain no cold first requests", look };

/// A tail of a single stream that is this many times its median has no queue to come from.
const ALONE: f64 = 3.0;
const TAILS: [Statistic; 2] = [Statistic::Percentile(95.0), Statistic::Percentile(99.0)];

fn look(subject: &Subject) -> Looked {
    let mut findings = Vec::new();
    let mut seen = 0;
    for cell in subject.cells(RowRole::Measured).filter(|cell| is_alone(cell)) {
        let (Some(median), Some((p, tail))) = (
            cell.row.value(Metric::Ttft, Statistic::Median).filter(|median| *median > 0.0),
            tail(cell, Metric::Ttft),
        ) else {
            continue;
        };
        seen += 1;
        if tail > ALONE * median {
            let text = format!(
                "{}: one request at a time, and p{p} of the TTFT is {:.1} times its median ({tail} \
                 and {median} ms): a cold first request, or prompts of different length",
                cell.name(),
                tail / median
            );
            findings.push(finding(cell, text, tail, median));
        }
    }
    let (more, compared) = breaks(subject);
    findings.extend(more);
    match seen + compared {
        0 => Looked::Needs("tails of single streams, or of several levels"),
        _ => Looked::Found(findings),
    }
}

fn finding(cell: &Cell, text: String, tail: f64, reference: f64) -> Finding {
    Finding::new(RULE.id, Level::Hint, text)
        .at(cell.spot())
        .with("tail", tail, "ms")
        .with("beside", reference, "ms")
        .remedy("warm up, and leave the first requests out")
}

fn is_alone(cell: &Cell) -> bool {
    cell.factors.get(key::STRATEGY) == Some("synchronous")
        || cell.factors.number(key::CONCURRENCY) == Some(1.0)
}

fn tail(cell: &Cell, quantity: Metric) -> Option<(f64, f64)> {
    TAILS.iter().find_map(|statistic| match statistic {
        Statistic::Percentile(p) => Some((*p, cell.row.value(quantity, *statistic)?)),
        _ => None,
    })
}

/// Levels whose tail is longer than that of the next heavier one, and pairs that were compared.
fn breaks(subject: &Subject) -> (Vec<Finding>, usize) {
    let (mut findings, mut compared) = (Vec::new(), 0);
    for sweep in subject.sweeps() {
        let at = |cell: &'_ Cell| {
            let (p, time) = tail(cell, Metric::Itl).filter(|(_, tail)| *tail > 0.0)?;
            Some((cell.users()?, p, time))
        };
        let known = sweep.into_iter().filter_map(|cell| Some((at(cell)?, cell)));
        let measured: Vec<At<(f64, &Cell)>> =
            known.map(|((load, p, time), cell)| At { load, time, of: (p, cell) }).collect();
        for (lighter, heavier) in neighbors(&measured) {
            let ((p, cell), (p_heavier, beside)) = (lighter.of, heavier.of);
            if p != p_heavier {
                continue;
            }
            compared += 1;
            if is_break(lighter.time, heavier.time) {
                let text = format!(
                    "p{p} of the ITL is {} ms with {} requests in flight and {} ms with {}: something \
                     other than the load slowed the lighter level, a cold start or a disturbance",
                    lighter.time, lighter.load, heavier.time, heavier.load
                );
                let found = finding(cell, text, lighter.time, heavier.time);
                findings.push(found.at(beside.spot()));
            }
        }
    }
    (findings, compared)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn level(line: u32, users: u32, ttft: &str, itl: &str) -> ifm_core::sheet::Row {
        let mut row = row(
            line,
            &[
                (Metric::Ttft, Statistic::Median, "50.0", Unit::Ms),
                (Metric::Ttft, Statistic::Percentile(95.0), ttft, Unit::Ms),
                (Metric::Itl, Statistic::Percentile(99.0), itl, Unit::Ms),
            ],
        );
        row.factors = row.factors.with(key::CONCURRENCY, users);
        row
    }

    fn document(ttft: &str, itl: &str) -> Sheet {
        let rows = vec![
            level(3, 1, ttft, "12.0"),
            level(4, 8, "500.0", itl),
            level(5, 16, "700.0", "30.0"),
        ];
        sheet(PartKind::Serving, rows)
    }

    #[test]
    fn reports_a_cold_first_request_of_a_single_stream() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("210.0", "25.0");
        check(
            "cold_first",
            &document("70.0", "25.0"),
            corrupt,
            Level::Hint,
            "4.2 times its median",
        );
    }

    #[test]
    fn reports_a_lighter_level_with_a_longer_tail() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("70.0", "75.0");
        check(
            "cold_first",
            &document("70.0", "25.0"),
            corrupt,
            Level::Hint,
            "75 ms with 8 requests",
        );
    }
}
