//! The changes of a comparison as charts: each measure at a load with its interval, next to what
//! counts as no relevant change.

use super::look;
use crate::comparison::words;
use crate::format::{percent, plain};
use crate::page::{Figure, slug};
use ifm_chart::{Along, Axis, Cartesian, Chart, Form, Guide, Point, Scale, Series, Tone};
use ifm_compare::comparison::{Comparison, Condition, Pair, Row, Verdict};

/// Changes from this factor on are drawn as factors on a logarithmic axis: in percent they would
/// flatten the others.
const FACTOR_FROM: f64 = 10.0;

/// A chart for each load, with a row for each measure that has a change in percent.
pub(super) fn figures(comparison: &Comparison, pair: &Pair) -> Vec<Figure> {
    let is_several = comparison.pairs.len() > 1;
    let chart = |(at, rows): (&Condition, Vec<&Row>)| {
        let drawn: Vec<&Row> = rows
            .into_iter()
            .filter(|row| !row.measure.is_share() && words::change_value(row).is_some())
            .collect();
        if drawn.is_empty() {
            return None;
        }
        Some(Figure::alone(chart(comparison, pair, (at, &drawn), is_several)))
    };
    words::by_load(pair).into_iter().filter_map(chart).collect()
}

fn chart(
    comparison: &Comparison,
    pair: &Pair,
    (at, rows): (&Condition, &[&Row]),
    is_several: bool,
) -> Chart {
    let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
    let name = |row: &Row| words::measure(row.measure, is_inter_event);
    let is_wide = rows.iter().any(|row| ends(row).1 >= FACTOR_FROM);
    // A logarithmic axis has no place for zero.
    let as_factor = is_wide && rows.iter().all(|row| ends(row).0 > 0.0);
    let scaled = |ratio: f64| if as_factor { ratio } else { (ratio - 1.0) * 100.0 };
    let point = |(place, row): (usize, &&Row)| {
        let interval = words::reliable_change(row);
        let y = scaled(words::change_value(row)?);
        let is_decided = row.verdict != Verdict::Inconclusive;
        let point = Point::at(place as f64, y)
            .between(interval.map(|of| scaled(of.low)), interval.map(|of| scaled(of.high)))
            .trusted(is_decided);
        Some(point.told(format!("{}, {}", words::row_change(row), words::row_verdict(row))))
    };
    let series = Verdict::ALL.iter().filter_map(|verdict| {
        let of = rows.iter().enumerate().filter(|(_, row)| row.verdict == *verdict);
        let points: Vec<Point> = of.filter_map(point).collect();
        let (color, mark) = look(*verdict);
        let series = Series::new(words::verdict(*verdict), points).form(Form::Dots);
        (!series.points.is_empty()).then_some(Series { color, mark, ..series })
    });
    let least = comparison.threshold;
    let zone = Guide::Zone {
        along: Along::Y,
        from: Some(scaled(1.0 - least)),
        to: Some(scaled(1.0 + least)),
        name: String::new(),
        tone: Tone::Neutral,
    };
    let axis = match as_factor {
        true => Axis::new("new value / baseline", "×").scaled(Scale::Log10),
        false => Axis::new("change from the baseline", "%"),
    };
    let plot =
        Cartesian::new(Axis::of_names(rows.iter().map(|row| name(row))), axis, series.collect())
            .guided([zone])
            .horizontal();
    // One row has one mark, whatever its series.
    let plot = Cartesian { is_joined: true, ..plot };
    let load = words::condition(at);
    let (of, id) = match is_several {
        true => {
            let side = plain(&pair.side.label);
            (format!(" for {side}"), format!("change {side} {load}"))
        }
        false => (String::new(), format!("change {load}")),
    };
    let sentences: Vec<String> =
        rows.iter().map(|row| format!("{} {}", name(row), words::row_change(row))).collect();
    let title = format!("What changed{of} at {load}?");
    Chart::new(slug(&id), title, format!("{}.", sentences.join("; ")), plot)
}

/// The ends of what is drawn of a row, as factors.
fn ends(row: &Row) -> (f64, f64) {
    let value = words::change_value(row).unwrap_or(1.0);
    words::reliable_change(row).map_or((value, value), |of| (of.low, of.high))
}

/// What the marks of these charts mean.
pub(super) fn legend(comparison: &Comparison) -> String {
    format!(
        "Each line is the {} interval of a change. A hollow mark is inconclusive, and one without a \
         line has no reliable interval. The gray area contains changes below {}, which are not \
         relevant. Less is better for times, more for rates: the color is the verdict. Shares \
         such as failures are in the table.",
        percent(comparison.confidence),
        percent(comparison.threshold)
    )
}
