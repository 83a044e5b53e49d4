//! Means and deviations that a document states follow from the rows that it shows.

use super::super::subject::{repeats_of, slack};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Figure, Quantity, RowRole, Statistic};

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
    if tally.means + tally.deviations == 0 {
        return Looked::Needs("summaries together with the runs that they summarise");
    }
    let mut findings = merged(tally.wrong, tally.means + tally.deviations);
    if findings.is_empty() && tally.deviations > 0 && tally.population > tally.sample {
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

/// One finding for all that is wrong, with the first as an example.
fn merged(wrong: Vec<Finding>, seen: usize) -> Vec<Finding> {
    let n = wrong.len();
    let spots: Vec<_> = wrong.iter().filter_map(|finding| finding.spots.first().cloned()).collect();
    let Some(first) = wrong.into_iter().next() else { return Vec::new() };
    if n == 1 {
        return vec![first];
    }
    let text = format!("{n} of {seen} stated figures do not follow from the runs; {}", first.text);
    vec![Finding { text, ..first }.at_all(spots)]
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
        let shown = values(rows, &figure.quantity);
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
                "{}: the {name} of {} is stated as {}, the {} runs give {:.4}",
                summary.name(),
                figure.quantity,
                figure.printed.clone().unwrap_or_else(|| (stated / factor).to_string()),
                shown.len(),
                expected / factor
            );
            Finding::new(RULE.id, Level::Proof, text)
                .at(summary.spot_of_figure(figure))
                .at_all(rows.iter().map(|cell| cell.spot()))
                .with("stated", stated / factor, "")
                .with("recomputed", expected / factor, "")
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
                    (false, false) => self.wrong.push(wrong(sample, "deviation")),
                }
            }
            _ => {}
        }
    }
}

/// What the runs show of a quantity, and how far each may be off by its rounding.
fn values(rows: &[&Cell], quantity: &Quantity) -> Vec<(f64, f64)> {
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
    use ifm_core::sheet::{PartKind, StdKind, Unit};

    /// Three runs of 10, 12 and 14 tokens per second: mean 12, deviation 2 (of the population
    /// 1.633).
    fn document(deviation: &str) -> Sheet {
        let mut rows: Vec<_> = ["10.00", "12.00", "14.00"]
            .iter()
            .zip(1..)
            .map(|(rate, line)| {
                row(line, &[(Quantity::OutputRate, Statistic::Value, *rate, Unit::PerS)])
            })
            .collect();
        let std = Statistic::Std(StdKind::Unknown);
        let mut summary = row(
            9,
            &[
                (Quantity::OutputRate, Statistic::Mean, "12.00", Unit::PerS),
                (Quantity::OutputRate, std, deviation, Unit::PerS),
            ],
        );
        summary.role = RowRole::Summary;
        rows.push(summary);
        sheet(PartKind::StaticBatch, rows)
    }

    #[test]
    fn a_wrong_mean_is_proof() {
        let spoil = |sheet: &mut Sheet| {
            let mean = &mut sheet.parts[0].rows[3].figures[0];
            (mean.value, mean.printed) = (Some(12.5), Some("12.50".to_owned()));
        };
        check("recomputed", &document("2.00"), spoil, Level::Proof, "the 3 runs give 12.0000");
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
