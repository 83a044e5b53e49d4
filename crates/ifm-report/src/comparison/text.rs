//! A comparison as text by the cell, before layout, with the sides next to each other.
//!
//! What is not here: layout, and numbers, which come from [`ifm_compare::comparison`].

use super::headline::headline;
use super::words;
use crate::format::{ABSENT, plain};
use crate::words::target;
use ifm_compare::comparison::{
    Comparison, Condition, Difference, DifferenceKind, Measure, Pair, Verdict,
};
use ifm_core::order::Order as _;
use ifm_metrics::level::Load;

/// A comparison with its sides next to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonText {
    /// Name of the baseline.
    pub baseline: String,
    /// The other sides.
    pub sides: Vec<SideText>,
    /// What was compared, by load and measure.
    pub rows: Vec<RowText>,
}

/// A side compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct SideText {
    /// Its name.
    pub label: String,
    /// What differs besides the numbers, the weightiest first.
    pub differences: Vec<Difference>,
    /// The result in sentences.
    pub summary: Vec<String>,
    /// The largest loads inside the latency target; absent without one.
    pub capacity: Option<String>,
    /// What is open, and why.
    pub doubts: Vec<String>,
}

/// One measure at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct RowText {
    /// The load in words.
    pub load: String,
    /// The name of the measure.
    pub measure: String,
    /// The baseline's value.
    pub baseline: String,
    /// The values of the other sides, in their order; absent where a side has no such row.
    pub sides: Vec<Option<CellText>>,
}

/// One value against the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct CellText {
    /// The value with its interval.
    pub value: String,
    /// The change with its interval.
    pub change: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict in words, with its reason where the data do not decide.
    pub words: String,
}

/// The text of a comparison.
pub fn comparison_text(comparison: &Comparison) -> ComparisonText {
    let is_inter_event = comparison.baseline.is_inter_event
        || comparison.pairs.iter().any(|pair| pair.side.is_inter_event);
    let mut places: Vec<(&Condition, Measure)> = Vec::new();
    for row in comparison.pairs.iter().flat_map(|pair| &pair.rows) {
        if !places.contains(&(&row.at, row.measure)) {
            places.push((&row.at, row.measure));
        }
    }
    // The rows of the first pair come by load; others may have loads that it lacks.
    let value = |at: &Condition| at.load.map_or(f64::INFINITY, Load::value);
    places.order_by(|a, b| value(a.0).total_cmp(&value(b.0)));
    let row = |(at, measure): &(&Condition, Measure)| {
        let of = |pair: &Pair| {
            pair.rows.iter().find(|row| row.at == **at && row.measure == *measure).cloned()
        };
        let value = |cell| words::cell(measure.unit(), &cell);
        let first = comparison.pairs.iter().find_map(|pair| of(pair)?.a);
        let side = |pair: &Pair| {
            let row = of(pair)?;
            Some(CellText {
                change: words::row_change(&row),
                value: row.b.map_or_else(|| ABSENT.to_owned(), value),
                verdict: row.verdict,
                words: words::row_verdict(&row),
            })
        };
        RowText {
            load: words::condition(at),
            measure: words::measure(*measure, is_inter_event),
            baseline: first.map_or_else(|| ABSENT.to_owned(), value),
            sides: comparison.pairs.iter().map(side).collect(),
        }
    };
    ComparisonText {
        baseline: plain(&comparison.baseline.label),
        sides: comparison.pairs.iter().map(|pair| side_text(comparison, pair)).collect(),
        rows: places.iter().map(row).collect(),
    }
}

fn side_text(comparison: &Comparison, pair: &Pair) -> SideText {
    let capacity = pair.capacity.as_ref().map(|found| {
        let (a, b, ratio) = words::capacity(found);
        let unit = words::capacity_unit(found);
        format!("{unit} inside {}: {a} → {b} {ratio}", target(&found.slo)).trim_end().to_owned()
    });
    let mut differences = pair.differences.clone();
    differences.retain(|found| found.kind != DifferenceKind::Same);
    differences.order_by_key(|found| std::cmp::Reverse(found.kind));
    SideText {
        label: plain(&pair.side.label),
        differences,
        summary: std::iter::once(headline(comparison, pair))
            .chain(words::summary(comparison, pair))
            .collect(),
        capacity,
        doubts: words::doubts(pair, pair.side.is_inter_event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn the_sides_stand_beside_each_other_with_the_words_of_the_other_formats() {
        let mut comparison = compared();
        let pair = comparison.pairs[0].clone();
        comparison.pairs.push(Pair { rows: pair.rows[1..].to_vec(), ..pair.clone() });
        let text = comparison_text(&comparison);
        assert_eq!(text.rows.len(), pair.rows.len());
        let markdown = crate::comparison_markdown(&comparison);
        for row in &text.rows {
            assert_eq!(row.sides.len(), 2);
            let first = row.sides[0].as_ref().unwrap();
            assert!(markdown.contains(&row.baseline) && markdown.contains(&first.value));
        }
        assert!(text.rows[0].sides[1].is_none(), "the second side lacks the first row");
        assert!(text.sides[0].differences.iter().all(|found| found.kind != DifferenceKind::Same));
        assert!(!text.sides[0].summary.is_empty());
    }
}
