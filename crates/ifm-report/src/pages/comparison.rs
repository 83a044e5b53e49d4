//! A comparison as a page: the answer, both sides drawn, each change with its interval, and the table
//! of every row.

use super::sides::{self, Compared};
use super::{changes, curves, footer, remark};
use crate::comparison::headline::headline;
use crate::comparison::{unit_json, words};
use crate::format::{ABSENT, plain};
use crate::page::{Block, Cell, Columns, Head, Page, Remark, Section, Table, Tile};
use crate::words::target;
use ifm_compare::comparison::{self, Comparison, Condition, Pair, Row, SideHead, Verdict};
use ifm_core::words::counted;
use ifm_rules::insight::Tone;

/// Tiles that fit next to each other.
const TILES_MAX: usize = 4;

/// A comparison as a page. `command` is the line that made it.
pub fn comparison_page(comparison: &Comparison, command: &[String]) -> Page {
    let pairs = &comparison.pairs;
    let compared: Vec<_> = pairs.iter().map(|pair| (&pair.side, &*pair.differences)).collect();
    let all: Vec<&SideHead> =
        std::iter::once(&comparison.baseline).chain(pairs.iter().map(|pair| &pair.side)).collect();
    Page {
        kind: "comparison",
        title: title(comparison, &compared),
        facts: all.iter().map(|side| words::side(&side.label, &side.runs)).collect(),
        conditions: conditions(comparison),
        lead: Some(
            pairs.iter().map(|pair| headline(comparison, pair)).collect::<Vec<_>>().join(". "),
        ),
        banners: banners(comparison),
        tiles: tiles(comparison),
        trust: sides::trust(&compared),
        remarks: remarks(comparison),
        sections: sections(comparison, &all, command),
        footer: footer(),
        ..Page::default()
    }
}

fn title(comparison: &Comparison, compared: &Compared) -> String {
    let base = plain(&comparison.baseline.label);
    let sides = match comparison.pairs.as_slice() {
        [only] => format!("{} vs {base}", plain(&only.side.label)),
        several => {
            let names: Vec<String> = several.iter().map(|pair| plain(&pair.side.label)).collect();
            match names.as_slice() {
                [a, b] => format!("{a} and {b} vs {base}"),
                names => format!("{} vs {base}", counted(names.len() as u64, "result")),
            }
        }
    };
    sides::titled(&sides, &sides::subject(Some(&comparison.baseline), compared))
}

/// The loads that have rows.
fn conditions(comparison: &Comparison) -> Vec<String> {
    let mut places: Vec<&Condition> = Vec::new();
    for row in comparison.pairs.iter().flat_map(|pair| &pair.rows) {
        if !places.contains(&&row.at) {
            places.push(&row.at);
        }
    }
    let loads = words::loads(&places);
    let rows: usize = comparison.pairs.iter().map(|pair| pair.rows.len()).sum();
    [loads, counted(rows as u64, "row")].into_iter().filter(|text| !text.is_empty()).collect()
}

/// What single runs leave out, each sentence once.
fn banners(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in comparison.pairs.iter().filter_map(words::single_runs) {
        let line = format!("⚠ {line}");
        if !found.contains(&line) {
            found.push(line);
        }
    }
    found
}

fn tiles(comparison: &Comparison) -> Vec<Tile> {
    let [only] = comparison.pairs.as_slice() else {
        return comparison.pairs.iter().take(TILES_MAX).map(side_tile).collect();
    };
    if only.rows.is_empty() {
        return Vec::new();
    }
    let is_inter_event = comparison.baseline.is_inter_event || only.side.is_inter_event;
    let rows = format!("of {}", counted(only.rows.len() as u64, "row"));
    let tile = |question: &str, verdict: Verdict, tone: Tone| {
        let found = only.count(verdict);
        let detail = largest(only, verdict, is_inter_event).unwrap_or_default();
        Tile::new(question, found.to_string(), rows.clone(), detail)
            .toned((found > 0).then_some(tone))
    };
    let open = only.count(Verdict::Inconclusive);
    let same = only.count(Verdict::NoRelevantDifference) + only.count(Verdict::NoDifferenceShown);
    let detail = match same {
        0 => "too few values, or intervals that are too wide".to_owned(),
        same => format!("{same} more show no difference"),
    };
    let tiles = [
        tile("Better", Verdict::Better, Tone::Good),
        tile("Worse", Verdict::Worse, Tone::Bad),
        Tile::new("Not decided", open.to_string(), rows.clone(), detail),
    ];
    let capacity = only.capacity.as_ref().map(|found| {
        let (a, b, ratio) = words::capacity(found);
        let short = |text: &str| text.split(" [").next().unwrap_or_default().to_owned();
        Tile::new(
            format!("Load inside {}", target(&found.slo)),
            format!("{} → {}", short(&a), short(&b)),
            words::capacity_unit(found),
            [format!("{a} → {b}"), ratio]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
        )
    });
    tiles.into_iter().chain(capacity).collect()
}

/// The verdicts of one of several sides.
fn side_tile(pair: &Pair) -> Tile {
    let (better, worse) = (pair.count(Verdict::Better), pair.count(Verdict::Worse));
    let others = pair.rows.len() - better - worse;
    let tone = match (better, worse) {
        (0, 0) => None,
        (_, 0) => Some(Tone::Good),
        (0, _) => Some(Tone::Bad),
        _ => Some(Tone::Warn),
    };
    let detail = format!("{worse} worse, {others} without a difference or not decided");
    let rows = format!("of {} better", counted(pair.rows.len() as u64, "row"));
    Tile::new(plain(&pair.side.label), better.to_string(), rows, detail).toned(tone)
}

/// The largest change with a verdict: `ITL p50 at 8 users: −66.3 % [−66.7, −65.2]`.
fn largest(pair: &Pair, verdict: Verdict, is_inter_event: bool) -> Option<String> {
    let size = |row: &Row| {
        let change = words::change_value(row).unwrap_or_default();
        if row.measure.is_share() { change.abs() } else { change.max(f64::MIN_POSITIVE).ln().abs() }
    };
    let rows = pair.rows.iter().filter(|row| row.verdict == verdict);
    let row = rows.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let name = words::measure(row.measure, is_inter_event);
    Some(format!("most: {name} at {}, {}", words::condition(&row.at), words::row_change(row)))
}

/// The result in sentences; a tile has the first.
fn remarks(comparison: &Comparison) -> Vec<Remark> {
    let several = comparison.pairs.len() > 1;
    let sentences = comparison.pairs.iter().flat_map(|pair| {
        let mut lines = words::summary(comparison, pair);
        // How rows were judged is at the end of the page; tiles count the verdicts of one side.
        lines.retain(|line| *line != words::basis(comparison, pair));
        if !several {
            lines.remove(0);
        }
        let capacity = pair.capacity.as_ref().filter(|_| several).map(|found| {
            let (a, b, ratio) = words::capacity(found);
            let unit = words::capacity_unit(found);
            format!(
                "{}: {unit} inside {}: {a} → {b} {ratio}",
                plain(&pair.side.label),
                target(&found.slo)
            )
        });
        lines.into_iter().chain(capacity).collect::<Vec<_>>()
    });
    sentences.map(|text| remark("comparison", Tone::Note, text.trim_end().to_owned())).collect()
}

fn sections(comparison: &Comparison, all: &[&SideHead], command: &[String]) -> Vec<Section> {
    let mut sections = Vec::new();
    let drawn = curves::figures(comparison);
    if !drawn.is_empty() {
        let note = "Color is the side. Bands and bars are intervals; a hollow mark has too few values, or lies \
                    between two measured loads.";
        sections.push(Section::new(
            "Side by side",
            vec![Block::Prose(note.to_owned()), Block::Figures(drawn)],
        ));
    }
    for pair in &comparison.pairs {
        let drawn = changes::figures(comparison, pair);
        if !drawn.is_empty() {
            let heading = headed("Changes", comparison, pair);
            let blocks = vec![Block::Prose(changes::legend(comparison)), Block::Figures(drawn)];
            sections.push(Section::new(heading, blocks));
        }
    }
    for pair in &comparison.pairs {
        let mut blocks = Vec::new();
        if !pair.rows.is_empty() {
            blocks.push(Block::Table(table(comparison, pair)));
        }
        let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
        let doubts = words::doubts(pair, is_inter_event);
        if !doubts.is_empty() {
            let open = vec![Block::List(doubts)];
            blocks.push(Block::Details("Why rows are inconclusive".to_owned(), open));
        }
        if !blocks.is_empty() {
            sections.push(Section::new(headed("Every row", comparison, pair), blocks));
        }
    }
    let mut method: Vec<String> = Vec::new();
    for line in comparison.pairs.iter().map(|pair| words::basis(comparison, pair)) {
        if !method.contains(&line) {
            method.push(line);
        }
    }
    method.push(format!("{} draws, seed {}", comparison.resamples, comparison.seed));
    sections.push(sides::sources(all, "The sides, the baseline first.", &method, command));
    sections
}

/// A heading, with the side where there are several.
fn headed(heading: &str, comparison: &Comparison, pair: &Pair) -> String {
    match comparison.pairs.len() {
        1 => heading.to_owned(),
        _ => format!("{heading}: {}", plain(&pair.side.label)),
    }
}

/// Every row; values are in the units of the JSON document.
fn table(comparison: &Comparison, pair: &Pair) -> Table {
    let is_inter_event = comparison.baseline.is_inter_event || pair.side.is_inter_event;
    let side = |row: &Row, cell: Option<comparison::Cell>| {
        let Some(cell) = cell else { return Cell::text(ABSENT) };
        let (unit, per) = unit_json(row.measure.unit());
        let text = words::cell(row.measure.unit(), &cell);
        Cell { value: Some(cell.value / per), ..Cell::text(text) }.in_unit(unit)
    };
    let change = |row: &Row| {
        let unit = if row.measure.is_share() { "points" } else { "ratio" };
        let text = words::row_change(row);
        Cell { value: words::change_value(row), ..Cell::text(text) }.in_unit(unit)
    };
    let verdict = |row: &Row| {
        let (sign, tone) = match row.verdict {
            Verdict::Better => ("✓ ", Tone::Good),
            Verdict::Worse => ("✗ ", Tone::Bad),
            Verdict::PredictedAbove => ("▲ ", Tone::Warn),
            Verdict::PredictedBelow => ("▼ ", Tone::Warn),
            Verdict::Inconclusive => ("", Tone::Warn),
            Verdict::NoRelevantDifference | Verdict::NoDifferenceShown => ("", Tone::Note),
        };
        Cell::text(format!("{sign}{}", words::row_verdict(row))).toned(tone)
    };
    let [a, b] = [&comparison.baseline, &pair.side].map(|side| Head::number(plain(&side.label)));
    let caption = format!(
        "{} against {}; a value is followed by half of its interval.",
        plain(&pair.side.label),
        plain(&comparison.baseline.label)
    );
    Columns::<&Row>::default()
        .text("load", |row| words::condition(&row.at))
        .name("metric", |row| words::measure(row.measure, is_inter_event))
        .cell(a, |row| side(row, row.a))
        .cell(b, |row| side(row, row.b))
        .cell(Head::number("change"), |row| change(row))
        .cell(Head::text("verdict"), |row| verdict(row))
        .table(caption, pair.rows.iter())
}
