//! A run of ours as results.

use super::identity::RunIdentity;
use super::{Point, Results, Searched, Source, Stat};
use ifm_core::metric::MetricUnit;
use ifm_core::sheet::{Definition, Factors, PartKind, Place, RowRole, Statistic, key};
use ifm_core::{Manifest, Metric, Prediction};
use ifm_metrics::RunSummary;
use ifm_metrics::capacity::gpus_told;
use ifm_metrics::level::{Latencies, LevelSummary, Load, WindowKind, WindowSummary};
use ifm_metrics::media_figures::{self, NEW_TTFT, SEEN_RATIO, SEEN_SHARE, SEEN_TTFT, UPLOAD_SHARE};
use ifm_metrics::slo::{self, VerdictState};
use ifm_metrics::stat::{Distribution, Interval};

const NS_PER_MS: f64 = 1e6;
/// Time per output token where it is known of a part of the answers alone.
const TPOT_PARTIAL: &str = "TPOT of some answers";
/// What a rate over a whole level is.
const WHOLE_LEVEL: &str = "over the whole level, ramp and drain included";
/// Above this share of answers without a TPOT, it is one of a part.
const PARTIAL_SHARE: f64 = 0.01;

impl Results {
    /// What a run measured, one point for each level.
    pub fn of_run(manifest: &Manifest, summary: &RunSummary) -> Results {
        let source = Source {
            name: manifest.run_id.clone(),
            side: manifest.name.as_ref().unwrap_or(&manifest.run_id).clone(),
            tool: Some(manifest.tool.name.clone()),
            tool_version: Some(manifest.tool.version.clone()),
            is_own: true,
            identity: Some(RunIdentity::of(manifest)),
        };
        let (setting, gpus) = (setting(manifest), gpus_told(manifest));
        // Users and rates cannot be ordered: where both were measured, rates are shown.
        let is_rate = |level: &LevelSummary| matches!(level.load(), Some(Load::ReqPerS(_)));
        let has_rates = summary.levels.iter().any(|level| level.is_result() && is_rate(level));
        let counts =
            |(_, level): &(usize, &LevelSummary)| level.is_result() && is_rate(level) == has_rates;
        let points = summary.levels.iter().enumerate().filter(counts).map(|(index, level)| {
            let before = summary.levels.get(..index).unwrap_or_default();
            let found = point(level, lengths(&setting, level), before);
            Point { searched: searched(manifest, level), gpus, ..found }
        });
        Results { points: points.collect(), sources: vec![source] }
    }
}

/// What holds for all levels of a run.
fn setting(manifest: &Manifest) -> Factors {
    let spec = &manifest.spec;
    let mut setting = Factors::default().with(key::MODEL, &spec.target.model);
    if let Some(kind) = &manifest.server.kind {
        setting.set(key::ENGINE, kind);
    }
    let workload = &spec.workload;
    setting.set(key::WORKLOAD, workload.text.as_ref().unwrap_or(&workload.kind));
    for (name, value) in &manifest.tags {
        setting.set(name.as_str(), value);
    }
    for (name, value) in manifest.predicted.iter().flat_map(Prediction::factors) {
        setting.set(name, value);
    }
    setting
}

/// The requested lengths of a level, if each is one number.
fn lengths(setting: &Factors, level: &LevelSummary) -> Factors {
    let mut setting = setting.clone();
    let means = [
        (key::INPUT_TOKENS, level.tokens.prompt_asked_mean),
        (key::OUTPUT_TOKENS, level.tokens.output_asked_mean),
    ];
    for (name, mean) in means {
        if let Some(mean) = mean.filter(|mean| mean.fract() == 0.0) {
            setting.set(name, mean);
        }
    }
    setting
}

fn point(level: &LevelSummary, setting: Factors, before: &[LevelSummary]) -> Point {
    let same = before
        .iter()
        .filter(|other| other.is_result())
        .filter(|other| other.load() == level.load())
        .count();
    Point {
        source: 0,
        part: 0,
        kind: PartKind::Serving,
        role: RowRole::Measured,
        headings: Vec::new(),
        label: None,
        setting,
        load: level.held_load(),
        repeat: Some(same as u32 + 1),
        stats: stats(level),
        verdict: level.verdict.state,
        searched: None,
        gpus: None,
        place: Place::pointer(format!("/levels/{}", level.level)),
        text: None,
    }
}

/// What the search of the run found of the load of a level.
fn searched(manifest: &Manifest, level: &LevelSummary) -> Option<Searched> {
    let found = manifest.capacity.as_ref()?;
    let value = level.load()?.value();
    let tolerance = 1e-9 * value;
    let state = if found.inside.is_some_and(|inside| value <= inside + tolerance) {
        VerdictState::Pass
    } else if found.outside.is_some_and(|outside| value >= outside - tolerance) {
        VerdictState::Fail
    } else {
        VerdictState::Unknown
    };
    Some(Searched { slo: manifest.spec.slo.clone(), state })
}

/// Whether the TPOT covers only a part of the answers: then it decides no target.
fn is_of_a_part(latencies: &Latencies) -> bool {
    let known = latencies.get(Metric::Tpot).map_or(0, |tpot| tpot.n);
    let absent = latencies.tpot_absent.total();
    known > 0 && absent as f64 > PARTIAL_SHARE * (known + absent) as f64
}

fn stats(level: &LevelSummary) -> Vec<Stat> {
    let mut stats = Vec::new();
    let latencies = &level.latencies;
    for found in latencies.populations() {
        let (of, metric) = (found.metric, latencies.quantity(found));
        // Waits as targets count them: in an open loop from the due time.
        let values = latencies.get(of.from_due()).unwrap_or(&found.values);
        if of == Metric::Itl && latencies.gaps().is_none() {
            continue;
        }
        let metric = if of == Metric::Tpot && is_of_a_part(latencies) {
            Metric::other(TPOT_PARTIAL)
        } else {
            metric
        };
        let scale = if of.unit() == MetricUnit::Ns { NS_PER_MS } else { 1.0 };
        population(&mut stats, metric, values, scale);
    }
    media(&mut stats, level);
    let counts = &level.counts;
    let mut value = |metric, value: Option<f64>| {
        let stat = |value| own(Stat::new(metric, Statistic::Value, value));
        stats.extend(value.map(stat));
    };
    value(Metric::Requests, Some(counts.sent as f64));
    value(Metric::RequestsOk, Some(counts.ok as f64));
    value(Metric::RequestsFailed, Some(counts.failed as f64));
    value(Metric::ErrorRate, counts.error_rate());
    value(Metric::InputTokens, level.tokens.prompt_total.map(|tokens| tokens as f64));
    value(Metric::CachedTokens, level.tokens.cached_total.map(|tokens| tokens as f64));
    value(Metric::OutputTokens, level.tokens.output_total.map(|tokens| tokens as f64));
    let energy = level.energy.as_ref();
    value(Metric::EnergyPerToken, energy.and_then(|energy| energy.joules_per_output_token));
    value(Metric::Power, energy.map(|energy| energy.watts_mean));
    let sessions = level.sessions.as_ref().and_then(|sessions| sessions.per_hour);
    value(Metric::other(Metric::SessionRate.name()), sessions);
    if let Some(window) = level.window() {
        let is_alone = level.concurrency_asked() == Some(1);
        stats.extend(rates((window, is_alone), level.output_tok_per_s()));
    }
    whole_sessions(&mut stats, level);
    stats
}

/// What a target may ask of sessions.
fn whole_sessions(stats: &mut Vec<Stat>, level: &LevelSummary) {
    let Some(of) = level.sessions.as_deref() else { return };
    let named = |metric: Metric| Metric::other(metric.name());
    if let Some(durations) = &of.duration_ns {
        population(stats, named(Metric::Session), durations, NS_PER_MS);
    }
    let at: Vec<f64> =
        of.duration_ns.iter().flat_map(|of| of.percentiles.iter().map(|it| it.p)).collect();
    if let Some(uncached) = Distribution::from_values(of.uncached(), &at) {
        population(stats, named(Metric::SessionUncached), &uncached, 1.0);
    }
    if let Some(failed) = slo::failed_sessions(of) {
        let (n, share) = failed;
        let bound = |pick: fn(&Interval) -> Option<f64>| share.interval.as_ref().and_then(pick);
        stats.push(Stat {
            low: bound(|interval| interval.low),
            high: bound(|interval| interval.high),
            n: Some(n),
            is_enough: share.enough,
            ..own(Stat::new(named(Metric::SessionFailed), Statistic::Mean, share.value))
        });
    }
}

/// What the prompts and answers carried in addition to text, and the effect of a cache and the
/// upload on TTFT.
fn media(stats: &mut Vec<Stat>, level: &LevelSummary) {
    for (metric, total, unit) in media_figures::totals(level) {
        let canonical = unit.factor().map(|factor| total * factor);
        let stat = |value| own(Stat::new(metric, Statistic::Value, value));
        stats.extend(canonical.map(stat));
    }
    let Some(media) = &level.media else { return };
    let mut share = |name: &str, value: Option<f64>| {
        let of = |value| own(Stat::new(Metric::other(name), Statistic::Value, value));
        stats.extend(value.map(of));
    };
    share(SEEN_SHARE, Some(media.seen_share()));
    share(UPLOAD_SHARE, media.upload.as_ref().and_then(|upload| upload.ttft_share));
    if let Some(found) = &media.seen_or_new {
        let name = Metric::other(SEEN_RATIO);
        stats.push(Stat {
            low: Some(found.ratio.low),
            high: Some(found.ratio.high),
            ..own(Stat::new(name, Statistic::Value, found.ratio.value))
        });
        for (name, ttft) in [(NEW_TTFT, &found.new_ttft_ns), (SEEN_TTFT, &found.seen_ttft_ns)] {
            population(stats, Metric::other(name), ttft, NS_PER_MS);
        }
    }
}

/// Rates over the window of a level. Over a whole one ramp and drain are in them, but for one user, who
/// has neither.
fn rates((window, is_alone): (&WindowSummary, bool), output: Option<f64>) -> Vec<Stat> {
    let definition = match window.window.kind {
        WindowKind::Whole if !is_alone => Definition::Different(WHOLE_LEVEL.to_owned()),
        _ => Definition::Same,
    };
    let mut rates = vec![
        Stat::new(Metric::RequestRate, Statistic::Value, window.req_per_s),
        Stat::new(Metric::InFlight, Statistic::Mean, window.concurrency.mean),
        Stat::new(Metric::PeakInFlight, Statistic::Value, f64::from(window.concurrency.max)),
    ];
    let optional = [
        (Metric::OutputRate, output),
        (Metric::TotalRate, window.total_tok_per_s),
        (Metric::Goodput, window.good_req_per_s),
    ];
    rates.extend(
        optional
            .into_iter()
            .filter_map(|(metric, value)| Some(Stat::new(metric, Statistic::Value, value?))),
    );
    let over = |rate| Stat { definition: definition.clone(), ..rate };
    rates.into_iter().map(over).collect()
}

fn population(stats: &mut Vec<Stat>, metric: Metric, distribution: &Distribution, scale: f64) {
    let n = Some(distribution.n);
    let of = |statistic, value: f64| own(Stat { n, ..Stat::new(metric, statistic, value / scale) });
    let mean = slo::mean(distribution);
    let bound = |pick: fn(&Interval) -> Option<f64>| {
        mean.interval.as_ref().and_then(pick).map(|bound| bound / scale)
    };
    stats.push(Stat {
        low: bound(|interval| interval.low),
        high: bound(|interval| interval.high),
        is_enough: mean.enough,
        ..of(Statistic::Mean, mean.value)
    });
    stats.push(of(Statistic::Min, distribution.min));
    stats.push(of(Statistic::Max, distribution.max));
    for percentile in &distribution.percentiles {
        let bound = |pick: fn(&Interval) -> Option<f64>| {
            percentile.interval.as_ref().and_then(pick).map(|bound| bound / scale)
        };
        stats.push(Stat {
            low: bound(|interval| interval.low),
            high: bound(|interval| interval.high),
            is_enough: percentile.enough,
            ..of(Statistic::percentile(percentile.p), percentile.value)
        });
    }
}

fn own(stat: Stat) -> Stat {
    Stat { definition: Definition::Same, needs_interval: false, ..stat }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Outcome;
    use ifm_metrics::level::Load;
    use ifm_metrics::testing::{closed_loop, failed, run};

    /// 1 and 2 users, then 1 again, which replaces the first: no point of a curve, and no repeat.
    #[test]
    fn a_replaced_level_is_no_point() {
        let mut requests = closed_loop((0, 0), (1, 40), 0.0, (300.0, 10.0, 16));
        requests.extend(closed_loop((40, 1), (2, 40), 0.0, (110.0, 10.0, 16)));
        requests.extend(closed_loop((120, 2), (1, 40), 0.0, (100.0, 10.0, 16)));
        let mut run = run(&[1, 2, 1], requests);
        run.manifest.levels[0].measured_again = Some(2);
        let results = Results::of_run(&run.manifest, &ifm_metrics::summarize(&run));
        assert_eq!(results.points.len(), 2);
        assert!(results.points.iter().all(|point| point.repeat == Some(1)));
    }

    /// 200 complete answers, 3 failures, 97 that the client cut off: 1.0 % of what was sent failed.
    #[test]
    fn error_rate_is_failed_over_sent_in_every_place() {
        let mut requests = closed_loop((0, 0), (2, 148), 0.0, (100.0, 10.0, 4));
        let cut = requests.len() - 97..requests.len();
        requests[cut].iter_mut().for_each(|request| request.outcome = Outcome::Cancelled);
        requests.truncate(297);
        let ok = requests.iter().filter(|request| request.outcome == Outcome::Ok).count();
        requests.extend((0..3).map(|n| failed(297 + n, 0, n % 2, 5_000.0, 100.0)));
        let run = run(&[2], requests);
        let summary = ifm_metrics::summarize(&run);
        let counts = &summary.levels[0].counts;
        let expect = counts.failed as f64 / counts.sent as f64;
        assert!(counts.cancelled > 0 && ok as u64 == counts.ok);
        let results = Results::of_run(&run.manifest, &summary);
        let point = &results.points[0];
        assert_eq!(point.value(Metric::ErrorRate, Statistic::Value), Some(expect));
        assert_eq!(point.failed_of_sent(), Some((counts.failed, counts.sent)));
        assert_eq!(summary.levels[0].counts.error_rate(), Some(expect));
    }

    /// Tokens that arrive together have no gaps that a report could call short.
    #[test]
    fn gaps_are_unknown_where_most_tokens_share_reads() {
        let gap = |itl_ms: f64| {
            let run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, itl_ms, 4)));
            let results = Results::of_run(&run.manifest, &ifm_metrics::summarize(&run));
            [Statistic::Median, Statistic::Mean].map(|of| results.points[0].value(Metric::Itl, of))
        };
        assert_eq!(gap(0.0), [None, None]);
        assert_eq!(gap(10.0), [Some(10.0), Some(10.0)]);
    }

    #[test]
    fn the_numbers_of_a_run_are_those_of_its_summary() {
        let run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 4)));
        let summary = ifm_metrics::summarize(&run);
        let results = Results::of_run(&run.manifest, &summary);
        assert_eq!((results.points.len(), results.sources[0].is_own), (1, true));
        let point = &results.points[0];
        assert_eq!((point.load, point.repeat), (Some(Load::Users(2)), Some(1)));
        let ttft = summary.levels[0].latencies.get(Metric::Ttft).expect("measured");
        let p50 = point.stat(Metric::Ttft, Statistic::Median).expect("measured");
        assert_eq!(Some(p50.value), ttft.median().map(|ns| ns / NS_PER_MS));
        assert!(p50.low.is_some() && p50.high.is_some());
        let p99 = point.stat(Metric::Ttft, Statistic::Percentile(99.0)).expect("measured");
        assert_eq!((p99.n, p99.is_enough), (Some(118), false));
        let output = point.central(Metric::OutputRate).expect("measured");
        assert_eq!(Some(output.value), summary.levels[0].output_tok_per_s());
    }
}
