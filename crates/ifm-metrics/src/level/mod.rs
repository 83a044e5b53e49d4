//! One level of a run: what was asked, what happened, how fast it was.
//!
//! Only measured requests count; warm-up is kept in the run and appears in no number. Latencies are
//! over complete answers after the first wave; error rates are over all requests that were sent;
//! throughputs count the tokens that arrived, on any request. Not here: comparisons between
//! levels.

mod cumulative;
mod of_run;
mod steps;
mod wave;

pub use crate::measured::{
    ClassSummary, Concurrency, CountDisagreement, CountSources, Counts, FirstOfForm, FormSummary,
    FormsSummary, GapLabel, HeardAudio, HiddenReasoning, Judgements, KindTokens, KnownPart,
    Latencies, MediaRates, MediaSummary, MetricValues, PartSummary, ProbeSummary, Provenance,
    Scatter, SeenMedia, Session, SessionsSummary, SpokenAudio, TokenFacts, TokenKind, TpotAbsences,
    TtftParts, TtftSplit, TurnSummary, USER_RATE_ESTIMATED, UnsentTokens, Upload, Warming, Window,
    WindowKind, WindowSummary,
};
pub use cumulative::LevelCumulative;
pub(crate) use of_run::Levels;
pub use of_run::summarize_ended_level;
pub use steps::StepSummary;
pub use wave::FirstWave;
pub use wave::Judged;
pub use wave::behind_first_wave;

use crate::goodput::Goodput;
use crate::measured::throughput::{self, Target};
use crate::measured::{classes, forms, turns};
use crate::slo::{self, Verdict};
use crate::speculation::Speculation;
use crate::stat::distribution::DEFAULT_PERCENTILES;
use crate::telemetry::{LevelEnergy, ServerCounters};
use ifm_core::Metric;
use ifm_core::spec::{LoadSpec, RunSpec};
use ifm_core::{EndedSession, LevelEnd, LevelInfo, Outcome, Phase, RequestRecord, RunData};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The summary of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSummary {
    /// Index into the levels of the spec.
    pub level: u16,
    /// What was asked; absent if the spec has no such level.
    pub asked: Option<LoadSpec>,
    /// Whether the level ran to its planned end; absent while it is not known.
    pub complete: Option<bool>,
    /// What ended it; absent where it was not stored.
    pub ended_by: Option<LevelEnd>,
    /// Index of the level that replaces this one, because this one was worse than a larger load;
    /// see [`LevelSummary::is_result`].
    pub measured_again: Option<u16>,
    /// Requests by how they ended.
    pub counts: Counts,
    /// Requests that began together and are left out of latencies, verdict and steady window;
    /// absent where all are judged.
    pub first_wave: Option<Box<FirstWave>>,
    /// Requests after the first wave that were still warming up; absent if there were none, or if
    /// it is unknown.
    pub warming: Option<Warming>,
    /// From the first start to the last end; absent if nothing was sent.
    pub whole: Option<WindowSummary>,
    /// While the asked number of requests was in flight; see [`Window`].
    pub steady: Option<WindowSummary>,
    /// Why there is no steady window.
    pub steady_absent_because: Option<String>,
    /// Latencies over complete answers after the first wave.
    pub latencies: Latencies,
    /// Lengths, caches, and who counted.
    pub tokens: TokenFacts,
    /// The parts of the TTFT, over the same answers; absent if the server reports none of its own.
    pub ttft_parts: Option<Box<TtftParts>>,
    /// Images, recordings and videos of the prompts; absent where they were text alone.
    pub media: Option<Box<MediaSummary>>,
    /// Classes of mixed traffic, each apart; empty for one workload alone.
    pub classes: Vec<ClassSummary>,
    /// Requests whose answers are to have a form, each form apart; absent where all are free.
    pub forms: Option<Box<FormsSummary>>,
    /// The background probe of the level; absent if there was none.
    pub probe: Option<Box<ProbeSummary>>,
    /// Conversations by turn; empty if requests are independent.
    pub turns: Vec<TurnSummary>,
    /// Conversations as wholes; absent if requests are independent.
    pub sessions: Option<Box<SessionsSummary>>,
    /// Step by step, where the rate goes up in steps; else empty.
    pub steps: Vec<StepSummary>,
    /// Recordings in prompts; absent where none was sent.
    pub heard: Option<Box<HeardAudio>>,
    /// Sound in answers; absent where none came.
    pub spoken: Option<Box<SpokenAudio>>,
    /// Whether answers are generated tokens that were counted or observed at least in part: the
    /// rate of an unknown number of tokens is not 0.
    pub generates: bool,
    /// Requests that met every term of the latency target; absent without a target, and where the
    /// target names something that this level cannot show.
    pub goodput: Option<Goodput>,
    /// Whether the level is inside the latency target.
    pub verdict: Verdict,
    /// Energy over [`LevelSummary::window`]; absent if it was not measured.
    pub energy: Option<LevelEnergy>,
    /// What the server's own counters say; absent where they were not read.
    pub server: Option<ServerCounters>,
    /// Drafts of speculative decoding; absent if there were none, or if they were not reported.
    pub speculation: Option<Speculation>,
}

impl LevelSummary {
    /// The window that headline numbers are taken from: steady if there is one, else whole.
    pub fn window(&self) -> Option<&WindowSummary> {
        self.steady.as_ref().or(self.whole.as_ref())
    }

    /// What was counted over a kind of window; absent where the level has no such window.
    pub fn over(&self, kind: WindowKind) -> Option<&WindowSummary> {
        match kind {
            WindowKind::Steady => self.steady.as_ref(),
            WindowKind::Whole => self.whole.as_ref(),
        }
    }

    /// The kind of window over which rates of all these levels can be compared: steady if each has
    /// one, else whole. Rates over different windows differ by ramp and drain.
    pub fn common_window<'l>(levels: impl IntoIterator<Item = &'l LevelSummary>) -> WindowKind {
        match levels.into_iter().all(|level| level.steady.is_some()) {
            true => WindowKind::Steady,
            false => WindowKind::Whole,
        }
    }

    /// Latencies over all complete answers, the first wave among them.
    pub fn latencies_of_all(&self) -> &Latencies {
        self.first_wave.as_ref().map_or(&self.latencies, |wave| &wave.latencies_with)
    }

    /// Output tokens per second in [`LevelSummary::window`]; absent where answers are not tokens, and
    /// where none was complete: what failed requests brought before they failed is not output.
    pub fn output_tok_per_s(&self) -> Option<f64> {
        self.output_over(self.window()?.window.kind)
    }

    /// The same over a kind of window.
    pub fn output_over(&self, kind: WindowKind) -> Option<f64> {
        let is_output = self.generates && self.counts.ok > 0;
        Some(self.over(kind).filter(|_| is_output)?.output_tok_per_s)
    }

    /// Requested number of requests in flight; absent in an open loop, where the server decides.
    pub fn concurrency_asked(&self) -> Option<u32> {
        let asked = self.asked.as_ref().filter(|asked| asked.arrivals.is_none())?;
        Some(asked.concurrency)
    }

    /// The requested load.
    pub fn load(&self) -> Option<Load> {
        let asked = self.asked.as_ref()?;
        match &asked.arrivals {
            None => Some(Load::Users(asked.concurrency)),
            Some(arrivals) => arrivals.mean_req_per_s().map(Load::ReqPerS),
        }
    }

    /// Whether the requested rate changed while the level ran: a ramp, or steps. Such a level does
    /// not answer how much fits.
    pub fn is_changing(&self) -> bool {
        Target::of(self.asked.as_ref()) == Target::Changing
    }

    /// Whether its numbers are a result: it ran to its end, and its load was not measured again. What
    /// was cut off lacks its slowest answers and the state that a whole level reaches, so no verdict,
    /// answer, curve, finding or comparison is taken from it.
    pub fn is_result(&self) -> bool {
        self.complete == Some(true) && self.measured_again.is_none() && !self.is_scout()
    }

    /// Whether it only told a search for the capacity where to measure.
    pub fn is_scout(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.scout)
    }

    /// The load of which the level is a result: the requested one, unless the rate changed while it
    /// ran.
    pub fn held_load(&self) -> Option<Load> {
        self.load().filter(|_| !self.is_changing() && self.is_result())
    }

    /// Takes its verdicts back.
    pub(crate) fn withhold_verdict(&mut self) {
        self.verdict.withhold();
        if let Some(wave) = &mut self.first_wave {
            wave.verdict_with.withhold();
        }
    }

    /// Median speed of one user, tokens per second, and whether it is an estimate because the
    /// tokens were not counted.
    pub fn user_tok_per_s(&self) -> Option<(f64, bool)> {
        let speed = self.latencies.population(Metric::UserSpeed)?;
        Some((speed.values.median()?, speed.is_estimated))
    }
}

/// What grows from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Requests in flight, in a closed loop.
    Users(u32),
    /// Requests that are due per second, in an open loop; the mean where the rate changes.
    ReqPerS(f64),
}

impl Load {
    /// The number, by which loads of one kind are ordered.
    pub fn value(self) -> f64 {
        match self {
            Load::Users(users) => f64::from(users),
            Load::ReqPerS(rate) => rate,
        }
    }

    /// Users before rates, each from the lowest to the highest.
    pub fn order(self, other: Load) -> Ordering {
        let is_rate = |load: Load| matches!(load, Load::ReqPerS(_));
        let by_value = || self.value().total_cmp(&other.value());
        is_rate(self).cmp(&is_rate(other)).then_with(by_value)
    }
}

/// The measured requests of each level, in the order of the run.
pub type MeasuredByLevel<'a> = BTreeMap<u16, Vec<&'a RequestRecord>>;

/// Sorts the measured requests by level. Levels without one are left out.
pub fn measured_by_level(requests: &[RequestRecord]) -> MeasuredByLevel<'_> {
    let mut levels = MeasuredByLevel::new();
    for record in requests.iter().filter(|record| record.phase == Phase::Measure) {
        levels.entry(record.level).or_default().push(record);
    }
    levels
}

/// The observations of a load: its requests, and the ends of sessions that no request shows.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Requests, of any levels.
    pub requests: &'a [RequestRecord],
    /// Sessions, of any levels: a next prompt that would have been too long, an empty answer.
    pub ended: &'a [EndedSession],
}

impl<'a> Seen<'a> {
    /// All of a run.
    pub fn of(run: &'a RunData) -> Seen<'a> {
        let workload = run.manifest.workload.as_ref();
        let ended = workload.map_or(&[][..], |workload| &workload.ended_sessions);
        Seen { requests: &run.requests, ended }
    }
}

/// The sessions of a level of which no request shows how they ended.
pub(crate) fn ended_in(level: u16, ended: &[EndedSession]) -> Vec<EndedSession> {
    ended.iter().filter(|ended| ended.level == level).copied().collect()
}

/// Summarizes one level from all records (other levels are skipped), as soon as it has ended.
/// `info` is absent while it is unknown. Samples of metrics and single sessions are left out.
/// O(events), and memory for a few numbers per request.
pub fn summarize_level(
    spec: &RunSpec,
    level: u16,
    info: Option<&LevelInfo>,
    seen: Seen,
) -> LevelSummary {
    let measured: Vec<&RequestRecord> = seen
        .requests
        .iter()
        .filter(|record| record.level == level && record.phase == Phase::Measure)
        .collect();
    summarize_measured(spec, level, info, &measured, &ended_in(level, seen.ended))
}

/// Whether a complete answer has tokens that were counted or seen; so it is where none is complete.
fn tells_tokens(measured: &[&RequestRecord]) -> bool {
    let mut complete = measured.iter().filter(|record| record.outcome.is_ok()).peekable();
    let told =
        |record: &&RequestRecord| record.output_tokens.is_some() || !record.events.is_empty();
    complete.peek().is_none() || complete.any(told)
}

/// Summarizes one level from its measured requests. `ended` are the sessions of which no request shows
/// how they ended.
pub(crate) fn summarize_measured(
    spec: &RunSpec,
    level: u16,
    info: Option<&LevelInfo>,
    measured: &[&RequestRecord],
    ended: &[EndedSession],
) -> LevelSummary {
    let asked = spec.levels.get(usize::from(level)).cloned();
    let percentiles = percentiles(spec);
    let counts = Counts::of(measured);
    let judged = Judged::of(asked.as_ref(), measured);
    let latencies = Latencies::of(&judged.requests, &percentiles);
    let sent: Vec<&RequestRecord> =
        measured.iter().copied().filter(|record| record.outcome != Outcome::Dropped).collect();
    let is_asked = !spec.slo.is_default;
    let evaluation = is_asked.then(|| crate::goodput::evaluate(&spec.slo, &sent)).flatten();
    let good = evaluation.as_ref().map(|evaluation| evaluation.good.as_slice());
    let target = Target::of(asked.as_ref());
    // A rate that goes up changes the times by itself.
    let is_held = target != Target::Changing;
    let warming = Warming::of(&judged.requests).filter(|_| is_held);
    let warm_ns = warming.map(|warming| warming.end_ns);
    let bounds = throughput::Bounds { target, steady_from_ns: warm_ns.or(judged.begin_ns()) };
    let windows = throughput::windows(bounds, latencies.get(Metric::E2e), &sent, good);
    let is_of_sessions = spec.slo.terms.iter().any(|term| term.metric.is_of_sessions());
    let sessions =
        is_of_sessions.then(|| sessions_of(measured, ended, &percentiles, None)).flatten();
    let judge = |latencies: &Latencies, requests: &[&RequestRecord]| {
        let (percentiles, counts) = (percentiles.as_slice(), &counts);
        let sessions = sessions.as_ref();
        let evidence = slo::Evidence { latencies, requests, percentiles, counts, sessions };
        slo::judge(&spec.slo, &evidence)
    };
    let verdict = judge(&latencies, &judged.requests);
    let first_wave = (judged.first_wave > 0).then(|| {
        let latencies_with = Latencies::of(measured, &percentiles);
        let verdict_with = judge(&latencies_with, measured);
        let requests = judged.first_wave as u64;
        let goodput_without = evaluation
            .as_ref()
            .and_then(|_| crate::goodput::evaluate(&spec.slo, &judged.requests))
            .map(|evaluation| evaluation.goodput(judged.requests.len() as u64));
        Box::new(FirstWave { requests, latencies_with, verdict_with, goodput_without })
    });
    let headline = windows.steady.as_ref().or(windows.whole.as_ref());
    LevelSummary {
        level,
        complete: info.map(|info| info.complete),
        ended_by: info.and_then(|info| info.ended_by),
        measured_again: info.and_then(|info| info.measured_again),
        goodput: evaluation.map(|evaluation| evaluation.goodput(counts.sent)),
        tokens: TokenFacts::of(measured),
        ttft_parts: TtftParts::of(&judged.requests, &percentiles).map(Box::new),
        media: MediaSummary::of(measured, &judged.requests, &percentiles).map(Box::new),
        classes: classes::by_class(
            &spec.workload.classes,
            measured,
            &judged.requests,
            &percentiles,
        ),
        forms: forms::by_form(&spec.workload.forms, measured, &judged.requests, &percentiles)
            .map(Box::new),
        turns: turns::by_turn(measured, &percentiles),
        probe: None,
        sessions: None,
        steps: steps::by_step(asked.as_ref(), info, measured, &percentiles),
        generates: spec.target.api.generates() && tells_tokens(measured),
        heard: HeardAudio::of(measured, headline).map(Box::new),
        spoken: SpokenAudio::of(measured, &judged.requests).map(Box::new),
        first_wave,
        warming,
        whole: windows.whole,
        steady: windows.steady,
        steady_absent_because: windows.steady_absent_because,
        asked,
        counts,
        latencies,
        verdict,
        energy: None,
        server: None,
        speculation: None,
    }
}

/// The sessions of a level; absent if requests are independent.
pub(crate) fn sessions_of(
    measured: &[&RequestRecord],
    ended: &[EndedSession],
    percentiles: &[f64],
    block_tokens: Option<u32>,
) -> Option<SessionsSummary> {
    let each = crate::measured::sessions::sessions(measured, ended, block_tokens);
    SessionsSummary::of(each, ended, percentiles, block_tokens)
}

/// The percentiles to compute: the usual ones and those that the latency target names, rising.
pub(crate) fn percentiles(spec: &RunSpec) -> Vec<f64> {
    let mut all = DEFAULT_PERCENTILES.to_vec();
    all.extend(spec.slo.terms.iter().filter_map(|term| term.percentile));
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

#[cfg(test)]
mod tests;
