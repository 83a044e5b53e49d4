//! A ratio stated next to two numbers is the ratio of those numbers.

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "stated_ratio", title: "stated ratios agree with their numbers", look };

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for cell in subject.cells(RowRole::Stated) {
        let Some((ratio, above, below)) = parts(cell) else { continue };
        let Some((stated, numerator, denominator)) = values(ratio, above, below) else { continue };
        seen += 1;
        let expected = numerator / denominator;
        let rounding = slack(ratio);
        if (expected - stated).abs() <= rounding * (1.0 + 1e-9) {
            continue;
        }
        let (low, high) = range(above, below, numerator, denominator);
        // The writer may have divided numbers with more digits than those that are printed.
        let is_explained = stated + rounding >= low && stated - rounding <= high;
        let digits = decimals(rounding);
        let mut text = format!(
            "{} / {} is {expected:.digits$}, not {}",
            printed(above, numerator),
            printed(below, denominator),
            printed(ratio, stated)
        );
        if is_explained {
            text.push_str(": cut off instead of rounded, or divided before rounding");
        }
        let level = if is_explained { Level::Hint } else { Level::Proof };
        findings.push(
            Finding::new(RULE.id, level, text)
                .at(cell.spot_of_figure(ratio))
                .with("stated", stated, "")
                .with("recomputed", expected, ""),
        );
    }
    match seen {
        0 => Looked::Needs("ratios together with their two numbers"),
        _ => Looked::Found(findings),
    }
}

/// The ratio of a row, its numerator and its denominator.
pub(super) fn parts<'c>(cell: &'c Cell) -> Option<(&'c Figure, &'c Figure, &'c Figure)> {
    let named = |name: &str| {
        let quantity = Metric::other(name);
        cell.row.figure(quantity, Statistic::Value)
    };
    let ratio = cell.row.figure(Metric::Ratio, Statistic::Value)?;
    Some((ratio, named("numerator")?, named("denominator")?))
}

fn values(ratio: &Figure, above: &Figure, below: &Figure) -> Option<(f64, f64, f64)> {
    let denominator = below.value?;
    (denominator > 0.0).then_some((ratio.canonical()?, above.value?, denominator))
}

/// The smallest and largest ratio that rounds to these numbers.
fn range(above: &Figure, below: &Figure, numerator: f64, denominator: f64) -> (f64, f64) {
    let (a, b) = (above.rounding().unwrap_or(0.0), below.rounding().unwrap_or(0.0));
    let least = (denominator - b).max(f64::MIN_POSITIVE);
    ((numerator - a) / (denominator + b), (numerator + a) / least)
}

fn printed(figure: &Figure, value: f64) -> String {
    figure.printed.clone().unwrap_or_else(|| value.to_string())
}

/// Decimals of a number whose rounding is half a unit of the last one.
fn decimals(rounding: f64) -> usize {
    (0..9).find(|digits| rounding > 0.4 * 10_f64.powi(-digits)).unwrap_or(9) as usize
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document() -> Sheet {
        let other = |name: &str| Metric::other(name);
        let mut stated = row(
            5,
            &[
                (Metric::Ratio, Statistic::Value, "1.56", Unit::One),
                (other("numerator"), Statistic::Value, "31.2", Unit::Other(String::new())),
                (other("denominator"), Statistic::Value, "20.0", Unit::Other(String::new())),
            ],
        );
        stated.role = RowRole::Stated;
        sheet(PartKind::Conclusion, vec![stated])
    }

    fn state(sheet: &mut Sheet, ratio: &str) {
        let figure = &mut sheet.parts[0].rows[0].figures[0];
        (figure.value, figure.printed) = (ratio.parse().ok(), Some(ratio.to_owned()));
    }

    #[test]
    fn a_wrong_ratio_is_proof_and_a_cut_off_one_a_hint() {
        let wrong = |sheet: &mut Sheet| state(sheet, "1.65");
        check("stated_ratio", &document(), wrong, Level::Proof, "31.2 / 20.0 is 1.56, not 1.65");
        let cut = |sheet: &mut Sheet| state(sheet, "1.557");
        check("stated_ratio", &document(), cut, Level::Hint, "is 1.560, not 1.557: cut off");
    }
}
