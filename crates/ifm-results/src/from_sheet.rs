//! Documents of other tools as results.

use super::{Point, Results, Source, Stat};
use super::{from_requests, request_times};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::kernel::SHAPE;
use ifm_core::sheet::{Factors, Figure, Part, Row, Statistic, key};
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;
use ifm_metrics::stat::quantile::is_enough;

impl Results {
    /// What documents hold, in their order. Rows without a readable number are kept where they are
    /// announced (planned) or stated.
    pub fn of_sheets(sheets: &[Sheet]) -> Results {
        let mut results = Results::default();
        for sheet in sheets {
            let source = results.sources.len();
            results.sources.push(Source {
                tool: sheet.source.tool.clone(),
                tool_version: sheet.source.tool_version.clone(),
                ..Source::of_document(&sheet.source.name)
            });
            for (index, part) in sheet.parts.iter().enumerate() {
                results
                    .points
                    .extend(part.rows.iter().map(|row| point((source, index), part, row)));
            }
        }
        results
    }
}

fn point((source, index): (usize, usize), part: &Part, row: &Row) -> Point {
    let factors = row.factors.within(&part.factors);
    let own = row.figures.iter().filter_map(|figure| stat(figure, row));
    let mut stats: Vec<Stat> = own.chain(from_requests::stats(row)).collect();
    request_times::add_bounds(&mut stats, row);
    Point {
        source,
        part: index,
        kind: part.kind,
        role: row.role,
        headings: part.headings.clone(),
        label: row.label.clone(),
        load: load(&factors),
        repeat: factors.get(key::REPEAT).and_then(|repeat| repeat.parse().ok()),
        setting: setting(&factors, row),
        stats,
        verdict: VerdictState::Unknown,
        searched: None,
        gpus: factors.number(key::TENSOR_PARALLEL).filter(|gpus| *gpus > 0.0),
        place: row.place.clone(),
        text: row.text.clone(),
    }
}

/// A number of users if one was set, else a rate. A rate of `inf` does not count as one.
fn load(factors: &Factors) -> Option<Load> {
    let users = factors.number(key::CONCURRENCY).filter(|users| *users >= 1.0);
    let rate = || factors.number(key::RATE).filter(|rate| *rate > 0.0).map(Load::ReqPerS);
    users.map(|users| Load::Users(users as u32)).or_else(rate)
}

/// The factors except for the load and the repeat, and the shape of a mask. A concurrency that is
/// not a number, such as `max`, is not a load and stays.
fn setting(factors: &Factors, row: &Row) -> Factors {
    let mut setting = Factors::default();
    let is_kept = |name: &str| match name {
        key::RATE | key::REPEAT => false,
        key::CONCURRENCY => factors.number(name).is_none(),
        _ => true,
    };
    for (name, value) in factors.iter().filter(|(name, _)| is_kept(name)) {
        setting.set(name, value);
    }
    if let Some(sides) = row.unknown.get(SHAPE).and_then(|shape| shape.as_array()) {
        let sides: Vec<String> = sides.iter().map(ToString::to_string).collect();
        setting.set(SHAPE, sides.join(", "));
    }
    setting
}

fn stat(figure: &Figure, row: &Row) -> Option<Stat> {
    let value = figure.canonical()?;
    let population = population(figure.quantity, row);
    let enough = match (figure.statistic, population) {
        (Statistic::Percentile(p), Some(n)) => is_enough(n, p),
        _ => true,
    };
    Some(Stat {
        n: population,
        is_enough: enough,
        printed: figure.printed.clone(),
        definition: figure.definition.clone(),
        place: figure.place.clone(),
        ..Stat::new(figure.quantity, figure.statistic, value)
    })
}

/// The size of a population: its own count, or the requests for what has one value per request.
fn population(metric: Metric, row: &Row) -> Option<u64> {
    let whole = |value: f64| (value >= 0.0).then_some(value as u64);
    let own = row.value(metric, Statistic::Count).and_then(whole);
    let per_request = matches!(metric, Metric::Ttft | Metric::Ttfat | Metric::Tpot | Metric::E2e);
    let requests = || row.value(Metric::RequestsOk, Statistic::Value).and_then(whole);
    own.or_else(|| requests().filter(|_| per_request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{PartKind, Place, RowRole, Source, Unit};

    #[test]
    fn a_row_keeps_its_settings_units_and_population() {
        let mut row = Row::new(RowRole::Measured, Place::line(7));
        row.factors = Factors::default().with(key::CONCURRENCY, 8).with(key::REPEAT, 2);
        let value = Statistic::Value;
        row.figures.push(Figure::new(Metric::RequestsOk, value, 180.0, Unit::Count));
        row.figures.push(Figure::new(Metric::Ttft, Statistic::Percentile(99.0), 0.5, Unit::S));
        row.figures.push(Figure::new(Metric::Itl, Statistic::Mean, f64::NAN, Unit::Ms));
        let part = Part {
            factors: Factors::default().with(key::MODEL, "m").with(key::RATE, "inf"),
            rows: vec![row],
            ..Part::new(PartKind::Serving, Place::default())
        };
        let source = Source { name: "a.json".to_owned(), ..Source::default() };
        let sheet = Sheet { source, parts: vec![part], remarks: Vec::new() };
        let results = Results::of_sheets(&[sheet]);
        let point = &results.points[0];
        assert_eq!((point.load, point.repeat), (Some(Load::Users(8)), Some(2)));
        assert_eq!(point.setting.iter().collect::<Vec<_>>(), [("model", "m")]);
        let p99 = point.stat(Metric::Ttft, Statistic::Percentile(99.0)).expect("read");
        assert_eq!((p99.value, p99.n, p99.is_enough), (500.0, Some(180), false));
        assert_eq!(point.value(Metric::Itl, Statistic::Mean), None);
        assert_eq!(results.values(key::CONCURRENCY), ["8"]);
    }

    #[test]
    fn keeps_a_shape_and_a_concurrency_that_is_not_a_number() {
        let mut row = Row::new(RowRole::Measured, Place::line(7));
        row.factors = Factors::default().with(key::CONCURRENCY, "max");
        row.unknown.insert(SHAPE.to_owned(), vec![1u64, 1, 8192, 8192].into());
        let point = point((0, 0), &Part::new(PartKind::Serving, Place::default()), &row);
        assert_eq!((point.load, point.factor(key::CONCURRENCY).as_deref()), (None, Some("max")));
        assert_eq!(point.factor(SHAPE).as_deref(), Some("1, 1, 8192, 8192"));
        let results = Results { sources: Vec::new(), points: vec![point.clone(), point] };
        assert!(results.varying(PartKind::Serving).is_empty());
    }
}
