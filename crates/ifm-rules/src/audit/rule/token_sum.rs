//! Total tokens are input and output tokens, as counts and as rates of one population.

use super::super::subject::slack;
use super::super::{Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "token_sum", title: "total tokens are input plus output tokens", look };

const SUMS: [[Metric; 3]; 2] = [
    [Metric::InputTokens, Metric::OutputTokens, Metric::TotalTokens],
    [Metric::InputRate, Metric::OutputRate, Metric::TotalRate],
];
/// Sums are over the whole population or means of one; medians do not add up.
const STATISTICS: [Statistic; 3] = [Statistic::Value, Statistic::Mean, Statistic::Sum];

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for cell in subject.cells(RowRole::Measured) {
        for [input, output, total] in &SUMS {
            for statistic in STATISTICS {
                // The sum of rates is not a number of anything.
                if statistic == Statistic::Sum && *total == Metric::TotalRate {
                    continue;
                }
                let figure = |quantity| cell.row.figure(quantity, statistic);
                let (Some(input), Some(output), Some(total)) =
                    (figure(*input), figure(*output), figure(*total))
                else {
                    continue;
                };
                seen += 1;
                let Some((sum, stated)) = add(input, output, total) else { continue };
                wrong.push((cell, total, sum, stated));
            }
        }
    }
    if seen == 0 {
        return Looked::Needs("rows with input, output and total tokens");
    }
    let Some((_, _, sum, stated)) = wrong.first() else { return Looked::Found(Vec::new()) };
    let shares: Vec<f64> = wrong.iter().map(|(_, _, sum, stated)| stated / sum - 1.0).collect();
    let (low, high) = shares
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), share| (low.min(*share), high.max(*share)));
    let text = format!(
        "{} of {seen} rows: input and output tokens do not add up to the total; the total is \
         {:+.1} % to {:+.1} % off: the three count different requests",
        wrong.len(),
        low * 100.0,
        high * 100.0
    );
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .at_all(wrong.iter().map(|(cell, total, _, _)| cell.spot_of_figure(total)))
        .with("input plus output", *sum, "tokens")
        .with("stated total", *stated, "tokens")
        .remedy("count all three over the same requests: those that completed");
    Looked::Found(vec![finding])
}

/// Sum and stated total, if they differ by more than the printed digits explain.
fn add(input: &Figure, output: &Figure, total: &Figure) -> Option<(f64, f64)> {
    let (sum, stated) = (input.canonical()? + output.canonical()?, total.canonical()?);
    let slack: f64 = [input, output, total].into_iter().map(slack).sum();
    // Floating-point noise of numbers that a machine wrote.
    ((sum - stated).abs() > slack + 1e-6 * stated.abs()).then_some((sum, stated))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::sheet::{PartKind, Unit};

    #[test]
    fn a_total_of_other_requests_is_proof() {
        let sound = sheet(
            PartKind::Serving,
            vec![row(
                3,
                &[
                    (Metric::InputRate, Statistic::Mean, "101.8", Unit::PerS),
                    (Metric::OutputRate, Statistic::Mean, "44.8", Unit::PerS),
                    (Metric::TotalRate, Statistic::Mean, "146.7", Unit::PerS),
                ],
            )],
        );
        let corrupt = |sheet: &mut ifm_core::Sheet| {
            let total = &mut sheet.parts[0].rows[0].figures[2];
            (total.value, total.printed) = (Some(137.4), Some("137.4".to_owned()));
        };
        check("token_sum", &sound, corrupt, Level::Proof, "1 of 1 rows");
    }
}
