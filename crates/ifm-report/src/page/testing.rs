//! A page with one of everything.

use super::{Block, Cell, Check, Figure, Head, Page, Remark, Section, Table, Tile, Trust};
use ifm_chart::{Axis, Cartesian, Chart, Plot, Point, Scale, Series};
use ifm_results::say;
use ifm_rules::insight::{Insight, Tone, Topic};

/// One insight: 2.35 times and 41 ms.
fn insight(tone: Tone) -> Insight {
    let sentence = say!("ITL grows {}, to {}."; 34.5 / 14.7 => Times, 41.25 => Ms);
    Insight::new("growth", Topic::Itl, tone, sentence)
}

fn chart() -> Chart {
    let point = |x: f64, y: f64| Point { x, y: Some(y), ..Point::default() };
    let series = Series {
        name: "one".to_owned(),
        points: vec![point(1.0, 10.0), point(8.0, 41.25)],
        ..Series::default()
    };
    let axis = |name: &str, unit: &str, scale| Axis {
        name: name.to_owned(),
        unit: unit.to_owned(),
        scale,
        ..Axis::default()
    };
    Chart {
        id: "itl".to_owned(),
        title: "How long between tokens?".to_owned(),
        subject: String::new(),
        description: "one: 10 ms at 1, 41.3 ms at 8 users.".to_owned(),
        plot: Plot::Cartesian(Cartesian {
            x: axis("users", "", Scale::Log2),
            y: axis("ITL", "ms", Scale::Linear { from_zero: true }),
            series: vec![series],
            ..Cartesian::default()
        }),
    }
}

/// A page with one of everything.
pub(crate) fn page() -> Page {
    let table = Table {
        caption: "Two rows.".to_owned(),
        heads: vec![Head::text("name"), Head::number("ITL, ms").explained("inter-token latency")],
        rows: vec![
            vec![
                Cell::head("one"),
                Cell::number(Some(41.25), |ms| format!("{ms:.1}")).noted("n=3"),
            ],
            vec![Cell::head("two"), Cell::number(None, |ms| ms.to_string()).toned(Tone::Bad)],
        ],
    };
    let figure = Figure::new(chart(), [&insight(Tone::Warn)]).captioned("Per user.");
    let blocks = vec![
        Block::Prose("What follows is < measured & true.".to_owned()),
        Block::Figures(vec![figure]),
        Block::Table(table),
        Block::Remarks(vec![Remark::of(&insight(Tone::Good).hypothesis())]),
        Block::Pre("inferometer run\n".to_owned()),
        Block::List(vec!["a point".to_owned()]),
        Block::Details("More".to_owned(), vec![Block::Prose("Hidden.".to_owned())]),
    ];
    Page {
        kind: "sweep",
        title: "a model".to_owned(),
        facts: vec!["engine 1.0".to_owned(), "2026-11-20".to_owned()],
        conditions: vec!["chat 1 024→256".to_owned()],
        lead: None,
        banners: vec!["⚠ Partial run: stopped".to_owned()],
        tiles: vec![Tile {
            question: "How many users?".to_owned(),
            value: "8".to_owned(),
            unit: String::new(),
            detail: "inside ITL p99 ≤ 50 ms".to_owned(),
            tone: Some(Tone::Good),
            ..Tile::default()
        }],
        trust: Some(Trust {
            line: "1 passed, 1 warning".to_owned(),
            loud: vec![(Tone::Warn, "few requests".to_owned())],
            all: vec![Check {
                state: "⚠ caution".to_owned(),
                title: "enough requests".to_owned(),
                lines: vec!["few requests".to_owned()],
            }],
        }),
        remarks: vec![Remark::of(&insight(Tone::Note))],
        sections: vec![Section::new("A chapter", blocks), Section::inner("A chapter", Vec::new())],
        notes: None,
        footer: vec!["made by inferometer".to_owned()],
    }
}
