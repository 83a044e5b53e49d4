//! What a report shows: the head of the run and everything that analysis computed from it.
//!
//! Renderers read this and nothing else, so that no two formats can disagree. What is not here:
//! how a number is written, see `format`.

use crate::format::{count, meant, number, plain, span};
use ifm_compare::comparison::{Member, ResultsEvidence};
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateStretch};
use ifm_core::words::plural;
use ifm_core::{Manifest, RunData};
use ifm_metrics::definitions::vllm::{self, VllmSummary};
use ifm_metrics::level::{GapLabel, LevelCumulative, Load, MeasuredByLevel, measured_by_level};
use ifm_metrics::{LevelSummary, RunSummary};
use ifm_rules::insight::Meant;

/// The note of a server that says where its weights come from.
const WEIGHTS_NOTE: &str = "weights";

/// The latencies in vLLM's block, and their percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct VllmLines {
    /// Names, such as `ttft`.
    pub metrics: Vec<String>,
    /// Percentiles, such as 99.
    pub percentiles: Vec<f64>,
}

impl Default for VllmLines {
    /// As `vllm bench serve` without `--percentile-metrics` and `--metric-percentiles`.
    fn default() -> VllmLines {
        let metrics = ["ttft", "tpot", "itl"].map(str::to_owned).to_vec();
        VllmLines { metrics, percentiles: vec![99.0] }
    }
}

fn vllm_blocks(
    summary: &RunSummary,
    measured: &MeasuredByLevel,
    lines: &VllmLines,
) -> Vec<VllmSummary> {
    let block = |level: &LevelSummary| {
        let records = measured.get(&level.level)?.as_slice();
        vllm::summarize_at(level, records, &lines.percentiles)
    };
    summary.levels.iter().filter_map(block).collect()
}

/// What a report shows.
#[derive(Debug, Clone)]
pub struct ReportModel {
    /// The head of the run.
    pub manifest: Manifest,
    /// Levels, checks and answers.
    pub summary: RunSummary,
    /// Each level of `summary` as vLLM's benchmark would count it.
    pub vllm: Vec<VllmSummary>,
    /// The latencies and percentiles of vLLM's block.
    pub vllm_lines: VllmLines,
    /// How the latencies of each level are distributed, request by request.
    pub cumulative: Vec<LevelCumulative>,
    /// The evidence for differences between its levels, and from levels of other runs.
    pub evidence: Member,
    /// What the machine of the server was measured to reach at most, in words, where a store has that.
    pub ceilings: Option<String>,
    /// Whether a process is writing the run, if that is known.
    pub is_live: Option<bool>,
}

impl ReportModel {
    /// From a run and what [`ifm_metrics::summarize`] made of it.
    pub fn new(run: &RunData, summary: RunSummary) -> ReportModel {
        ReportModel::beside_documents(run, summary, &[])
    }

    /// The same where documents of these tools are reported too, by whose definitions the run is
    /// compared with them.
    pub fn beside_documents(run: &RunData, summary: RunSummary, tools: &[String]) -> ReportModel {
        let evidence = ResultsEvidence::member(run, &summary, tools);
        let measured = measured_by_level(&run.requests);
        let vllm_lines = VllmLines::default();
        let vllm = vllm_blocks(&summary, &measured, &vllm_lines);
        let of = |(level, records): (&u16, &Vec<_>)| {
            LevelCumulative::of(&run.manifest.spec, *level, records)
        };
        let cumulative = measured.iter().map(of).collect();
        let manifest = run.manifest.clone();
        ReportModel {
            manifest,
            summary,
            vllm,
            vllm_lines,
            cumulative,
            evidence,
            ceilings: None,
            is_live: None,
        }
    }

    /// With other lines in vLLM's block; `run` is the run of this model.
    #[must_use]
    pub fn with_vllm_lines(mut self, lines: VllmLines, run: &RunData) -> ReportModel {
        self.vllm = vllm_blocks(&self.summary, &measured_by_level(&run.requests), &lines);
        self.vllm_lines = lines;
        self
    }

    /// Model, server and host of the server: what was measured.
    pub(crate) fn title(&self) -> Vec<String> {
        title_parts(&self.manifest)
    }

    /// That the run was computed and not measured, and from what; absent for one that was measured.
    pub(crate) fn predicted(&self) -> Option<String> {
        predicted(&self.manifest)
    }

    /// That no real server was measured; absent for one.
    pub(crate) fn simulated(&self) -> Option<&'static str> {
        match &self.manifest.predicted {
            Some(_) => Some("simulated, not measured"),
            None => self.manifest.server.is_simulated().then_some("simulated server"),
        }
    }

    /// Workload, load and length: under which conditions.
    pub(crate) fn conditions(&self) -> Vec<String> {
        let mut parts = workload_parts(&self.manifest);
        parts.push(self.loads());
        let sent: u64 = self.summary.levels.iter().map(|level| level.counts.sent).sum();
        parts.push(format!("{} {}", count(sent), plural(sent, "request")));
        parts.extend(self.duration_ns().map(span));
        parts.extend(self.ceilings.as_deref().map(plain));
        parts
    }

    /// The loads: `closed loop, 1, 2 users`, `open loop, 2, 4 req/s`.
    fn loads(&self) -> String {
        let levels = self.summary.levels_by_load();
        if levels.is_empty() {
            // Stopped before anything was measured: what was asked.
            let asked = &self.manifest.spec.levels;
            let users = asked.iter().map(|level| load(Some(Load::Users(level.concurrency))));
            let is_open = asked.iter().any(|level| level.arrivals.is_some());
            return loop_words(is_open, "", &users.collect::<Vec<_>>());
        }
        let arrivals = |level: &LevelSummary| level.asked.as_ref()?.arrivals.clone();
        let of_loop = |is_open: bool| {
            let of = levels.iter().copied().filter(|level| arrivals(level).is_some() == is_open);
            let numbers: Vec<String> = of.clone().map(level_number).collect();
            let law = of.clone().find_map(arrivals).map(|arrivals| law_words(arrivals.law));
            let law = law.map_or_else(String::new, |law| format!("{law}, "));
            (!numbers.is_empty()).then(|| loop_words(is_open, &law, &numbers))
        };
        [of_loop(false), of_loop(true)].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// What the loads are counted in: `users`, or `asked` requests per second.
    pub(crate) fn load_unit(&self) -> &'static str {
        self.summary.levels.last().map_or("users", load_unit)
    }

    /// From the first start to the last end of all levels, nanoseconds.
    fn duration_ns(&self) -> Option<f64> {
        let windows = || self.summary.levels.iter().filter_map(|level| level.whole.as_ref());
        let start = windows().map(|whole| whole.window.start_ns).min()?;
        let end = windows().map(|whole| whole.window.end_ns).max()?;
        Some(end.saturating_sub(start) as f64)
    }

    /// What the server said about its weights, if they are random: the text then means nothing.
    /// Of a prediction neither speed nor text is real.
    pub(crate) fn random_weights(&self) -> Option<String> {
        if self.manifest.predicted.is_some() {
            return None;
        }
        let weights = self.manifest.server.notes.get(WEIGHTS_NOTE)?;
        weights.starts_with("random").then(|| {
            format!("The weights are {}: the speed is real, the text is noise.", plain(weights))
        })
    }

    /// Whether gaps of any level are between events rather than tokens.
    pub(crate) fn gap_label(&self) -> GapLabel {
        let inter_event = |level: &LevelSummary| level.latencies.gap_label == GapLabel::InterEvent;
        if self.summary.levels.iter().any(inter_event) {
            GapLabel::InterEvent
        } else {
            GapLabel::InterToken
        }
    }

    /// Whether a level was held at the largest load that fits, for its mark in a table.
    pub(crate) fn is_fitting(&self, level: &LevelSummary) -> bool {
        let answers = self.summary.answers.as_ref();
        let fitting = answers.and_then(|answers| answers.users.load);
        fitting.is_some() && level.held_load() == fitting
    }
}

/// Model, server and address of the server: what is measured.
pub(crate) fn title_parts(manifest: &Manifest) -> Vec<String> {
    let (target, server) = (&manifest.spec.target, &manifest.server);
    let mut parts = vec![plain(&target.model)];
    if let Some(kind) = &server.kind {
        let version = server.version.as_deref().unwrap_or("");
        parts.push(plain(format!("{kind} {version}").trim()));
    }
    parts.push(predicted(manifest).unwrap_or_else(|| plain(&target.address())));
    parts
}

/// That a run was computed and not measured, and from what; absent for one that was measured.
fn predicted(manifest: &Manifest) -> Option<String> {
    manifest.predicted.as_ref().map(|prediction| plain(&prediction.words()))
}

/// What is sent: the kind of requests, their lengths, and how they are sent.
pub(crate) fn workload_parts(manifest: &Manifest) -> Vec<String> {
    let spec = &manifest.spec;
    let workload = &spec.workload;
    let mut parts = vec![format!(
        "{} {}{}",
        plain(&spec.target.api_words()),
        plain(&workload.kind),
        lengths(manifest).map(|lengths| format!(" {lengths}")).unwrap_or_default()
    )];
    parts.extend(crate::workload_words::workload_words(manifest));
    if workload.shared_prefix_tokens > 0 {
        parts.push(format!("{} of them shared", count(workload.shared_prefix_tokens.into())));
    }
    if !spec.target.stream {
        parts.push("not streamed".to_owned());
    }
    if spec.target.fresh_connections {
        parts.push("a new connection for each request, its time included".to_owned());
    }
    parts
}

/// Lengths of prompts and answers as they were asked for: what was sent, where that is known, else
/// what was specified.
fn lengths(manifest: &Manifest) -> Option<String> {
    let spec = &manifest.spec.workload;
    let sent = manifest.workload.as_ref();
    let prompt = length(sent.map(|sent| sent.prompt_tokens.as_slice()), spec.prompt_tokens)?;
    let output = length(sent.map(|sent| sent.output_tokens.as_slice()), spec.output_tokens)?;
    Some(format!("{prompt}→{output} tokens"))
}

/// The load of a level in few letters: users, a rate, or what a rate went through.
fn level_number(level: &LevelSummary) -> String {
    let arrivals = level.asked.as_ref().and_then(|asked| asked.arrivals.as_ref());
    match (level.load(), arrivals.and_then(changing_rate)) {
        (Some(Load::ReqPerS(_)), Some(words)) => words,
        (Some(Load::ReqPerS(rate)), None) => number(rate),
        (asked, _) => load(asked),
    }
}

/// The loads of one kind of loop: `closed loop, 1, 2 users, 3 times each`.
fn loop_words(is_open: bool, law: &str, numbers: &[String]) -> String {
    let (kind, unit) = match (is_open, numbers) {
        (true, _) => ("open", "req/s"),
        (false, [one]) if one == "1" => ("closed", "user"),
        (false, _) => ("closed", "users"),
    };
    let (distinct, times) = repeated(numbers);
    let times = match times {
        Some(1) => String::new(),
        Some(times) => format!(", {times} times each"),
        None => ", some repeated".to_owned(),
    };
    format!("{kind} loop, {law}{} {unit}{times}", distinct.join(", "))
}

/// Each load once, and how often each comes; absent where that is not the same for all.
fn repeated(loads: &[String]) -> (Vec<&str>, Option<usize>) {
    let mut distinct: Vec<(&str, usize)> = Vec::new();
    for load in loads {
        match distinct.iter_mut().find(|(known, _)| known == load) {
            Some((_, times)) => *times += 1,
            None => distinct.push((load, 1)),
        }
    }
    let first = distinct.first().map_or(1, |(_, times)| *times);
    let is_even = distinct.iter().all(|(_, times)| *times == first);
    (distinct.into_iter().map(|(load, _)| load).collect(), is_even.then_some(first))
}

/// A load in a table: `4` users, `2.5/s`, or a sign that it is not known.
pub(crate) fn load(load: Option<Load>) -> String {
    match load {
        None => "?".to_owned(),
        Some(Load::Users(users)) => count(u64::from(users)),
        Some(Load::ReqPerS(rate)) => format!("{}/s", number(rate)),
    }
}

/// What the load of a level is counted in, as the head of a column.
pub fn load_unit(level: &LevelSummary) -> &'static str {
    match level.load() {
        Some(Load::ReqPerS(_)) => "asked",
        _ => "users",
    }
}

/// A load in words: `1 user`, `4 users`, `2.5 req/s`.
pub(crate) fn load_words(asked: Option<Load>) -> String {
    match asked {
        None => "unknown load".to_owned(),
        Some(Load::Users(1)) => "1 user".to_owned(),
        Some(Load::Users(_)) => format!("{} users", load(asked)),
        Some(Load::ReqPerS(rate)) => format!("{} req/s", number(rate)),
    }
}

/// The load of a level: what was held, or from where to where its rate went.
pub(crate) fn level_load_words(level: &LevelSummary) -> String {
    let arrivals = level.asked.as_ref().and_then(|asked| asked.arrivals.as_ref());
    match arrivals.and_then(changing_rate) {
        Some(words) => format!("{words} req/s"),
        None => load_words(level.load()),
    }
}

/// How requests are spaced, in words.
fn law_words(law: ArrivalLaw) -> String {
    match law {
        ArrivalLaw::Constant => "even gaps".to_owned(),
        ArrivalLaw::Poisson => "Poisson arrivals".to_owned(),
        ArrivalLaw::Gamma(shape) => format!("gamma arrivals of shape {}", number(shape)),
        ArrivalLaw::Burst(size) => format!("bursts of {size}"),
        ArrivalLaw::Replay(1.0) => "replay".to_owned(),
        ArrivalLaw::Replay(speed) => format!("replay {} as fast", meant(speed, Meant::Times)),
    }
}

/// A rate that changes, in words: `5 to 40`, `5, then 20`; absent for one that does not.
fn changing_rate(arrivals: &ArrivalSpec) -> Option<String> {
    if arrivals.constant_req_per_s().is_some() {
        return None;
    }
    let stretch = |stretch: &RateStretch| {
        let (from, to) = (stretch.from_req_per_s, stretch.to_req_per_s);
        match from == to {
            true => number(from),
            false => format!("{} to {}", number(from), number(to)),
        }
    };
    let words: Vec<String> = arrivals.stretches.iter().map(stretch).collect();
    Some(words.join(", then "))
}

/// A length in words: the one that there is, or the mean of several.
fn length(sent: Option<&[(u32, u64)]>, specified: Option<u32>) -> Option<String> {
    match sent {
        Some([(only, _)]) => Some(count(u64::from(*only))),
        Some(lengths @ [_, _, ..]) => {
            let requests: u64 = lengths.iter().map(|(_, requests)| requests).sum();
            let tokens: u64 = lengths.iter().map(|(length, n)| u64::from(*length) * n).sum();
            Some(format!("mean {}", count(tokens / requests.max(1))))
        }
        _ => specified.map(|length| count(u64::from(length))),
    }
}
