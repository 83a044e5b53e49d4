//! Means and deviations that a document states follow from the rows that it shows, and its figures
//! of requests from the single requests that it contains.

use super::super::requests;
use super::super::subject::{self, repeats_of, slack, unit_word};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "recomputed", title: "stated means and deviations follow from the rows", look };

/// Share of a number that arithmetic in single precision may be off by.
const PRECISION: f64 = 1e-5;

fn look(subject: &Subject) -> Looked {
    let mut tally = Tally::default();
    let repeats = subject.repeats();
    for summary in subject.cells(RowRole::Summary) {
        let Some(rows) = repeats_of(&repeats, summary) else { continue };
        for figure in &summary.row.figures {
            tally.take(summary, figure, rows);
        }
    }
    let (single, of_requests) = single_requests(subject);
    if tally.means + tally.deviations + single == 0 {
        return Looked::Needs("summaries with the runs or single requests that they summarize");
    }
    let mut findings = merged(tally.wrong, tally.means + tally.deviations, "runs");
    let is_sound = findings.is_empty();
    findings.extend(merged(of_requests, single, "single requests"));
    if is_sound && tally.deviations > 0 && tally.population > tally.sample {
        // Nothing is wrong, but a reader takes a deviation of repeats for that of a sample.
        let text = format!(
            "all {} deviations divide by n: they describe the shown runs and are too small for \
             runs in general",
            tally.deviations
        );
        findings.push(Finding::new(RULE.id, Level::Hint, text).remedy("divide by n - 1"));
    }
    Looked::Found(findings)
}

/// One finding for all errors, with the first as an example.
fn merged(wrong: Vec<Finding>, seen: usize, from: &str) -> Vec<Finding> {
    let n = wrong.len();
    let spots: Vec<_> = wrong.iter().filter_map(|finding| finding.spots.first().cloned()).collect();
    let Some(first) = wrong.into_iter().next() else { return Vec::new() };
    if n == 1 {
        return vec![first];
    }
    let text =
        format!("{n} of {seen} stated figures do not follow from the {from}; {}", first.text);
    vec![Finding { text, ..first }.at_all(spots)]
}

/// Figures that single requests give too: how many, and those that differ.
fn single_requests(subject: &Subject) -> (usize, Vec<Finding>) {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        let Some(recomputed) = requests::recomputed(cell) else { continue };
        for (figure, expected) in recomputed.figures {
            seen += 1;
            if !requests::differs(figure, expected) {
                continue;
            }
            let factor = figure.unit.factor().unwrap_or(1.0);
            let text = format!(
                "{}: {} ({}) is stated as {}, the {} single requests give {}",
                cell.name(),
                figure.quantity,
                statistic(figure.statistic),
                subject::shown(figure),
                recomputed.requests,
                of_unit(&format!("{:.4}", expected / factor), figure)
            );
            wrong.push(
                Finding::new(RULE.id, Level::Proof, text)
                    .at(cell.spot_of_figure(figure))
                    .with("stated", figure.value.unwrap_or_default(), unit_word(&figure.unit))
                    .with("recomputed", expected / factor, unit_word(&figure.unit)),
            );
        }
    }
    (seen, wrong)
}

fn statistic(statistic: Statistic) -> String {
    match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Median => "median".to_owned(),
        Statistic::Min => "minimum".to_owned(),
        Statistic::Max => "maximum".to_owned(),
        Statistic::Std(_) => "deviation".to_owned(),
        Statistic::Percentile(percent) => format!("P{percent}"),
        _ => "total".to_owned(),
    }
}

/// A number with the unit of a figure.
fn of_unit(number: &str, figure: &Figure) -> String {
    format!("{number} {}", unit_word(&figure.unit)).trim_end().to_owned()
}

#[derive(Default)]
struct Tally {
    means: usize,
    deviations: usize,
    sample: usize,
    population: usize,
    wrong: Vec<Finding>,
}

impl Tally {
    fn take(&mut self, summary: &Cell, figure: &Figure, rows: &[&Cell]) {
        let (Some(stated), Some(factor)) = (figure.canonical(), figure.unit.factor()) else {
            return;
        };
        let shown = values(rows, figure.quantity);
        if shown.len() != rows.len() || shown.len() < 2 {
            return;
        }
        let n = shown.len() as f64;
        let mean = shown.iter().map(|(value, _)| value).sum::<f64>() / n;
        let squares: f64 = shown.iter().map(|(value, _)| (value - mean).powi(2)).sum();
        let rounding = shown.iter().map(|(_, rounding)| rounding).fold(0.0, |a: f64, b| a.max(*b));
        let slack = slack(figure) + PRECISION * stated.abs();
        let wrong = |expected: f64, name: &str| {
            let text = format!(
                "{}: the {name} of {} is stated as {}, the {} runs give {}",
                summary.name_among(),
                figure.quantity,
                subject::shown(figure),
                shown.len(),
                of_unit(&format!("{:.4}", expected / factor), figure)
            );
            Finding::new(RULE.id, Level::Proof, text)
                .at(summary.spot_of_figure(figure))
                .at_all(rows.iter().map(|cell| cell.spot()))
                .with("stated", stated / factor, unit_word(&figure.unit))
                .with("recomputed", expected / factor, unit_word(&figure.unit))
        };
        match figure.statistic {
            Statistic::Mean | Statistic::Value => {
                self.means += 1;
                if (mean - stated).abs() > slack + rounding {
                    self.wrong.push(wrong(mean, "mean"));
                }
            }
            Statistic::Std(_) | Statistic::HalfWidth => {
                self.deviations += 1;
                let sample = (squares / (n - 1.0)).sqrt();
                let population = (squares / n).sqrt();
                // Each run may be off by its rounding, and so may their deviation.
                // A tool that keeps whole numbers took the squares around a mean that was cut off.
                let is_whole =
                    figure.printed.is_none() && figure.value.is_some_and(|v| v.fract() == 0.0);
                let cut = match is_whole && stated > 0.0 {
                    true => n / (n - 1.0) * mean.abs() * factor / stated,
                    false => 0.0,
                };
                let near = |value: f64| (value - stated).abs() <= slack + 2.0 * rounding + cut;
                match (near(sample), near(population)) {
                    (true, true) => {}
                    (true, false) => self.sample += 1,
                    (false, true) => self.population += 1,
                    (false, false) => {
                        let mut finding = wrong(sample, "deviation");
                        let whole: Vec<f64> = shown.iter().map(|(v, _)| v / factor).collect();
                        if is_whole
                            && overflowed(&whole)
                                .is_some_and(|v| (v - stated / factor).abs() <= 1.0)
                        {
                            finding.text.push_str(OVERFLOW);
                            finding = finding.remedy("compute the deviation from the runs");
                        }
                        self.wrong.push(finding);
                    }
                }
            }
            _ => {}
        }
    }
}

const OVERFLOW: &str = ": the squares of the runs do not fit into 64 bits, and this is what is left \
    of them";

/// The deviation that a program gets whose sum of squares wraps around in 64 bits: llama-bench
/// computes `sqrt(sum of squares / (n - 1) - mean² n / (n - 1))` in whole nanoseconds. Absent where
/// nothing wraps.
fn overflowed(values: &[f64]) -> Option<f64> {
    let whole: Vec<u64> = values.iter().map(|value| value.round() as u64).collect();
    let n = whole.len() as u64;
    let exact: u128 = whole.iter().map(|value| u128::from(*value).pow(2)).sum();
    if n < 2 || exact <= u128::from(u64::MAX) {
        return None;
    }
    let sum = whole.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value));
    let mean = sum / n;
    let squares = exact as u64;
    let of_mean = mean.wrapping_mul(mean).wrapping_mul(n);
    Some(((squares / (n - 1)).wrapping_sub(of_mean / (n - 1)) as f64).sqrt())
}

/// What the runs show of a quantity, and how far each may be off by its rounding.
fn values(rows: &[&Cell], quantity: Metric) -> Vec<(f64, f64)> {
    let of = |cell: &&Cell| {
        let figure = cell.central(quantity)?;
        Some((figure.canonical()?, slack(figure)))
    };
    rows.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, SheetRequest, StdKind, Unit, key};

    /// Three runs of 10, 12 and 14 tokens per second: mean 12, deviation 2 (of the population
    /// 1.633).
    fn document(deviation: &str) -> Sheet {
        let mut rows: Vec<_> = ["10.00", "12.00", "14.00"]
            .iter()
            .zip(1..)
            .map(|(rate, line)| {
                row(line, &[(Metric::OutputRate, Statistic::Value, *rate, Unit::PerS)])
            })
            .collect();
        let std = Statistic::Std(StdKind::Unknown);
        let mut summary = row(
            9,
            &[
                (Metric::OutputRate, Statistic::Mean, "12.00", Unit::PerS),
                (Metric::OutputRate, std, deviation, Unit::PerS),
            ],
        );
        summary.role = RowRole::Summary;
        rows.push(summary);
        sheet(PartKind::StaticBatch, rows)
    }

    #[test]
    fn a_wrong_mean_is_proof() {
        let corrupt = |sheet: &mut Sheet| {
            let mean = &mut sheet.parts[0].rows[3].figures[0];
            (mean.value, mean.printed) = (Some(12.5), Some("12.50".to_owned()));
        };
        check("recomputed", &document("2.00"), corrupt, Level::Proof, "the 3 runs give 12.0000");
    }

    /// Three samples of `llama-bench`, whose deviation is 3549414917 ns.
    #[test]
    fn squares_that_overflow_are_named_as_the_cause() {
        let of = |deviation: f64| {
            let figure =
                |statistic, value| Figure::new(Metric::Duration, statistic, value, Unit::Ns);
            let mut rows = Vec::new();
            for threads in [1, 2] {
                for (repeat, value) in (1..).zip([554_451_264.0, 6_624_516_462.0, 401_887_571.0]) {
                    let mut run = row(repeat, &[]);
                    run.figures = vec![figure(Statistic::Value, value)];
                    run.factors = run.factors.with(key::REPEAT, repeat).with("n_threads", threads);
                    rows.push(run);
                }
                let mut summary = row(9, &[]);
                summary.role = RowRole::Summary;
                summary.figures = vec![figure(Statistic::Std(StdKind::Sample), deviation)];
                summary.factors = summary.factors.with("n_threads", threads);
                rows.push(summary);
            }
            let mut sheet = sheet(PartKind::Engine, rows);
            sheet.parts[0].factors.set(key::TEST, "tg32");
            found("recomputed", &[sheet])
        };
        assert_eq!(of(3_549_414_917.0), []);
        let text = &of(1_837_110_290.0)[0].text;
        for word in ["test tg32, n_threads 1:", "1837110290 ns", "3549414916.6565 ns", "64 bits"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!of(1_837_110_390.0)[0].text.contains("64 bits"));
    }

    /// Four requests of `vllm bench serve`; their median TTFT is 25 ms, P99 39.7, TPOT 10.
    #[test]
    fn checks_single_requests_against_the_figures_of_their_row() {
        let document = |median: &str, p99: &str, tpot: &str, gap: &str| {
            let p = Statistic::Percentile(99.0);
            let mut row = row(
                1,
                &[
                    (Metric::RequestsOk, Statistic::Value, "4", Unit::Count),
                    (Metric::Ttft, Statistic::Median, median, Unit::Ms),
                    (Metric::Ttft, p, p99, Unit::Ms),
                    (Metric::Tpot, Statistic::Mean, tpot, Unit::Ms),
                    (Metric::Itl, Statistic::Mean, gap, Unit::Ms),
                    (Metric::OutputTokens, Statistic::Value, "44", Unit::Count),
                ],
            );
            row.requests = [10.0, 20.0, 30.0, 40.0]
                .iter()
                .map(|ttft| SheetRequest {
                    ttft_ms: Some(*ttft),
                    e2e_ms: Some(ttft + 100.0),
                    gaps: Some(5),
                    gaps_sum_ms: Some(100.0),
                    output_tokens: Some(11),
                    ..SheetRequest::default()
                })
                .collect();
            let mut sheet = sheet(PartKind::Serving, vec![row]);
            sheet.source.tool = Some("vllm bench serve".to_owned());
            sheet
        };
        let sound = document("25.00", "39.70", "10.00", "20.00");
        let say = |corrupted: Sheet, word: &str| {
            check("recomputed", &sound, |sheet| *sheet = corrupted, Level::Proof, word);
        };
        let twice = document("50.00", "39.70", "10.00", "20.00");
        say(twice, "TTFT (median) is stated as 50.00 ms, the 4 single requests give 25.0000 ms");
        say(document("25.00", "39.00", "10.00", "20.00"), "TTFT (P99)");
        say(document("25.00", "39.70", "11.00", "20.00"), "TPOT (mean)");
        say(document("25.00", "39.70", "10.00", "21.00"), "ITL (mean)");
        let mut other = document("50.00", "39.70", "10.00", "20.00");
        other.source.tool = Some("guidellm".to_owned());
        assert_eq!(found("recomputed", &[other]), []);
        let mut export = document("50.00", "39.70", "10.00", "20.00");
        let row = &mut export.parts[0].rows[0];
        row.unknown.insert("written_by".to_owned(), "inferometer".into());
        assert_eq!(found("recomputed", &[export]), []);
    }

    #[test]
    fn a_wrong_deviation_is_proof_and_that_of_a_population_a_hint() {
        let findings = found("recomputed", &[document("3.10")]);
        assert!(findings.iter().any(|finding| finding.level == Level::Proof), "{findings:?}");
        let findings = found("recomputed", &[document("1.63")]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].level, Level::Hint);
    }
}
