//! What the server's own counters say of a level: the difference between the last sample before its
//! first request and the first one after its last from which the counter of requests does not rise any
//! more. Busy servers count a request some time after its answer has ended.
//!
//! They are counters of the whole server, warm-up and other clients included.

use super::{of, sampled};
use ifm_core::Series;
use ifm_core::order::Order as _;
use ifm_core::series::Signal;

/// The server's account of a level. What it does not report is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerCounters {
    /// Whose page it is.
    pub source: String,
    /// The span of the counters, nanoseconds since the run's origin.
    pub span_ns: (u64, u64),
    /// Requests that ended.
    pub requests: Option<f64>,
    /// Prompt tokens, cached ones included.
    pub prompt_tokens: Option<f64>,
    /// Generated tokens.
    pub output_tokens: Option<f64>,
    /// Looked up in the prefix cache, in the unit of the server: tokens or blocks.
    pub cache_queries: Option<f64>,
    /// Found there.
    pub cache_hits: Option<f64>,
    /// Requests that lost their place in the batch.
    pub preemptions: Option<f64>,
    /// Most requests in the batch among the samples.
    pub running_max: Option<f64>,
    /// Most requests that waited among the samples.
    pub waiting_max: Option<f64>,
    /// Largest share of the memory for keys and values in use among the samples.
    pub kv_share_max: Option<f64>,
    /// Drafts of speculative decoding that were verified.
    pub drafts: Option<f64>,
    /// Tokens of these drafts.
    pub draft_tokens: Option<f64>,
    /// Tokens of them that were accepted.
    pub accepted_tokens: Option<f64>,
    /// Tokens that were accepted at each place of the drafts, from the first; empty if they were
    /// not counted by place.
    pub accepted_by_position: Vec<f64>,
    /// Whether a counter went back: the server began anew.
    pub began_anew: bool,
}

/// Longest time after the last answer of a level in which the server may still count its requests.
const LATE_COUNT_NS: u64 = 5_000_000_000;

/// The move of a counter.
enum Moved {
    By(f64),
    Back,
}

impl ServerCounters {
    /// The share of the lookups in the prefix cache that found something; absent without one.
    pub fn cache_share(&self) -> Option<f64> {
        let queries = self.cache_queries.filter(|queries| *queries > 0.0)?;
        Some(self.cache_hits? / queries)
    }

    /// The account of what happened between two moments; absent if no sample was taken before the
    /// first and after the second. From `next_ns` on, requests belong to another level.
    pub fn of(
        all: &[Series],
        (first_ns, last_ns): (u64, u64),
        next_ns: Option<u64>,
    ) -> Option<ServerCounters> {
        let any = |series: &&Series| {
            Signal::ALL.into_iter().any(|quantity| {
                quantity != Signal::ServerAcceptedAt
                    && quantity.word().starts_with("server_")
                    && series.name == quantity.word()
            })
        };
        let (source, start_ns, end_ns) = all.iter().filter(any).find_map(|series| {
            let before = series.at_ns.partition_point(|at_ns| *at_ns <= first_ns).checked_sub(1)?;
            let after = series.at_ns.partition_point(|at_ns| *at_ns < last_ns);
            Some((series.source.clone(), *series.at_ns.get(before)?, *series.at_ns.get(after)?))
        })?;
        let until_ns = last_ns.saturating_add(LATE_COUNT_NS).min(next_ns.unwrap_or(u64::MAX));
        let span_ns = (start_ns, settled_ns(all, end_ns, until_ns).unwrap_or(end_ns));
        let mut began_anew = false;
        let mut counter = |quantity| match moved(of(all, quantity).next()?, span_ns)? {
            Moved::By(amount) => Some(amount),
            Moved::Back => {
                began_anew = true;
                None
            }
        };
        let most = |quantity| {
            let values = sampled::within(of(all, quantity).next()?, span_ns);
            values.map(|(_, value)| value).reduce(f64::max)
        };
        let accepted_by_position = by_position(all, &source, span_ns);
        Some(ServerCounters {
            source,
            span_ns,
            drafts: counter(Signal::ServerDrafts),
            draft_tokens: counter(Signal::ServerDraftTokens),
            accepted_tokens: counter(Signal::ServerAcceptedTokens),
            accepted_by_position,
            requests: counter(Signal::ServerRequests),
            prompt_tokens: counter(Signal::ServerPromptTokens),
            output_tokens: counter(Signal::ServerOutputTokens),
            cache_queries: counter(Signal::ServerCacheQueries),
            cache_hits: counter(Signal::ServerCacheHits),
            preemptions: counter(Signal::ServerPreemptions),
            running_max: most(Signal::ServerRunning),
            waiting_max: most(Signal::ServerWaiting),
            kv_share_max: most(Signal::ServerKvShare),
            began_anew,
        })
    }
}

/// The first of the samples from `from_ns` to `until_ns` after which the server's count of its work
/// does not change.
fn settled_ns(all: &[Series], from_ns: u64, until_ns: u64) -> Option<u64> {
    let counters = [Signal::ServerRequests, Signal::ServerOutputTokens];
    let series = counters.into_iter().find_map(|quantity| of(all, quantity).next())?;
    let samples: Vec<(u64, f64)> = sampled::within(series, (from_ns, until_ns)).collect();
    let (_, last) = *samples.last()?;
    let risen = samples.iter().rposition(|(_, value)| *value < last);
    samples.get(risen.map_or(0, |index| index + 1)).map(|(at_ns, _)| *at_ns)
}

/// What moved at each place of the drafts, from the first; empty where one is missing.
fn by_position(all: &[Series], source: &str, span_ns: (u64, u64)) -> Vec<f64> {
    let place = |series: &Series| {
        let rest = series.source.strip_prefix(source)?.strip_prefix(" position ")?;
        rest.parse::<usize>().ok()
    };
    let mut found: Vec<(usize, &Series)> = of(all, Signal::ServerAcceptedAt)
        .filter_map(|series| Some((place(series)?, series)))
        .collect();
    found.order_by_key(|(place, _)| *place);
    let values: Option<Vec<f64>> = found
        .iter()
        .enumerate()
        .map(|(index, (place, series))| match moved(series, span_ns)? {
            Moved::By(amount) if index == *place => Some(amount),
            _ => None,
        })
        .collect();
    values.unwrap_or_default()
}

/// Absent where a counter was not on the page at both ends.
fn moved(series: &Series, span_ns: (u64, u64)) -> Option<Moved> {
    let samples: Vec<(u64, f64)> = sampled::within(series, span_ns).collect();
    let (first, last) = (samples.first()?, samples.last()?);
    if (first.0, last.0) != span_ns {
        return None;
    }
    let is_rising = samples.iter().zip(samples.iter().skip(1)).all(|(a, b)| b.1 >= a.1);
    Some(if is_rising { Moved::By(last.1 - first.1) } else { Moved::Back })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::telemetry;

    const S: u64 = 1_000_000_000;

    #[test]
    fn separates_counters_by_time() {
        let series = [
            telemetry(Signal::ServerRequests, "x", (0.0, 10.0), &|at_s| 100.0 + 3.0 * at_s),
            telemetry(Signal::ServerWaiting, "x", (0.0, 10.0), &|at_s| at_s),
            telemetry(Signal::ServerCacheQueries, "x", (0.0, 10.0), &|at_s| 100.0 * at_s),
            telemetry(Signal::ServerCacheHits, "x", (0.0, 10.0), &|at_s| 25.0 * at_s),
            telemetry(Signal::ServerPreemptions, "x", (0.0, 4.0), &|_| 1.0),
        ];
        // Samples are at whole seconds: from 2 to 6 s.
        let next_ns = Some(6 * S);
        let found =
            ServerCounters::of(&series, (5 * S / 2, 11 * S / 2), next_ns).expect("counters");
        assert_eq!(found.span_ns, (2 * S, 6 * S));
        assert_eq!((found.requests, found.waiting_max), (Some(12.0), Some(6.0)));
        assert_eq!((found.cache_share(), found.preemptions), (Some(0.25), None));
        assert_eq!((found.prompt_tokens, found.began_anew), (None, false));
        let after = ServerCounters::of(&series, (5 * S, 11 * S), None);
        assert!(after.is_none(), "no sample was taken after it");
        assert!(ServerCounters::of(&[], (0, S), None).is_none());
    }

    #[test]
    fn requests_that_the_server_counts_late_belong_to_their_level() {
        // The last wave is counted 2 s after the last answer; the next level begins at 8 s.
        let late = |at_s: f64| match at_s {
            _ if at_s < 1.0 => 0.0,
            _ if at_s < 6.0 => 40.0,
            _ if at_s < 8.0 => 48.0,
            _ => 60.0,
        };
        let series = [telemetry(Signal::ServerRequests, "x", (0.0, 10.0), &late)];
        let of = |next_s: u64| {
            let found = ServerCounters::of(&series, (S / 2, 4 * S), Some(next_s * S));
            found.map(|found| (found.requests, found.span_ns.1))
        };
        assert_eq!(of(7), Some((Some(48.0), 6 * S)));
        assert_eq!(of(5), Some((Some(40.0), 4 * S)));
    }

    #[test]
    fn detects_a_restarted_server() {
        let fall = |at_s: f64| if at_s < 5.0 { 100.0 } else { 2.0 };
        let series = [telemetry(Signal::ServerRequests, "x", (0.0, 10.0), &fall)];
        let found = ServerCounters::of(&series, (S, 9 * S), None).expect("counters");
        assert_eq!((found.requests, found.began_anew), (None, true));
    }
}
