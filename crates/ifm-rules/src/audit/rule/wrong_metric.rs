//! Who is ranked by decode speed is not the fastest where most of the time goes into the prompt.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{PartKind, RowRole, Statistic, key};

pub(super) const RULE: Rule = Rule {
    id: "wrong_metric",
    title: "rankings use the figure that most of the time is spent on",
    look,
};

/// Share of the whole time that prompts take from which on decode speed can crown the wrong one.
const PREFILL_SHARE: f64 = 1.0 / 3.0;
/// Share from which on decode speed does not decide a ranking, whoever is first.
const PREFILL_BOUND: f64 = 0.5;
/// By how much the whole time of another must be shorter to be called faster.
const FASTER: f64 = 0.05;
/// Quantities that say how fast tokens follow each other once prompts are read.
const DECODE: [Metric; 3] = [Metric::OutputRate, Metric::DecodeRate, Metric::UserSpeed];

struct Place<'c> {
    cell: &'c Cell<'c>,
    e2e_ms: f64,
    prefill_share: f64,
}

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for table in subject.tables(RowRole::Summary) {
        let mut places: Vec<Place> =
            table.into_iter().filter_map(|cell| place(subject, cell)).collect();
        if places.len() < 2 {
            continue;
        }
        seen += 1;
        places.order_by(|a, b| rank(a.cell).total_cmp(&rank(b.cell)));
        findings.extend(tell(&places));
    }
    match seen {
        0 => Looked::Needs("rankings of batches together with their lengths and whole times"),
        _ => Looked::Found(findings),
    }
}

fn tell(places: &[Place]) -> Option<Finding> {
    let first = places.first()?;
    let fastest = places.iter().min_by(|a, b| a.e2e_ms.total_cmp(&b.e2e_ms))?;
    let mut shares: Vec<f64> = places.iter().map(|place| place.prefill_share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let share = shares.get(shares.len() / 2).copied()?;
    if share < PREFILL_SHARE {
        return None;
    }
    let is_wrong = first.e2e_ms > fastest.e2e_ms * (1.0 + FASTER);
    if !is_wrong && share < PREFILL_BOUND {
        return None;
    }
    let mut text = format!(
        "the first place of the document's ranking goes to the fastest decode, while prompts of {} tokens take {:.0} % of \
         the time of an answer of {} (the median of the ranked)",
        first.cell.factors.get(key::INPUT_TOKENS).unwrap_or("?"),
        share * 100.0,
        first.cell.factors.get(key::OUTPUT_TOKENS).unwrap_or("?"),
    );
    if is_wrong {
        text.push_str(&format!(
            ": {} is ranked first and needs {:.2} s, {} needs {:.2} s",
            first.cell.name(),
            first.e2e_ms / 1e3,
            fastest.cell.name(),
            fastest.e2e_ms / 1e3
        ));
    }
    let level = if is_wrong { Level::Strong } else { Level::Hint };
    let mut finding = Finding::new(RULE.id, level, text)
        .at(first.cell.spot())
        .with("share of prompts", share, "")
        .with("time of the first", first.e2e_ms, "ms")
        .with("time of the fastest", fastest.e2e_ms, "ms");
    if is_wrong {
        finding = finding.at(fastest.cell.spot());
    }
    Some(finding.remedy("rank by the whole time, or by prompt and decode speed separately"))
}

fn rank(cell: &Cell) -> f64 {
    cell.row.value(Metric::Rank, Statistic::Value).unwrap_or(f64::MAX)
}

/// A place of a ranking by decode speed, with the whole time of what is ranked.
fn place<'c>(subject: &'c Subject, cell: &'c Cell<'c>) -> Option<Place<'c>> {
    cell.row.value(Metric::Rank, Statistic::Value)?;
    if cell.part.kind != PartKind::StaticBatch {
        return None;
    }
    let rate = DECODE.iter().find_map(|quantity| cell.central(*quantity)?.canonical())?;
    let output = cell.factors.number(key::OUTPUT_TOKENS)?;
    let batch = cell.factors.number(key::BATCH_SIZE).unwrap_or(1.0);
    let e2e_ms = whole_time(subject, cell)?;
    // A rate over the whole time leaves nothing for prompts, and such a ranking is not a concern.
    let prefill_share = 1.0 - batch * output / rate * 1e3 / e2e_ms;
    (rate > 0.0 && prefill_share > 0.0).then_some(Place { cell, e2e_ms, prefill_share })
}

/// The whole time of what a place ranks: of its summary, else the mean of its runs.
fn whole_time(subject: &Subject, place: &Cell) -> Option<f64> {
    let own =
        |cell: &&Cell| std::ptr::eq(cell.sheet, place.sheet) && cell.setting() == place.setting();
    let time = |cell: &Cell| cell.central(Metric::E2e)?.canonical().filter(|ms| *ms > 0.0);
    if let Some(stated) = subject.cells(RowRole::Summary).filter(own).find_map(time) {
        return Some(stated);
    }
    let runs: Vec<f64> = subject.cells(RowRole::Measured).filter(own).filter_map(time).collect();
    (!runs.is_empty()).then(|| runs.iter().sum::<f64>() / runs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Row, Unit};

    fn summary(line: u32, model: &str, rank: &str, rate: &str, e2e: &str) -> Row {
        let mut row = row(
            line,
            &[
                (Metric::Rank, Statistic::Value, rank, Unit::Count),
                (Metric::OutputRate, Statistic::Mean, rate, Unit::PerS),
                (Metric::E2e, Statistic::Mean, e2e, Unit::S),
            ],
        );
        row.role = RowRole::Summary;
        row.label = Some(model.to_owned());
        row.factors = row.factors.with(key::MODEL, model);
        row
    }

    /// 100 tokens at 100 per second; the second needs as long as the first.
    fn document(whole: [&str; 2]) -> Sheet {
        let rows = vec![
            summary(4, "red", "1", "100.0", whole[0]),
            summary(5, "blue", "2", "95.0", whole[1]),
        ];
        let mut sheet = sheet(PartKind::StaticBatch, rows);
        sheet.parts[0].factors = sheet.parts[0]
            .factors
            .clone()
            .with(key::INPUT_TOKENS, 3000)
            .with(key::OUTPUT_TOKENS, 100);
        sheet
    }

    #[test]
    fn reports_a_winner_that_is_slower_overall() {
        let corrupt = |sheet: &mut Sheet| *sheet = document(["3.0", "2.0"]);
        check(
            "wrong_metric",
            &document(["1.1", "1.2"]),
            corrupt,
            Level::Strong,
            "red is ranked first",
        );
    }

    #[test]
    fn the_right_winner_by_the_wrong_metric_is_a_hint() {
        let findings = found("wrong_metric", &[document(["2.9", "3.0"])]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].level, Level::Hint);
    }
}
