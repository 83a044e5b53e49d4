//! What can be wrong with a latency target as written.

use super::preset::nearest;
use ifm_core::Metric;
use ifm_core::metric::MetricUnit;

/// Longest target that is read, bytes.
pub(super) const TEXT_MAX: usize = 1_000;

/// Errors in a target as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SloError {
    /// Nothing was written.
    #[error("the latency target is empty, write for example: ttft:p99<500ms,itl:p99<50ms")]
    Empty,
    /// Longer than any sensible target.
    #[error("the latency target is longer than {TEXT_MAX} bytes")]
    TooLong,
    /// A word that is not the name of a preset.
    #[error("unknown latency target: {name}{}; inferometer capacity --list shows all names", offer(.near))]
    Name {
        /// The word as written.
        name: String,
        /// Names like it, the nearest first.
        near: Vec<&'static str>,
    },
    /// A term that does not follow the grammar.
    #[error("cannot read the latency term: {term}, write for example: itl:p99<50ms")]
    Grammar {
        /// The term as written.
        term: String,
    },
    /// A term without a percentile or mean.
    #[error("{term} has no percentile: write {meant}, or another percentile")]
    NoPercentile {
        /// The term as written.
        term: String,
        /// A term that was perhaps meant.
        meant: String,
    },
    /// A term without a limit.
    #[error("{term} has no limit: write {meant}, or another limit")]
    NoLimit {
        /// The term as written.
        term: String,
        /// A term that was perhaps meant.
        meant: String,
    },
    /// A metric that has no such percentile.
    #[error("unknown metric in the latency term: {term}; known are {}", metrics())]
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
    /// A ratio that is not a positive number.
    #[error("the limit must be a positive number without a unit such as 0.5: {term}")]
    Ratio {
        /// The term as written.
        term: String,
    },
    /// A speed that is not a positive number.
    #[error("{word} must be a positive number such as 20: {term}")]
    Speed {
        /// The term as written.
        term: String,
        /// What is bounded.
        word: &'static str,
    },
    /// A time that is bounded from below.
    #[error("a time is bounded from above, write < instead of >: {term}")]
    TimeAbove {
        /// The term as written.
        term: String,
    },
    /// A speed that is not bounded from below.
    #[error("a speed is bounded from below, write for example {word}:p10>20: {term}")]
    SpeedBelow {
        /// The term as written.
        term: String,
        /// What is bounded.
        word: &'static str,
    },
    /// A percentile of a speed from the fast tail.
    #[error(
        "{term} is about the fastest users: a percentile of a speed counts from the slow end, so \
         only {others} % of them exceed P{p}; {meant} requires the speed for {p} % of them"
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
    #[error("a mean of speeds hides the slow ones, write {word}:p10>20{}: {term}", mean_time(.word))]
    SpeedMean {
        /// The term as written.
        term: String,
        /// What is bounded.
        word: &'static str,
    },
    /// A share that is not between 0 and 1.
    #[error("the limit must be a share between 0 and 1, such as 0.6 or 60%: {term}")]
    Share {
        /// The term as written.
        term: String,
    },
    /// A share of sessions that does not follow the grammar.
    #[error("a share of sessions is one number, write session_failed<1% or session_ok>99%: {term}")]
    Sessions {
        /// The term as written.
        term: String,
    },
    /// A cached share that is not bounded from below in its low tail.
    #[error(
        "a cached share is bounded from below, by its mean or a percentile up to p50: write for example \
         session_cached:p10>60%: {term}"
    )]
    Cached {
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

impl SloError {
    /// For a word that is not a name.
    pub(super) fn unknown(name: &str) -> SloError {
        SloError::Name { name: name.to_owned(), near: nearest(name) }
    }
}

/// The names that were perhaps meant, as a clause.
fn offer(near: &[&str]) -> String {
    match near {
        [] => String::new(),
        [only] => format!(", perhaps {only}"),
        [others @ .., last] => format!(", perhaps {} or {last}", others.join(", ")),
    }
}

/// The metrics that a target bounds, and from which side.
pub fn metrics() -> String {
    let bounded = |unit: MetricUnit, is_of_sessions: bool| {
        let of = Metric::all().filter(|metric| metric.is_bounded_by_targets());
        let words: Vec<&str> = of
            .filter(|it| it.unit() == unit && it.is_of_sessions() == is_of_sessions)
            .map(Metric::word)
            .collect();
        words.join(", ")
    };
    format!(
        "{} (times), {} (ratios: rtf:p95<0.5), and from below speed and {} (speed:p10>20); of sessions \
         {} (session:p95<5min), {} (session_failed<1%), and from below {} (session_ok>99%) and {} \
         (session_cached:p10>60%)",
        bounded(MetricUnit::Ns, false),
        bounded(MetricUnit::Plain, false),
        Metric::Rtfx.word(),
        bounded(MetricUnit::Ns, true),
        bounded(MetricUnit::Share, true),
        Metric::SessionOk.word(),
        Metric::SessionCached.word(),
    )
}

/// How to bound the mean of the times, which is not a mean of speeds.
fn mean_time(word: &str) -> &'static str {
    match word {
        "rtfx" => ", or rtf_heard:mean<0.05 for the mean time of a second of audio",
        _ => ", or tpot:mean<50ms for the mean time of a token",
    }
}
