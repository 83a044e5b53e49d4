//! Predictions in reports of every kind: what is said before any number, what a prediction was made
//! from, and predicted against measured where both are there.
//!
//! Not here: the errors and what they point to (`ifm_compare::forecast`), and the check of a run
//! that says the same.

use super::Subject;
use super::common::{LINES_MAX, axis_of, ends, numbered, value_axis};
use crate::ReportModel;
use crate::format::{ABSENT, change, count, meant, number, percent, plain, sentence};
use crate::model::load;
use crate::page::{Block, Cell, Columns, Figure, Head, Section, Table, Tile};
use ifm_chart::{Cartesian, Chart, Dash, Point as ChartPoint, Series};
use ifm_compare::forecast::{Forecast, Off, Pair, Speeds};
use ifm_core::Metric;
use ifm_core::PredictedLevel;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_metrics::level::Load;
use ifm_results::{Curve, Pool, Pooled};
use ifm_rules::insight::{Meant, told_by};
use std::collections::BTreeSet;

/// Predictions that are named one by one, at most.
const NAMED_MAX: usize = 4;

/// That runs were simulated, for the line under the title; with their names if others are real.
pub(super) fn simulated(runs: &[ReportModel]) -> Option<String> {
    let found: Vec<(&ReportModel, &str)> =
        runs.iter().filter_map(|run| Some((run, run.simulated()?))).collect();
    let (_, first) = found.first()?;
    if found.len() == runs.len() && found.iter().all(|(_, words)| words == first) {
        return Some((*first).to_owned());
    }
    let name =
        |run: &ReportModel| plain(run.manifest.name.as_ref().unwrap_or(&run.manifest.run_id));
    let mut names: Vec<String> = found.iter().map(|(run, _)| name(run)).collect();
    names.dedup();
    Some(match names.len() {
        1..=NAMED_MAX => format!("simulated: {}", names.join(", ")),
        _ => format!("{} of {} runs are simulated", found.len(), runs.len()),
    })
}

/// The note on predictions before any number.
pub(super) fn banners(subject: &Subject) -> Vec<String> {
    let results = subject.question.results;
    let is_alone = results.sources.len() == 1;
    let of_runs = subject.runs.iter().filter_map(|run| {
        let words = run.predicted()?;
        let manifest = &run.manifest;
        let name = manifest.name.as_ref().unwrap_or(&manifest.run_id);
        Some(if is_alone { words } else { format!("{}: {words}", plain(name)) })
    });
    let documents: BTreeSet<usize> = results
        .points
        .iter()
        .filter(|point| point.is_predicted() && point.source >= subject.runs.len())
        .map(|point| point.source)
        .collect();
    let of_documents = documents.into_iter().filter_map(|origin| {
        let name = plain(&results.sources.get(origin)?.side);
        Some(format!("{name}: rows of it were predicted, not measured"))
    });
    let mut all: Vec<String> =
        of_runs.chain(of_documents).map(|text| format!("⚠ {text}.")).collect();
    let more = all.len().saturating_sub(NAMED_MAX);
    all.truncate(NAMED_MAX);
    if more > 0 {
        all.push(format!("⚠ And {more} more were predicted, not measured."));
    }
    all
}

/// From what a run was predicted, and what happened inside; absent for one that was measured.
pub(super) fn inside(model: &ReportModel) -> Option<Vec<Block>> {
    let prediction = model.manifest.predicted.as_ref()?;
    let rows = prediction.factors().into_iter().filter(|(name, _)| name != key::NUMBERS);
    let from = Columns::<(String, String)>::default()
        .name("what", |(name, _)| {
            plain(name.trim_start_matches(key::PREDICTED_PREFIX)).replace('_', " ")
        })
        .text("value", |(_, value)| plain(value))
        .table("What the run was computed from.", rows.collect::<Vec<_>>());
    let load_of = |level: &PredictedLevel| {
        let found = model.summary.levels.iter().find(|other| other.level == level.level);
        load(found.and_then(|found| found.load()))
    };
    let formula = |pick: fn(&ifm_core::ClosedForm) -> Option<f64>| {
        move |level: &PredictedLevel| level.closed_form.as_ref().and_then(pick)
    };
    let ms = |value| meant(value, Meant::Ms);
    let levels = Columns::<PredictedLevel>::default()
        .name(model.load_unit(), load_of)
        .number("steps", |level| Some(level.steps as f64), whole)
        .number("in a step", |level| level.batch_mean, number)
        .explained("sequences in a step, mean")
        .number("preemptions", |level| Some(level.preemptions as f64), whole)
        .number("cached tokens", |level| Some(level.cached_tokens as f64), whole)
        .number("KV peak", |level| level.kv_peak_share, |share| meant(share, Meant::Share))
        .text("waits for", |level| level.binds.as_deref().map_or(ABSENT.to_owned(), plain))
        .number("TTFT by formula", formula(|form| form.ttft_ms), ms)
        .number("ITL by formula", formula(|form| form.itl_ms), ms)
        .number("out tok/s by formula", formula(|form| form.output_tok_per_s), number);
    let caption = "What happened inside, level by level, and the same by formulas without a \
                   simulation.";
    let mut levels = levels.table(caption, &prediction.levels);
    levels.drop_empty_columns();
    let mut blocks = vec![Block::Table(from)];
    blocks.extend((!levels.rows.is_empty()).then_some(Block::Table(levels)));
    Some(blocks)
}

/// A number of things.
fn whole(value: f64) -> String {
    count(value as u64)
}

/// One prediction and one measurement.
struct PredictedPair {
    /// Which, where there are several.
    name: String,
    forecast: Forecast,
}

/// Predicted against measured; absent where there are not both at one load.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let results = subject.question.results;
    if !results.is_mixed() {
        return None;
    }
    let pool = results.pool(PartKind::Serving);
    let by = told_by(&subject.question);
    let mut all = predicted_pairs(&pool, &by);
    all.truncate(LINES_MAX);
    let is_alone = all.len() == 1;
    if let [only] = all.as_mut_slice() {
        only.name.clear();
    }
    let mut blocks: Vec<Block> = Vec::new();
    let said: Vec<String> = all
        .iter()
        .flat_map(|one| one.forecast.drifts.iter().map(|drift| (&one.name, drift)))
        .map(|(name, drift)| match is_alone {
            true => sentence(&drift.sentence),
            false => format!("{name}: {}", sentence(&drift.sentence)),
        })
        .collect();
    if !said.is_empty() {
        blocks.push(Block::List(said));
    }
    let drawn = |(index, one)| {
        use Metric::{Itl, Tpot, Ttft};
        [Ttft, Itl, Tpot].into_iter().filter_map(move |quantity| chart((one, index), quantity))
    };
    let figures: Vec<Figure> = all.iter().enumerate().flat_map(drawn).map(Figure::alone).collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.push(Block::Table(errors(&all)));
    blocks.push(Block::Table(overall(&all)));
    (!all.is_empty()).then(|| Section::new("Predicted against measured", blocks))
}

/// How far off the prediction is, where there is one and one measurement.
pub(super) fn tile(subject: &Subject) -> Option<Tile> {
    let results = subject.question.results;
    if !results.is_mixed() {
        return None;
    }
    let pool = results.pool(PartKind::Serving);
    let all = predicted_pairs(&pool, &told_by(&subject.question));
    let [only] = all.as_slice() else { return None };
    let words = |off: &Off| {
        let side = if off.median < 0.0 { "below" } else { "above" };
        format!("{} {} {side} measured", called(off.metric), percent(off.median.abs()))
    };
    let wanted = [Metric::Itl, Metric::Ttft];
    let wanted =
        wanted.iter().filter_map(|one| only.forecast.off.iter().find(|off| off.metric == *one));
    let mut wanted = wanted.map(|off| (words(off), off.points));
    let (first, points) = wanted.next()?;
    let rest: Vec<String> = wanted.map(|(words, _)| words).collect();
    let loads = ifm_core::words::counted(points as u64, "load");
    let detail = rest.into_iter().chain([format!("medians over {loads}")]).collect::<Vec<_>>();
    Some(Tile::new("How far off is the prediction?", first, "", detail.join("; ")))
}

/// Every prediction with every measurement of the same lengths that has a load in common.
fn predicted_pairs(pool: &Pool, by: &[String]) -> Vec<PredictedPair> {
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    // A curve of whatever is there: its cells are what counts.
    let curves = pool.curves_against(&names, |cell| {
        let reading = cell.first()?.stats.first()?.clone();
        Some((cell.load()?.value(), reading))
    });
    let is_predicted = |curve: &&Curve| {
        let first = curve.points.first().and_then(|point| point.cell.first());
        first.is_some_and(|point| point.is_predicted())
    };
    let (predicted, measured): (Vec<&Curve>, Vec<&Curve>) = curves.iter().partition(is_predicted);
    let mut found = Vec::new();
    for predicted in &predicted {
        for measured in measured.iter().filter(|measured| is_alike(predicted, measured)) {
            let forecast = Forecast::of(&speeds_of(predicted), &speeds_of(measured));
            if !forecast.pairs.is_empty() {
                let name = plain(&format!("{} – {}", predicted.name(), measured.name()));
                found.push(PredictedPair { name, forecast });
            }
        }
    }
    found
}

/// Whether two curves are of requests of the same lengths, as far as that is known.
fn is_alike(one: &Curve, other: &Curve) -> bool {
    let length = |curve: &Curve, name: &str| curve.points.first()?.cell.setting()?.number(name);
    [key::INPUT_TOKENS, key::OUTPUT_TOKENS].into_iter().all(|name| {
        let both = length(one, name).zip(length(other, name));
        both.is_none_or(|(one, other)| one == other)
    })
}

fn speeds_of(curve: &Curve) -> Vec<Speeds> {
    curve.points.iter().filter_map(|point| speeds(&point.cell)).collect()
}

fn speeds(cell: &Pooled) -> Option<Speeds> {
    let of = |quantity: Metric, statistics: &[Statistic]| {
        cell.first_of(quantity, statistics).map(|reading| reading.value)
    };
    let mean = |quantity| of(quantity, &[Statistic::Mean]);
    Some(Speeds {
        load: cell.load()?,
        in_flight: cell.in_flight_mean(),
        ttft_ms: mean(Metric::Ttft),
        itl_ms: mean(Metric::Itl),
        tpot_ms: mean(Metric::Tpot),
        e2e_ms: mean(Metric::E2e),
        output_tok_per_s: of(Metric::OutputRate, &[Statistic::Value, Statistic::Mean]),
    })
}

/// Both over the load; absent where fewer than two loads have both.
fn chart((one, index): (&PredictedPair, usize), quantity: Metric) -> Option<Chart> {
    let both = |pair: &&Pair| pair.error(quantity).is_some();
    let pairs: Vec<&Pair> = one.forecast.pairs.iter().filter(both).collect();
    let is_open = matches!(pairs.first()?.measured.load, Load::ReqPerS(_));
    let line = |name: &str, of: fn(&Pair) -> &Speeds| {
        let point = |pair: &&Pair| {
            let ms = of(pair).of(quantity)?;
            Some(ChartPoint::at(pair.measured.load.value(), ms).told(meant(ms, Meant::Ms)))
        };
        Series::new(name, pairs.iter().filter_map(point)).of(index)
    };
    let measured = line(key::MEASURED, |pair| &pair.measured);
    let predicted = Series { dash: Dash::Dashed, ..line(key::PREDICTED, |pair| &pair.predicted) };
    let series = vec![measured, predicted];
    let name = called(quantity);
    let title = match one.name.as_str() {
        "" => format!("How near is the predicted {name}?"),
        which => format!("How near is the predicted {name}? {which}"),
    };
    let y = value_axis(&format!("{name}, mean"), "ms", &series);
    let id = numbered(&format!("predicted-{}", name.to_lowercase()), index);
    let description = ends(&series, if is_open { "req/s" } else { "users" });
    let plot = Cartesian::new(axis_of(is_open), y, series).switched();
    (pairs.len() > 1).then(|| Chart::new(id, title, description, plot))
}

/// The output of the server is the only rate among times.
fn called(metric: Metric) -> &'static str {
    if metric == Metric::OutputRate { "output" } else { metric.name() }
}

/// Every load with what was predicted, what was measured, and the error.
fn errors(all: &[PredictedPair]) -> Table {
    use Metric::{E2e, Itl, OutputRate, Tpot, Ttft};
    type Row<'a> = (&'a str, &'a Pair);
    let rows =
        all.iter().flat_map(|one| one.forecast.pairs.iter().map(|pair| (one.name.as_str(), pair)));
    let side =
        |quantity: Metric, of: fn(&Pair) -> &Speeds| move |(_, pair): &Row| of(pair).of(quantity);
    let error = |quantity| move |(_, pair): &Row| pair.error(quantity);
    let ms = |value| meant(value, Meant::Ms);
    let mut columns = Columns::<Row>::default()
        .name("which", |(name, _)| (*name).to_owned())
        .when(all.len() > 1)
        .cell(Head::number("load"), |(_, pair)| Cell {
            value: Some(pair.measured.load.value()),
            ..Cell::head(load(Some(pair.measured.load)))
        });
    for quantity in [Ttft, Itl, Tpot] {
        let name = called(quantity);
        columns = columns
            .number(format!("mean {name} predicted"), side(quantity, |pair| &pair.predicted), ms)
            .number("measured", side(quantity, |pair| &pair.measured), ms)
            .number("error", error(quantity), change);
    }
    let columns = columns.number("E2E error", error(E2e), change).number(
        "output error",
        error(OutputRate),
        change,
    );
    let caption = "Means at each load. An error is predicted less measured, as a share of what was \
                   measured.";
    let mut table = columns.table(caption, rows.collect::<Vec<_>>());
    table.drop_empty_columns();
    table
}

/// How far each quantity is off over all loads.
fn overall(all: &[PredictedPair]) -> Table {
    type Row<'a> = (&'a str, &'a Off);
    let rows =
        all.iter().flat_map(|one| one.forecast.off.iter().map(|off| (one.name.as_str(), off)));
    let columns = Columns::<Row>::default()
        .name("which", |(name, _)| (*name).to_owned())
        .when(all.len() > 1)
        .name("quantity", |(_, off)| called(off.metric).to_owned())
        .number("loads", |(_, off)| Some(off.points as f64), whole)
        .number("median error", |(_, off)| Some(off.median), change)
        .number("mean absolute error", |(_, off)| Some(off.mean_absolute), percent);
    let caption = "The median keeps the sign: it shows the bias of the prediction.";
    columns.table(caption, rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
