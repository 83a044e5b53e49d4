//! A document of another tool as one side of a comparison: each row a level, each number with what
//! is known of how far it may be off.
//!
//! Single requests count if the tool's own mean was taken over them, which is tried; else a mean
//! with its deviation and number of values; else a number is alone. Not here: reading files
//! (`ifm-interop`).

use super::condition::Condition;
use super::meaning::By;
use super::measure::Measure;
use super::requests::Requests;
use super::sample::{Column, LevelSample, Stated, Told};
use super::side::{Lengths, Member, wanted};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Row, RowRole, Statistic, StdKind, key};
use ifm_core::spec::SloSpec;
use ifm_core::{RunData, Sheet};
use ifm_metrics::RunSummary;
use ifm_metrics::definitions::{Definitions, sheet};
use ifm_metrics::disturbance::Disturbance;
use ifm_results::fact::{DifferenceKind, Fact, NUMBERS};
use ifm_results::{Point, Results, Stat};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The setting that distinguishes rows whose other settings are equal.
const ROW: &str = "row";
/// Settings that say nothing of what was asked of a server.
const NOT_ASKED: [&str; 2] = [key::REQUESTS, key::HARDWARE];

impl Member {
    /// The same for a run that is to be compared with documents: times count from the sending too,
    /// and the numbers are computed again by the definitions of the documents' tools.
    pub fn beside_documents(
        run: &RunData,
        measures: &[Measure],
        slo: &SloSpec,
        tools: &[String],
    ) -> Member {
        Member::summary_beside_documents(
            run,
            &ifm_metrics::summarize_for(run, slo),
            measures,
            slo,
            tools,
        )
    }

    /// As [`beside_documents`](Member::beside_documents), from what
    /// [`summarize_for`](ifm_metrics::summarize_for) made of the run.
    pub fn summary_beside_documents(
        run: &RunData,
        summary: &RunSummary,
        measures: &[Measure],
        slo: &SloSpec,
        tools: &[String],
    ) -> Member {
        let wanted = wanted(measures, slo);
        let mut member = Member::read((run, summary), &wanted, |measure, load| {
            vec![measure.at_load(load), *measure]
        });
        for tool in tools {
            if let Some(by) = Definitions::of_tool(tool) {
                let mut sheet = sheet(run, by);
                // A level that was measured again counts by its second time only.
                let counts = |row: &Row| {
                    row.place.pointer.as_ref().is_some_and(|at| member.places.contains(at))
                };
                sheet.parts.iter_mut().for_each(|part| part.rows.retain(counts));
                member.samples.extend(again(&sheet, tool, &wanted));
            }
        }
        member
    }

    /// Takes what is kept of a document.
    pub fn of_sheet(sheet: &Sheet, measures: &[Measure], slo: &SloSpec) -> Member {
        let levels = levels(sheet);
        let wanted = wanted(measures, slo);
        let settings: Vec<&Factors> = levels.iter().map(|level| &level.at.setting).collect();
        let varying = varying(&settings);
        let constant = settings.first().map_or_else(Factors::default, |first| {
            let mut constant = Factors::default();
            for (name, value) in first.iter().filter(|(name, _)| !varying.contains(*name)) {
                constant.set(name, value);
            }
            constant
        });
        let all = |name: &str| -> Vec<String> {
            let values = settings.iter().filter_map(|setting| setting.get(name));
            values.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
        };
        Member {
            id: sheet.source.name.clone(),
            name: None,
            content: sheet.content_id(),
            command: Vec::new(),
            models: all(key::MODEL),
            tool: sheet.source.tool.clone(),
            is_own: false,
            facts: facts(sheet, &constant),
            samples: levels.iter().map(|level| level.sample(&wanted)).collect(),
            lengths: levels.iter().map(Level::lengths).collect(),
            asked: [key::INPUT_TOKENS, key::OUTPUT_TOKENS].map(|name| constant.number(name)),
            typed: None,
            levels: Vec::new(),
            prompts: None,
            sent: None,
            doubts: [None, None, remarked(sheet)],
            warnings: Vec::new(),
            is_inter_event: false,
            points: levels.iter().map(|level| level.point.as_ref().clone()).collect(),
            places: Vec::new(),
            varying,
        }
    }
}

/// Remarks made while an engine or a kernel was measured: the first one, and how many more there
/// are.
fn remarked(sheet: &Sheet) -> Option<String> {
    let mut remarks = sheet.remarked();
    let first = remarks.next()?;
    Some(match remarks.count() {
        0 => first.text.clone(),
        more => format!("{}; {more} more", first.text),
    })
}

/// Repeats of a row that other work disturbed, of those that count: as `engine` and `kernel` keep them
/// for each repeat. Absent where nothing was watched.
fn disturbed(row: &Row) -> Option<(u64, u64)> {
    let kept = row.unknown.get(Disturbance::FIELD)?;
    let all: Vec<Disturbance> = match kept.is_array() {
        true => Deserialize::deserialize(kept).ok()?,
        false => vec![Deserialize::deserialize(kept).ok()?],
    };
    let many = all.iter().filter(|one| one.is_too_much()).count() as u64;
    Some((many, all.len() as u64))
}

/// The levels of a run of ours, computed again by the definitions of a tool.
pub(super) fn again(sheet: &Sheet, tool: &str, wanted: &[Measure]) -> Vec<LevelSample> {
    let sample = |level: &Level| {
        let mut sample = level.sample(wanted);
        // Failed requests are counted once, among the run's own.
        sample.columns.retain(|told| told.measure.figure().is_some());
        for told in &mut sample.columns {
            told.by = By::Again { tool: tool.to_owned() };
        }
        sample
    };
    levels(sheet).iter().map(sample).collect()
}

/// A row that was measured.
struct Level<'a> {
    at: Condition,
    point: Cow<'a, Point>,
    /// The row itself, with its single requests; absent where only its numbers are known.
    row: Option<&'a Row>,
    tool: Option<&'a str>,
}

/// What the numbers of a point say by themselves, without the requests that it was made from.
pub(super) fn sample_of_point(point: &Point, wanted: &[Measure]) -> LevelSample {
    let at = Condition { load: point.load, setting: point.setting.clone() };
    Level { at, point: Cow::Borrowed(point), row: None, tool: None }.sample(wanted)
}

/// The measured rows, each with what distinguishes it from the others.
fn levels(sheet: &Sheet) -> Vec<Level<'_>> {
    let results = Results::of_sheets(std::slice::from_ref(sheet));
    let tool = sheet.source.tool.as_deref();
    let rows = sheet.parts.iter().flat_map(|part| {
        let tool = part.tool.as_deref().or(tool);
        part.rows.iter().map(move |row| (row, tool))
    });
    let measured = results.points.into_iter().zip(rows).filter(|(point, (row, _))| {
        point.role == RowRole::Measured && !(row.figures.is_empty() && row.requests.is_empty())
    });
    let mut levels: Vec<Level> = measured
        .map(|(point, (row, tool))| {
            let mut at = Condition { load: point.load, setting: point.setting.clone() };
            at.setting.set("kind", kind_word(point.kind));
            Level { at, point: Cow::Owned(point), row: Some(row), tool }
        })
        .collect();
    tell_apart(&mut levels, &sheet.source.name);
    levels
}

fn kind_word(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Serving => "serving",
        PartKind::StaticBatch => "static batch",
        PartKind::Engine => "engine",
        PartKind::Kernel => "kernel",
        PartKind::Training => "training",
        PartKind::Conclusion => "conclusion",
        PartKind::Other => "other",
    }
}

/// Distinguishes rows of the same settings by headings and labels; if they cannot be repeats, by
/// their place in their document, which matches no place in another document.
fn tell_apart(levels: &mut [Level], document: &str) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, level) in levels.iter().enumerate() {
        let key = format!("{:?} {:?}", level.at.load, level.at.setting);
        groups.entry(key).or_default().push(index);
    }
    for group in groups.values().filter(|group| group.len() > 1) {
        let all: Vec<&Level> = group.iter().filter_map(|index| levels.get(*index)).collect();
        let names: Vec<String> = all.iter().map(|level| own_name(level, &all)).collect();
        let differ = names.iter().any(|name| Some(name) != names.first());
        let are_repeats = all.iter().all(|level| {
            let is_load = level.point.kind != PartKind::Serving
                || level.at.load.is_some()
                || level.point.repeat.is_some();
            is_load && level.point.kind != PartKind::Kernel
        });
        for (index, name) in group.iter().zip(names) {
            let Some(level) = levels.get_mut(*index) else { continue };
            let place = &level.point.place;
            let word = match (differ, are_repeats) {
                (true, _) => name,
                (false, true) => continue,
                (false, false) => match (&place.pointer, place.line) {
                    (Some(pointer), _) => format!("{document} {pointer}"),
                    (None, Some(line)) => format!("{document} line {line}"),
                    (None, None) => document.to_owned(),
                },
            };
            level.at.setting.set(ROW, word);
        }
    }
}

/// Headings and label of a row, as far as not all rows of a group have them.
fn own_name(level: &Level, group: &[&Level]) -> String {
    fn words<'l>(level: &'l Level) -> impl Iterator<Item = &'l String> {
        level.point.headings.iter().chain(&level.point.label)
    }
    let is_shared = |word: &&String| group.iter().all(|other| words(other).any(|w| w == *word));
    let own = words(level).filter(|word| !is_shared(word));
    own.cloned().collect::<Vec<_>>().join(" / ")
}

/// Names of settings that differ between rows.
fn varying(settings: &[&Factors]) -> BTreeSet<String> {
    let names: BTreeSet<&str> =
        settings.iter().flat_map(|setting| setting.iter()).map(|(name, _)| name).collect();
    let differs = |name: &&str| {
        let values: BTreeSet<Option<&str>> =
            settings.iter().map(|setting| setting.get(name)).collect();
        values.len() > 1 && !NOT_ASKED.contains(name)
    };
    names.into_iter().filter(differs).map(str::to_owned).collect()
}

/// What holds for all of a document.
fn facts(sheet: &Sheet, constant: &Factors) -> Vec<Fact> {
    use DifferenceKind::{Expected, Unlike, Warning};
    let mut facts = Vec::new();
    for (name, value) in constant.iter() {
        let (what, kind) = match name {
            key::MODEL => ("model", Expected),
            // Tools write the API there that they used, as in openai-chat: that names no server.
            key::ENGINE if value.starts_with("openai") => continue,
            key::ENGINE => ("server", Expected),
            key::GPU => ("accelerator", Expected),
            key::HARDWARE => ("machine", Expected),
            key::QUANTIZATION => ("quantization", Expected),
            key::POWER_LIMIT_W => ("power limit, W", Expected),
            key::TENSOR_PARALLEL => ("tensor parallelism", Expected),
            key::WORKLOAD => ("workload", Unlike),
            key::TEST => ("test", Unlike),
            key::BATCH_SIZE => ("batch size", Unlike),
            key::DEPTH_TOKENS => ("tokens of depth", Unlike),
            "kind" => ("kind of measurement", Unlike),
            // Told below, of all documents.
            key::NUMBERS => continue,
            // Lengths are compared as numbers.
            key::INPUT_TOKENS | key::OUTPUT_TOKENS | key::REQUESTS => continue,
            key::CONDITION | key::COMMAND => (name, Expected),
            _ => (name, Warning),
        };
        let fact = Fact::new(what.replace('_', " "), kind, Some(value.to_owned()));
        facts.push(fact.of_setting(name));
    }
    let tool = sheet.source.tool.as_ref().map(|tool| {
        format!("{tool} {}", sheet.source.tool_version.as_deref().unwrap_or("")).trim().to_owned()
    });
    facts.push(Fact::new("version of the client".to_owned(), Warning, tool));
    let numbers = constant.get(key::NUMBERS).unwrap_or(key::MEASURED).to_owned();
    facts.push(Fact::new(NUMBERS.to_owned(), Warning, Some(numbers)).of_setting(key::NUMBERS));
    facts
}

impl Level<'_> {
    fn sample(&self, wanted: &[Measure]) -> LevelSample {
        let requests = Requests::of(self.row, self.at.load);
        let place = self.point.place.clone();
        let mut columns: Vec<Told> = Vec::new();
        for measure in wanted {
            if columns.iter().any(|told| told.measure == *measure) {
                continue;
            }
            columns.extend(self.told(*measure, &requests));
        }
        LevelSample {
            at: self.at.clone(),
            place,
            requests: requests.count(),
            inflation: requests.inflation(),
            disturbed: self.row.and_then(disturbed),
            columns,
            sessions: None,
        }
    }

    /// What is known of a measure.
    fn told(&self, measure: Measure, requests: &Requests) -> Option<Told> {
        if measure.metric.is_of_commands() && self.point.kind != PartKind::Training {
            return None;
        }
        if let Metric::ErrorRate | Metric::Success = measure.metric {
            let column = self.share(measure)?;
            return Some(Told { measure, by: By::Ours, column });
        }
        // Metrics without a quantity, such as the time in a queue, are in no document.
        measure.figure()?;
        let reading = self.reading(measure);
        let by = |reading: &Stat| By::of(&reading.definition, self.tool);
        if let Some((column, reading)) = requests.column(measure, &self.point, reading) {
            return Some(Told { measure, by: reading.map_or(By::Unstated, by), column });
        }
        let reading = reading?;
        let (scale, value) = (measure.scale(), reading.value);
        let (error, n) = self.error(reading);
        let stated = Stated {
            value: value * scale,
            error: error.map(|(error, freedom)| (error * scale, freedom)),
            n,
            is_uncounted: n.is_none() && self.deviation(reading.metric).is_some(),
            is_of_requests: self.point.kind == PartKind::Serving,
        };
        Some(Told { measure, by: by(reading), column: Column::Stated(stated) })
    }

    /// The reading of a measure. A single number to us may be a mean to a tool.
    fn reading(&self, measure: Measure) -> Option<&Stat> {
        let (quantity, statistic) = measure.figure()?;
        let found = self.point.stat(quantity, statistic);
        let single =
            || (!measure.metric.has_many_values()).then(|| self.point.central(quantity)).flatten();
        found.or_else(single).filter(|reading| reading.value.is_finite())
    }

    /// The standard error of a mean, `s / sqrt(n)`, with its degrees of freedom; and the number of
    /// values. What one request brings goes together, gaps and tokens, so that no more values are
    /// independent of each other than there are requests.
    fn error(&self, reading: &Stat) -> (Option<(f64, f64)>, Option<u64>) {
        if reading.statistic != Statistic::Mean {
            return (None, reading.n);
        }
        let quantity = &reading.metric;
        let requests = self.point.value(Metric::RequestsOk, Statistic::Value);
        let requests = requests.filter(|ok| *ok >= 1.0).map(|ok| ok as u64);
        let is_single = matches!(quantity, Metric::Ttft | Metric::Ttfat | Metric::E2e);
        let n = match (requests, reading.n) {
            _ if self.point.kind != PartKind::Serving => reading.n,
            (Some(requests), n) => Some(n.map_or(requests, |n| n.min(requests))),
            (None, n) => n.filter(|_| is_single),
        };
        let Some(((kind, std), n)) = self.deviation(*quantity).zip(n.filter(|n| *n >= 2)) else {
            return (None, reading.n);
        };
        let count = n as f64;
        // Converts deviations of a population to deviations of a sample.
        let widened = if kind == StdKind::Sample { 1.0 } else { count / (count - 1.0) };
        (Some(((std * std * widened / count).sqrt(), count - 1.0)), Some(n))
    }

    /// The deviation that is stated of a quantity.
    fn deviation(&self, quantity: Metric) -> Option<(StdKind, f64)> {
        let kinds = [StdKind::Sample, StdKind::Population, StdKind::Unknown];
        let of = |kind| Some((kind, self.point.value(quantity, Statistic::Std(kind))?));
        kinds.into_iter().find_map(of)
    }

    /// Failed requests over those that were sent, where they were counted; complete answers over
    /// those that ended.
    fn share(&self, measure: Measure) -> Option<Column> {
        let (failed, sent) = self.point.failed_of_sent()?;
        if measure.metric != Metric::Success {
            return Some(Column::Share { hits: failed, n: sent });
        }
        let ok = self.point.value(Metric::RequestsOk, Statistic::Value)?;
        let hits = (ok >= 0.0).then_some(ok as u64)?;
        (hits + failed > 0).then_some(Column::Share { hits, n: hits + failed })
    }

    /// Tokens for each request, as they were counted.
    fn lengths(&self) -> Lengths {
        let ok = || {
            let ok = self.point.value(Metric::RequestsOk, Statistic::Value);
            ok.filter(|ok| *ok > 0.0)
        };
        let mean = |quantity: Metric| {
            let value = |statistic| self.point.value(quantity, statistic);
            let total = || value(Statistic::Value).or_else(|| value(Statistic::Sum));
            let is_serving = self.point.kind == PartKind::Serving;
            let by_total = || Some(total()? / ok()?);
            value(Statistic::Mean).or_else(|| by_total().filter(|_| is_serving))
        };
        Lengths {
            at: self.at.clone(),
            prompt: mean(Metric::InputTokens),
            output: mean(Metric::OutputTokens),
        }
    }
}
