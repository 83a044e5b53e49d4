//! What the kinds share: the audit as a trust strip, axes and series, names of things.

use super::Subject;
use crate::format::{meant, plain};
use crate::model::{ReportModel, workload_parts};
use crate::page::{Check, Page, Remark, Tile, Trust};
use crate::words::tally;
use ifm_chart::{Axis, Point, Scale, Series};
use ifm_core::words::counted;
use ifm_metrics::level::Load;
use ifm_results::{Curve, Results, Stat};
use ifm_rules::audit::{Audit, Finding, Level, Looked};
use ifm_rules::insight::{Bands, Insight, Meant, Tone, Topic};

/// Workloads and servers that are named; of more the number is given.
const NAMED_MAX: usize = 2;
/// Sentences of a summary, at most.
pub(super) const REMARKS_MAX: usize = 5;
/// Lines in one chart, at most.
pub(crate) const LINES_MAX: usize = 6;
/// Values that span more than this factor get a logarithmic axis.
pub(super) const SPAN_LINEAR_MAX: f64 = 20.0;

/// Rules whose sentence is an answer, the most asked first: how many, what it costs, what is best.
const ANSWERS: [&str; 10] = [
    "capacity",
    "cheapest",
    "overall_winner",
    "equal_latency",
    "versus_speed",
    "condition_model",
    "condition_missing",
    "power",
    "kernel",
    "speed_range",
];
/// Answers at the head of a summary, at most.
const ANSWERS_MAX: usize = 3;

/// The sentences of a summary: the answers first, then what matters most.
pub(super) fn summary(insights: &[Insight]) -> Vec<Remark> {
    let answers: Vec<&Insight> = ANSWERS
        .iter()
        .filter_map(|rule| insights.iter().find(|insight| insight.rule == *rule))
        .take(ANSWERS_MAX)
        .collect();
    let is_answer =
        |insight: &&Insight| answers.iter().any(|answer| std::ptr::eq(*answer, *insight));
    let others = insights.iter().filter(|insight| !is_answer(insight));
    answers.iter().copied().chain(others).take(REMARKS_MAX).map(Remark::of).collect()
}

/// What several runs measured: their workload, servers and dates. One run says it in its own words.
pub(super) fn measured(runs: &[ReportModel]) -> Vec<String> {
    if runs.len() < 2 {
        return Vec::new();
    }
    let distinct = |texts: &mut dyn Iterator<Item = String>| {
        let mut seen: Vec<String> = Vec::new();
        texts.for_each(|text| {
            if !seen.contains(&text) {
                seen.push(text);
            }
        });
        seen
    };
    let few = |found: Vec<String>, many: &str| match found.len() {
        0 => None,
        1..=NAMED_MAX => Some(found.join(" and ")),
        more => Some(counted(more as u64, many)),
    };
    let manifests = || runs.iter().map(|run| &run.manifest);
    let workloads = distinct(&mut manifests().map(|run| workload_parts(run).join(", ")));
    let measured = manifests().filter(|run| run.predicted.is_none());
    let servers = distinct(&mut measured.map(|run| plain(&run.spec.target.address())));
    let mut days = distinct(&mut manifests().map(|run| run.created_utc.chars().take(10).collect()));
    days.sort_unstable();
    let days = days.first().zip(days.last()).map(|(first, last)| match first == last {
        true => plain(first),
        false => format!("{} to {}", plain(first), plain(last)),
    });
    [few(workloads, "workload"), few(servers, "server"), days].into_iter().flatten().collect()
}

/// What every kind's page begins with: its title, the documents, the checks and the most important
/// sentences. Without a title the things of this factor name it.
pub(super) fn page(
    subject: &Subject,
    (kind, results): (&'static str, &Results),
    insights: &[Insight],
    (factor, nothing): (&str, &str),
) -> Page {
    let names = results.values(factor);
    let title = match (subject.title, names.as_slice()) {
        (Some(title), _) => plain(title),
        (None, [only]) => plain(only),
        (None, []) => nothing.to_owned(),
        (None, [first, rest @ ..]) => format!("{} and {} more", plain(first), rest.len()),
    };
    let (facts, remarks) = (sources(results), summary(insights));
    Page { kind, title, facts, trust: subject.audit.map(trust), remarks, ..Page::default() }
}

/// A page that says why there is nothing to compare.
pub(super) fn nothing(subject: &Subject, kind: &'static str, why: &str) -> Page {
    let page = page(subject, (kind, subject.question.results), &[], ("", "Measurements"));
    Page { banners: vec![why.to_owned()], ..page }
}

/// Where words such as instant or noisy are from.
pub(super) fn bounds() -> String {
    format!("words such as instant or noisy: bounds of version {}", Bands::get().version)
}

/// The id of one of several charts of the same kind.
pub(super) fn numbered(id: &str, index: usize) -> String {
    if index == 0 { id.to_owned() } else { format!("{id}-{}", index + 1) }
}

/// The largest value of a chart; 0 without one.
pub(super) fn largest(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).filter_map(|point| point.y).fold(0.0, f64::max)
}

/// Insights about these topics, in their order.
pub(super) fn about<'a>(
    insights: &'a [Insight],
    topics: &'a [Topic],
) -> impl Iterator<Item = &'a Insight> {
    insights.iter().filter(|insight| topics.contains(&insight.topic))
}

/// The audit of documents as the checks of a page: what is loud, and every rule.
pub(crate) fn trust(audit: &Audit) -> Trust {
    let tone = |level: Level| match level {
        Level::Hint => Tone::Note,
        Level::Strong => Tone::Warn,
        Level::Proof => Tone::Bad,
    };
    let (mut silent, mut hints, mut strong, mut proof) = (0, 0, 0, 0);
    let mut all = Vec::new();
    for rule in &audit.rules {
        let (state, lines) = match &rule.looked {
            Looked::Needs(what) => (format!("– not applicable, needs {what}"), Vec::new()),
            Looked::Found(findings) => {
                let (count, state) = match findings.iter().map(|finding| finding.level).max() {
                    None => (&mut silent, "✓ passed"),
                    Some(Level::Hint) => (&mut hints, "· hint"),
                    Some(Level::Strong) => (&mut strong, "⚠ caution"),
                    Some(Level::Proof) => (&mut proof, "✗ cannot be right"),
                };
                *count += 1;
                (state.to_owned(), findings.iter().map(|found| found.text.clone()).collect())
            }
        };
        all.push(Check { state, title: rule.title.to_owned(), lines });
    }
    let line = tally(silent, [(hints, "hint"), (strong, "strong finding"), (proof, "proof")]);
    let loud = audit
        .findings()
        .into_iter()
        .map(|finding| (tone(finding.level), finding.text.clone()))
        .collect();
    Trust { line, loud, all }
}

/// The rule that adds up tokens.
pub(super) const TOKEN_SUM: &str = "token_sum";

/// What proofs of the audit take away, by rule. Rules that are not here prove something about a
/// sentence or a cell that no answer is computed from.
fn taken_away(rule: &str) -> &'static [Topic] {
    match rule {
        "faster_than_light" => {
            &[Topic::DecodeSpeed, Topic::Itl, Topic::Ttft, Topic::Capacity, Topic::Throughput]
        }
        TOKEN_SUM => &[Topic::Throughput],
        _ => &[],
    }
}

/// What in the documents cannot be right and takes away what is said about a topic.
fn proof_against(audit: &Audit, topic: Topic) -> Option<&Finding> {
    let is_of = |finding: &&Finding| taken_away(finding.rule).contains(&topic);
    audit.findings().into_iter().filter(is_of).find(|finding| finding.level == Level::Proof)
}

/// An answer, struck out if something in the documents that cannot be right takes it away.
pub(super) fn strike(audit: &Audit, tile: Tile) -> Tile {
    let proof = tile.topic.and_then(|topic| proof_against(audit, topic));
    tile.struck(proof.map(|finding| finding.text.as_str()))
}

/// Takes its praise from a sentence that the same takes away.
pub(super) fn doubt(audit: &Audit, remark: &mut Remark) {
    if remark.tone == Tone::Good && proof_against(audit, remark.topic).is_some() {
        remark.tone = Tone::Warn;
        remark.text.push_str(" The checks name figures of these rows that cannot be right.");
    }
}

/// The axis of the load: users, or requests per second.
pub(super) fn load_axis(curves: &[Curve]) -> Axis {
    let mut loads = curves.iter().flat_map(|curve| &curve.points).map(|point| point.cell.load());
    axis_of(loads.any(|load| matches!(load, Some(Load::ReqPerS(_)))))
}

/// The axis of rates of an open loop, or of users.
pub(crate) fn axis_of(is_open: bool) -> Axis {
    let (name, unit) = if is_open { ("requests asked for", "req/s") } else { ("users", "") };
    Axis::new(name, unit).scaled(Scale::Log2)
}

/// An axis for these series: logarithmic where the values span much, else from zero.
pub(crate) fn value_axis(name: &str, unit: &str, series: &[Series]) -> Axis {
    let values = || series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let smallest = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let is_wide = largest(series) > SPAN_LINEAR_MAX * smallest && values().all(|value| value > 0.0);
    let scale = if is_wide { Scale::Log10 } else { Scale::Linear { from_zero: true } };
    Axis::new(name, unit).scaled(scale)
}

/// A reading as a point of a chart.
pub(super) fn point(x: f64, reading: &Stat, how: Meant) -> Point {
    Point::at(x, reading.value)
        .between(reading.low, reading.high)
        .trusted(reading.is_enough)
        .told(meant(reading.value, how))
}

/// Curves as lines, each in its own color.
pub(super) fn lines(curves: &[Curve], how: Meant) -> Vec<Series> {
    let points = |curve: &Curve| -> Vec<Point> {
        curve.points.iter().map(|at| point(at.at, &at.stat, how)).collect()
    };
    let line = |(index, curve): (usize, &Curve)| Series::new(curve.name(), points(curve)).of(index);
    curves.iter().enumerate().map(line).collect()
}

/// The ends of lines in words, for those who do not see them.
pub(crate) fn ends(series: &[Series], unit: &str) -> String {
    let words = |point: &Point| {
        Some(format!("{} at {}", point.text.as_ref()?, meant(point.x, Meant::Load)))
    };
    let end = |series: &Series| {
        let (first, last) = (series.points.first()?, series.points.last()?);
        let name = match series.name.as_str() {
            "" => String::new(),
            name => format!("{name}: "),
        };
        let unit = if unit == "users" && last.x == 1.0 { "user" } else { unit };
        Some(match series.points.len() {
            1 => format!("{name}{} {unit}.", words(first)?),
            _ => format!("{name}{}, {} {unit}.", words(first)?, words(last)?),
        })
    };
    series.iter().take(LINES_MAX).filter_map(end).collect::<Vec<_>>().join(" ")
}

/// The tools and documents that results were made from, in words.
pub(super) fn sources(results: &Results) -> Vec<String> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for origin in &results.sources {
        let tool = origin.tool.as_ref().map(|tool| {
            let version = origin.tool_version.as_deref().unwrap_or("");
            format!(" ({})", format!("{tool} {version}").trim())
        });
        let name = if origin.is_own { &origin.side } else { &origin.name };
        let word = plain(&format!("{name}{}", tool.unwrap_or_default()));
        match found.iter_mut().find(|(known, _)| *known == word) {
            Some((_, runs)) => *runs += 1,
            None => found.push((word, 1)),
        }
    }
    let words = found.into_iter().map(|(word, runs)| match runs {
        1 => word,
        runs => format!("{word}, {}", counted(runs, "run")),
    });
    let mut words: Vec<String> = words.collect();
    const SHOWN_MAX: usize = 4;
    let more = words.len().saturating_sub(SHOWN_MAX);
    words.truncate(SHOWN_MAX);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    words
}
