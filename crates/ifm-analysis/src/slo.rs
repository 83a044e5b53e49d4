//! Latency targets: how they are written, and whether a level is inside.
//!
//! A target is a list of terms such as `itl:p99<50ms` or `speed:p10>20`. A speed is a bound on the
//! time per output token, read from the other end: P10 of the speed is at least 20 tok/s exactly
//! where P90 of the TPOT is at most 50 ms, and so it is kept and judged. A level passes if each term holds for the
//! percentile over its complete answers, and if at most 1 % of its requests failed. What is not
//! here: goodput, which asks the terms of single requests, and answers over several levels.

use crate::measured::{Counts, Latencies};
use crate::stat::quantile::is_enough;
use crate::stat::special::student_upper_quantile;
use crate::stat::{Distribution, Interval, Percentile};
use ifm_core::Metric;
use ifm_core::spec::{SloSpec, SloTerm, other_end};
use std::fmt;

/// A level with a larger share of failed requests is outside every target, whatever its latencies.
pub const ERROR_RATE_MAX: f64 = 0.01;
/// The percentile of terms written as a bare limit, `ttft:500`.
const BARE_PERCENTILE: f64 = 99.0;
/// What the speed of a user is called in a target.
const SPEED: &str = "speed";
/// Percentiles of a speed above this one are of the fast tail.
const SLOW_TAIL_MAX: f64 = 50.0;
/// Longest target that is read, bytes.
const TEXT_MAX: usize = 1_000;
const NS_PER_MS: f64 = 1e6;
/// Chance left out on each side of the interval of a mean.
const MEAN_TAIL: f64 = 0.025;
/// A mean of values without an interval needs as many as this percentile.
const MEAN_WORTH: f64 = 99.0;

/// What is wrong with a target as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SloError {
    /// Nothing was written.
    #[error("the latency target is empty, write for example: ttft:p99<500ms,itl:p99<50ms")]
    Empty,
    /// Longer than any sensible target.
    #[error("the latency target is longer than {TEXT_MAX} bytes")]
    TooLong,
    /// A term that does not follow the grammar.
    #[error("cannot read the latency term: {term}, write for example: itl:p99<50ms")]
    Grammar {
        /// The term as written.
        term: String,
    },
    /// A metric that has no such percentile.
    #[error(
        "unknown metric in the latency term: {term}, known are: ttft, ttfat, itl, tpot, e2e, speed"
    )]
    Metric {
        /// The term as written.
        term: String,
    },
    /// A percentile that is not above 0 and at most 100.
    #[error("the percentile must be above 0 and at most 100: {term}")]
    Percentile {
        /// The term as written.
        term: String,
    },
    /// A limit that is not a positive time.
    #[error("the limit must be a positive time such as 50ms or 0.5s: {term}")]
    Limit {
        /// The term as written.
        term: String,
    },
    /// A speed that is not a positive number.
    #[error("the speed must be a positive number of tokens per second such as 20: {term}")]
    Speed {
        /// The term as written.
        term: String,
    },
    /// A time that is bounded from below.
    #[error("a time is bounded from above, write < in place of >: {term}")]
    TimeAbove {
        /// The term as written.
        term: String,
    },
    /// A speed that is not bounded from below.
    #[error("a speed is bounded from below, write for example speed:p10>20: {term}")]
    SpeedBelow {
        /// The term as written.
        term: String,
    },
    /// A percentile of a speed from the fast tail.
    #[error(
        "{term} speaks of the fastest users: a percentile of a speed counts from the slow end, so that \
         P{p} is what only {others} % of them exceed; {meant} asks that {p} % of them have so much"
    )]
    FastTail {
        /// The term as written.
        term: String,
        /// Its percentile.
        p: String,
        /// What is left to 100.
        others: String,
        /// The term that was probably meant.
        meant: String,
    },
    /// A mean of a speed.
    #[error(
        "a mean of speeds hides the slow users, write speed:p10>20, or tpot:mean<50ms for the mean \
         time of a token: {term}"
    )]
    SpeedMean {
        /// The term as written.
        term: String,
    },
    /// A limit on errors, which is not a term.
    #[error("the limit on failed requests is always 1 %, write err<1% or leave it out: {term}")]
    ErrorRate {
        /// The term as written.
        term: String,
    },
}

/// Targets by name. The figures of MLPerf are those of its inference rules, version 5.0, for Llama 2
/// 70B in the server and the interactive scenario. `luminal` is the mean gap above which
/// the reports of that name call output sluggish; the others are ours, to begin with.
pub const PRESETS: [(&str, &str); 7] = [
    ("chat", "ttft:p99<500ms,itl:p99<50ms"),
    ("rag", "ttft:p99<2s,itl:p99<50ms"),
    ("code", "ttft:p99<300ms,itl:p99<30ms"),
    ("mlperf-server", "ttft:p99<2s,tpot:p99<200ms"),
    ("mlperf-interactive", "ttft:p99<450ms,tpot:p99<40ms"),
    ("agent", "ttft:p99<1s,e2e:p99<30s"),
    ("luminal", "itl:mean<70ms"),
];

/// Reads the name of one of [`PRESETS`], or `"ttft:p99<500ms, itl:p99<50ms"`: terms between commas or spaces, each a metric (`ttft`,
/// `ttfat`, `itl`, `tpot`, `e2e`), a percentile (`p99`) or `mean`, and a limit in `ms`, `s` or `us` (`ms` if no unit
/// is written). `<`, `<=` and `≤` mean the same: at most. A bare `ttft:500` is read as P99. The speed
/// of a user is bounded from below by a percentile up to the median: `speed:p10>20`, tokens per
/// second; `>`, `>=` and `≥` mean at least.
///
/// # Errors
/// [`SloError`] with the term that cannot be read.
pub fn parse(text: &str) -> Result<SloSpec, SloError> {
    if text.len() > TEXT_MAX {
        return Err(SloError::TooLong);
    }
    let named = |(name, _): &&(&str, &str)| *name == text.trim();
    if let Some((name, terms)) = PRESETS.iter().find(named) {
        return Ok(SloSpec { name: (*name).to_owned(), ..parse(terms)? });
    }
    let compact = close_up(text);
    let terms = compact
        .split([',', ' ', ';'])
        .filter(|term| !term.is_empty() && !is_usual_error_rate(term))
        .map(parse_term)
        .collect::<Result<Vec<_>, _>>()?;
    if terms.is_empty() {
        return Err(SloError::Empty);
    }
    Ok(SloSpec { name: "custom".to_owned(), terms })
}

/// Reads the words of `vllm bench serve --goodput`: `ttft:500 tpot:50`, milliseconds, each a bound
/// on single requests. As a target for a level, each becomes a bound on P99.
///
/// # Errors
/// [`SloError`] with the term that cannot be read.
pub fn parse_goodput(words: &[String]) -> Result<SloSpec, SloError> {
    let spec = parse(&words.join(" "))?;
    Ok(SloSpec { name: "goodput".to_owned(), ..spec })
}

/// Whether a term says what always holds: at most 1 % of the requests failed.
fn is_usual_error_rate(term: &str) -> bool {
    let lower = term.to_ascii_lowercase();
    let limit = ["err", "errors", "error_rate"].iter().find_map(|name| lower.strip_prefix(name));
    matches!(limit, Some("<1%" | "<=1%" | "≤1%" | "<0.01" | "<=0.01" | "≤0.01"))
}

/// Takes out the spaces within terms: `p99 < 50 ms` is one term, so a space beside an operator or
/// before a unit does not part terms.
fn close_up(text: &str) -> String {
    let spaced = text.replace("<=", "<").replace('≤', "<").replace('<', " < ");
    let spaced = spaced.replace(">=", ">").replace('≥', ">").replace('>', " > ");
    let mut closed = String::with_capacity(spaced.len());
    for word in spaced.split_whitespace() {
        let word_alone = word.trim_end_matches([',', ';']);
        let joins = matches!(word_alone, "<" | ">" | "s" | "ms" | "us" | "tok/s");
        if !joins && !closed.is_empty() && !closed.ends_with(['<', '>']) {
            closed.push(' ');
        }
        closed.push_str(word);
    }
    closed
}

fn parse_term(term: &str) -> Result<SloTerm, SloError> {
    let named = || term.to_owned();
    let grammar = || SloError::Grammar { term: named() };
    let lower = term.to_ascii_lowercase();
    if lower.starts_with("err") {
        return Err(SloError::ErrorRate { term: named() });
    }
    let (metric, bound) = lower.split_once(':').ok_or_else(grammar)?;
    if metric == SPEED || metric == Metric::UserSpeed.word() {
        return parse_speed(term, bound);
    }
    if bound.contains('>') {
        return Err(SloError::TimeAbove { term: named() });
    }
    let word = if metric == "e2el" { "e2e" } else { metric };
    let metric = Metric::from_word(word)
        .filter(|metric| metric.is_bounded_by_targets())
        .ok_or_else(|| SloError::Metric { term: named() })?;
    let (percentile, limit) = match bound.split_once('<') {
        None => (Some(BARE_PERCENTILE), bound),
        Some(("mean" | "avg", limit)) => (None, limit),
        Some((percentile, limit)) => {
            let number = percentile.strip_prefix('p').ok_or_else(grammar)?;
            let percentile = number.parse::<f64>().map_err(|_| grammar())?;
            if !(percentile > 0.0 && percentile <= 100.0) {
                return Err(SloError::Percentile { term: named() });
            }
            (Some(percentile), limit)
        }
    };
    let units = [("ms", 1.0), ("us", 0.001), ("s", 1000.0)];
    let (number, ms_per_unit) = units
        .into_iter()
        .find_map(|(unit, ms)| limit.strip_suffix(unit).map(|number| (number, ms)))
        .unwrap_or((limit, 1.0));
    let limit_ms = number.parse::<f64>().map_err(|_| grammar())? * ms_per_unit;
    if !(limit_ms > 0.0 && limit_ms.is_finite()) {
        return Err(SloError::Limit { term: named() });
    }
    Ok(SloTerm { metric, percentile, limit_ms, speed_min: None })
}

/// Reads the bound of a speed: `p10>20`, `p10>20tok/s`.
fn parse_speed(term: &str, bound: &str) -> Result<SloTerm, SloError> {
    let term = || term.to_owned();
    let grammar = || SloError::Grammar { term: term() };
    if bound.contains('<') {
        return Err(SloError::SpeedBelow { term: term() });
    }
    let (percentile, limit) =
        bound.split_once('>').ok_or_else(|| SloError::SpeedBelow { term: term() })?;
    if matches!(percentile, "mean" | "avg") {
        return Err(SloError::SpeedMean { term: term() });
    }
    let p = percentile.strip_prefix('p').ok_or_else(grammar)?;
    let p = p.parse::<f64>().map_err(|_| grammar())?;
    if !(p > 0.0 && p <= 100.0) {
        return Err(SloError::Percentile { term: term() });
    }
    let number = limit.strip_suffix("tok/s").unwrap_or(limit);
    let limit = number.parse::<f64>().map_err(|_| grammar())?;
    if !(limit > 0.0 && limit.is_finite()) {
        return Err(SloError::Speed { term: term() });
    }
    if p > SLOW_TAIL_MAX {
        let others = if p < 100.0 { other_end(p).to_string() } else { "1".to_owned() };
        let meant = format!("{SPEED}:p{others}>{limit}");
        return Err(SloError::FastTail { term: term(), p: p.to_string(), others, meant });
    }
    Ok(SloTerm::speed(p, limit))
}

/// A target in the words that [`parse`] reads: `ttft:p99<500ms,itl:p99<50ms`.
pub fn words(slo: &SloSpec) -> String {
    let terms: Vec<String> = slo
        .terms
        .iter()
        .map(|term| match term.speed_min {
            Some(speed) => format!("{SPEED}:{}>{speed}", term.asked().1),
            None => format!("{}:{}<{}ms", term.metric, term.over(), term.limit_ms),
        })
        .collect();
    terms.join(",")
}

/// Whether a level is inside the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictState {
    /// Every term holds.
    Pass,
    /// A term does not hold, or too many requests failed.
    Fail,
    /// No target was given, or the level has no value for one of its terms.
    Unknown,
}

impl fmt::Display for VerdictState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            VerdictState::Pass => "pass",
            VerdictState::Fail => "fail",
            VerdictState::Unknown => "unknown",
        })
    }
}

/// One term at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct TermVerdict {
    /// The term.
    pub term: SloTerm,
    /// The percentile, or the mean, milliseconds; absent if the level has no value.
    pub value_ms: Option<f64>,
    /// Values in the population.
    pub n: u64,
    /// Pass if the percentile is at most the limit.
    pub state: VerdictState,
    /// Whether the 95 % interval of the percentile or mean is on the same side of the limit; for
    /// pooled gaps, which have no interval, whether there are enough of them.
    pub is_sure: bool,
}

/// The target at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Over all terms and the errors.
    pub state: VerdictState,
    /// Whether the state would stand if each percentile were anywhere within its interval. A level
    /// can fail surely by one term alone.
    pub is_sure: bool,
    /// Each term.
    pub terms: Vec<TermVerdict>,
    /// Whether more than [`ERROR_RATE_MAX`] of the requests failed.
    pub too_many_errors: bool,
}

impl Verdict {
    /// The terms that fail.
    pub fn failing(&self) -> impl Iterator<Item = &TermVerdict> {
        self.terms.iter().filter(|term| term.state == VerdictState::Fail)
    }
}

/// The population that a metric of a target refers to. Where requests had due times, TTFT and E2E
/// count from them: what a limit is for is how long somebody waits, not how long the client let the
/// server work.
pub(crate) fn population(metric: Metric, latencies: &Latencies) -> Option<&Distribution> {
    match metric {
        Metric::Ttft => latencies.ttft_ns_from_due.as_ref().or(latencies.ttft_ns.as_ref()),
        Metric::Ttfat => latencies.ttfat_ns.as_ref(),
        Metric::Itl => latencies.gap_ns.as_ref(),
        Metric::Tpot => latencies.tpot_ns.as_ref().or(latencies.tpot_ns_estimated.as_ref()),
        Metric::E2e => latencies.e2e_ns_from_due.as_ref().or(latencies.e2e_ns.as_ref()),
        _ => None,
    }
}

/// Judges one level.
pub(crate) fn judge(slo: &SloSpec, latencies: &Latencies, counts: &Counts) -> Verdict {
    let terms: Vec<TermVerdict> =
        slo.terms.iter().map(|term| judge_term(term, latencies)).collect();
    let too_many_errors = counts.error_rate().is_some_and(|rate| rate > ERROR_RATE_MAX);
    let any = |state| terms.iter().any(|term| term.state == state);
    let state = if too_many_errors || any(VerdictState::Fail) {
        VerdictState::Fail
    } else if terms.is_empty() || any(VerdictState::Unknown) {
        VerdictState::Unknown
    } else {
        VerdictState::Pass
    };
    let is_sure = match state {
        VerdictState::Unknown => false,
        VerdictState::Pass => terms.iter().all(|term| term.is_sure),
        VerdictState::Fail => {
            too_many_errors
                || terms.iter().any(|term| term.state == VerdictState::Fail && term.is_sure)
        }
    };
    Verdict { state, is_sure, terms, too_many_errors }
}

fn judge_term(term: &SloTerm, latencies: &Latencies) -> TermVerdict {
    let found = population(term.metric, latencies).and_then(|population| {
        let bounded = match term.percentile {
            Some(p) => *population.percentile(p)?,
            None => mean(population),
        };
        Some((population.n, bounded))
    });
    let Some((n, percentile)) = found else {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n: 0, state, is_sure: false };
    };
    let limit_ns = term.limit_ms * NS_PER_MS;
    let holds = percentile.value <= limit_ns;
    let is_sure = match percentile.interval {
        None => percentile.enough,
        Some(interval) if holds => interval.high.is_some_and(|high| high <= limit_ns),
        Some(interval) => interval.low.is_some_and(|low| low > limit_ns),
    };
    TermVerdict {
        term: term.clone(),
        value_ms: Some(percentile.value / NS_PER_MS),
        n,
        state: if holds { VerdictState::Pass } else { VerdictState::Fail },
        is_sure,
    }
}

/// The mean of a population in the form of a percentile. Values that depend on each other, such as
/// gaps, have no interval, and then it takes a thousand of them.
fn mean(population: &Distribution) -> Percentile {
    let is_independent =
        population.percentiles.first().is_some_and(|percentile| percentile.interval.is_some());
    let error = population.std.map(|std| std / (population.n as f64).sqrt());
    let reach = error.map(|error| {
        student_upper_quantile(MEAN_TAIL, population.n.saturating_sub(1).max(1) as f64) * error
    });
    Percentile {
        p: MEAN_WORTH,
        value: population.mean,
        enough: is_enough(population.n, MEAN_WORTH),
        interval: is_independent.then(|| Interval {
            low: reach.map(|reach| population.mean - reach),
            high: reach.map(|reach| population.mean + reach),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run};

    #[test]
    fn presets_are_read_by_name() {
        for (name, terms) in PRESETS {
            let preset = parse(name).unwrap();
            assert_eq!(preset.name, name);
            assert_eq!(preset.terms, parse(terms).unwrap().terms);
        }
        assert!(parse("chatty").is_err());
    }

    #[test]
    fn a_wait_before_the_start_counts_where_requests_are_due() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        run.manifest.spec.slo = parse("ttft:p50<150ms").unwrap();
        let state = |run: &ifm_core::RunData| crate::summarize(run).levels[0].verdict.state;
        let good = |run: &ifm_core::RunData| crate::summarize(run).levels[0].goodput.unwrap().good;
        assert_eq!((state(&run), good(&run)), (VerdictState::Pass, 120));
        for record in &mut run.requests {
            // Each was due 200 ms before there was a connection for it.
            record.start_ns += 200_000_000;
            record.end_ns += 200_000_000;
            record.events.at_ns.iter_mut().for_each(|at| *at += 200_000_000);
            record.stream_end_ns = record.stream_end_ns.map(|at| at + 200_000_000);
        }
        assert_eq!((state(&run), good(&run)), (VerdictState::Fail, 0));
    }

    fn term(metric: Metric, percentile: f64, limit_ms: f64) -> SloTerm {
        SloTerm { metric, percentile: Some(percentile), limit_ms, speed_min: None }
    }

    #[test]
    fn a_mean_is_bounded_as_a_percentile_is() {
        let slo = parse("itl:mean<70ms, ttft:avg<0.2s").unwrap();
        assert_eq!(words(&slo), "itl:mean<70ms,ttft:mean<200ms");
        assert_eq!(parse(&words(&slo)).unwrap().terms, slo.terms);
        let stored = serde_json::to_value(&slo.terms[0]).unwrap();
        assert_eq!(stored, serde_json::json!({"metric": "itl", "limit_ms": 70.0}));
        // TTFT 100 to 159 ms, mean 129.5; 2 users, whose first requests count no more.
        let judged = |target: &str| {
            let mut requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16));
            for (index, record) in requests.iter_mut().enumerate() {
                let later_ns = (index as u64 / 2) * 1_000_000;
                record.events.at_ns.iter_mut().for_each(|at| *at += later_ns);
                record.end_ns += later_ns;
                record.stream_end_ns = record.stream_end_ns.map(|at| at + later_ns);
            }
            let mut run = run(&[2], requests);
            run.manifest.spec.slo = parse(target).unwrap();
            crate::summarize(&run).levels[0].verdict.clone()
        };
        let kept = judged("ttft:mean<140ms");
        assert_eq!((kept.state, kept.is_sure), (VerdictState::Pass, true));
        assert!((kept.terms[0].value_ms.unwrap() - 130.0).abs() < 1.0, "{kept:?}");
        let missed = judged("ttft:mean<120ms");
        assert_eq!((missed.state, missed.is_sure), (VerdictState::Fail, true));
        // The standard error is 1.6 ms.
        assert!(!judged("ttft:mean<131ms").is_sure);
        assert_eq!(judged("itl:mean<10ms").state, VerdictState::Pass);
        assert_eq!(judged("itl:mean<9.9ms").state, VerdictState::Fail);
    }

    #[test]
    fn reads_what_people_write() {
        let check = |text: &str, expect: &[SloTerm]| {
            assert_eq!(parse(text).expect(text).terms, expect, "{text}");
        };
        let both = [term(Metric::Ttft, 99.0, 500.0), term(Metric::Itl, 99.0, 50.0)];
        check("ttft:p99<500ms,itl:p99<50ms", &both);
        check(" TTFT:p99 <= 500 ms , itl:p99 ≤ 50ms ", &both);
        check("ttft:p99<0.5s itl:p99<50", &both);
        check("ttft:p99 < 0.5 s, itl:p99 < 50 ms", &both);
        check("ttft:500 itl:50", &both);
        check("e2el:p50<2s", &[term(Metric::E2e, 50.0, 2000.0)]);
        check("tpot:p99.9<900us", &[term(Metric::Tpot, 99.9, 0.9)]);
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        let check = |text: &str, expect: fn(String) -> SloError| {
            let got = parse(text).expect_err(text);
            let term = text.split(',').next_back().unwrap_or_default().to_owned();
            assert_eq!(got, expect(term), "{text}");
        };
        check("ttft", |term| SloError::Grammar { term });
        check("ttft:p99<500ms,fast:p99<50ms", |term| SloError::Metric { term });
        check("ttft:p101<500ms", |term| SloError::Percentile { term });
        check("ttft:p0<500ms", |term| SloError::Percentile { term });
        check("ttft:p99<0ms", |term| SloError::Limit { term });
        check("ttft:p99<-5ms", |term| SloError::Limit { term });
        check("ttft:p99<inf", |term| SloError::Limit { term });
        check("ttft:mode<5ms", |term| SloError::Grammar { term });
        check("err:p99<1", |term| SloError::ErrorRate { term });
        check("itl:p99<50ms,err<2%", |_| SloError::ErrorRate { term: "err<2%".to_owned() });
        let usual = parse("itl:p99<50ms, ttft:p99<500ms, err<1%").expect("the limit there is");
        assert_eq!(usual.terms.len(), 2);
        assert_eq!(parse("err<1%"), Err(SloError::Empty));
        assert_eq!(parse(" , "), Err(SloError::Empty));
        assert_eq!(parse(&"x".repeat(2000)), Err(SloError::TooLong));
    }

    #[test]
    fn a_speed_is_the_time_of_a_token_from_the_other_end() {
        let check = |text: &str, p: f64, limit_ms: f64| {
            let found = parse(text).expect(text);
            let [only] = found.terms.as_slice() else { panic!("{found:?}") };
            assert_eq!((only.metric, only.percentile), (Metric::Tpot, Some(p)), "{text}");
            assert!((only.limit_ms - limit_ms).abs() < 1e-9, "{text}");
            assert_eq!(parse(&words(&found)), Ok(found));
        };
        check("speed:p10>20", 90.0, 50.0);
        check("tok_s_user:p0.1 >= 40 tok/s", 99.9, 25.0);
        check("speed:p50≥12.5", 50.0, 80.0);
        assert_eq!(
            words(&parse("speed:p10>20,ttft:p95<10s").unwrap()),
            "speed:p10>20,ttft:p95<10000ms"
        );
        let asked = parse("speed:p10>20").unwrap().terms[0].asked();
        assert_eq!(asked, ("tok/s/user", "p10".to_owned()));
        // Older programs read the bound of a time; what they wrote has no speed.
        let stored = serde_json::to_value(&parse("speed:p10>20").unwrap().terms[0]).unwrap();
        let expect = serde_json::json!(
            {"metric": "tpot", "percentile": 90.0, "limit_ms": 50.0, "speed_min": 20.0}
        );
        assert_eq!(stored, expect);
        let old = serde_json::json!({"metric": "tpot", "percentile": 90.0, "limit_ms": 50.0});
        let old: SloTerm = serde_json::from_value(old).unwrap();
        assert_eq!((old.speed_min, old.as_speed(10.0)), (None, None));
    }

    #[test]
    fn a_speed_is_judged_by_its_slow_tail() {
        // Of 100 answers 8 come at 10 tok/s, the others at 100.
        let mut requests = closed_loop((0, 0), (1, 101), 0.0, (100.0, 10.0, 11));
        for record in requests.iter_mut().skip(1).step_by(12).take(8) {
            let first = record.events.at_ns[0];
            record.events.at_ns.iter_mut().for_each(|at| *at = first + (*at - first) * 10);
            record.end_ns += 900_000_000;
        }
        let mut run = run(&[1], requests);
        let mut judged = |target: &str| {
            run.manifest.spec.slo = parse(target).unwrap();
            let level = crate::summarize(&run).levels[0].clone();
            (level.verdict.terms[0].clone(), level.goodput.expect("a target").good)
        };
        let (inside, good) = judged("speed:p10>20");
        assert_eq!((inside.state, good), (VerdictState::Pass, 93));
        assert_eq!(inside.term.as_speed(inside.value_ms.unwrap()), Some(100.0));
        let (outside, _) = judged("speed:p5>20");
        assert_eq!(outside.state, VerdictState::Fail);
        assert_eq!(outside.term.as_speed(outside.value_ms.unwrap()), Some(10.0));
        // The same by its other name, to the last bit.
        let (same, _) = judged("tpot:p95<50ms");
        assert_eq!((same.value_ms, same.is_sure), (outside.value_ms, outside.is_sure));
    }

    #[test]
    fn a_speed_that_asks_for_the_wrong_end_is_told_what_was_meant() {
        let said = |text: &str, word: &str| {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        };
        said("speed:p90>20", "speed:p10>20 asks that 90 % of them have so much");
        said("speed:p99.9>371", "speed:p0.1>371");
        said("speed:p10<20", "bounded from below");
        said("speed:20", "bounded from below");
        said("speed:mean>20", "tpot:mean");
        said("speed:p10>0", "positive number");
        said("ttft:p99>500ms", "bounded from above");
    }

    #[test]
    fn reads_the_goodput_words_of_vllm() {
        let words = ["ttft:500".to_owned(), "tpot:50".to_owned()];
        let spec = parse_goodput(&words).expect("words");
        assert_eq!(spec.terms, [term(Metric::Ttft, 99.0, 500.0), term(Metric::Tpot, 99.0, 50.0)]);
        assert_eq!(spec.name, "goodput");
    }

    #[test]
    fn words_read_back() {
        let spec = parse("ttft:p99<500ms,tpot:p99.9<0.9ms").expect("a target");
        assert_eq!(parse(&words(&spec)).expect("its words"), spec);
    }
}
