//! What a client reports of a case against what is true.

use ifm_core::sheet::{Quantity, Row, Statistic};
use ifm_truth::Case;

/// What a client made of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Everything that it reports is right.
    Right,
    /// Something is wrong.
    Wrong(Vec<Mistake>),
    /// It reported nothing that can be read.
    Silent,
    /// It did not end in time and was ended.
    Unended,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// What.
    pub what: &'static str,
    /// What the client says; absent if nothing.
    pub said: Option<f64>,
    /// What is true; absent if nothing can be said.
    pub truth: Option<f64>,
}

/// Holds a row against the truth. Counts are exact, times may be off by so many milliseconds. A
/// quantity that the client has no number for in any case counts against it only where it has to
/// be there to tell the outcome.
pub(super) fn judge(case: &Case, row: &Row, tolerance_ms: f64) -> Verdict {
    let truth = &case.truth;
    let requests = f64::from(case.requests);
    let mut wrong = Vec::new();
    let ok = completed(row);
    let expected_ok = if truth.outcome.is_ok() { requests } else { 0.0 };
    if ok != Some(expected_ok) {
        wrong.push(Mistake { what: "complete answers", said: ok, truth: Some(expected_ok) });
    }
    if !truth.outcome.is_ok() || !wrong.is_empty() {
        return verdict(wrong);
    }
    if let (Some(tokens), Some(said)) = (truth.output_tokens, output_tokens(row)) {
        let expected = f64::from(tokens) * requests;
        if said != expected {
            wrong.push(Mistake { what: "output tokens", said: Some(said), truth: Some(expected) });
        }
    }
    let last_ms = truth.last_token_ms.filter(|_| truth.streamed);
    for (what, quantity, truth) in [
        ("TTFT, ms", Quantity::Ttft, truth.ttft_ms),
        ("TPOT, ms", Quantity::Tpot, truth.tpot_ms),
        ("E2E, ms", Quantity::E2e, last_ms),
    ] {
        // Where our truth knows no number (an answer in one piece, a count that nobody told), a
        // client may have reasons of its own for one.
        let Some(expected) = truth else { continue };
        let said = row.value(&quantity, Statistic::Mean);
        match said {
            Some(said) if (said - expected).abs() <= tolerance_ms => {}
            // A client that has no such figure is not wrong about it.
            None if !row.figures.iter().any(|figure| figure.quantity == quantity) => {}
            said => wrong.push(Mistake { what, said, truth: Some(expected) }),
        }
    }
    verdict(wrong)
}

fn verdict(wrong: Vec<Mistake>) -> Verdict {
    if wrong.is_empty() { Verdict::Right } else { Verdict::Wrong(wrong) }
}

/// Complete answers: as counted, else by the requests that did not fail.
fn completed(row: &Row) -> Option<f64> {
    row.value(&Quantity::RequestsOk, Statistic::Value).or_else(|| {
        let ok = row.requests.iter().filter(|request| request.error.is_none()).count();
        (!row.requests.is_empty()).then_some(ok as f64)
    })
}

fn output_tokens(row: &Row) -> Option<f64> {
    row.value(&Quantity::OutputTokens, Statistic::Value).or_else(|| {
        let tokens: Option<Vec<u64>> =
            row.requests.iter().map(|request| request.output_tokens).collect();
        tokens.filter(|tokens| !tokens.is_empty()).map(|tokens| tokens.iter().sum::<u64>() as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Figure, Place, RowRole, Unit};

    fn row(figures: &[(Quantity, Statistic, f64)]) -> Row {
        let mut row = Row::new(RowRole::Measured, Place::default());
        row.figures = figures
            .iter()
            .map(|(quantity, statistic, value)| {
                let unit = if *statistic == Statistic::Mean { Unit::Ms } else { Unit::Count };
                Figure::new(quantity.clone(), *statistic, *value, unit)
            })
            .collect();
        row
    }

    /// The first case of the suite that is complete and counted.
    fn plain() -> Case {
        let suite = ifm_truth::cases::suite();
        suite
            .into_iter()
            .find(|case| case.truth.tpot_ms.is_some() && case.requests == 1)
            .expect("a case")
    }

    #[test]
    fn what_is_right_is_right_and_what_is_off_is_told() {
        let case = plain();
        let truth = &case.truth;
        let figures = |ttft_off: f64, tokens_off: f64| {
            vec![
                (Quantity::RequestsOk, Statistic::Value, 1.0),
                (
                    Quantity::OutputTokens,
                    Statistic::Value,
                    f64::from(truth.output_tokens.expect("a count")) + tokens_off,
                ),
                (Quantity::Ttft, Statistic::Mean, truth.ttft_ms.expect("a time") + ttft_off),
            ]
        };
        assert_eq!(judge(&case, &row(&figures(1.0, 0.0)), 2.0), Verdict::Right);
        let said = |off, tokens| match judge(&case, &row(&figures(off, tokens)), 2.0) {
            Verdict::Wrong(wrong) => wrong.iter().map(|mistake| mistake.what).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(said(30.0, 0.0), ["TTFT, ms"]);
        assert_eq!(said(0.0, 1.0), ["output tokens"]);
    }

    #[test]
    fn a_failure_that_is_called_a_success_is_wrong() {
        let suite = ifm_truth::cases::suite();
        let case = suite.into_iter().find(|case| !case.truth.outcome.is_ok()).expect("a case");
        let said = row(&[(Quantity::RequestsOk, Statistic::Value, f64::from(case.requests))]);
        assert!(matches!(judge(&case, &said, 2.0), Verdict::Wrong(_)), "{}", case.name);
        let honest = row(&[(Quantity::RequestsOk, Statistic::Value, 0.0)]);
        assert_eq!(judge(&case, &honest, 2.0), Verdict::Right);
    }
}
