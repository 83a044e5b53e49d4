//! A history as a page: what changed, every series, and a chart of each.

use super::{chart, words};
use crate::comparison::words as compared;
use crate::format::{ABSENT, percent, plain};
use crate::page::{Block, Cell, Columns, Figure, Head, Page, Section, Table, Tile, sign};
use ifm_compare::comparison::Verdict;
use ifm_compare::history::{Change, History, Series, SeriesState, Standing};
use ifm_core::order::Order as _;
use ifm_core::words::counted;

/// Which series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charts {
    /// Each of them.
    All,
    /// Those that changed, at most a few: for a terminal.
    Changed,
    /// The same, and series without a verdict are counted and not listed.
    Decided,
}

/// Charts that fit on a terminal.
const CHARTS_SHORT: usize = 2;

/// A history as a page.
pub fn history_page(history: &History, charts: Charts) -> Page {
    let mut sections = vec![changed(history), every(history, charts == Charts::Decided)];
    sections.extend(drawn(history, charts));
    if charts == Charts::All {
        sections.push(Section::new(
            "Values",
            vec![Block::Details(
                "Every value of every run".to_owned(),
                vec![Block::Table(values(history))],
            )],
        ));
        sections.push(method());
    }
    sections.retain(|section| !section.blocks.is_empty());
    Page {
        kind: "history",
        title: title(history),
        facts: facts(history),
        conditions: vec![
            format!(
                "changes at {}, relevant from {}",
                percent(history.confidence),
                percent(history.threshold)
            ),
            format!("corrected for {} series", history.tested),
        ],
        tiles: tiles(history),
        sections,
        ..Page::default()
    }
}

fn title(history: &History) -> String {
    match history.cells.as_slice() {
        [one] => format!("History of {}", plain(one)),
        cells => format!("History of {}", counted(cells.len() as u64, "cell")),
    }
}

fn facts(history: &History) -> Vec<String> {
    let mut facts = vec![counted(history.runs.len() as u64, "run")];
    let dates: Vec<String> = history.runs.iter().filter_map(words::date).collect();
    if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
        facts.push(format!("{first} to {last} UTC"));
    }
    facts
}

/// Changes that matter, newest first.
fn relevant(history: &History, verdict: Verdict) -> Vec<(&Series, &Change)> {
    let of = |series| match verdict {
        Verdict::Worse => SeriesState::Worse == series,
        _ => SeriesState::Better == series,
    };
    let found = history.series.iter().filter(|series| of(series.state));
    found.filter_map(|series| Some((series, series.latest()?))).collect()
}

fn tiles(history: &History) -> Vec<Tile> {
    let largest = |found: &[(&Series, &Change)]| {
        let size = |change: &Change| (change.size.value.max(f64::MIN_POSITIVE)).ln().abs();
        let most = found.iter().max_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        most.map(|(series, change)| {
            format!(
                "{}: {} {}",
                words::what(series),
                words::size(series, change),
                words::place(history, series, change)
            )
        })
    };
    let all = format!("{} series", history.series.len());
    let tile = |question: &str, verdict: Verdict| {
        let found = relevant(history, verdict);
        let detail = largest(&found).unwrap_or_default();
        let state =
            if verdict == Verdict::Worse { SeriesState::Worse } else { SeriesState::Better };
        let tone = (!found.is_empty()).then(|| words::tone(state));
        Tile::new(question, found.len().to_string(), format!("of {all}"), detail).toned(tone)
    };
    let mut tiles = vec![
        tile("Worse than before", Verdict::Worse),
        tile("Better than before", Verdict::Better),
    ];
    let worst = relevant(history, Verdict::Worse);
    let named = worst.iter().find_map(|(_, change)| words::came_with(change));
    if let (Some((series, change)), came) = (worst.first(), named) {
        let first = words::run_at(history, series, change.first_after)
            .map(|head| words::run(history, head));
        tiles.push(Tile::new(
            "First run of it",
            first.unwrap_or_default(),
            "",
            came.unwrap_or_else(|| "no other known change at the same time".to_owned()),
        ));
    }
    let undecided = history.count(SeriesState::Undecided);
    let outside = history.count(SeriesState::Outside);
    if undecided + outside > 0 {
        let detail = match outside {
            0 => "too few runs or requests, or the change may be chance".to_owned(),
            n => format!(
                "{n} of them: the last run lies outside the band, a single run is not conclusive"
            ),
        };
        let value = (undecided + outside).to_string();
        tiles.push(Tile::new("Not decided", value, format!("of {all}"), detail));
    }
    tiles
}

fn changed(history: &History) -> Section {
    let mut lines: Vec<(Verdict, String)> = Vec::new();
    for series in &history.series {
        if series.state == SeriesState::Undecided {
            continue;
        }
        for change in &series.changes {
            let sign = match change.verdict {
                Verdict::Worse => "✗",
                Verdict::Better => "✓",
                _ => "·",
            };
            let sentence = words::sentence(history, series, change);
            lines.push((change.verdict, format!("{sign} {sentence}")));
        }
        if series.state == SeriesState::Outside {
            let last = words::told(history, series, series.points.len().saturating_sub(1));
            lines.push((Verdict::Inconclusive, format!(
                "⚠ {}: the last run, {last}, lies outside the band of the runs before; a single \
                 run is not conclusive, another one will be",
                words::what(series)
            )));
        }
    }
    let order = |verdict: &Verdict| match verdict {
        Verdict::Worse => 0,
        Verdict::Inconclusive => 1,
        Verdict::Better => 2,
        _ => 3,
    };
    lines.order_by_key(|(verdict, _)| order(verdict));
    let block = match lines.is_empty() {
        true => Block::Prose("No lasting change was found.".to_owned()),
        false => Block::List(lines.into_iter().map(|(_, line)| line).collect()),
    };
    Section::new("What changed", vec![block])
}

/// Why series have no verdict, each reason with its number of series.
fn left_out(undecided: &[&Series]) -> String {
    let mut reasons: Vec<(String, u64)> = Vec::new();
    for series in undecided {
        let doubt = series.doubt.as_ref();
        let state = doubt.map_or_else(|| words::state(series), ToString::to_string);
        match reasons.iter_mut().find(|(known, _)| *known == state) {
            Some((_, count)) => *count += 1,
            None => reasons.push((state, 1)),
        }
    }
    reasons.order_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all: Vec<String> =
        reasons.iter().map(|(state, count)| format!("{count} × {state}")).collect();
    let (count, all) = (undecided.len(), all.join("; "));
    format!("{count} undecided series are not listed ({all}); -v lists them")
}

/// A row for each series.
fn every(history: &History, only_decided: bool) -> Section {
    let is_open = |series: &&Series| only_decided && series.state == SeriesState::Undecided;
    let (undecided, listed): (Vec<&Series>, Vec<&Series>) =
        history.series.iter().partition(is_open);
    let has_cells = history.cells.len() > 1;
    let unit = |series: &Series| series.measure.unit();
    let last = |series: &Series| {
        let Some(point) = series.points.last() else { return Cell::text(ABSENT) };
        let text = compared::value(unit(series), point.cell.value);
        Cell { value: Some(point.cell.value), ..Cell::text(text) }
    };
    let band = |series: &Series| {
        let band = series.stretches.last().and_then(|stretch| stretch.band);
        band.map_or_else(
            || ABSENT.to_owned(),
            |band| {
                let side = |value: f64| compared::value(unit(series), value);
                format!("{} … {}", side(band.low), side(band.high))
            },
        )
    };
    let size = |series: &Series| {
        let change = series.latest().filter(|_| series.state != SeriesState::Undecided);
        change.map_or_else(|| ABSENT.to_owned(), |change| words::size(series, change))
    };
    let since = |series: &Series| {
        let change = series.latest().filter(|_| series.state != SeriesState::Undecided);
        let run = change.and_then(|change| words::run_at(history, series, change.first_after));
        run.map_or_else(|| ABSENT.to_owned(), |head| words::run(history, head))
    };
    let counted_of = |series: &Series| {
        let counts = series.points.iter().filter(|point| point.standing == Standing::Counted);
        (counts.count(), series.points.len())
    };
    let table = Columns::<&Series>::default()
        .name("measure", |series| compared::measure(series.measure, series.is_inter_event))
        .text("at", |series| compared::condition(&series.at))
        .text("cell", |series| {
            history.cells.get(series.cell).map(|cell| plain(cell)).unwrap_or_default()
        })
        .when(has_cells)
        .cell(Head::number("runs"), |series| {
            let (counts, all) = counted_of(series);
            let text = if counts == all { all.to_string() } else { format!("{counts} of {all}") };
            Cell { value: Some(all as f64), ..Cell::text(text) }
        })
        .explained("values that count, of those that there are")
        .cell(Head::number("last"), |series| last(series))
        .cell(Head::number("band"), |series| Cell::text(band(series)))
        .explained("between which values 99 of 100 runs of the same are")
        .cell(Head::number("noise"), |series| {
            let text = words::spread(series, series.noise);
            Cell { value: series.noise, ..Cell::text(text.unwrap_or_else(|| ABSENT.to_owned())) }
        })
        .explained("standard deviation of runs of the same")
        .cell(Head::number("shows from"), |series| {
            let text = words::least(series);
            Cell {
                value: series.detectable,
                ..Cell::text(text.unwrap_or_else(|| ABSENT.to_owned()))
            }
        })
        .explained("smallest lasting change that three runs would show with a chance of 80 %")
        .cell(Head::number("change"), |series| Cell::text(size(series)))
        .text("since", |series| since(series))
        .cell(Head::text("state"), |series| {
            let tone = words::tone(series.state);
            Cell::text(format!("{} {}", sign(tone), words::state(series))).toned(tone)
        })
        .table("Every measure at every load, run after run.", listed.iter());
    let mut blocks = Vec::new();
    if !listed.is_empty() {
        blocks.push(Block::Table(table));
    }
    if !undecided.is_empty() {
        blocks.push(Block::Prose(left_out(&undecided)));
    }
    Section::new("Every series", blocks)
}

fn drawn(history: &History, charts: Charts) -> Vec<Section> {
    let figure = |series: &Series| Figure::alone(chart::chart(history, series));
    if charts != Charts::All {
        let changed = history.series.iter().filter(|series| {
            matches!(series.state, SeriesState::Worse | SeriesState::Better | SeriesState::Outside)
        });
        let figures: Vec<Figure> = changed.take(CHARTS_SHORT).map(figure).collect();
        let blocks = if figures.is_empty() { Vec::new() } else { vec![Block::Figures(figures)] };
        return vec![Section::new("Run after run", blocks)];
    }
    let section = |(number, cell): (usize, &String)| {
        let of = history.series.iter().filter(|series| series.cell == number);
        let figures: Vec<Figure> = of.map(figure).collect();
        let heading = match history.cells.len() {
            1 => "Run after run".to_owned(),
            _ => plain(cell),
        };
        let note = "Each point is a run with the interval of its own requests; hollow points do \
                    not count. The gray area contains 99 of 100 runs of the same.";
        Section::new(heading, vec![Block::Prose(note.to_owned()), Block::Figures(figures)])
    };
    history.cells.iter().enumerate().map(section).collect()
}

/// A row for each value.
fn values(history: &History) -> Table {
    struct Row<'h> {
        series: &'h Series,
        place: usize,
    }
    let rows: Vec<Row> = history
        .series
        .iter()
        .flat_map(|series| (0..series.points.len()).map(move |place| Row { series, place }))
        .collect();
    let head = |row: &Row| words::run_at(history, row.series, row.place);
    let point = |row: &Row| row.series.points.get(row.place).cloned();
    Columns::<Row>::default()
        .name("run", |row| head(row).map(|head| words::run(history, head)).unwrap_or_default())
        .text("begun, UTC", |row| head(row).and_then(words::date).unwrap_or_default())
        .text("measure", |row| words::what(row.series))
        .cell(Head::number("value"), |row| {
            let Some(point) = point(row) else { return Cell::text(ABSENT) };
            let text = compared::bounds(row.series.measure.unit(), &point.cell);
            Cell { value: Some(point.cell.value), ..Cell::text(text) }
        })
        .text("counts", |row| {
            let Some(point) = point(row) else { return String::new() };
            match point.standing {
                Standing::Counted => "yes".to_owned(),
                Standing::Apart => "no: outlier".to_owned(),
                Standing::Zero => "no: zero".to_owned(),
                Standing::TooFew => {
                    point.shortage.map_or_else(String::new, |shortage| format!("no: {shortage}"))
                }
            }
        })
        .text("tags", |row| head(row).map(|head| plain(&head.tags.join(", "))).unwrap_or_default())
        .table("Every value with the interval of its own requests.", rows)
}

fn method() -> Section {
    let text = "Runs that answer one question are a cell: the same model, workload, load, API, kind of \
                server and GPUs. A run is one value of a series. A change is reported where the best place \
                to split the series has a Student's t whose probability, times the number of places tried and \
                corrected for all series, is below the limit. The noise is how runs differ from each other, \
                never how the requests of one run differ. A steady rise is distinguished from a step by which \
                of the two fits better. A single run changes nothing: it is an outlier, or lies outside the \
                band. Runs with too few requests do not count.";
    Section::new("Method", vec![Block::Prose(text.to_owned())])
}
