//! The counted output tokens equal the tokens in the texts of the answers.
//!
//! SGLang counts what the server reports or, if it reports nothing, the requested number; then it
//! tokenizes the texts again and prints that number too.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::meaning::RETOKENIZED;
use ifm_core::sheet::{RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "retokenized", title: "output token counts agree with the retokenized texts", look };

/// Ratios of the two numbers from which on they differ, and differ beyond what tokenizing does.
const APART: f64 = 1.15;
const FAR: f64 = 1.5;

fn look(subject: &Subject) -> Looked {
    let (mut seen, mut findings) = (0, Vec::new());
    for cell in subject.cells(RowRole::Measured) {
        let again = Metric::other(RETOKENIZED);
        let again = cell.tokens(again).filter(|tokens| *tokens > 0.0);
        let counted = cell.tokens(Metric::OutputTokens).filter(|tokens| *tokens > 0.0);
        if let Some((counted, again)) = counted.zip(again) {
            seen += 1;
            findings.extend(check(cell, counted, again));
        }
    }
    match seen {
        0 => {
            Looked::Needs("output tokens that were counted twice: as reported, and from the texts")
        }
        _ => Looked::Found(findings),
    }
}

fn check(cell: &Cell, counted: f64, again: f64) -> Option<Finding> {
    let ratio = counted.max(again) / counted.min(again);
    let is_over = counted > again;
    let level = match ratio {
        ratio if ratio >= FAR && is_over => Level::Strong,
        ratio if ratio >= APART => Level::Hint,
        _ => return None,
    };
    let rate = cell.row.value(Metric::OutputRate, Statistic::Value);
    let rate = rate.map_or("the output rate".to_owned(), |rate| {
        format!("the output rate of {rate:.2} tokens/s")
    });
    let direction = if is_over { "high" } else { "low" };
    let text = format!(
        "{}: {counted:.0} output tokens were counted, and {again:.0} when the texts of the answers were \
         tokenized again: {rate} may be {ratio:.2} times too {direction}, unless tokens without text, such \
         as reasoning, are in the count",
        cell.name()
    );
    let finding = Finding::new(RULE.id, level, text)
        .at(cell.spot())
        .with("counted", counted, "tokens")
        .with("tokenized again", again, "tokens")
        .with("ratio", ratio, "")
        .remedy("let the server report its usage, or take the rate from the tokens of the texts");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(again: &str) -> Sheet {
        let value = Statistic::Value;
        let figures = [
            (Metric::OutputTokens, value, "110000", Unit::Count),
            (Metric::other(RETOKENIZED), value, again, Unit::Count),
            (Metric::OutputRate, value, "440.00", Unit::PerS),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn compares_both_numbers_of_tokens() {
        let sound = document("108000");
        let half = |sheet: &mut Sheet| *sheet = document("52000");
        let text = "the output rate of 440.00 tokens/s may be 2.12 times too high";
        check("retokenized", &sound, half, Level::Strong, text);
        let fewer = |sheet: &mut Sheet| *sheet = document("90000");
        check("retokenized", &sound, fewer, Level::Hint, "1.22 times too high");
        let more = |sheet: &mut Sheet| *sheet = document("220000");
        check("retokenized", &sound, more, Level::Hint, "2.00 times too low");
        // Zero is printed where the texts were not tokenized again.
        assert_eq!(found("retokenized", &[document("0")]), []);
    }
}
