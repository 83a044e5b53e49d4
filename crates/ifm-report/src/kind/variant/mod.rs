//! A base model against a changed one, most often a compressed one.
//!
//! Both are compared at the same load, never at the highest load of each, since those differ. The
//! sections follow the order of the published comparison that this kind is modeled on. Not here:
//! the sentences (`ifm-rules/src/insight/rule`), how GuideLLM prints a table (`pipe`).

mod charts;
mod drawing;
mod offered;
mod pipe;
mod shares;
mod tables;
mod tiles;

use super::common::{REMARKS_MAX, about, bounds, nothing, page as frame};
use super::{Kind, Subject};
use crate::format::plain;
use crate::page::{Block, Columns, Figure, Page, Remark, Section, Table};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, key};
use ifm_metrics::machine::told_of;
use ifm_rules::insight::{CENTER, Insight, Question, Scheme, Stage, Topic, Versus, insights};
use std::borrow::Cow;

/// Maximum number of others next to the base that are still recognized as a comparison of variants.
const OTHERS_MAX: usize = 3;

pub(super) const KIND: Kind = Kind {
    word: "variant",
    about: "a base model against a compressed or otherwise changed one, at equal load",
    fits,
    page,
};

/// What a page is made of: what is compared, and what the rules say about it.
struct Compared<'a> {
    question: Question<'a>,
    insights: Cow<'a, [Insight]>,
    all: Vec<Versus<'a>>,
}

/// Whether curves of a model and of its twin in another precision are compared, and nothing is only
/// announced.
fn fits(subject: &Subject) -> bool {
    let results = subject.question.results;
    let all = Versus::all(&subject.question);
    let is_planned = results.of_role(RowRole::Planned).next().is_some();
    let is_twin = |versus: &Versus| {
        let scheme = |name: &str| Scheme::of(name, None);
        let base = scheme(&versus.base.name);
        let is_changed = |name: &str| {
            [key::MODEL, key::QUANTIZATION].contains(&versus.by.as_str()) && scheme(name) != base
        };
        let points = |party| versus.curve(party, Metric::Itl, CENTER).points.len();
        (1..=OTHERS_MAX).contains(&versus.others.len())
            && versus.others.iter().all(|party| is_changed(&party.name))
            && versus.parties().all(|party| points(party) > 1)
    };
    // A prediction is not a variant of a measurement.
    !is_planned && !results.is_mixed() && !all.is_empty() && all.iter().all(is_twin)
}

/// What is compared: as the user asked, else side by side.
fn compared<'a>(subject: &'a Subject<'a>) -> Compared<'a> {
    let question = subject.question.clone();
    let all = Versus::all(&question);
    if !all.is_empty() || question.compare_by.is_some() {
        return Compared { question, insights: Cow::Borrowed(subject.insights), all };
    }
    let question = Question { compare_by: Some(key::RUN.to_owned()), ..question };
    let all = Versus::all(&question);
    let insights = Cow::Owned(insights(&question));
    Compared { question, insights, all }
}

fn page(subject: &Subject) -> Page {
    let results = subject.question.results;
    let compared = compared(subject);
    let mut sections = Vec::new();
    let Some(first) = compared.all.first() else { return nothing(subject, KIND.word, NOTHING) };
    sections.push(hardware(subject));
    sections.extend(models(first));
    for versus in &compared.all {
        sections.extend(sections_of(subject, &compared, versus));
    }
    sections.push(conclusion(&compared));
    let others: Vec<&str> = first.others.iter().map(|party| party.name.as_str()).collect();
    let title = format!("{} against {}", others.join(", "), first.base.name);
    let rows: usize = first.parties().map(|party| party.cells.len()).sum();
    Page {
        conditions: vec![
            format!("compared by {}, baseline {}", plain(&first.by), plain(&first.base.name)),
            format!("{rows} measurements, against {}", first.axis.words()),
        ],
        tiles: tiles::tiles(&compared, first, subject.audit),
        remarks: spread(&compared.insights),
        sections,
        footer: vec![bounds()],
        ..frame(subject, (KIND.word, results), &[], ("", &plain(&title)))
    }
}

const NOTHING: &str = "✗ Nothing to compare: two things that were measured at some load are needed, \
                       and of more than two one has to be the baseline: name it with --baseline, \
                       and what distinguishes them with --compare.";

/// The first sentence of each rule of a comparison, then whatever else is important.
fn spread(insights: &[Insight]) -> Vec<Remark> {
    const FIRST: [&str; 4] = ["versus_speed", "equal_latency", "itl_growth", "in_flight_words"];
    let first = FIRST.iter().filter_map(|rule| {
        let of_rule = |insight: &&Insight| insight.rule == *rule;
        let is_itl = |insight: &&Insight| insight.topic == Topic::Itl;
        insights.iter().filter(of_rule).find(is_itl).or_else(|| insights.iter().find(of_rule))
    });
    let mut remarks: Vec<Remark> = first.map(Remark::of).collect();
    for insight in insights.iter().filter(|insight| !insight.is_hypothesis) {
        let remark = Remark::of(insight);
        if remarks.len() < REMARKS_MAX && remarks.iter().all(|known| known.text != remark.text) {
            remarks.push(remark);
        }
    }
    remarks
}

/// Facts of a machine that a reader of two curves needs.
const HARDWARE: [&str; 5] =
    ["GPUs", "GPU memory", "GPU driver", "power limit", "processor of the host"];

fn hardware(subject: &Subject) -> Section {
    let results = subject.question.results;
    let mut lines: Vec<String> = Vec::new();
    // What several runs share is listed once.
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for point in &results.points {
        let written = point.factor(key::HARDWARE).or_else(|| point.factor(key::GPU));
        written.into_iter().for_each(|words| add(plain(&words)));
    }
    for facts in subject.runs.iter().filter_map(|run| run.manifest.facts.as_ref()) {
        let devices = told_of(facts).filter(|(_, what, _)| HARDWARE.contains(what));
        devices.for_each(|(_, what, value)| add(format!("{what}: {}", plain(&value))));
    }
    results.values(key::ENGINE).iter().for_each(|engine| add(format!("engine: {}", plain(engine))));
    for (name, value) in subject.runs.iter().flat_map(|run| &run.manifest.server.notes) {
        add(format!("{}: {}", plain(name), plain(value)));
    }
    let block = match lines.is_empty() {
        true => Block::Prose("Not stated.".to_owned()),
        false => Block::List(lines),
    };
    Section::new("Hardware", vec![block])
}

/// What is compared, by name, and how it is quantized.
fn models(versus: &Versus) -> Vec<Section> {
    let name = |name: &str| Block::Prose(plain(name));
    let quantization = |party: &ifm_rules::insight::Party| {
        party.cells.first().and_then(|cell| cell.factor(key::QUANTIZATION))
    };
    let mut sections = vec![Section::new("Base Model", vec![name(&versus.base.name)])];
    for party in &versus.others {
        let precision = quantization(party);
        let scheme = Scheme::of(&party.name, precision.as_deref());
        let is_quantized = scheme.is_some() || precision.is_some();
        let heading = if is_quantized { "Quantized Model" } else { "Compared Model" };
        sections.push(Section::new(heading, vec![name(&party.name)]));
        let mut blocks = Vec::new();
        match (&precision, scheme) {
            (None, None) => blocks.push(Block::Prose("Not stated.".to_owned())),
            (precision, scheme) => {
                let stated = precision.as_ref().map(|words| format!("stated as {}", plain(words)));
                let known = scheme.map(|scheme| format!("taken for {}", scheme.word));
                let words: Vec<String> = stated.into_iter().chain(known).collect();
                blocks.push(Block::Prose(words.join("; ")));
            }
        }
        blocks.extend(scheme.map(|scheme| Block::Table(stages(scheme))));
        sections.push(Section::new("Quantization Scheme", blocks));
    }
    sections
}

fn stages(scheme: &Scheme) -> Table {
    let columns = Columns::<Stage>::default()
        .name("Component / Stage", |stage| stage.component.clone())
        .text("Precision Used", |stage| stage.precision.clone())
        .text("Purpose", |stage| stage.purpose.clone());
    let caption = format!("Precision of each component. Source: {}.", scheme.source);
    columns.table(caption, &scheme.stages)
}

/// Everything that was measured under the same conditions.
fn sections_of(subject: &Subject, compared: &Compared, versus: &Versus) -> Vec<Section> {
    let scene = versus.scene.as_ref().map(|scene| format!(" ({})", plain(scene)));
    let scene = scene.unwrap_or_default();
    let insights = compared.insights.as_ref();
    let remarks = |rules: &[&str]| {
        let of_rule = insights.iter().filter(|insight| rules.contains(&insight.rule));
        Block::Remarks(of_rule.map(Remark::of).collect())
    };
    let mut sections = measured(subject, insights, versus, &scene);
    let mut section = |heading: &str, missing: &str, blocks: Vec<Block>| {
        let is_empty = |block: &Block| match block {
            Block::Remarks(remarks) => remarks.is_empty(),
            Block::Table(table) => table.rows.is_empty(),
            Block::Figures(figures) => figures.is_empty(),
            _ => false,
        };
        let mut blocks = blocks;
        blocks.retain(|block| !is_empty(block));
        if blocks.is_empty() {
            blocks.push(Block::Prose(missing.to_owned()));
        }
        sections.push(Section::new(format!("{heading}{scene}"), blocks));
    };
    section(
        "Concurrency Comparison",
        "The requests in flight were not counted.",
        vec![remarks(&["in_flight_words"]), Block::Table(tables::in_flight(versus))],
    );
    let figure = |chart: Option<ifm_chart::Chart>| {
        Block::Figures(chart.into_iter().map(Figure::alone).collect())
    };
    section(
        "TTFT and ITL Comparison",
        "No load was requested for both, so they are not compared at equal load.",
        vec![
            remarks(&["versus_speed", "versus_crossover", "versus_tie"]),
            figure(charts::advantage(versus)),
            Block::Table(tables::equal_load(versus)),
        ],
    );
    section(
        "ITL Degradation Ratio",
        "An ITL at two loads is needed.",
        vec![
            remarks(&["itl_growth", "scheme_reason"]),
            figure(charts::growths(versus)),
            Block::Table(tables::growths(versus)),
        ],
    );
    let capacities = tables::equal_latency(&compared.question, versus);
    section(
        "Capacity at equal latency",
        "There is no ITL that the curves of all of them cross.",
        vec![remarks(&["equal_latency"]), Block::Table(capacities)],
    );
    sections.push(shares::section(subject, &compared.question, versus, &scene));
    sections
}

/// The charts against the load, and the two tables of each.
fn measured(subject: &Subject, insights: &[Insight], versus: &Versus, scene: &str) -> Vec<Section> {
    let topics = |topics: &'static [Topic]| -> Vec<&Insight> { about(insights, topics).collect() };
    let figures: Vec<Figure> = charts::against_load(versus)
        .into_iter()
        .map(|(chart, about)| Figure::new(chart, topics(about)))
        .collect();
    let mut blocks = vec![Block::Figures(figures)];
    if offered::is_untold(versus) {
        blocks.push(Block::Prose(offered::ABSENT_BECAUSE.to_owned()));
    }
    let mut sections = vec![Section::new(format!("Performance Results{scene}"), blocks)];
    for party in versus.parties() {
        let what = if party.name == versus.base.name { "Base Model" } else { party.name.as_str() };
        let [latency, throughput] = pipe::tables(subject, party);
        sections.push(Section::inner(
            format!("Performance Results for {}", plain(what)),
            vec![
                Block::Prose("1. Request Latency Statistics (Completed Requests)".to_owned()),
                Block::Pre(latency),
                Block::Prose("2. Server Throughput Statistics".to_owned()),
                Block::Pre(throughput),
            ],
        ));
    }
    sections
}

/// The answers once more in the order in which they are asked, not the worst first.
fn conclusion(compared: &Compared) -> Section {
    const RULES: [&str; 4] = ["equal_latency", "versus_speed", "versus_crossover", "itl_growth"];
    const TOPICS: [Topic; 3] = [Topic::Itl, Topic::Throughput, Topic::Ttft];
    let place = |insight: &&Insight| {
        let rule = RULES.iter().position(|rule| *rule == insight.rule)?;
        let topic = TOPICS.iter().position(|topic| *topic == insight.topic);
        Some((rule, topic.unwrap_or(TOPICS.len())))
    };
    let mut measured: Vec<&Insight> =
        compared.insights.iter().filter(|insight| place(insight).is_some()).collect();
    measured.order_by_key(place);
    let blocks = match measured.is_empty() {
        true => vec![Block::Prose(
            "Nothing can be concluded: no load was requested for both.".to_owned(),
        )],
        false => vec![Block::Remarks(measured.into_iter().map(Remark::of).collect())],
    };
    Section::new("Conclusion", blocks)
}

#[cfg(test)]
mod tests;
