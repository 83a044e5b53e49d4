//! A speed per user is the inverse of the gap, and scaling efficiency the ratio of two speeds.

use super::super::streams::{Sort, Stream, split, streams, users};
use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, Row, RowRole, Statistic};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "stated_speed",
    title: "stated speeds, gaps and efficiencies agree with each other",
    look,
};

/// Share by which means of speeds and inverses of mean gaps may differ.
const APART: f64 = 0.05;

/// What a figure is of: document, other settings, workload, streams.
type Of<'a> = (*const Sheet, &'a Factors, &'a Factors, u64);

fn look(subject: &Subject) -> Looked {
    let streams = streams(subject);
    let mut known: BTreeMap<Of, Vec<&Stream>> = BTreeMap::new();
    for stream in streams.iter().filter(|s| s.sort == Sort::Said && !s.workload.is_empty()) {
        let of = (stream.sheet(), &stream.of, &stream.workload, stream.users.to_bits());
        known.entry(of).or_default().push(stream);
    }
    let mut compared = 0;
    let mut findings = Vec::new();
    for same in known.values().filter(|same| same.len() > 1) {
        compared += 1;
        let order = |a: &&&Stream, b: &&&Stream| a.gap.middle().total_cmp(&b.gap.middle());
        let ends = same.iter().min_by(order).zip(same.iter().max_by(order));
        let is_apart =
            |(low, high): &(&&Stream, &&Stream)| high.gap.low > low.gap.high * (1.0 + APART);
        findings.extend(ends.filter(is_apart).map(|(low, high)| apart(low, high)));
    }
    for cell in subject.cells(RowRole::Stated) {
        let efficiency = cell.row.figure(Metric::Efficiency, Statistic::Value);
        let Some((efficiency, users)) = efficiency.zip(users(cell)) else { continue };
        let (workload, of) = split(&cell.factors);
        let at = |users: f64| -> Option<&&Stream> {
            let of = (std::ptr::from_ref(cell.sheet), &of, &workload, users.to_bits());
            known.get(&of)?.iter().find(|stream| !stream.is_derived)
        };
        let among = at(users).copied().or_else(|| top(&streams, cell, users));
        let Some((alone, among)) = at(1.0).zip(among) else { continue };
        compared += 1;
        findings.extend(inefficient(cell, efficiency, alone, among));
    }
    match compared {
        0 => Looked::Needs("stated speeds, gaps or efficiencies of one workload and load"),
        _ => Looked::Found(findings),
    }
}

fn apart(low: &Stream, high: &Stream) -> Finding {
    let text = format!(
        "{} at {} streams: one figure says {:.2} ms between tokens, another {:.2} ms",
        low.workload_name(),
        low.users,
        low.gap.middle(),
        high.gap.middle()
    );
    Finding::new(RULE.id, Level::Strong, text)
        .at_all([low.cell.spot(), high.cell.spot()])
        .with("gap of one", low.gap.middle(), "ms")
        .with("gap of the other", high.gap.middle(), "ms")
        .remedy("state what each one is a mean over")
}

/// The fastest of a range of speeds at this number of streams that names no workload: the speed of
/// the workload with the largest efficiency there, if it is also the fastest by itself.
fn top<'r, 'c>(streams: &'r [Stream<'c>], of: &Cell, users: f64) -> Option<&'r Stream<'c>> {
    let said = |stream: &&Stream| {
        stream.sort == Sort::Said && !stream.is_derived && std::ptr::eq(stream.cell.sheet, of.sheet)
    };
    let fastest = |a: &&Stream, b: &&Stream| a.gap.middle().total_cmp(&b.gap.middle());
    let alone = streams.iter().filter(said).filter(|s| s.users == 1.0).min_by(fastest)?;
    let (workload, _) = split(&of.factors);
    let share = |row: &Row| row.value(Metric::Efficiency, Statistic::Value);
    let mut others = of.part.rows.iter().filter(|row| row.text == of.row.text);
    let is_largest = others.all(|row| share(row) <= share(of.row));
    let range: Vec<&Stream> = streams
        .iter()
        .filter(said)
        .filter(|stream| stream.users == users && stream.workload.is_empty())
        .collect();
    let [a, b] = range.as_slice() else { return None };
    let is_range = a.cell.row.text.is_some() && a.cell.row.text == b.cell.row.text;
    let is_top = is_largest && is_range && alone.workload == workload && !workload.is_empty();
    [*a, *b].into_iter().min_by(fastest).filter(|_| is_top)
}

fn inefficient(
    cell: &Cell,
    efficiency: &Figure,
    alone: &Stream,
    among: &Stream,
) -> Option<Finding> {
    let stated = efficiency.canonical()?;
    let ratio = alone.gap.middle() / among.gap.middle();
    if (ratio - stated).abs() <= slack(efficiency) + APART * ratio {
        return None;
    }
    let text = format!(
        "{}: a stated efficiency of {:.0} % at {} streams, while the stated speeds give {:.0} %",
        alone.workload_name(),
        stated * 100.0,
        among.users,
        ratio * 100.0
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all([cell.spot(), alone.cell.spot(), among.cell.spot()])
        .with("stated", stated, "")
        .with("of the speeds", ratio, "")
        .remedy("name the speed that the efficiency refers to");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Unit, key};

    fn stated(users: u32, quantity: Metric, printed: &str, unit: Unit) -> Row {
        let mut row = row(users, &[(quantity, Statistic::Value, printed, unit)]);
        row.role = RowRole::Stated;
        row.factors = row.factors.with(key::WORKLOAD, "Chat").with(key::CONCURRENCY, users);
        row
    }

    fn document(gap: &str, efficiency: &str) -> Sheet {
        let rows = vec![
            stated(1, Metric::UserSpeed, "172.5", Unit::PerS),
            stated(1, Metric::Itl, gap, Unit::Ms),
            stated(32, Metric::UserSpeed, "70.6", Unit::PerS),
            stated(32, Metric::Efficiency, efficiency, Unit::Percent),
        ];
        sheet(PartKind::Conclusion, rows)
    }

    /// As a narrative says it: the efficiencies name workloads, the range of speeds does not.
    #[test]
    fn checks_an_efficiency_against_the_top_of_a_range() {
        let document = |top: &str, efficiency: &str| {
            let mut rows = vec![stated(1, Metric::UserSpeed, "172.5", Unit::PerS)];
            for (workload, share) in [("Chat", efficiency), ("Agent", "8")] {
                let mut row = stated(32, Metric::Efficiency, share, Unit::Percent);
                row.text = Some("efficiency ranges".to_owned());
                row.factors.set(key::WORKLOAD, workload);
                rows.push(row);
            }
            for speed in ["13.2", top] {
                let mut row = stated(32, Metric::UserSpeed, speed, Unit::PerS);
                row.factors = Factors::default().with(key::CONCURRENCY, 32);
                row.text = Some("speed ranges".to_owned());
                rows.push(row);
            }
            sheet(PartKind::Conclusion, rows)
        };
        let sound = document("70.6", "41");
        let share = |sheet: &mut Sheet| *sheet = document("70.6", "51");
        check(
            "stated_speed",
            &sound,
            share,
            Level::Strong,
            "Chat: a stated efficiency of 51 % at 32 streams",
        );
        let speed = |sheet: &mut Sheet| *sheet = document("90.6", "41");
        check("stated_speed", &sound, speed, Level::Strong, "the stated speeds give 53 %");
    }

    #[test]
    fn reports_contradicting_figures() {
        let gap = |sheet: &mut Sheet| *sheet = document("8.5", "41");
        check("stated_speed", &document("5.8", "41"), gap, Level::Strong, "another 8.50 ms");
        let share = |sheet: &mut Sheet| *sheet = document("5.8", "61");
        check("stated_speed", &document("5.8", "41"), share, Level::Strong, "give 41 %");
    }
}
