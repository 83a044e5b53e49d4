//! An audit as a page: the worst finding first, findings by rule, and what could not be examined.

use super::{footer, provenance, written_by};
use crate::audit::{at_least, blind, closing, spots};
use crate::format::{paragraph, plain};
use crate::kind::common;
use crate::page::{Block, Cell, Columns, Figure, Head, Page, Section, Table, Tile};
use ifm_chart::{Axis, Cartesian, Chart, Form, GREY, Point, Series};
use ifm_core::words::counted;
use ifm_rules::audit::{Audit, Finding, Level};
use ifm_rules::insight::Tone;

/// Documents that the title names.
const NAMED_MAX: usize = 2;
/// Levels, the strongest first: name, singular, color.
const LEVELS: [(Level, &str, u8); 3] = [
    (Level::Proof, "proof", super::ORANGE),
    (Level::Strong, "strong", 4),
    (Level::Hint, "hint", GREY),
];

/// An audit of documents as a page, with findings of at least `level`. `command` is the line that made
/// it.
pub fn audit_page(audit: &Audit, level: Level, documents: &[String], command: &[String]) -> Page {
    let names: Vec<String> = documents.iter().map(|name| plain(name)).collect();
    let subject = match names.len() {
        0..=NAMED_MAX => names.join(" and "),
        more => counted(more as u64, "document"),
    };
    let findings = at_least(audit, level);
    let mut sections = Vec::new();
    if let Some(figure) = figure(&findings) {
        sections.push(Section::new("By rule", vec![Block::Figures(vec![figure])]));
    }
    if !findings.is_empty() {
        sections.push(Section::new("Findings", vec![Block::Table(table(&findings))]));
    }
    let open: Vec<String> = blind(audit)
        .into_iter()
        .map(|(needs, rules)| format!("{needs}: {}", rules.join(", ")))
        .collect();
    if !open.is_empty() {
        let blocks =
            vec![Block::Details("Data that rules need".to_owned(), vec![Block::List(open)])];
        sections.push(Section::new("Not examined", blocks));
    }
    let mut sources = vec![Block::List(names)];
    sources.extend(written_by(command));
    sections.push(provenance(sources));
    Page {
        kind: "audit",
        title: format!("Audit of {subject}"),
        facts: vec![counted(documents.len() as u64, "document")],
        conditions: vec![closing(audit)],
        lead: Some(answer(audit)),
        tiles: tiles(audit),
        trust: Some(common::trust(audit)),
        sections,
        footer: footer(),
        ..Page::default()
    }
}

/// The gravest finding, or that nothing was found.
fn answer(audit: &Audit) -> String {
    let findings = audit.findings();
    match findings.first() {
        None => format!("Nothing was found: {}", closing(audit)),
        Some(first) => {
            let more = findings.len() - 1;
            let more = match more {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let says = match first.level {
                Level::Proof => "Cannot be right",
                Level::Strong => "Hard to explain innocently",
                Level::Hint => "Worth a look",
            };
            format!("{says}: {}{more}", paragraph(&first.text))
        }
    }
}

fn tiles(audit: &Audit) -> Vec<Tile> {
    let findings = audit.findings();
    let questions = ["Cannot be right", "Strong findings", "Hints"];
    let tones = [Tone::Bad, Tone::Warn, Tone::Note];
    let tile = |((level, ..), (question, tone)): (&(Level, &str, u8), (&str, Tone))| {
        let of = || findings.iter().filter(|finding| finding.level == *level);
        let count = of().count();
        let mut rules: Vec<&str> = of().map(|finding| finding.rule).collect();
        rules.dedup();
        Tile::new(question, count.to_string(), "", rules.join(", "))
            .toned((count > 0).then_some(tone))
    };
    LEVELS.iter().zip(questions.into_iter().zip(tones)).map(tile).collect()
}

/// How many findings each rule has, by level.
fn figure(findings: &[&Finding]) -> Option<Figure> {
    let mut rules: Vec<&'static str> = Vec::new();
    for finding in findings {
        if !rules.contains(&finding.rule) {
            rules.push(finding.rule);
        }
    }
    let count = |rule: &str, level: Level| {
        findings.iter().filter(|finding| finding.rule == rule && finding.level == level).count()
    };
    let series = LEVELS.iter().filter_map(|(level, name, color)| {
        let point = |(place, rule): (usize, &&str)| {
            let count = count(rule, *level);
            let text = counted(count as u64, "finding");
            (count > 0).then(|| Point::at(place as f64, count as f64).told(text))
        };
        let points: Vec<Point> = rules.iter().enumerate().filter_map(point).collect();
        let series = Series::new(*name, points).form(Form::Bar);
        (!series.points.is_empty()).then_some(Series { color: *color, ..series })
    });
    let told: Vec<String> = rules
        .iter()
        .map(|rule| {
            let of = findings.iter().filter(|finding| finding.rule == *rule);
            format!("{rule} {}", of.count())
        })
        .collect();
    let plot = Cartesian::new(
        Axis::of_names(rules.iter().copied()),
        Axis::new("findings", ""),
        series.collect(),
    );
    // One rule has one bar for each level that found something.
    let plot = Cartesian { is_joined: true, ..plot.horizontal() };
    let title = "Which rules found something?";
    let chart = Chart::new("findings", title, format!("{}.", told.join("; ")), plot);
    (!rules.is_empty()).then(|| Figure::alone(chart))
}

fn table(findings: &[&Finding]) -> Table {
    let level = |finding: &Finding| {
        let tone = match finding.level {
            Level::Proof => Tone::Bad,
            Level::Strong => Tone::Warn,
            Level::Hint => Tone::Note,
        };
        Cell::text(finding.level.word()).toned(tone)
    };
    let mut table = Columns::<&Finding>::default()
        .cell(Head::text("level"), |finding| level(finding))
        .name("rule", |finding| finding.rule.to_owned())
        .text("finding", |finding| paragraph(&finding.text))
        .text("to settle it", |finding| {
            finding.remedy.as_deref().map_or_else(|| crate::ABSENT.to_owned(), paragraph)
        })
        .text("where", |finding| spots(finding))
        .table("The gravest first.", findings.iter());
    table.drop_empty_columns();
    table
}
