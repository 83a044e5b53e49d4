//! The chart of a series: its values, the band of each stretch, and where it changed.

use super::words;
use crate::comparison::words as compared;
use crate::format::plain;
use ifm_chart::{
    Axis, Cartesian, Chart, Form, GREY, Guide, Mark, Point, Scale, Series as Drawn, Tone, Weight,
};
use ifm_compare::comparison::Verdict;
use ifm_compare::history::{History, Series, Standing};

/// The chart of a series.
pub(super) fn chart(history: &History, series: &Series) -> Chart {
    let (per, unit) = compared::axis_unit(series.measure.unit());
    let number = |place: usize| place as f64 + 1.0;
    let mut drawn: Vec<Drawn> = Vec::new();
    for stretch in &series.stretches {
        let Some(band) = stretch.band else { continue };
        let (Some(first), Some(last)) = (stretch.points.first(), stretch.points.last()) else {
            continue;
        };
        // A stretch of one value has a width too.
        let ends = [number(*first) - 0.4, number(*last) + 0.4];
        let edge = |x: f64| {
            Point { x, ..Point::default() }.between(Some(band.low / per), Some(band.high / per))
        };
        drawn.push(Drawn {
            color: GREY,
            mark: Mark::None,
            ..Drawn::new("99 of 100 runs of the same", ends.map(edge)).form(Form::Band)
        });
        let mean = |x: f64| Point::at(x, stretch.mean / per);
        drawn.push(Drawn::reference("mean", ends.map(mean)).weighing(Weight::Faint));
    }
    let point = |(place, point): (usize, &ifm_compare::history::Point)| {
        let text = compared::bounds(series.measure.unit(), &point.cell);
        let named = words::told(history, series, place);
        let standing = match point.standing {
            Standing::Counted => String::new(),
            Standing::TooFew => ", too few requests".to_owned(),
            Standing::Apart => ", outlier".to_owned(),
            Standing::Zero => ", zero".to_owned(),
        };
        Point::at(number(place), point.cell.value / per)
            .between(point.cell.low.map(|low| low / per), point.cell.high.map(|high| high / per))
            .trusted(point.standing == Standing::Counted)
            .told(format!("{text}, {named}{standing}"))
    };
    let points = series.points.iter().enumerate().map(point);
    let name = compared::measure(series.measure, series.is_inter_event);
    drawn.push(Drawn::new(&name, points).form(Form::Dots));
    let guides = series.changes.iter().map(|change| Guide::Vertical {
        at: number(change.first_after) - 0.5,
        name: format!(
            "{} {}",
            words::size(series, change).split(" [").next().unwrap_or_default(),
            words::run_at(history, series, change.first_after)
                .map(|head| words::run(history, head))
                .unwrap_or_default()
        ),
        tone: match change.verdict {
            Verdict::Worse => Tone::Bad,
            Verdict::Better => Tone::Good,
            _ => Tone::Neutral,
        },
    });
    let axis = Axis::new(&name, unit).scaled(Scale::Linear { from_zero: false });
    let runs = Axis::new("run, the oldest first", "").scaled(Scale::Linear { from_zero: false });
    let runs = Axis { range: Some((0.0, series.points.len() as f64 + 1.0)), ..runs };
    let plot = Cartesian::new(runs, axis, drawn).guided(guides);
    let changes: Vec<String> = series
        .changes
        .iter()
        .map(|change| {
            format!("{} {}.", words::size(series, change), words::place(history, series, change))
        })
        .collect();
    let text = match changes.is_empty() {
        true => format!("{} values; {}.", series.points.len(), words::state(series)),
        false => changes.join(" "),
    };
    let cell = history.cells.get(series.cell).map(|cell| plain(cell)).unwrap_or_default();
    let id = crate::page::slug(&format!("history {} {}", words::what(series), cell));
    Chart::new(id, words::what(series), text, plot)
}
