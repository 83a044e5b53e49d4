//! A first token comes before the end of its answer, and a gap is shorter than the whole.
//!
//! Where it holds for each request, it holds for the mean and for every percentile of the same
//! requests. Not here: percentiles of one time (`ordered_percentiles`).

use super::super::subject::{shown, slack};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::meaning::{TPOT_WITH_FIRST, WITH_FAILED};
use ifm_core::sheet::{Definition, Figure, PartKind, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "ordered_times", title: "a first token comes before the end of its answer", look };

/// Share that arithmetic of a machine may be off by.
const PRECISION: f64 = 1e-9;
/// Share that the end of a stream may add to a time per token.
const END: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let (mut seen, mut wrong) = (0, Vec::new());
    for cell in subject.cells(RowRole::Measured) {
        if cell.part.kind != PartKind::Serving {
            continue;
        }
        let pairs = pairs(cell);
        seen += pairs.len();
        wrong.extend(pairs.into_iter().filter(Pair::is_impossible));
    }
    if seen == 0 {
        return Looked::Needs("rows with two times of the same requests, such as TTFT and E2E");
    }
    let Some(first) = wrong.first() else { return Looked::Found(Vec::new()) };
    let text = match wrong.len() {
        1 => first.sentence(),
        n => format!("{n} pairs of times are impossible; {}", first.sentence()),
    };
    let level = wrong.iter().map(Pair::level).max().unwrap_or(Level::Strong);
    let finding = Finding::new(RULE.id, level, text)
        .at_all(wrong.iter().map(|pair| pair.cell.spot_of_figure(pair.part)))
        .with("part", first.part.canonical().unwrap_or_default(), "ms")
        .with("whole", first.whole.canonical().unwrap_or_default(), "ms")
        .remedy("check that both times are of the same requests and that answers were streamed");
    Looked::Found(vec![finding])
}

/// A time that is a part of another one of the same request.
struct Pair<'c> {
    cell: &'c Cell<'c>,
    part: &'c Figure,
    whole: &'c Figure,
}

fn pairs<'c>(cell: &'c Cell<'c>) -> Vec<Pair<'c>> {
    let mut pairs = Vec::new();
    let mut push = |part: &'c Figure, whole: &'c Figure| {
        let is_usable = |figure: &Figure| figure.canonical().is_some() && !holds_failures(figure);
        if is_usable(part) && is_usable(whole) {
            pairs.push(Pair { cell, part, whole });
        }
    };
    for figure in &cell.row.figures {
        let is_order = matches!(
            figure.statistic,
            Statistic::Mean
                | Statistic::Median
                | Statistic::Min
                | Statistic::Max
                | Statistic::Percentile(_)
        );
        let same = |quantity| cell.row.figure(quantity, figure.statistic);
        let largest = |quantity| cell.row.figure(quantity, Statistic::Max);
        let is_mean = matches!(figure.statistic, Statistic::Mean | Statistic::Max);
        match figure.quantity {
            Metric::Ttft | Metric::Ttfat if is_order => {
                same(Metric::E2e).into_iter().for_each(|whole| push(figure, whole));
            }
            Metric::Tpot if is_order && !has_first(figure) => {
                same(Metric::E2e).into_iter().for_each(|whole| push(figure, whole));
                // The mean gap of a request is not above its largest one.
                let gap = largest(Metric::Itl).filter(|_| is_mean);
                gap.into_iter().for_each(|whole| push(figure, whole));
            }
            Metric::Itl if is_mean => {
                largest(Metric::E2e).into_iter().for_each(|whole| push(figure, whole));
            }
            _ => {}
        }
    }
    pairs
}

fn holds_failures(figure: &Figure) -> bool {
    let text = match &figure.definition {
        Definition::Derivable(text) | Definition::Different(text) => text,
        _ => return false,
    };
    text.contains(WITH_FAILED)
}

fn has_first(figure: &Figure) -> bool {
    matches!(&figure.definition, Definition::Different(text) | Definition::Derivable(text)
        if text == TPOT_WITH_FIRST)
}

impl Pair<'_> {
    fn is_impossible(&self) -> bool {
        let (Some(part), Some(whole)) = (self.part.canonical(), self.whole.canonical()) else {
            return false;
        };
        let end = if self.whole.quantity == Metric::Itl { END * whole.abs() } else { 0.0 };
        part > whole + slack(self.part) + slack(self.whole) + end + PRECISION * part.abs()
    }

    /// Proof where the tool is known, and both times are of all requests that succeeded. A time per
    /// token is of those with two tokens only.
    fn level(&self) -> Level {
        let is_known = self.cell.part.tool.is_some() || self.cell.sheet.source.tool.is_some();
        let is_first = self.part.quantity == Metric::Ttft;
        if is_known && is_first { Level::Proof } else { Level::Strong }
    }

    fn sentence(&self) -> String {
        format!(
            "{}: the {} {} is {}, above the {} {} of {}",
            self.cell.name(),
            word(self.part.statistic),
            self.part.quantity,
            shown(self.part),
            word(self.whole.statistic),
            self.whole.quantity,
            shown(self.whole)
        )
    }
}

fn word(statistic: Statistic) -> String {
    match statistic {
        Statistic::Min => "smallest".to_owned(),
        Statistic::Max => "largest".to_owned(),
        Statistic::Median => "median".to_owned(),
        Statistic::Percentile(percent) => format!("P{percent}"),
        _ => "mean".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    fn document(ttft: &str, e2e: &str, tpot: &str, itl: &str) -> Sheet {
        let median = Statistic::Median;
        let figures = [
            (Metric::Ttft, median, ttft, Unit::Ms),
            (Metric::E2e, median, e2e, Unit::Ms),
            (Metric::E2e, Statistic::Max, "2000.00", Unit::Ms),
            (Metric::Tpot, Statistic::Mean, tpot, Unit::Ms),
            (Metric::Itl, Statistic::Max, itl, Unit::Ms),
        ];
        let mut sheet = sheet(PartKind::Serving, vec![row(3, &figures)]);
        sheet.parts[0].tool = Some("sglang.bench_serving".to_owned());
        sheet
    }

    #[test]
    fn reports_first_tokens_after_the_end() {
        let sound = document("700.40", "900.10", "5.00", "80.00");
        let late = |sheet: &mut Sheet| *sheet = document("700.40", "700.10", "5.00", "80.00");
        let text = "the median TTFT is 700.40 ms, above the median end-to-end latency of 700.10 ms";
        check("ordered_times", &sound, late, Level::Proof, text);
        let unknown = |sheet: &mut Sheet| {
            *sheet = document("700.40", "700.10", "5.00", "80.00");
            sheet.parts[0].tool = None;
        };
        check("ordered_times", &sound, unknown, Level::Strong, "above the median");
        let slow = |sheet: &mut Sheet| *sheet = document("700.40", "900.10", "95.00", "80.00");
        check("ordered_times", &sound, slow, Level::Strong, "the mean TPOT is 95.00 ms, above");
        let gap = |sheet: &mut Sheet| *sheet = document("700.40", "900.10", "5.00", "2100.00");
        check("ordered_times", &sound, gap, Level::Strong, "the largest ITL is 2100.00 ms, above");
    }

    #[test]
    fn allows_rounding_and_other_requests() {
        assert_eq!(found("ordered_times", &[document("700.10", "700.09", "5.00", "80.00")]), []);
        let mut failures = document("700.40", "700.10", "5.00", "80.00");
        let figure = &mut failures.parts[0].rows[0].figures[1];
        figure.definition = Definition::Different(format!("x; {WITH_FAILED}"));
        assert_eq!(found("ordered_times", &[failures]), []);
    }
}
