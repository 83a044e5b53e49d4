//! The figures of a row are of the same requests: those that completed.

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, PartKind, RowRole, Statistic, meaning};

pub(super) const RULE: Rule =
    Rule { id: "one_population", title: "figures of a row cover the completed requests", look };

/// How many times more prompt tokens an answer's token may have at one level than at another.
const MORE: f64 = 1.1;
const FAR: f64 = 1.5;
/// Share of failed requests from which their short times move a mean.
const FAILED: f64 = 0.01;
/// Share by which a rate may be off what it counts.
const EXACT: f64 = 0.01;
/// Share of requests that the end cut off from which the others are the short ones.
const CUT_OFF: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for sweep in &subject.sweeps() {
        let (levels, found) = begun(sweep);
        seen += levels;
        findings.extend(found);
    }
    let served = |cell: &&Cell| cell.part.kind == PartKind::Serving;
    for cell in subject.cells(RowRole::Measured).filter(served) {
        for (look, least, level) in PARTS {
            let Some((share, text)) = look(cell) else { continue };
            seen += 1;
            findings.extend((share > least).then(|| {
                Finding::new(RULE.id, level, format!("{}: {text}", cell.name()))
                    .at(cell.spot())
                    .with("share of all requests", share * 100.0, "%")
                    .remedy(
                        "take times and rates of the requests that completed, and count the rest",
                    )
            }));
        }
    }
    match seen {
        0 => Looked::Needs("levels with rates of prompt and output tokens, or counts of requests"),
        _ => Looked::Found(findings),
    }
}

/// The share of requests that do not belong to a row's figures, and what they do there.
type Look = fn(&Cell) -> Option<(f64, String)>;

/// The checks of single rows: how, from which share on, and how sure they are.
const PARTS: [(Look, f64, Level); 3] = [
    (failed_in_times, FAILED, Level::Strong),
    (failed_in_rate, FAILED, Level::Hint),
    (cut_off, CUT_OFF, Level::Hint),
];

/// Prompt tokens for each output token of a level, with rounding.
struct Mix<'c> {
    cell: &'c Cell<'c>,
    low: f64,
    high: f64,
}

/// Levels that were compared; and a finding where prompts are counted that got no answer: for the
/// same answers there are more prompt tokens the heavier the load.
fn begun(sweep: &[&Cell]) -> (usize, Option<Finding>) {
    let mix = |cell: &'_ Cell| -> Option<(f64, f64)> {
        let rate = |quantity: Metric| {
            let figure = cell.row.figure(quantity, Statistic::Mean)?;
            let (value, slack) = (figure.canonical()?, slack(figure));
            (value > slack).then_some((value - slack, value + slack))
        };
        let (input, output) = (rate(Metric::InputRate)?, rate(Metric::OutputRate)?);
        // Lengths given as figures may be of other prompts.
        let is_told = cell.row.figures.iter().any(|f| f.quantity == Metric::InputTokens);
        (!is_told).then_some((input.0 / output.1, input.1 / output.0))
    };
    let mixes: Vec<Mix> = sweep
        .iter()
        .filter_map(|cell| mix(cell).map(|(low, high)| Mix { cell, low, high }))
        .collect();
    let least = mixes.iter().min_by(|a, b| a.high.total_cmp(&b.high));
    let most = mixes.iter().max_by(|a, b| a.low.total_cmp(&b.low));
    let Some((least, most)) = least.zip(most).filter(|_| mixes.len() > 1) else {
        return (0, None);
    };
    let times = most.low / least.high;
    if times < MORE || !are_answers_alike(least.cell, most.cell) {
        return (mixes.len(), None);
    }
    let is_contradicted = contradicts_its_sum(most.cell);
    let level = if times > FAR && is_contradicted { Level::Strong } else { Level::Hint };
    let text = format!(
        "{:.2} prompt tokens come to each output token in {}, and {:.2} in {}, {times:.2} times \
         as many, though all levels are of one workload: prompt tokens are counted for started \
         requests, output tokens only for answered ones",
        f64::midpoint(least.low, least.high),
        least.cell.name(),
        f64::midpoint(most.low, most.high),
        most.cell.name()
    );
    let finding = Finding::new(RULE.id, level, text)
        .at_all([most.cell.spot(), least.cell.spot()])
        .at_all(mixes.iter().map(|mix| mix.cell.spot()))
        .with("times as many", times, "")
        .remedy("count prompt and output tokens over the requests that completed");
    (mixes.len(), Some(finding))
}

/// Whether answers may be of one length: output tokens over requests, with rounding.
fn are_answers_alike(a: &Cell, b: &Cell) -> bool {
    let lengths = |cell: &Cell| {
        let ends = |quantity: Metric| {
            let figure = cell.row.figure(quantity, Statistic::Mean)?;
            Some((figure.canonical()? - slack(figure), figure.canonical()? + slack(figure)))
        };
        let (tokens, requests) = (ends(Metric::OutputRate)?, ends(Metric::RequestRate)?);
        (requests.0 > 0.0).then_some((tokens.0 / requests.1, tokens.1 / requests.0))
    };
    lengths(a).zip(lengths(b)).is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}

/// Whether prompts and answers of a row do not add up to its total.
fn contradicts_its_sum(cell: &Cell) -> bool {
    let rate = |quantity| cell.row.figure(quantity, Statistic::Mean);
    let parts = [rate(Metric::InputRate), rate(Metric::OutputRate)];
    let sum = parts.iter().map(|figure| figure.and_then(Figure::canonical)).sum::<Option<f64>>();
    let total = rate(Metric::TotalRate).and_then(Figure::canonical);
    sum.zip(total).is_some_and(|(sum, total)| sum > total * MORE)
}

fn counts(cell: &Cell, other: Metric) -> Option<(f64, f64)> {
    let count = |quantity: Metric| cell.row.value(quantity, Statistic::Value);
    count(Metric::RequestsOk).zip(count(other)).filter(|(ok, other)| ok + other > 0.0)
}

/// Times that include failed requests.
fn failed_in_times(cell: &Cell) -> Option<(f64, String)> {
    let (ok, failed) = counts(cell, Metric::RequestsFailed)?;
    let holds = |figure: &&Figure| {
        let is_of_all = matches!(&figure.definition, Definition::Different(words)
            if words.ends_with(meaning::WITH_FAILED));
        figure.quantity == Metric::E2e && figure.value.is_some() && is_of_all
    };
    let figure = cell.row.figures.iter().find(holds)?;
    let text = format!(
        "the {} includes the times of {failed} requests that failed and {ok} that were answered",
        figure.quantity
    );
    Some((failed / (ok + failed), text))
}

/// A rate that counts failed requests, while times and tokens cover only the others.
fn failed_in_rate(cell: &Cell) -> Option<(f64, String)> {
    let (ok, failed) = counts(cell, Metric::RequestsFailed)?;
    let rate = cell.row.value(Metric::RequestRate, Statistic::Value)?;
    let seconds = cell.row.value(Metric::Duration, Statistic::Value)? / 1e3;
    let all = ok + failed;
    let is_of_all = (rate * seconds / all - 1.0).abs() < EXACT && failed > 2.0 * EXACT * all;
    let share = if is_of_all { failed / all } else { 0.0 };
    let text = format!(
        "{rate:.2} requests per second count {failed} that failed and {ok} that were answered, at \
         {:.2} per second",
        ok / seconds
    );
    Some((share, text))
}

/// Requests that were under way when the measurement ended.
fn cut_off(cell: &Cell) -> Option<(f64, String)> {
    let (ok, open) = counts(cell, Metric::RequestsIncomplete)?;
    let share = open / (ok + open);
    let text = format!(
        "{open} of {} requests were cut off by the end, {:.0} %: the latencies are of the others, \
         which are the short ones",
        ok + open,
        share * 100.0
    );
    Some((share, text))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Unit, key};

    /// Prompts twice as long as answers: rates of requests, prompts, answers and of all tokens.
    fn sweep(heavy: [&str; 4]) -> Sheet {
        let level = |line, strategy: &str, [requests, input, output, total]: [&str; 4]| {
            let mean = Statistic::Mean;
            let figures = [
                (Metric::RequestRate, mean, requests, Unit::PerS),
                (Metric::InputRate, mean, input, Unit::PerS),
                (Metric::OutputRate, mean, output, Unit::PerS),
                (Metric::TotalRate, mean, total, Unit::PerS),
            ];
            let mut row = row(line, &figures);
            row.factors.set(key::STRATEGY, strategy);
            row
        };
        let light = ["1.0", "1000.0", "500.0", "1500.0"];
        let rows = vec![level(3, "synchronous", light), level(4, "throughput", heavy)];
        sheet(PartKind::Serving, rows)
    }

    #[test]
    fn reports_prompts_without_answers() {
        let sound = sweep(["9.0", "9000.0", "4500.0", "13500.0"]);
        let corrupt = |heavy: [&'static str; 4]| move |sheet: &mut Sheet| *sheet = sweep(heavy);
        let far = corrupt(["9.0", "15000.0", "4500.0", "13500.0"]);
        check("one_population", &sound, far, Level::Strong, "1.67 times as many");
        let some = corrupt(["9.0", "11000.0", "4500.0", "13500.0"]);
        check("one_population", &sound, some, Level::Hint, "2.44 in strategy throughput");
        // Shorter answers are another workload.
        let other = sweep(["9.0", "9000.0", "2250.0", "11250.0"]);
        assert_eq!(found("one_population", &[other]), []);
    }

    fn counted(rate: &str, failed: &str, cut_off: &str, of: &str) -> Sheet {
        let (count, value) = (Unit::Count, Statistic::Value);
        let figures = [
            (Metric::RequestsOk, value, "80", count.clone()),
            (Metric::RequestsFailed, value, failed, count.clone()),
            (Metric::RequestsIncomplete, value, cut_off, count),
            (Metric::Duration, value, "10.00", Unit::S),
            (Metric::RequestRate, value, rate, Unit::PerS),
            (Metric::E2e, Statistic::Mean, "120", Unit::Ms),
        ];
        let mut row = row(3, &figures);
        row.figures[5].definition = Definition::Different(format!("whole; {of}"));
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn reports_requests_that_failed_or_did_not_end() {
        let sound = counted("8.00", "20", "4", "those that succeeded");
        let times = |sheet: &mut Sheet| *sheet = counted("8.00", "20", "4", meaning::WITH_FAILED);
        check("one_population", &sound, times, Level::Strong, "20 requests that failed and 80");
        let rate = |sheet: &mut Sheet| *sheet = counted("10.00", "20", "4", "succeeded");
        check("one_population", &sound, rate, Level::Hint, "at 8.00 per second");
        let open = |sheet: &mut Sheet| *sheet = counted("8.00", "20", "20", "succeeded");
        check("one_population", &sound, open, Level::Hint, "20 of 100 requests were cut off");
        assert_eq!(found("one_population", &[counted("8.00", "0", "0", meaning::WITH_FAILED)]), []);
    }
}
