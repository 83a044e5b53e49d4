//! Figures as OpenMetrics: text that Prometheus and everything around it reads.
//!
//! A family for each quantity, in base units (seconds, bytes, shares). Times are summaries: percentiles as
//! quantiles, the smallest and the largest value as quantiles 0 and 1, the number of values, and their
//! sum, which is mean times number. Labels are what was set: model, load, lengths, tags. Nothing that is
//! another one in the next run is a label, so that the runs of thirty nights are one curve; such things are the
//! labels of `inferometer_run_info`.
//!
//! The text is also that of Prometheus before OpenMetrics, so that a Pushgateway and the text files of
//! node_exporter take it: these know neither times nor suffixes of their own. `TIMED` has the time at which
//! each level ended, for `promtool tsdb create-blocks-from openmetrics`.
//!
//! Not here: sending it (`inferometer`).

use super::{Export, Exported, Writer};
use ifm_core::Metric;
use ifm_core::delimited::without_controls;
use ifm_core::sheet::{Definition, Factors, Figure, Row, RowRole, Statistic, StdKind, Unit, key};
use ifm_core::{RunData, Sheet};
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) const EXPORT: Export = Export {
    id: "openmetrics",
    title: "OpenMetrics, text",
    definitions: None,
    write: Writer::Results(|sheet, run| file(&families(sheet, run), false)),
    holds: "measured figures",
    lacks: "it is not read as a result; single requests, places and printed digits, texts without a name of their own",
};

pub(super) const TIMED: Export = Export {
    id: "openmetrics-timed",
    title: "OpenMetrics with the times of the levels, text",
    definitions: None,
    write: Writer::Results(|sheet, run| match run {
        Some(_) => file(&families(sheet, run), true),
        None => Vec::new(),
    }),
    holds: "levels of a run that inferometer measured",
    lacks: "the same",
};

/// What all names begin with.
const PREFIX: &str = "inferometer_";
/// Factors that differ from one run of the same thing to the next, or that say nothing.
const NOT_LABELS: [&str; 1] = [key::REQUESTS];
const MS_PER_S: f64 = 1e3;
const NS_PER_S: f64 = 1e9;

/// A family of samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Family {
    /// Its name, unit included: `inferometer_ttft_seconds`.
    pub name: String,
    /// Whether its samples are a population's: quantiles, sum and count.
    pub is_summary: bool,
    /// Last word of the name, where that is a unit.
    unit: Option<&'static str>,
    help: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What the name of the family is followed by: `_sum`, `_count` or nothing.
    pub suffix: &'static str,
    /// Names and values, by name.
    pub labels: BTreeMap<String, String>,
    /// The number.
    pub value: f64,
    /// Seconds since 1970 at which it was known; absent where the results do not say.
    pub unix_s: Option<u64>,
}

/// All that a document or a run holds.
pub fn families(sheet: &Sheet, run: Option<&RunData>) -> Vec<Family> {
    let mut families = Vec::new();
    let common = common(sheet, run);
    let measured = sheet.parts.iter().flat_map(|part| {
        let rows = part.rows.iter().filter(|row| row.role == RowRole::Measured);
        rows.map(move |row| (row, row.factors.within(&part.factors)))
    });
    for (number, (row, factors)) in measured.enumerate() {
        let mut labels = common.clone();
        if let Some(label) = &row.label {
            labels.insert("label".to_owned(), label.clone());
        }
        labels.extend(of_factors(&factors));
        let unix_s = run.and_then(|run| ended(run, row, number));
        add_row(&mut families, row, &labels, unix_s);
    }
    if families.is_empty() {
        return families;
    }
    if let Some(run) = run {
        about(run, &common, &mut families);
    }
    families
}

/// Labels of everything.
fn common(sheet: &Sheet, run: Option<&RunData>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let Some(run) = run else {
        labels.insert("document".to_owned(), sheet.source.name.clone());
        if let Some(tool) = &sheet.source.tool {
            labels.insert("tool".to_owned(), tool.clone());
        }
        return labels;
    };
    if let Some(name) = &run.manifest.name {
        labels.insert("name".to_owned(), name.clone());
    }
    let tags = run.manifest.tags.iter();
    labels.extend(tags.map(|(name, value)| (label_name(name), value.clone())));
    labels
}

/// Labels of what was set. A closed loop has no rate.
fn of_factors(factors: &Factors) -> impl Iterator<Item = (String, String)> {
    let is_closed = factors.get(key::CONCURRENCY).is_some();
    let says = move |name: &str, value: &str| {
        let is_unlimited = name == key::RATE && value == "inf" && is_closed;
        !NOT_LABELS.contains(&name) && !is_unlimited
    };
    let said = factors.iter().filter(move |(name, value)| says(name, value));
    said.map(|(name, value)| (label_name(name), value.to_owned()))
}

/// When the level of a row ended.
fn ended(run: &RunData, row: &Row, number: usize) -> Option<u64> {
    let level = super::level(row, number)?;
    let info = run.manifest.levels.iter().find(|info| info.level == level)?;
    Some(run.manifest.clock.origin_unix_ns.saturating_add(info.end_ns) / NS_PER_S as u64)
}

/// What a run is: its id and versions, which are others in each run, and its start.
fn about(run: &RunData, common: &BTreeMap<String, String>, families: &mut Vec<Family>) {
    let manifest = &run.manifest;
    let mut labels = common.clone();
    let known = [
        ("run_id", Some(&manifest.run_id)),
        ("inferometer_version", Some(&manifest.tool.version)),
        ("server_version", manifest.server.version.as_ref()),
        ("workload", manifest.spec.workload.text.as_ref()),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    labels.extend(known.map(|(name, value)| (name, value.clone())));
    let end_ns = manifest.levels.iter().map(|info| info.end_ns).max();
    let at = |since_ns: u64| manifest.clock.origin_unix_ns.saturating_add(since_ns) as f64;
    let unix_s = end_ns.map(|ns| (at(ns) / NS_PER_S) as u64);
    let mut add = |name: &str, unit, help: &str, labels: &BTreeMap<String, String>, value| {
        let sample = Sample { suffix: "", labels: labels.clone(), value, unix_s };
        families.push(Family {
            name: format!("{PREFIX}{name}"),
            is_summary: false,
            unit,
            help: help.to_owned(),
            samples: vec![sample],
        });
    };
    add("run_info", None, "What was run last: its id, its workload and versions.", &labels, 1.0);
    let start_s = at(0) / NS_PER_S;
    add(
        "run_start_timestamp_seconds",
        Some("seconds"),
        "Start of the run, seconds since 1970.",
        common,
        start_s,
    );
}

/// Adds the figures of a row.
fn add_row(
    families: &mut Vec<Family>,
    row: &Row,
    labels: &BTreeMap<String, String>,
    unix_s: Option<u64>,
) {
    for figure in &row.figures {
        let Some(value) = base_value(figure) else { continue };
        let mut labels = labels.clone();
        if let Definition::Different(words) = &figure.definition {
            labels.insert("definition".to_owned(), words.clone());
        }
        let is_population = row.figures.iter().any(|other| {
            let is_count = matches!(other.statistic, Statistic::Count) && other.value.is_some();
            is_count && other.quantity == figure.quantity
        });
        // The number of values is written next to each of the population's numbers, whatever its
        // definition.
        let count = row.figure(figure.quantity, Statistic::Count).and_then(|count| count.value);
        let quantile = match figure.statistic {
            Statistic::Percentile(p) => Some(p / 100.0),
            Statistic::Median => Some(0.5),
            Statistic::Min => Some(0.0),
            Statistic::Max => Some(1.0),
            _ => None,
        };
        let (kind, suffix, value) = match (figure.statistic, quantile) {
            (_, Some(quantile)) => {
                // Rounded as people write shares: 0.99, and not 0.9900000000000001.
                let text = format!("{}", (quantile * 1e9).round() / 1e9);
                labels.insert("quantile".to_owned(), text);
                (Kind::Summary, "", value)
            }
            (Statistic::Count, _) => (Kind::Summary, "_count", value),
            (Statistic::Mean, _) if is_population => match count {
                Some(count) => (Kind::Summary, "_sum", value * count),
                None => (Kind::Gauge(""), "", value),
            },
            (Statistic::Mean | Statistic::Value, _) => (Kind::Gauge(""), "", value),
            (Statistic::Sum, _) => (Kind::Gauge("_sum"), "", value),
            (Statistic::Std(StdKind::Population), _) => {
                (Kind::Gauge("_population_deviation"), "", value)
            }
            (Statistic::Std(_), _) => (Kind::Gauge("_deviation"), "", value),
            (Statistic::HalfWidth, _) => (Kind::Gauge("_half_width"), "", value),
            _ => continue,
        };
        let sample = Sample { suffix, labels, value, unix_s };
        push(families, (figure, base_unit(row, figure)), kind, sample);
    }
}

/// What kind of family a number belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of a population.
    Summary,
    /// A number by itself, with a word for the statistic.
    Gauge(&'static str),
}

fn push(
    families: &mut Vec<Family>,
    (figure, unit): (&Figure, Option<&'static str>),
    kind: Kind,
    sample: Sample,
) {
    let quantity = match &figure.quantity {
        Metric::Other(name) => label_name(name.as_str()),
        known => known.stored().to_owned(),
    };
    let statistic = if let Kind::Gauge(word) = kind { word } else { "" };
    let stem = format!("{PREFIX}{quantity}{statistic}");
    let mut name = match unit {
        Some(unit) if !stem.ends_with(&format!("_{unit}")) => format!("{stem}_{unit}"),
        _ => stem,
    };
    let is_summary = kind == Kind::Summary;
    // A tool that gives a mean of one thing and percentiles of another has two families.
    if families.iter().any(|other| other.name == name && other.is_summary != is_summary) {
        let own = if is_summary { "_distribution" } else { "_mean" };
        let end = unit.map(|unit| format!("_{unit}")).unwrap_or_default();
        name = format!("{}{own}{end}", name.trim_end_matches(&end));
    }
    match families.iter_mut().find(|family| family.name == name) {
        // A repeat whose labels do not differ: the first sample is kept.
        Some(family) if family.samples.iter().any(|other| is_same(other, &sample)) => {}
        Some(family) => family.samples.push(sample),
        None => families.push(Family {
            help: help(figure, kind),
            unit,
            is_summary,
            samples: vec![sample],
            name,
        }),
    }
}

fn is_same(one: &Sample, other: &Sample) -> bool {
    one.suffix == other.suffix && one.labels == other.labels
}

fn help(figure: &Figure, kind: Kind) -> String {
    let what = figure.quantity.prose().to_owned();
    let what = match (kind, figure.statistic) {
        (Kind::Gauge("_deviation" | "_population_deviation"), _) => {
            format!("standard deviation of {what}")
        }
        (Kind::Gauge("_half_width"), _) => format!("half the width of an interval of {what}"),
        _ => what,
    };
    let mut chars = what.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// The number in the base unit of its kind; a count as it is.
fn base_value(figure: &Figure) -> Option<f64> {
    if figure.statistic == Statistic::Count {
        return figure.value;
    }
    let value = figure.canonical()?;
    Some(if is_time(&figure.unit) { value / MS_PER_S } else { value })
}

fn is_time(unit: &Unit) -> bool {
    matches!(unit, Unit::Ns | Unit::Us | Unit::Ms | Unit::S | Unit::Min | Unit::H)
}

/// The word of the base unit; absent for numbers of things.
fn base_unit(row: &Row, figure: &Figure) -> Option<&'static str> {
    // The number of values goes with the values that were counted.
    let values =
        |other: &&Figure| other.quantity == figure.quantity && other.statistic != Statistic::Count;
    let counted = row.figures.iter().find(values).filter(|_| figure.statistic == Statistic::Count);
    match &counted.unwrap_or(figure).unit {
        unit if is_time(unit) => Some("seconds"),
        Unit::PerS | Unit::PerMin | Unit::PerH => Some("per_second"),
        Unit::One | Unit::Percent => Some("ratio"),
        Unit::W => Some("watts"),
        Unit::J => Some("joules"),
        Unit::Bytes | Unit::MiB | Unit::GiB | Unit::Gb => Some("bytes"),
        Unit::GbPerS => Some("bytes_per_second"),
        Unit::TflopPerS => Some("flop_per_second"),
        Unit::Usd => Some("dollars"),
        _ => None,
    }
}

/// A name with nothing in it that a label or a metric cannot have.
pub fn label_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut text: String = name.chars().map(safe).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("__") {
        text.insert(0, 'x');
    }
    // A factor cannot use the reserved label names of summaries and scrape targets.
    if matches!(text.as_str(), "quantile" | "le" | "job" | "instance" | "") {
        text.push_str("_set");
    }
    text
}

/// The text.
pub fn text(families: &[Family], with_times: bool) -> String {
    let mut text = String::new();
    for family in families {
        let kind = if family.is_summary { "summary" } else { "gauge" };
        // Nothing can go wrong when writing to a string.
        let _ = writeln!(text, "# HELP {} {}", family.name, escaped(&family.help, false));
        let _ = writeln!(text, "# TYPE {} {kind}", family.name);
        if let Some(unit) = family.unit {
            let _ = writeln!(text, "# UNIT {} {unit}", family.name);
        }
        for sample in &family.samples {
            let labels: Vec<String> = sample
                .labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true)))
                .collect();
            let labels = match labels.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", labels.join(",")),
            };
            let at = sample.unix_s.filter(|_| with_times).map(|at| format!(" {at}"));
            let at = at.unwrap_or_default();
            let Sample { suffix, value, .. } = sample;
            let _ = writeln!(text, "{}{suffix}{labels} {value}{at}", family.name);
        }
    }
    text.push_str("# EOF\n");
    text
}

fn escaped(text: &str, in_quotes: bool) -> String {
    // A carriage return would end the line for some readers.
    let text = without_controls(text).replace('\r', " ");
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if in_quotes { text.replace('"', "\\\"") } else { text }
}

fn file(families: &[Family], with_times: bool) -> Vec<Exported> {
    if families.is_empty() {
        return Vec::new();
    }
    vec![Exported {
        name: None,
        stem: String::new(),
        ending: "prom",
        text: text(families, with_times),
    }]
}
