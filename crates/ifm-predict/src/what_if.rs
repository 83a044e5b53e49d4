//! What-if questions: measures one load of a deployment, and ranks deployments by cost.
//!
//! Not here: which deployments and which loads (`inferometer`).

use crate::simulated::{Simulated, SimulatedDeployment};
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::order::Order as _;
use ifm_core::prediction::PredictedLevel;
use ifm_core::spec::RunSpec;
use ifm_drive::{LevelPlan, Progress, Sink, Stop};
use ifm_metrics::slo::{TermVerdict, VerdictState};
use ifm_metrics::{LevelSummary, Seen, summarize_level};
use ifm_report::TerminalStyle;
use ifm_report::page::{Block, Cell, Columns, Head, Page, Section, Table, table_terminal};
use ifm_session::source::Source;
use ifm_sim::{CONSTANTS, Constants, Deployment};
use ifm_terminal::exit::{Code, Failure};
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt::Write as _;

const NS_PER_MS: f64 = 1e6;
const SECONDS_PER_HOUR: f64 = 3600.0;
/// By how much a constant is made worse to see what depends on it.
const WORSE: f64 = 0.1;

/// Keeps records in memory.
#[derive(Default)]
struct Records(Vec<RequestRecord>);

impl Sink for Records {
    fn record(&mut self, record: RequestRecord) -> Result<(), String> {
        self.0.push(record);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// One load of one deployment.
#[derive(Debug)]
pub struct Looked {
    deployment: Deployment,
    constants_from: String,
    summary: LevelSummary,
    seen: Option<PredictedLevel>,
    /// The smallest load outside the target.
    outside: Option<Box<Looked>>,
    assumption: Option<Assumption>,
}

/// Answers the first level of a run, whose requests `source` is about to give, and stores nothing.
///
/// # Errors
/// A workload that cannot be created.
pub fn look(
    deployed: &SimulatedDeployment,
    spec: &RunSpec,
    plan: &LevelPlan,
    source: &mut Source,
) -> Result<Looked, Failure> {
    // Intervals cost a dozen further forecasts, and variants are compared by the most likely
    // values.
    let deployed = &SimulatedDeployment { spread: None, ..deployed.clone() };
    let mut simulated = Simulated::new(deployed, &[]);
    let load = spec.levels.first().ok_or_else(|| Failure::new(Code::Internal, "no load"))?;
    let mut records = Records::default();
    let (stop, progress) = (Stop::default(), Progress::default());
    let driven = simulated
        .drive(plan, load, source, &mut records, (&stop, &progress))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let seen = Seen { requests: &records.0, ended: source.ended_early() };
    let summary = summarize_level(spec, 0, driven.info.as_ref(), seen);
    Ok(Looked {
        deployment: deployed.deployment.clone(),
        constants_from: deployed.constants_from.clone(),
        summary,
        seen: simulated.into_levels().into_iter().next(),
        outside: None,
        assumption: None,
    })
}

impl Looked {
    /// Whether it meets the target.
    pub fn is_inside(&self) -> bool {
        self.summary.verdict.state == VerdictState::Pass
    }

    /// With the smallest load that is outside.
    pub fn ended_by(self, outside: Option<Looked>) -> Looked {
        Looked { outside: outside.map(Box::new), ..self }
    }

    /// The terms that fail, as text.
    pub fn fails(&self) -> Option<String> {
        let terms = self.summary.verdict.failing().map(|term| {
            let (name, over) = term.term.asked();
            let found = term.value_ms.map(|ms| ifm_report::value_and_limit(&term.term, ms));
            let sign = ifm_report::missed_sign(&term.term);
            let words = found.map(|(value, limit)| format!("{value} {sign} {limit}"));
            format!("{name} {over} {}", words.as_deref().unwrap_or("is unknown"))
        });
        let words: Vec<String> = terms.collect();
        let errors = self.summary.verdict.too_many_errors.then(|| "too many errors".to_owned());
        let all: Vec<String> = words.into_iter().chain(errors).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// The load, in users or requests per second.
    fn load(&self) -> Option<f64> {
        self.summary.load().map(|load| load.value())
    }

    /// The decisive term of the target: the one that fails, or the nearest to its limit. Its
    /// position, and its value, ms.
    pub fn decides(&self) -> Option<(usize, f64)> {
        let share = |term: &TermVerdict| Some(term.value_ms? / term.term.limit_ms);
        let terms = self.summary.verdict.terms.iter().enumerate();
        let nearest = terms.max_by(|(_, left), (_, right)| {
            share(left).unwrap_or(0.0).total_cmp(&share(right).unwrap_or(0.0))
        })?;
        Some((nearest.0, nearest.1.value_ms?))
    }

    /// The value of a term of the target, as text and in ms.
    fn term(&self, place: usize) -> Option<(String, f64)> {
        let term = self.summary.verdict.terms.get(place)?;
        let (name, over) = match term.term.speed_min {
            // The value is a time.
            Some(_) => (term.term.metric.name(), term.term.over()),
            None => term.term.asked(),
        };
        Some((format!("{name} {over}"), term.value_ms?))
    }

    /// Adds the constant to which the decisive term is most sensitive: `again` predicts the
    /// decisive load with other constants.
    ///
    /// # Errors
    /// As [`look`].
    pub fn with_assumption(
        mut self,
        again: impl Fn(Constants) -> Result<Looked, Failure>,
    ) -> Result<Looked, Failure> {
        let decided = self.outside.as_deref().unwrap_or(&self);
        let Some((place, before_ms)) = decided.decides() else { return Ok(self) };
        let mut most: Option<Assumption> = None;
        for constant in CONSTANTS {
            let mut constants = *self.deployment.step.constants();
            let value = (constant.value)(&mut constants);
            let kept = *value;
            if kept == 0.0 {
                continue;
            }
            let is_share = constant.name.ends_with("_share");
            *value *= if is_share { 1.0 - WORSE } else { 1.0 + WORSE };
            let Some((term, worse_ms)) = again(constants)?.term(place) else { continue };
            let longer_by = worse_ms / before_ms - 1.0;
            if most.as_ref().is_none_or(|most| longer_by > most.longer_by) {
                most = Some(Assumption {
                    constant: constant.name.to_owned(),
                    value: kept * constant.scale,
                    from: self.constants_from.clone(),
                    worse_by: WORSE,
                    term,
                    longer_by,
                });
            }
        }
        self.assumption = most.filter(|most| most.longer_by > 0.0);
        Ok(self)
    }
}

/// The constant to which an answer is most sensitive.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Assumption {
    /// The constant, with its unit.
    pub constant: String,
    /// Its value.
    pub value: f64,
    /// `defaults`, or the name of a calibration.
    pub from: String,
    /// By how much it was made worse, as a share.
    pub worse_by: f64,
    /// The decisive term of the target, such as `ITL p99`.
    pub term: String,
    /// By how much longer it is then, as a share.
    pub longer_by: f64,
}

/// One deployment and its answer.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Flags and their values.
    pub setting: Vec<(String, String)>,
    /// Its rank, from 1; absent if no load meets the target.
    pub rank: Option<usize>,
    /// Why it has no rank.
    pub outside_because: Option<String>,
    /// GPUs of all replicas; absent if the deployment is impossible.
    pub gpus: Option<f64>,
    /// The largest load that meets the target, or the given load: users, or requests per second.
    pub load: Option<f64>,
    /// Output tokens per second there.
    pub output_tok_per_s: Option<f64>,
    /// The same per GPU.
    pub output_tok_per_s_per_gpu: Option<f64>,
    /// Median time to the first token, ms.
    pub ttft_p50_ms: Option<f64>,
    /// 99th percentile of it, ms.
    pub ttft_p99_ms: Option<f64>,
    /// Median gap between tokens, ms.
    pub itl_p50_ms: Option<f64>,
    /// 99th percentile of it, ms.
    pub itl_p99_ms: Option<f64>,
    /// Price of all GPUs per hour, US dollars; absent if none was given.
    pub usd_per_hour: Option<f64>,
    /// Price per million output tokens, US dollars.
    pub usd_per_million_tokens: Option<f64>,
    /// The term that fails at the next larger predicted load.
    pub limit: Option<String>,
    /// The bottleneck of most steps there.
    pub binds: Option<String>,
    /// The constant to which the answer is most sensitive.
    pub assumption: Option<Assumption>,
}

impl Variant {
    /// A deployment with its answer, and the price of one GPU per hour.
    pub fn new(
        setting: Vec<(String, String)>,
        outcome: Result<(Looked, f64), String>,
        price: Option<f64>,
    ) -> Variant {
        let mut variant = Variant {
            setting,
            rank: None,
            outside_because: None,
            gpus: None,
            load: None,
            output_tok_per_s: None,
            output_tok_per_s_per_gpu: None,
            ttft_p50_ms: None,
            ttft_p99_ms: None,
            itl_p50_ms: None,
            itl_p99_ms: None,
            usd_per_hour: None,
            usd_per_million_tokens: None,
            limit: None,
            binds: None,
            assumption: None,
        };
        let (looked, gpus) = match outcome {
            Ok(found) => found,
            Err(why) => {
                variant.outside_because = Some(why);
                return variant;
            }
        };
        variant.gpus = Some(gpus);
        variant.load = looked.load();
        variant.output_tok_per_s = looked.summary.output_tok_per_s();
        variant.output_tok_per_s_per_gpu = variant.output_tok_per_s.map(|rate| rate / gpus);
        let latencies = &looked.summary.latencies;
        let ms = |distribution: Option<&ifm_metrics::stat::Distribution>, percent: f64| {
            let found = distribution?.percentile(percent)?;
            Some(found.value / NS_PER_MS)
        };
        variant.ttft_p50_ms = ms(latencies.get(Metric::Ttft), 50.0);
        variant.ttft_p99_ms = ms(latencies.get(Metric::Ttft), 99.0);
        variant.itl_p50_ms = ms(latencies.get(Metric::Itl), 50.0);
        variant.itl_p99_ms = ms(latencies.get(Metric::Itl), 99.0);
        variant.usd_per_hour = price.map(|price| price * gpus);
        variant.usd_per_million_tokens = variant
            .usd_per_hour
            .zip(variant.output_tok_per_s)
            .map(|(usd, rate)| usd / (rate * SECONDS_PER_HOUR) * 1e6);
        let decides = looked.outside.as_deref().unwrap_or(&looked);
        variant.limit = decides.fails().map(|fails| match decides.load() {
            Some(load) if looked.outside.is_some() => format!("at {load} users {fails}"),
            _ => fails,
        });
        variant.binds = decides.seen.as_ref().and_then(|seen| seen.binds.clone());
        if looked.outside.is_none() && !looked.is_inside() {
            variant.outside_because = variant.limit.clone();
        }
        variant.assumption = looked.assumption;
        variant
    }

    /// The cheapest first: by dollars per token if all have a price, else by tokens per GPU. Those
    /// that miss the target come last and have no rank.
    pub fn rank(variants: &mut [Variant]) {
        let inside = |variant: &Variant| variant.outside_because.is_none();
        let have_prices =
            variants.iter().filter(|v| inside(v)).all(|v| v.usd_per_million_tokens.is_some());
        variants.order_by(|left, right| {
            let by = |variant: &Variant| match have_prices {
                true => variant.usd_per_million_tokens,
                false => variant.output_tok_per_s_per_gpu.map(|rate| -rate),
            };
            let order = match (by(left), by(right)) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
            inside(right).cmp(&inside(left)).then(order)
        });
        let ranked = variants.iter_mut().filter(|variant| variant.outside_because.is_none());
        for (place, variant) in ranked.enumerate() {
            variant.rank = Some(place + 1);
        }
    }

    fn words(&self) -> String {
        if self.setting.is_empty() {
            return "this deployment".to_owned();
        }
        let words: Vec<String> =
            self.setting.iter().map(|(flag, value)| format!("{flag} {value}")).collect();
        words.join(", ")
    }

    /// Why no load can be predicted for it.
    fn refusal(&self) -> String {
        format!("{}: {}", self.words(), self.outside_because.as_deref().unwrap_or_default())
    }

    /// What ends its load, and the constant to which that is most sensitive.
    fn limits(&self) -> String {
        let mut said = Vec::new();
        if let Some(limit) = &self.limit {
            let waits = self.binds.as_ref().map(|what| format!("; steps wait for {what}"));
            said.push(format!("{limit}{}", waits.unwrap_or_default()));
        }
        if let Some(hangs) = &self.assumption {
            said.push(format!(
                "most sensitive to {} = {:.3} ({}): {:.0} % worse makes {} {:.0} % longer",
                hangs.constant,
                hangs.value,
                hangs.from,
                hangs.worse_by * 100.0,
                hangs.term,
                hangs.longer_by * 100.0
            ));
        }
        format!("{}: {}", self.words(), said.join("; "))
    }
}

/// Variants as a document.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// The latency target.
    pub target: String,
    /// The ranking criterion: `usd_per_million_tokens` or `output_tok_per_s_per_gpu`.
    pub ranked_by: &'static str,
    /// Deployments, the cheapest first.
    pub variants: Vec<Variant>,
}

impl WhatIfDocument {
    /// Number of ranked variants.
    pub fn new(target: String, variants: &[Variant]) -> WhatIfDocument {
        WhatIfDocument {
            schema_version: 1,
            target,
            ranked_by: ranked_by(variants),
            variants: variants.to_vec(),
        }
    }
}

fn ranked_by(variants: &[Variant]) -> &'static str {
    let ranked = || variants.iter().filter(|variant| variant.rank.is_some());
    match ranked().all(|variant| variant.usd_per_million_tokens.is_some()) && ranked().count() > 0 {
        true => "usd_per_million_tokens",
        false => "output_tok_per_s_per_gpu",
    }
}

/// Variants as text.
pub fn text(target: &str, variants: &[Variant], style: &TerminalStyle) -> String {
    let mut out = String::new();
    for line in style.paragraph(&heading(target, variants), "") {
        let _ = writeln!(out, "{line}");
    }
    let (possible, impossible) = by_load(variants);
    if !possible.is_empty() {
        out.push_str(&table_terminal(&table(&possible, variants), style));
    }
    for variant in impossible {
        for line in style.paragraph(&variant.refusal(), "   ") {
            let _ = writeln!(out, "{line}");
        }
    }
    out.push('\n');
    for variant in possible {
        for line in style.paragraph(&variant.limits(), "   ") {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Variants as a page, for files.
pub fn page(target: &str, variants: &[Variant], subject: &str) -> Page {
    let (possible, impossible) = by_load(variants);
    let mut blocks = Vec::new();
    if !possible.is_empty() {
        blocks.push(Block::Table(table(&possible, variants)));
        blocks.push(Block::List(possible.iter().map(|variant| variant.limits()).collect()));
    }
    let mut sections = vec![Section::new("Deployments", blocks)];
    if !impossible.is_empty() {
        let refusals = impossible.iter().map(|variant| variant.refusal()).collect();
        sections.push(Section::new("Not possible", vec![Block::List(refusals)]));
    }
    Page {
        kind: "what-if",
        title: format!("Deployments for {subject}"),
        facts: vec![heading(target, variants)],
        sections,
        footer: vec![format!("inferometer {}", env!("CARGO_PKG_VERSION"))],
        ..Page::default()
    }
}

fn heading(target: &str, variants: &[Variant]) -> String {
    let by = match ranked_by(variants) == "usd_per_million_tokens" {
        true => "dollars per million output tokens",
        false => "output tokens/s per GPU",
    };
    format!("predicted, not measured; meets {target}; sorted by {by}")
}

/// Variants that answer some load, and those that cannot.
fn by_load(variants: &[Variant]) -> (Vec<&Variant>, Vec<&Variant>) {
    variants.iter().partition(|variant| variant.load.is_some() || variant.outside_because.is_none())
}

fn table(possible: &[&Variant], all: &[Variant]) -> Table {
    let decimals = |decimals: usize| move |value: f64| format!("{value:.decimals$}");
    let known = |value: Option<f64>, decimals: usize, unit: &str| {
        Cell::number(value, |value| format!("{value:.decimals$}{unit}"))
    };
    Columns::<&Variant>::default()
        .text("#", |it| it.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string()))
        .name("", |it| it.words())
        .number("load", |it| it.load, |load| format!("{load}"))
        .number("out tok/s", |it| it.output_tok_per_s, decimals(0))
        .number("per GPU", |it| it.output_tok_per_s_per_gpu, decimals(0))
        .cell(Head::number("TTFT p99"), |it| known(it.ttft_p99_ms, 0, " ms"))
        .cell(Head::number("ITL p99"), |it| known(it.itl_p99_ms, 1, " ms"))
        .number("$/1M output tok", |it| it.usd_per_million_tokens, decimals(2))
        .when(ranked_by(all) == "usd_per_million_tokens")
        .table("Deployments, the best one first.", possible.iter().copied())
}
