//! The section of a run about its conversations: sessions as wholes, then turn by turn.
//!
//! Not here: the words and rows themselves, which the terminal shows too (`sessions`, `turns`).

use crate::ReportModel;
use crate::format::{marked_span, percent, span};
use crate::model::load_words;
use crate::page::{Block, Cell, Figure, Head, Section, Table};
use ifm_chart::{Axis, Cartesian, Chart, Dash, Form, Mark, Point, Scale, Series};
use ifm_metrics::LevelSummary;
use ifm_metrics::level::TurnSummary;

const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const PERCENT: f64 = 100.0;
/// Complete sessions without which a distribution says nothing that the table does not.
const SESSIONS_MIN: usize = 5;
/// Lines in a chart at most.
const LINES_MAX: usize = 6;

/// The sessions of each level; absent where requests are independent.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let levels = &model.summary.levels;
    let rows: Vec<Vec<Cell>> = model
        .summary
        .levels_by_load()
        .into_iter()
        .filter_map(|level| {
            let cells = crate::sessions::row(level)?.into_iter().map(Cell::text);
            Some(std::iter::once(Cell::head(load_words(level.load()))).chain(cells).collect())
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let heads = std::iter::once(Head::text("load"))
        .chain(crate::sessions::HEADS.map(Head::number))
        .collect();
    let table = Table { caption: crate::sessions::CAPTION.to_owned(), heads, rows };
    let mut blocks = vec![Block::Table(table)];
    let charts: Vec<Figure> = [durations(levels)]
        .into_iter()
        .flatten()
        .map(|chart| Figure::new(chart, Vec::new()))
        .collect();
    if !charts.is_empty() {
        blocks.push(Block::Figures(charts));
    }
    Some(Section::new("Sessions", blocks))
}

/// The turns of each level; absent where requests are independent.
pub(super) fn turns(model: &ReportModel) -> Option<Section> {
    let mut blocks = Vec::new();
    let levels = model.summary.levels_by_load();
    let with_turns = || levels.iter().copied().filter(|level| !level.turns.is_empty());
    for level in with_turns() {
        let heads = crate::parts::heads("turn", level.latencies.gap_label.short());
        blocks.push(Block::Table(Table {
            caption: format!("Turns at {}.", load_words(level.load())),
            heads: heads.into_iter().map(Head::number).collect(),
            rows: crate::parts::turns(level)
                .into_iter()
                .map(|row| row.into_iter().map(Cell::text).collect())
                .collect(),
        }));
    }
    // The last level is the largest load of most runs.
    let figures: Vec<Figure> = with_turns()
        .next_back()
        .into_iter()
        .flat_map(|level| [ttft(level), shares(level)])
        .flatten()
        .map(|chart| Figure::new(chart, Vec::new()))
        .collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    (!blocks.is_empty()).then(|| Section::new("Turns of the conversations", blocks))
}

/// How long complete sessions took, as shares.
fn durations(levels: &[LevelSummary]) -> Option<Chart> {
    let mut series = Vec::new();
    let mut words = Vec::new();
    for level in levels {
        let Some(sessions) = &level.sessions else { continue };
        let mut times: Vec<f64> = sessions
            .each
            .iter()
            .filter_map(|session| session.complete_ns())
            .map(|ns| ns as f64 / NS_PER_S)
            .collect();
        if times.len() < SESSIONS_MIN || series.len() >= LINES_MAX {
            continue;
        }
        times.sort_unstable_by(f64::total_cmp);
        let n = times.len() as f64;
        let share = |(time, done): (&f64, u32)| Point::at(*time, f64::from(done) / n * PERCENT);
        // None is done before the first.
        let begin = times.first().map(|first| Point::at(*first, 0.0));
        let points: Vec<Point> =
            begin.into_iter().chain(times.iter().zip(1..).map(share)).collect();
        let name = load_words(level.load());
        let found = sessions.duration_ns.as_ref().and_then(|times| times.percentile(50.0));
        words.extend(found.map(|p50| format!("{name}: half within {}.", marked_span(p50))));
        let place = series.len();
        series.push(Series {
            mark: Mark::None,
            ..Series::new(&name, points).form(Form::Step).of(place)
        });
    }
    if series.is_empty() {
        return None;
    }
    let y =
        Axis { range: Some((0.0, PERCENT)), ..Axis::new("complete sessions that are done", "%") };
    let x = Axis::new("time from the first request", "s");
    let plot = Cartesian::new(x, y, series);
    Some(Chart::new("session-times", "How long does a session take?", words.join(" "), plot))
}

/// Main turns of a level; the table also has the turns of sub-agents.
fn main_turns(level: &LevelSummary) -> Vec<&TurnSummary> {
    level.turns.iter().filter(|turn| !turn.is_of_sub_agents).collect()
}

fn axis() -> Axis {
    Axis::new("turn", "").scaled(Scale::Linear { from_zero: false })
}

/// TTFT by turn.
fn ttft(level: &LevelSummary) -> Option<Chart> {
    let turns = main_turns(level);
    let line = |p: f64| {
        let points: Vec<Point> = turns
            .iter()
            .filter_map(|turn| {
                let found = turn.part.ttft_ns.as_ref()?.percentile(p)?;
                let at = Point::at(f64::from(turn.turn) + 1.0, found.value / NS_PER_MS);
                Some(Point { text: Some(marked_span(found)), ..at.trusted(found.enough) })
            })
            .collect();
        points
    };
    let (p50, p99) = (line(50.0), line(99.0));
    let (first, last) = (p50.first()?.clone(), p50.last()?.clone());
    if p50.len() < 2 {
        return None;
    }
    let said = |point: &Point| span(point.y.unwrap_or_default() * NS_PER_MS);
    let description = format!(
        "At {}: half of the first turns within {}, half of turn {} within {}. Hollow: too few \
         samples.",
        load_words(level.load()),
        said(&first),
        last.x,
        said(&last)
    );
    let series = vec![
        Series::new("p50", p50).of(0),
        Series { dash: Dash::Dashed, ..Series::new("p99", p99).of(1) },
    ];
    let plot = Cartesian::new(axis(), Axis::new("TTFT", "ms"), series);
    Some(Chart::new("ttft-by-turn", "How long does each turn wait?", description, plot))
}

/// Shares of the prompt that a cache knew, by turn: what it could know, and what the answers say.
fn shares(level: &LevelSummary) -> Option<Chart> {
    let turns = main_turns(level);
    let line = |name: &str, place: usize, share: fn(&TurnSummary) -> Option<f64>| {
        let points: Vec<Point> = turns
            .iter()
            .filter_map(|turn| {
                let share = share(turn)?;
                let at = Point::at(f64::from(turn.turn) + 1.0, share * PERCENT);
                Some(Point { text: Some(percent(share)), ..at })
            })
            .collect();
        (points.len() >= 2).then(|| Series::new(name, points).of(place))
    };
    let all = [
        line("with an ideal cache", 0, |turn| turn.part.ideal_share),
        line("as reported in the answers", 1, |turn| turn.part.cached_share),
    ];
    let series: Vec<Series> = all.into_iter().flatten().collect();
    if series.is_empty() {
        return None;
    }
    let ends = |series: &Series| {
        let last = series.points.last().and_then(|point| point.text.clone()).unwrap_or_default();
        format!("{} {last} at the last turn", series.name)
    };
    let counter = level.server.as_ref().and_then(|server| server.cache_share());
    let counter = counter
        .map(|share| format!(" Over all turns the server's own counter says {}.", percent(share)));
    let words: Vec<String> = series.iter().map(ends).collect();
    let description = format!(
        "At {}: {}.{}",
        load_words(level.load()),
        words.join(", "),
        counter.unwrap_or_default()
    );
    let y = Axis { range: Some((0.0, PERCENT)), ..Axis::new("prompt tokens in a cache", "%") };
    let plot = Cartesian::new(axis(), y, series);
    Some(Chart::new(
        "cache-by-turn",
        "How much of each prompt does a cache know?",
        description,
        plot,
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::model;
    use ifm_chart::Plot;
    use ifm_metrics::testing::{conversations, run};

    #[test]
    fn sessions_are_a_table_and_charts() {
        let mut requests = conversations((0, 0), (2, 12), 3, 500.0, 0.0);
        requests.extend(conversations((72, 1), (4, 12), 3, 500.0, 60_000.0));
        for record in requests.iter_mut().skip(72) {
            record.session = record.session.map(|session| session + 24);
        }
        let page = super::super::run(&model(&run(&[2, 4], requests)));
        let charts = page.charts();
        let find = |id: &str| charts.iter().find(|chart| chart.id == id).expect(id);
        let Plot::Cartesian(times) = &find("session-times").plot else { panic!("two axes") };
        assert_eq!(times.series.len(), 2);
        let last = times.series[1].points.last().expect("sessions");
        assert_eq!((last.x, last.y), (1.78, Some(100.0)));
        let Plot::Cartesian(cache) = &find("cache-by-turn").plot else { panic!("two axes") };
        let at = |series: usize, turn: usize| cache.series[series].points[turn].y;
        assert_eq!((at(0, 0), at(0, 1), at(1, 2)), (Some(0.0), Some(80.0), Some(60.0)));
        assert!(find("ttft-by-turn").description.contains("100 ms"));
        crate::page::agreement_tests::check(&page);
    }
}
