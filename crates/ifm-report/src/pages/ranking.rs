//! A ranking as a page: who is first, the values with their intervals, and what the data cannot tell
//! apart.

use super::{footer, remark, sides};
use crate::comparison::ranking::{cells, doubts, of_runs, rule, title};
use crate::comparison::{unit_json, words};
use crate::format::plain;
use crate::page::{Block, Cell, Columns, Figure, Head, Page, Section, Table, Tile, slug};
use ifm_chart::{Axis, Cartesian, Chart, Form, Point, Scale, Series};
use ifm_compare::comparison::{Difference, Ranked, Ranking, SideHead};
use ifm_core::words::counted;
use ifm_rules::insight::Tone;

/// Sides that the title names.
const NAMED_MAX: usize = 3;

/// A ranking as a page. `command` is the line that made it.
pub fn ranking_page(ranking: &Ranking, command: &[String]) -> Page {
    let all: Vec<&SideHead> = ranking.order.iter().map(|ranked| &ranked.side).collect();
    let of = |(label, found): &'_ (String, Vec<Difference>)| {
        let side = all.iter().find(|side| side.label == *label)?;
        Some((*side, found.clone()))
    };
    let found: Vec<(&SideHead, Vec<Difference>)> =
        ranking.differences.iter().filter_map(of).collect();
    let compared: Vec<_> = found.iter().map(|(side, found)| (*side, found.as_slice())).collect();
    let names: Vec<String> = all.iter().map(|side| plain(&side.label)).collect();
    let names = match names.len() {
        0..=NAMED_MAX => names.join(", "),
        more => counted(more as u64, "result"),
    };
    let notes = doubts(ranking).into_iter().map(|line| remark("ranking", Tone::Note, line));
    let mut method = vec![rule(ranking)];
    method.extend(of_runs(ranking).map(str::to_owned));
    // The head of each side is enough for the models where nothing was compared.
    let subject = sides::subject(all.first().copied(), &compared);
    Page {
        kind: "ranking",
        title: sides::titled(&format!("{names} by {}", title(ranking)), &subject),
        facts: all.iter().map(|side| words::side(&side.label, &side.runs)).collect(),
        conditions: vec![counted(all.len() as u64, "result")],
        lead: answer(ranking),
        tiles: first(ranking).into_iter().collect(),
        trust: sides::trust(&compared),
        remarks: notes.collect(),
        sections: vec![
            Section::new("Values", vec![Block::Figures(vec![figure(ranking)])]),
            Section::new("Ranks", vec![Block::Table(table(ranking))]),
            sides::sources(&all, "The results, the best first.", &method, command),
        ],
        footer: footer(),
        ..Page::default()
    }
}

/// The sides that may be first.
fn leaders(ranking: &Ranking) -> Vec<&Ranked> {
    ranking.order.iter().filter(|ranked| ranked.rank == Some(1)).collect()
}

/// Which side is first, and from which others the data do not distinguish it.
fn answer(ranking: &Ranking) -> Option<String> {
    let unit = ranking.measure.unit();
    let told = |ranked: &Ranked| {
        let value = ranked.cell.map(|cell| words::bounds(unit, &cell)).unwrap_or_default();
        format!("{} ({value})", plain(&ranked.side.label))
    };
    let title = title(ranking);
    let all = leaders(ranking);
    let best = *all.first()?;
    // A shared first rank is either shown to be equal, or only not decided.
    let names = |places: &mut dyn Iterator<Item = usize>| {
        let sides = places.filter_map(|place| ranking.order.get(place));
        sides.map(|ranked| plain(&ranked.side.label)).collect::<Vec<_>>().join(", ")
    };
    let open = names(&mut best.undecided.iter().map(|undecided| undecided.other));
    let equal = names(&mut best.equal.iter().copied());
    let best = told(best);
    Some(match (open.is_empty(), equal.is_empty()) {
        (true, true) => format!("{best} is first by {title}"),
        (true, false) => format!("{best} is first by {title}; no difference is shown from {equal}"),
        (false, true) => {
            format!("{best} has the best {title}, but cannot be distinguished from {open}")
        }
        (false, false) => format!(
            "{best} has the best {title}; no difference is shown from {equal}, and it cannot be \
             distinguished from {open}"
        ),
    })
}

fn first(ranking: &Ranking) -> Option<Tile> {
    let leaders = leaders(ranking);
    let best = leaders.first()?;
    let value = words::bounds(ranking.measure.unit(), &best.cell?);
    let (value, interval) = match value.split_once(" [") {
        Some((value, interval)) => (value.to_owned(), format!("[{interval}")),
        None => (value, String::new()),
    };
    let asked = format!("Best {}", title(ranking));
    let tone = if best.undecided.is_empty() { Tone::Good } else { Tone::Note };
    let who = plain(&best.side.label);
    Some(Tile::new(asked, value, "", interval).by(Some(who)).toned(Some(tone)))
}

/// The value of each side with its interval.
fn figure(ranking: &Ranking) -> Figure {
    let is_inter_event = ranking.order.iter().any(|ranked| ranked.side.is_inter_event);
    let (per, unit) = words::axis_unit(ranking.measure.unit());
    let point = |(place, ranked): (usize, &Ranked)| {
        let cell = ranked.cell?;
        let scaled = |value: f64| value / per;
        let text = words::bounds(ranking.measure.unit(), &cell);
        let point = Point::at(place as f64, scaled(cell.value))
            .between(cell.low.map(scaled), cell.high.map(scaled))
            .trusted(ranked.undecided.is_empty());
        Some(point.told(text))
    };
    let points = ranking.order.iter().enumerate().filter_map(point);
    let name = words::measure(ranking.measure, is_inter_event);
    let series = Series::new(name.clone(), points).form(Form::Dots);
    let sides: Vec<String> = ranking.order.iter().map(|ranked| plain(&ranked.side.label)).collect();
    let told: Vec<String> = ranking
        .order
        .iter()
        .filter_map(|ranked| {
            let value = words::bounds(ranking.measure.unit(), &ranked.cell?);
            Some(format!("{} {value}", plain(&ranked.side.label)))
        })
        .collect();
    let axis = Axis::new(&name, unit).scaled(Scale::Linear { from_zero: true });
    let plot = Cartesian::new(Axis::of_names(sides), axis, vec![series]).horizontal();
    let chart =
        Chart::new(slug(&ranking.measure.to_string()), title(ranking), told.join("; "), plot);
    Figure::alone(chart)
        .captioned("Lines are intervals. A hollow mark cannot be distinguished from another side.")
}

/// Every side by rank; values are in the units of the JSON document.
fn table(ranking: &Ranking) -> Table {
    let (unit, per) = unit_json(ranking.measure.unit());
    let part = |ranked: &Ranked, place: usize| {
        cells(ranking, ranked).into_iter().nth(place).unwrap_or_default()
    };
    Columns::<Ranked>::default()
        .cell(Head::number("rank"), |ranked| Cell {
            value: ranked.rank.map(|rank| rank as f64),
            ..Cell::text(part(ranked, 0))
        })
        .cell(Head::number("value"), |ranked| {
            let value = ranked.cell.map(|cell| cell.value / per);
            Cell { value, ..Cell::text(part(ranked, 1)) }.in_unit(unit)
        })
        .name("run", |ranked| part(ranked, 2))
        .text("not shown to differ from", |ranked| part(ranked, 3))
        .table("The best side first.", ranking.order.iter())
}
