//! What the lines around figures say of all of them: which number of its population a figure is
//! (`Average inter-token latency at each number of users`), and how many things were measured
//! (`across 4 scenarios`).

use super::super::measure::{Token, lex, mentions, statistic};
use super::stated::sentences;
use ifm_core::Metric;
use ifm_core::sheet::{Figure, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit};

/// Words for workloads, as they are written after their number.
const USE_CASES: [&str; 3] = ["scenarios", "workloads", "usecases"];

/// The quantity of the numbers of use cases.
pub(super) fn use_cases() -> Metric {
    Metric::other("use cases")
}

/// Gives the figures of a section the statistic that a caption names, where their own sentences
/// name none, and adds a remark.
pub(super) fn apply(lines: &[(u32, &str)], rows: &mut [Row]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (line, text) in lines {
        for range in sentences(text) {
            let sentence = text.get(range).unwrap_or_default();
            let Some((quantity, statistic)) = caption(sentence) else { continue };
            let figures = rows.iter_mut().flat_map(|row| &mut row.figures);
            let of_it = figures.filter(|figure| figure.quantity == quantity);
            let mut changed = 0;
            for figure in of_it.filter(|figure| figure.statistic == Statistic::Value) {
                figure.statistic = statistic;
                changed += 1;
            }
            if changed > 0 {
                let text = format!(
                    "{}: taken for the {}, as the caption says, in {changed} figures of the \
                     same section",
                    quantity.prose(),
                    name(statistic)
                );
                let place = Place::line(*line);
                remarks.push(Remark { kind: RemarkKind::Assumed, place, text });
            }
        }
    }
    remarks
}

/// `Average inter-token latency (ms) at each …`: a statistic that a sentence begins with, and the
/// quantity right behind it.
fn caption(sentence: &str) -> Option<(Metric, Statistic)> {
    let tokens = lex(sentence);
    let statistic = statistic(&tokens.first()?.text.to_lowercase())?;
    if !matches!(statistic, Statistic::Mean | Statistic::Median | Statistic::Percentile(_)) {
        return None;
    }
    let mention = mentions(&tokens).into_iter().find(|mention| mention.first == 1)?;
    Some((mention.quantity, statistic))
}

fn name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Percentile(p) => format!("p{p}"),
        Statistic::Median => "median".to_owned(),
        _ => "mean".to_owned(),
    }
}

/// The numbers of use cases that a section names, one row for each sentence.
pub(super) fn counts(lines: &[(u32, &str)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, text) in lines {
        for range in sentences(text) {
            let sentence = text.get(range).unwrap_or_default().trim();
            let Some((value, printed)) = count(&lex(sentence)) else { continue };
            let place = Place::line(*line);
            let figure = Figure::new(use_cases(), Statistic::Value, value, Unit::Count);
            let mut row = Row::new(RowRole::Stated, place);
            row.figures = vec![figure.as_printed(&printed)];
            row.text = Some(sentence.to_owned());
            rows.push(row);
        }
    }
    rows
}

/// A whole number in front of a word for use cases.
fn count(tokens: &[Token<'_>]) -> Option<(f64, String)> {
    tokens.windows(2).find_map(|pair| {
        let [number, word] = pair else { return None };
        let value = number.number().filter(|value| value.fract() == 0.0 && *value > 0.0)?;
        let is_named = USE_CASES.iter().any(|name| word.is(name));
        is_named.then(|| (value, number.text.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: u32, statistic: Statistic) -> Row {
        let mut row = Row::new(RowRole::Stated, Place::line(line));
        row.figures = vec![Figure::new(Metric::Itl, statistic, 5.8, Unit::Ms)];
        row
    }

    #[test]
    fn a_caption_says_which_number_a_figure_is() {
        let mut rows = [row(3, Statistic::Value), row(4, Statistic::Percentile(99.0))];
        let lines = [(2, "Average inter-token latency (ms) at each load. A line is at 20ms.")];
        let remarks = apply(&lines, &mut rows);
        assert_eq!(rows[0].figures[0].statistic, Statistic::Mean);
        assert_eq!(rows[1].figures[0].statistic, Statistic::Percentile(99.0), "it says its own");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        let mut rows = [row(3, Statistic::Value)];
        for silent in ["Inter-token latency is good on average.", "Average TTFT at each load."] {
            assert!(apply(&[(2, silent)], &mut rows).is_empty(), "{silent}");
            assert_eq!(rows[0].figures[0].statistic, Statistic::Value);
        }
    }

    #[test]
    fn use_cases_are_counted() {
        let found =
            counts(&[(7, "Speed range across 4 scenarios at each load."), (8, "32 users.")]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].figures[0].value, found[0].place.line), (Some(4.0), Some(7)));
    }
}
