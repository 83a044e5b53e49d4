//! A comparison is of two sides that differ in one thing.
//!
//! Rankings, ratios of measured rows, and sentences with two figures of one quantity are
//! comparisons. Any difference other than the compared factor is reported.

use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use super::cached_total::hit_share;
use super::stated_ratio::parts;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic, key};
use std::collections::BTreeMap;

pub(super) const RULE: Rule =
    Rule { id: "unlike_sides", title: "compared sides differ in one thing", look };

/// What makes two sides unlike, and its name.
const SETTINGS: [(&str, &str); 11] = [
    (key::WORKLOAD, "workload"),
    (key::INPUT_TOKENS, "prompt length"),
    (key::OUTPUT_TOKENS, "answer length"),
    (key::DEPTH_TOKENS, "context length"),
    (key::CONCURRENCY, "number of streams"),
    (key::RATE, "request rate"),
    (key::BATCH_SIZE, "batch size"),
    (key::GPU, "machine"),
    (key::TENSOR_PARALLEL, "number of devices"),
    (key::ENGINE, "engine"),
    (key::POWER_LIMIT_W, "power limit"),
];
/// What a comparison may be about, and its name.
const SUBJECTS: [(&str, &str); 3] =
    [(key::MODEL, "model"), (key::CONDITION, "condition"), (key::QUANTIZATION, "weight format")];
/// Shares of prompts that a cache served are unlike from here on: cached tokens are not computed.
const HITS_APART: f64 = 0.1;
/// How references are named that a document takes from elsewhere.
const REFERENCE: &str = "reference of ";

fn look(subject: &Subject) -> Looked {
    let mut compared = 0;
    let mut findings = Vec::new();
    findings.extend(rankings(subject, &mut compared));
    findings.extend(ratios(subject, &mut compared));
    findings.extend(sentences(subject, &mut compared));
    findings.extend(references(subject, &mut compared));
    match compared {
        0 => Looked::Needs("rankings, ratios or sentences that set two figures side by side"),
        _ => Looked::Found(findings),
    }
}

/// Names of the settings that differ, among those that both sides state.
fn differing(a: &Cell, b: &Cell, settings: &[(&str, &'static str)]) -> Vec<&'static str> {
    let differs = |name: &str| match (a.factors.get(name), b.factors.get(name)) {
        (Some(a), Some(b)) => a != b && !is_same_number(a, b),
        _ => false,
    };
    settings.iter().filter(|(name, _)| differs(name)).map(|(_, word)| *word).collect()
}

/// `1` and `1.0` are the same setting.
fn is_same_number(a: &str, b: &str) -> bool {
    matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// Rows of one ranking: named things that differ in nothing else, or one setting that is ranked.
fn rankings(subject: &Subject, compared: &mut usize) -> Option<Finding> {
    let mut unlike: Vec<(Vec<&str>, Spot, Spot)> = Vec::new();
    for role in [RowRole::Measured, RowRole::Summary, RowRole::Stated] {
        for table in subject.tables(role) {
            let is_ranked =
                |cell: &&&Cell| cell.row.figure(Metric::Rank, Statistic::Value).is_some();
            let ranked: Vec<&Cell> = table.iter().filter(is_ranked).copied().collect();
            let Some((first, others)) = ranked.split_first() else { continue };
            *compared += usize::from(!others.is_empty());
            let other = others.iter().find_map(|other| {
                let mut settings = differing(first, other, &SETTINGS);
                let hits = hit_share(first).zip(hit_share(other));
                if hits.is_some_and(|(a, b)| (a - b).abs() > HITS_APART) {
                    settings.push("share of prompts from a cache");
                }
                let is_named = first.row.label != other.row.label
                    || !differing(first, other, &SUBJECTS).is_empty();
                // One setting alone may be what is ranked.
                let free = usize::from(!is_named);
                (settings.len() > free).then_some((settings, *other))
            });
            unlike.extend(other.map(|(what, other)| (what, first.spot(), other.spot())));
        }
    }
    let (what, ..) = unlike.first()?;
    let text = format!(
        "{} rankings hold rows that differ in more than what is ranked: {}",
        unlike.len(),
        what.join(", ")
    );
    let spots = unlike.iter().flat_map(|(_, a, b)| [a.clone(), b.clone()]);
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all(spots)
        .remedy("rank rows of one workload, load, engine and machine");
    Some(finding)
}

/// Stated ratios of two measured rows.
fn ratios(subject: &Subject, compared: &mut usize) -> Option<Finding> {
    let mut unlike: Vec<(Vec<&str>, Vec<Spot>)> = Vec::new();
    for stated in subject.cells(RowRole::Stated) {
        let Some((_, above, below)) = parts(stated) else { continue };
        let holds = |sought: Option<f64>| {
            let mut cells = subject.cells(RowRole::Measured).filter(move |cell| {
                std::ptr::eq(cell.sheet, stated.sheet)
                    && cell.row.figures.iter().any(|f| f.value.is_some() && f.value == sought)
            });
            // A number that two rows hold says nothing of either.
            let first = cells.next();
            first.filter(|_| cells.next().is_none())
        };
        let Some((a, b)) = holds(above.value).zip(holds(below.value)) else { continue };
        *compared += 1;
        let mut what = differing(a, b, &SUBJECTS);
        what.extend(differing(a, b, &SETTINGS));
        if what.len() > 1 {
            unlike.push((what, vec![stated.spot(), a.spot(), b.spot()]));
        }
    }
    let (what, _) = unlike.first()?;
    let text = format!(
        "{} stated ratios are of rows that differ in more than one thing: {}",
        unlike.len(),
        what.join(", ")
    );
    let finding = Finding::new(RULE.id, Level::Strong, text)
        .at_all(unlike.iter().flat_map(|(_, spots)| spots.clone()))
        .remedy("compare rows that differ only in what the ratio is about");
    Some(finding)
}

/// Sentences with two figures of one quantity: "from 172 (chat, 1 user) to 13 (agents, 32 users)".
fn sentences(subject: &Subject, compared: &mut usize) -> Option<Finding> {
    let mut sentences: BTreeMap<(&str, &str), Vec<&Cell>> = BTreeMap::new();
    for cell in subject.cells(RowRole::Stated) {
        if let Some(text) = cell.row.text.as_deref() {
            sentences.entry((&cell.sheet.source.name, text)).or_default().push(cell);
        }
    }
    let mut unlike: Vec<(Vec<&str>, Metric, Spot)> = Vec::new();
    for cells in sentences.values() {
        let quantity = |cell: &Cell| Some(&cell.row.figures.first()?.quantity).cloned();
        let pairs = cells.windows(2).filter_map(|pair| {
            let [a, b] = pair else { return None };
            let of = quantity(a).filter(|of| quantity(b).as_ref() == Some(of))?;
            (!matches!(of, Metric::Other(_))).then_some((*a, *b))
        });
        for (a, b) in pairs {
            *compared += 1;
            let mut what = differing(a, b, &SUBJECTS);
            what.extend(differing(a, b, &SETTINGS));
            let figure = a.row.figures.first();
            if let Some(figure) = figure.filter(|_| what.len() > 1) {
                unlike.push((what, figure.quantity, a.spot()));
            }
        }
    }
    unlike.order_by(|a, b| a.2.cmp(&b.2));
    let (what, quantity, _) = unlike.first()?;
    let text = format!(
        "sentences set figures side by side that differ in more than one thing ({}), such as \
         {quantity} by {}: the cause of the difference is ambiguous",
        unlike.len(),
        what.join(" and ")
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(unlike.iter().map(|(.., spot)| spot.clone()))
        .remedy("change one thing at a time");
    Some(finding)
}

/// Other people's figures used as a reference, next to results that do not say what they were
/// measured on.
fn references(subject: &Subject, compared: &mut usize) -> Option<Finding> {
    let mut found: Vec<&Cell> = Vec::new();
    for cell in subject.cells(RowRole::Stated) {
        let is_reference = |quantity: Metric| matches!(quantity, Metric::Other(name) if name.as_str().starts_with(REFERENCE));
        if cell.row.figures.iter().any(|figure| is_reference(figure.quantity)) {
            *compared += 1;
            found.push(cell);
        }
    }
    found.retain(|reference| {
        let all = [RowRole::Measured, RowRole::Stated].into_iter();
        let mut own = all.flat_map(|role| subject.cells(role)).filter(|cell| {
            std::ptr::eq(cell.sheet, reference.sheet) && cell.row.text != reference.row.text
        });
        !own.any(|cell| {
            cell.factors.get(key::MODEL).is_some() && cell.factors.get(key::GPU).is_some()
        })
    });
    let first = found.first()?;
    let text = format!(
        "other people's figures are used as a reference (\"{}\"), while the document's own do not say \
         which model and machine they are of",
        first.row.text.as_deref().unwrap_or_default()
    );
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all(found.iter().map(|cell| cell.spot()))
        .remedy("name model, machine, lengths and load of both, and where the reference is from");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Figure, PartKind, Row, Unit};

    fn ranked(rank: u32, label: &str, input: &str) -> Row {
        let mut row = row(rank, &[(Metric::OutputRate, Statistic::Mean, "80.0", Unit::PerS)]);
        row.role = RowRole::Summary;
        row.label = Some(label.to_owned());
        let rank = Figure::new(Metric::Rank, Statistic::Value, f64::from(rank), Unit::Count);
        row.figures.push(rank);
        row.factors = row.factors.with(key::INPUT_TOKENS, input).with(key::BATCH_SIZE, 1);
        row
    }

    #[test]
    fn reports_a_ranking_of_two_lengths() {
        let of = |input: &str| {
            sheet(PartKind::StaticBatch, vec![ranked(1, "red", "128"), ranked(2, "blue", input)])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("2048");
        check("unlike_sides", &of("128"), corrupt, Level::Strong, "prompt length");
    }

    #[test]
    fn reports_a_ranking_of_two_corpora_by_names_and_cache_hits() {
        let of = |corpus: &str, hits: &str| {
            let with = |rank, label, corpus: &str, hits: &str| {
                let mut row = ranked(rank, label, "128");
                row.factors = row.factors.with(key::WORKLOAD, corpus);
                let name = Metric::other("cache hit rate");
                let share =
                    Figure::new(name, Statistic::Value, hits.parse().unwrap(), Unit::Percent);
                row.figures.push(share);
                row
            };
            let rows = vec![with(1, "red", "traces 04", "96.8"), with(2, "blue", corpus, hits)];
            sheet(PartKind::Serving, rows)
        };
        let sound = of("traces 04", "95");
        let hits = |sheet: &mut Sheet| *sheet = of("traces 04", "85.8");
        check("unlike_sides", &sound, hits, Level::Strong, "share of prompts from a cache");
        let corpus = |sheet: &mut Sheet| *sheet = of("traces 05", "95");
        check("unlike_sides", &sound, corpus, Level::Strong, "workload");
    }

    fn stated(workload: &str, users: u32, printed: &str) -> Row {
        let mut row = row(6, &[(Metric::UserSpeed, Statistic::Value, printed, Unit::PerS)]);
        row.role = RowRole::Stated;
        row.text = Some("From the one down to the other.".to_owned());
        row.factors = row.factors.with(key::WORKLOAD, workload).with(key::CONCURRENCY, users);
        row
    }

    #[test]
    fn sentence_that_changes_two_factors_is_a_hint() {
        let of = |users| {
            let rows = vec![stated("Chat", 1, "172.5"), stated("Agents", users, "13.2")];
            sheet(PartKind::Conclusion, rows)
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of(32);
        check("unlike_sides", &of(1), corrupt, Level::Hint, "workload and number of streams");
    }

    #[test]
    fn reports_a_ratio_across_machines_and_models() {
        let of = |gpu: &str| {
            let level = |line, model: &str, gpu: &str, printed: &str| {
                let mut row = row(line, &[(Metric::Itl, Statistic::Median, printed, Unit::Ms)]);
                row.factors = row.factors.with(key::MODEL, model).with(key::GPU, gpu);
                row
            };
            let other = |name: &str| Metric::other(name);
            let unit = || Unit::Other(String::new());
            let mut ratio = row(
                9,
                &[
                    (Metric::Ratio, Statistic::Value, "2.0", Unit::One),
                    (other("numerator"), Statistic::Value, "30.0", unit()),
                    (other("denominator"), Statistic::Value, "15.0", unit()),
                ],
            );
            ratio.role = RowRole::Stated;
            let rows = vec![level(3, "red", "l4", "30.0"), level(4, "blue", gpu, "15.0"), ratio];
            sheet(PartKind::Serving, rows)
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("h100");
        check("unlike_sides", &of("l4"), corrupt, Level::Strong, "model, machine");
    }

    #[test]
    fn a_reference_needs_something_to_refer_to() {
        let of = |model: &str| {
            let mut own = stated("Chat", 1, "172.5");
            if !model.is_empty() {
                own.factors = own.factors.with(key::MODEL, model).with(key::GPU, "l4");
            }
            let limit = Metric::other("reference of Itl");
            let mut other = row(9, &[(limit, Statistic::Value, "4", Unit::Ms)]);
            other.role = RowRole::Stated;
            other.text = Some("For reference, others reach 4 ms.".to_owned());
            sheet(PartKind::Conclusion, vec![own, other])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("");
        check("unlike_sides", &of("red"), corrupt, Level::Hint, "do not say which model");
    }
}
