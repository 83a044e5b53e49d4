//! Percentiles of one quantity do not fall, its mean lies between its ends, and neither a time nor
//! a count is negative.

use super::super::subject::{shown, slack};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Figure, PartKind, RowRole, Statistic, Unit};

pub(super) const RULE: Rule = Rule {
    id: "ordered_percentiles",
    title: "percentiles rise, and times and counts are possible",
    look,
};

/// Times and numbers of tokens. Rates are left out: a table may start with the largest or the
/// smallest rate.
const QUANTITIES: [Metric; 11] = [
    Metric::Ttft,
    Metric::Ttfat,
    Metric::Itl,
    Metric::Tpot,
    Metric::E2e,
    Metric::E2ePerToken,
    Metric::ClientQueue,
    Metric::Prefill,
    Metric::Duration,
    Metric::InputTokens,
    Metric::OutputTokens,
];
/// Whole numbers.
const COUNTS: [Metric; 4] =
    [Metric::Requests, Metric::RequestsOk, Metric::RequestsFailed, Metric::RequestsIncomplete];
/// Share that arithmetic of a machine may be off by.
const PRECISION: f64 = 1e-9;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut wrong: Vec<(&Cell, &Figure, String)> = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        if !matches!(cell.part.kind, PartKind::Serving | PartKind::StaticBatch) {
            continue;
        }
        for figure in &cell.row.figures {
            seen += usize::from(is_meant(figure));
            wrong.extend(impossible(figure).map(|words| (cell, figure, words)));
        }
        for quantity in &QUANTITIES {
            wrong.extend(disordered(cell, *quantity).map(|(figure, words)| (cell, figure, words)));
        }
    }
    if seen == 0 {
        return Looked::Needs("times, lengths or numbers of requests");
    }
    let Some((cell, _, words)) = wrong.first() else { return Looked::Found(Vec::new()) };
    let text = match wrong.len() {
        1 => format!("{}: {words}", cell.name()),
        n => format!("{n} figures are impossible; {}: {words}", cell.name()),
    };
    // A table of an unknown author may hold differences under the name of what differs.
    let is_known = |cell: &Cell| cell.part.tool.is_some() || cell.sheet.source.tool.is_some();
    let level = match wrong.iter().any(|(cell, ..)| is_known(cell)) {
        true => Level::Proof,
        false => Level::Strong,
    };
    let finding = Finding::new(RULE.id, level, text)
        .at_all(wrong.iter().map(|(cell, figure, _)| cell.spot_of_figure(figure)))
        .remedy("look for swapped figures, or figures of other requests");
    Looked::Found(vec![finding])
}

fn is_meant(figure: &Figure) -> bool {
    let is_known = QUANTITIES.contains(&figure.quantity) || COUNTS.contains(&figure.quantity);
    is_known && figure.canonical().is_some() && figure.unit != Unit::Percent
}

/// A number below zero, or a part of a request.
fn impossible(figure: &Figure) -> Option<String> {
    let value = figure.canonical().filter(|_| is_meant(figure))?;
    let shown = shown(figure);
    if value < 0.0 {
        return Some(format!("the {} is negative: {shown}", figure.quantity));
    }
    let is_count = COUNTS.contains(&figure.quantity) && figure.statistic == Statistic::Value;
    (is_count && value.fract() != 0.0)
        .then(|| format!("the number of {} is not a whole number: {shown}", figure.quantity))
}

/// The first figure of a quantity that is larger than the one after it.
fn disordered<'c>(cell: &'c Cell, quantity: Metric) -> Option<(&'c Figure, String)> {
    let mut ranked: Vec<(f64, &Figure)> = Vec::new();
    let figures = cell.row.figures.iter().filter(|f| f.quantity == quantity && is_meant(f));
    let mut mean = None;
    for figure in figures {
        let place = match figure.statistic {
            Statistic::Min => 0.0,
            Statistic::Median => 50.0,
            Statistic::Percentile(percent) => percent,
            Statistic::Max => 100.0,
            Statistic::Mean => {
                // Two means are of two populations.
                if mean.replace(figure).is_some() {
                    return None;
                }
                continue;
            }
            _ => continue,
        };
        if ranked.iter().any(|(other, _)| *other == place) {
            return None;
        }
        ranked.push((place, figure));
    }
    ranked.order_by(|a, b| a.0.total_cmp(&b.0));
    let pair = ranked.windows(2).find_map(|pair| {
        let [(_, low), (_, high)] = pair else { return None };
        is_above(low, high).then_some((*low, *high))
    });
    let smallest = ranked.first().filter(|(place, _)| *place == 0.0).map(|(_, figure)| *figure);
    let largest = ranked.last().filter(|(place, _)| *place == 100.0).map(|(_, figure)| *figure);
    let pair = pair
        .or_else(|| mean.zip(largest).filter(|(mean, largest)| is_above(mean, largest)))
        .or_else(|| smallest.zip(mean).filter(|(smallest, mean)| is_above(smallest, mean)));
    let (low, high) = pair?;
    let words = format!(
        "the {} of the {quantity} is {}, above its {} of {}",
        name(low.statistic),
        shown(low),
        name(high.statistic),
        shown(high)
    );
    Some((low, words))
}

/// Whether a figure is above another of its kind by more than rounding.
fn is_above(low: &Figure, high: &Figure) -> bool {
    if low.definition != high.definition {
        return false;
    }
    let (Some(low_value), Some(high_value)) = (low.canonical(), high.canonical()) else {
        return false;
    };
    low_value > high_value + slack(low) + slack(high) + PRECISION * low_value.abs()
}

fn name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Min => "minimum".to_owned(),
        Statistic::Max => "maximum".to_owned(),
        Statistic::Median => "median".to_owned(),
        Statistic::Mean => "mean".to_owned(),
        Statistic::Percentile(percent) => format!("P{percent}"),
        _ => "value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;

    fn document(mean: &str, median: &str, p99: &str) -> Sheet {
        let figures = [
            (Metric::Ttft, Statistic::Min, "10.00", Unit::Ms),
            (Metric::Ttft, Statistic::Mean, mean, Unit::Ms),
            (Metric::Ttft, Statistic::Median, median, Unit::Ms),
            (Metric::Ttft, Statistic::Percentile(99.0), p99, Unit::Ms),
            (Metric::Ttft, Statistic::Max, "90.00", Unit::Ms),
            (Metric::RequestsOk, Statistic::Value, "24", Unit::Count),
        ];
        let mut sheet = sheet(PartKind::Serving, vec![row(3, &figures)]);
        sheet.parts[0].tool = Some("vllm bench serve".to_owned());
        sheet
    }

    #[test]
    fn what_cannot_be_is_proof() {
        let sound = document("35.00", "30.00", "80.00");
        let say = |corrupted: Sheet, word: &str| {
            check("ordered_percentiles", &sound, |sheet| *sheet = corrupted, Level::Proof, word);
        };
        say(
            document("35.00", "81.00", "80.00"),
            "the median of the TTFT is 81.00 ms, above its P99",
        );
        say(document("35.00", "30.00", "91.00"), "the P99 of the TTFT is 91.00 ms, above its maxi");
        say(document("95.00", "30.00", "80.00"), "the mean of the TTFT is 95.00 ms, above its max");
        say(
            document("9.00", "30.00", "80.00"),
            "the minimum of the TTFT is 10.00 ms, above its mean",
        );
        say(document("35.00", "-30.00", "80.00"), "the TTFT is negative: -30.00 ms");
        let mut part = sound.clone();
        part.parts[0].rows[0].figures[5].value = Some(24.5);
        say(part, "not a whole number");
    }

    #[test]
    fn rounding_and_single_percentiles_are_left_alone() {
        assert_eq!(found("ordered_percentiles", &[document("35.00", "80.01", "80.00")]), []);
        let mut rates = document("35.00", "81.00", "80.00");
        for figure in &mut rates.parts[0].rows[0].figures {
            (figure.quantity, figure.unit) = (Metric::UserSpeed, Unit::PerS);
        }
        assert_eq!(found("ordered_percentiles", &[rates]), []);
    }
}
