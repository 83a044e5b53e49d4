//! What a comparison keeps of one level of one run: a column for each measure, by request.
//!
//! The columns are taken once; the run itself can be dropped then. Not here: drawing from
//! them, see [`evidence`](super::evidence).

use super::Metric;
use super::condition::Condition;
use super::meaning::By;
use super::measure::{Measure, Over};
use ifm_core::sheet::{Place, key};
use ifm_core::{Outcome, RequestRecord};
use ifm_metrics::level::{Judged, LevelSummary, Load, Session, SessionsSummary, WindowSummary};
use ifm_metrics::measured::media::amount;
use ifm_metrics::request::{RequestMetrics, each_gap, each_value};
use ifm_metrics::speculation::{DraftsCountedBy, Speculation, told};
use ifm_metrics::stat::blocks::strong_inflation;
use ifm_metrics::stat::population::{moments, order_statistics};
use ifm_metrics::stat::quantile::position;
use ifm_metrics::stat::{Distribution, Population};
use ifm_metrics::tpot::are_estimates;
use std::sync::Arc;

/// Places on each side of a pooled percentile at which the values are kept.
const GRID_HALF: u64 = 40;
/// The grid reaches this many standard errors of the share to each side.
const GRID_REACH: f64 = 6.0;

/// Values of requests, and which request each belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    /// Rising.
    pub sorted: Arc<[f64]>,
    /// Place of the request in the order of starts.
    pub owner: Vec<u32>,
    /// How they become one.
    pub over: Over,
}

/// A percentile of values; each request has many.
#[derive(Debug, Clone)]
pub(crate) struct PooledPercentile {
    /// The percentile.
    pub value: f64,
    /// Values of each request that are not above it.
    pub below: Vec<u32>,
    /// Values of each request.
    pub count: Vec<u32>,
    /// The percentile's share, 0 to 1.
    pub share: f64,
    /// Share of values that are not above it: larger than `share` where many are the same.
    pub share_below: f64,
    /// Values around the percentile: share, value; rising in both.
    pub grid: Arc<[(f64, f64)]>,
}

/// A rate in a closed loop.
#[derive(Debug, Clone)]
pub(crate) struct Rate {
    /// The rate over the window.
    pub value: f64,
    /// What each request brought.
    pub amount: Vec<f64>,
    /// How long each request took.
    pub time: Vec<f64>,
    /// What all brought over the time that all took.
    pub per_time: f64,
    /// Standard error, as a share of the value, that comes from where the window's ends cut
    /// through the requests.
    pub edge: f64,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// One or few values for each request.
    Values(Values),
    /// A percentile of gaps.
    PooledPercentile(PooledPercentile),
    /// A mean of gaps: sum and number for each request.
    PooledMean { sum: Vec<f64>, count: Vec<u32> },
    /// A rate in a closed loop.
    Rate(Rate),
    /// A rate in an open loop, whose requests come by themselves.
    Arrivals { value: f64, amount: Vec<f64> },
    /// A share of requests.
    Share { hits: u64, n: u64 },
    /// What a document states, without the values.
    Stated(Stated),
}

/// A number of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stated {
    pub value: f64,
    /// The standard error and its degrees of freedom, for a mean whose deviation and number of
    /// values are stated too.
    pub error: Option<(f64, f64)>,
    /// Number of values, if stated.
    pub n: Option<u64>,
    /// Whether a deviation is stated without the number of values.
    pub is_uncounted: bool,
    /// Whether the values are requests, rather than repeats.
    pub is_of_requests: bool,
}

/// A column of a measure by one definition.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub measure: Measure,
    pub by: By,
    pub column: Column,
}

/// The stored data of one level.
#[derive(Debug, Clone)]
pub struct LevelSample {
    /// The requested condition.
    pub at: Condition,
    /// Where the level is in its run or document.
    pub place: Place,
    /// Requests that were sent, without the first wave; 0 where single ones are not known.
    pub requests: usize,
    /// How many times as large the variance of every mean of the requests is, at least, as that of
    /// independent ones: above 1 where they depend strongly on those before.
    pub inflation: f64,
    /// Repeats of the level that other work disturbed, and all repeats; absent if unknown.
    pub disturbed: Option<(u64, u64)>,
    /// Each measure of requests that the level has a value for.
    pub(crate) columns: Vec<Told>,
    /// The same for sessions, which are resampled separately; absent if requests do not belong to
    /// sessions.
    pub(crate) sessions: Option<SessionSample>,
}

/// The stored data of the sessions of one level.
#[derive(Debug, Clone)]
pub(crate) struct SessionSample {
    /// Sessions that were begun.
    pub sessions: usize,
    /// The same for means of them.
    pub inflation: f64,
    /// Each measure of sessions that the level has a value for.
    pub columns: Vec<Told>,
}

/// Gaps of the complete, streamed answers.
struct Gaps<'a>(&'a [&'a RequestRecord]);

impl Population for Gaps<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0.iter().filter(|record| has_gaps(record)) {
            each_gap(record, |gap, _| each(gap));
        }
    }
}

fn has_gaps(record: &RequestRecord) -> bool {
    record.outcome.is_ok() && record.streamed
}

impl LevelSample {
    /// Takes the columns of one level from its measured requests, without its first wave. Absent
    /// for a level without a known load, and one of which nothing was sent.
    pub fn of(
        level: &LevelSummary,
        measured: &[&RequestRecord],
        measures: &[Measure],
    ) -> Option<LevelSample> {
        let load = level.load()?;
        let mut sent = Judged::of(level.asked.as_ref(), measured).requests;
        sent.retain(|record| record.outcome != Outcome::Dropped);
        if sent.is_empty() {
            return None;
        }
        let of_sessions = |is: bool| {
            measures.iter().copied().filter(move |measure| measure.metric.is_of_sessions() == is)
        };
        // A rate is kept over each window, so that two sides have one in common.
        let windows: Vec<&WindowSummary> =
            [&level.steady, &level.whole].into_iter().flatten().collect();
        let told = |measure: Measure| -> Vec<Told> {
            if !is_rate(measure.metric) {
                let column = column(measure, level, &sent);
                return column
                    .map(|column| Told { measure, by: By::Ours, column })
                    .into_iter()
                    .collect();
            }
            let over = |window: &&WindowSummary| {
                let column = rate_column(measure.metric, (level, window), load, &sent)?;
                Some(Told { measure, by: By::Window(window.window.kind), column })
            };
            windows.iter().filter_map(over).collect()
        };
        let columns = of_sessions(false).flat_map(told).collect();
        let sessions = level.sessions.as_ref().map(|sessions| {
            let told = |measure: Measure| {
                let column = session_column(measure, sessions, load)?;
                Some(Told { measure, by: By::Ours, column })
            };
            SessionSample {
                sessions: sessions.each.len(),
                inflation: session_inflation(&sessions.each),
                columns: of_sessions(true).filter_map(told).collect(),
            }
        });
        let mut at = Condition::from(load);
        let lengths = [
            (key::INPUT_TOKENS, level.tokens.prompt_asked_mean),
            (key::OUTPUT_TOKENS, level.tokens.output_asked_mean),
        ];
        for (name, mean) in lengths {
            if let Some(mean) = mean.filter(|mean| mean.fract() == 0.0) {
                at.setting.set(name, mean);
            }
        }
        let place = Place::pointer(format!("/levels/{}", level.level));
        let (requests, inflation) = (sent.len(), inflation(&sent));
        Some(LevelSample { at, place, requests, inflation, disturbed: None, columns, sessions })
    }

    /// Each measure that the level has a value for, of requests and of sessions.
    pub fn told(&self) -> impl Iterator<Item = &Told> {
        self.columns.iter().chain(self.sessions.iter().flat_map(|of| &of.columns))
    }
}

/// What the durations of complete sessions, in the order of starts, make of the variance of a mean.
fn session_inflation(sessions: &[Session]) -> f64 {
    let durations = sessions.iter().filter_map(Session::complete_ns).map(|ns| ns as f64);
    strong_inflation(&durations.collect::<Vec<f64>>()).unwrap_or(1.0)
}

/// Sessions as a column. In a closed loop, where each user holds one session at a time, the rate is
/// that of Little's law, as with requests.
fn session_column(measure: Measure, of: &SessionsSummary, load: Load) -> Option<Column> {
    match measure.metric {
        Metric::Session | Metric::SessionCached | Metric::SessionUncached => {
            let value = |session: &Session| match measure.metric {
                Metric::Session => session.complete_ns().map(|ns| ns as f64),
                metric => {
                    let cached = session.told.share().filter(|_| session.is_complete())?;
                    Some(if metric == Metric::SessionCached { cached } else { 1.0 - cached })
                }
            };
            let places = of.each.iter().zip(0u32..);
            let mut pairs: Vec<(f64, u32)> =
                places.filter_map(|(session, place)| Some((value(session)?, place))).collect();
            pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (sorted, owner): (Vec<f64>, Vec<u32>) = pairs.into_iter().unzip();
            (!sorted.is_empty()).then_some(Column::Values(Values {
                sorted: sorted.into(),
                owner,
                over: measure.over,
            }))
        }
        Metric::SessionRate => {
            let value = of.per_hour?;
            let amount: Vec<f64> =
                of.each.iter().map(|session| f64::from(u8::from(session.is_complete()))).collect();
            let time: Vec<f64> =
                of.each.iter().map(|session| session.duration_ns() as f64).collect();
            let per_time = amount.iter().sum::<f64>() / time.iter().sum::<f64>();
            let edge = (load.value() / 6.0).sqrt() / of.complete() as f64;
            Some(match load {
                Load::Users(_) => Column::Rate(Rate { value, amount, time, per_time, edge }),
                Load::ReqPerS(_) => Column::Arrivals { value, amount },
            })
        }
        Metric::SessionOk => {
            let n = of.ended_by_themselves();
            (n > 0).then(|| Column::Share { hits: of.complete(), n })
        }
        Metric::SessionFailed => {
            let n = of.ended_by_themselves();
            (n > 0).then(|| Column::Share { hits: n - of.complete(), n })
        }
        _ => None,
    }
}

/// The largest inflation of TTFT, E2E and the mean gap where one of them depends strongly on those before,
/// in the order of starts; else 1. A sum of a time that depends on those before and of one that does not
/// hides how long the dependence lasts. Each measure also counts its own dependence.
fn inflation(sent: &[&RequestRecord]) -> f64 {
    let of = |value: &dyn Fn(&RequestRecord) -> Option<f64>| {
        let values: Vec<f64> = sent.iter().filter_map(|record| value(record)).collect();
        strong_inflation(&values).unwrap_or(1.0)
    };
    let metrics = |record: &RequestRecord| RequestMetrics::derive(record);
    let ttft = of(&|record| metrics(record).ttft_ns.map(|ns| ns as f64));
    let e2e = of(&|record| metrics(record).e2e_ns.map(|ns| ns as f64));
    let gap = of(&|record| metrics(record).tpot_ns.or(metrics(record).tpot_ns_estimated));
    ttft.max(e2e).max(gap)
}

/// Whether a metric is counted over a window of the level.
fn is_rate(metric: Metric) -> bool {
    matches!(metric, Metric::OutputRate | Metric::RequestRate) || metric.is_of_media()
}

/// A rate over a window.
fn rate_column(
    metric: Metric,
    (level, window): (&LevelSummary, &WindowSummary),
    load: Load,
    sent: &[&RequestRecord],
) -> Option<Column> {
    match metric {
        Metric::OutputRate => {
            let value = window.output_tok_per_s;
            let tokens = |record: &RequestRecord| {
                let counted = record.output_tokens.map(|counted| f64::from(counted.tokens));
                counted.unwrap_or(record.events.len() as f64)
            };
            // Tokens come evenly once the first is there, so an end of the window that cuts through
            // a request errs by the share of the wait before.
            let median = |of: Option<&Distribution>| of.and_then(Distribution::median);
            let waits = median(level.latencies.get(Metric::Ttft))
                .zip(median(level.latencies.get(Metric::E2e)));
            let wait = waits.map_or(1.0, |(ttft, e2e)| ttft / e2e);
            Some(rate((value, edge(window, load, wait)), load, sent, tokens))
        }
        Metric::RequestRate => {
            let is_ok = |record: &RequestRecord| f64::from(u8::from(record.outcome.is_ok()));
            Some(rate((window.req_per_s, edge(window, load, 1.0)), load, sent, is_ok))
        }
        metric => {
            let value = window.media.as_ref()?.of(metric)?;
            let amount = |record: &RequestRecord| {
                let sent = record.media.filter(|_| record.outcome.is_ok());
                sent.and_then(|sent| amount(&sent, metric)).unwrap_or(0.0)
            };
            Some(rate((value, edge(window, load, 1.0)), load, sent, amount))
        }
    }
}

fn column(measure: Measure, level: &LevelSummary, sent: &[&RequestRecord]) -> Option<Column> {
    match (measure.metric, measure.over) {
        (Metric::Itl, Over::Percentile(p)) => pooled_percentile(sent, p),
        (Metric::Itl, Over::Mean) => pooled_mean(sent),
        (Metric::ErrorRate, _) => {
            Some(Column::Share { hits: level.counts.failed, n: level.counts.sent })
        }
        (Metric::Success, _) => {
            let n = level.counts.ok + level.counts.failed;
            Some(Column::Share { hits: level.counts.ok, n })
        }
        (Metric::Valid, _) => {
            let judged = level.forms.as_deref()?.judged;
            let (hits, n) = (judged.valid, judged.decided());
            (n > 0).then_some(Column::Share { hits, n })
        }
        (Metric::AcceptanceLength | Metric::AcceptanceRate, _) => {
            acceptance(measure.metric, level.speculation.as_ref()?, sent)
        }
        (_, Over::Value) => None,
        (metric, over) => values(sent, metric, over),
    }
}

/// Values of complete answers. A few estimates among them are left out.
fn values(sent: &[&RequestRecord], metric: Metric, over: Over) -> Option<Column> {
    let (mut exact, mut estimated) = (Vec::new(), Vec::new());
    for (place, record) in sent.iter().enumerate().filter(|(_, record)| record.outcome.is_ok()) {
        each_value(record, &RequestMetrics::derive(record), metric, |value, is_exact| {
            let list = if is_exact { &mut exact } else { &mut estimated };
            list.push((value, place as u32));
        });
    }
    if are_estimates(exact.len(), estimated.len()) {
        exact.append(&mut estimated);
    }
    let mut pairs = exact;
    if pairs.is_empty() {
        return None;
    }
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (sorted, owner): (Vec<f64>, Vec<u32>) = pairs.into_iter().unzip();
    Some(Column::Values(Values { sorted: sorted.into(), owner, over }))
}

/// Values from answers have a spread, values from counters have none.
fn acceptance(metric: Metric, level: &Speculation, sent: &[&RequestRecord]) -> Option<Column> {
    let value = match metric {
        Metric::AcceptanceLength => level.acceptance_length,
        _ => level.acceptance_rate,
    };
    // What the level does not know, its requests do not either.
    value?;
    if level.counted_by == DraftsCountedBy::Counters {
        let (error, n) = (None, None);
        let (is_uncounted, is_of_requests) = (false, true);
        return Some(Column::Stated(Stated {
            value: value?,
            error,
            n,
            is_uncounted,
            is_of_requests,
        }));
    }
    let of = |record: &&RequestRecord| {
        let (accepted, tokens) = told(record).filter(|_| record.outcome.is_ok())?;
        Some(match metric {
            Metric::AcceptanceLength => {
                let steps = record.draft_steps?;
                (f64::from(accepted) + f64::from(steps), steps)
            }
            _ => (f64::from(accepted), tokens),
        })
    };
    let (sum, count): (Vec<f64>, Vec<u32>) =
        sent.iter().map(|record| of(record).unwrap_or_default()).unzip();
    count.iter().any(|count| *count > 0).then_some(Column::PooledMean { sum, count })
}

fn pooled_mean(sent: &[&RequestRecord]) -> Option<Column> {
    let (mut sum, mut count) = (vec![0.0; sent.len()], vec![0; sent.len()]);
    for ((record, sum), count) in sent.iter().zip(&mut sum).zip(&mut count) {
        if has_gaps(record) {
            each_gap(record, |gap, _| {
                *sum += gap as f64;
                *count += 1;
            });
        }
    }
    count.iter().any(|count| *count > 0).then_some(Column::PooledMean { sum, count })
}

fn pooled_percentile(sent: &[&RequestRecord], p: f64) -> Option<Column> {
    let gaps = Gaps(sent);
    let value = Distribution::from_population(&gaps, 1.0, &[p])?.percentile(p)?.value;
    let (mut below, mut count) = (vec![0u32; sent.len()], vec![0u32; sent.len()]);
    for ((record, below), count) in sent.iter().zip(&mut below).zip(&mut count) {
        if has_gaps(record) {
            each_gap(record, |gap, _| {
                *below += u32::from(gap as f64 <= value);
                *count += 1;
            });
        }
    }
    let share = p / 100.0;
    let sum = |list: &[u32]| list.iter().map(|value| f64::from(*value)).sum::<f64>();
    let share_below = sum(&below) / sum(&count);
    let mut pooled =
        PooledPercentile { value, below, count, share, share_below, grid: Arc::new([]) };
    pooled.grid = grid(&gaps, share, pooled.share_variance().sqrt())?;
    Some(Column::PooledPercentile(pooled))
}

/// The values around a share.
fn grid(gaps: &Gaps, share: f64, error: f64) -> Option<Arc<[(f64, f64)]>> {
    let moments = moments(gaps)?;
    let last = (moments.n - 1) as f64;
    // At least ten values to each side, and room for requests that go together in blocks.
    let reach = (GRID_REACH * error).max(10.0 / moments.n as f64).max(0.005);
    let step = reach / GRID_HALF as f64;
    let shares = (0..=2 * GRID_HALF).map(|index| share - reach + step * index as f64);
    let mut ranks: Vec<u64> = shares
        .map(|share| position(moments.n, share * 100.0).0)
        .chain([0, moments.n - 1])
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let values = order_statistics(gaps, &moments, &ranks);
    let share_of = |rank: &u64| if last > 0.0 { *rank as f64 / last } else { 0.0 };
    Some(ranks.iter().map(share_of).zip(values.iter().map(|value| *value as f64)).collect())
}

/// The standard error that the ends of the window cause, as a share of the rate. Each of the N users
/// is at a random place of a request when the window begins and when it ends. What such a request
/// has brought by then is off from its share of the time by `s^2/12` in variance, s being the share
/// of its time before it brings anything; so the error is `s · sqrt(2 N / 12)` requests.
fn edge(window: &WindowSummary, load: Load, wait: f64) -> f64 {
    let answers = window.ok;
    if answers == 0 {
        return 0.0;
    }
    wait.clamp(0.0, 1.0) * (load.value() / 6.0).sqrt() / answers as f64
}

fn rate(
    (value, edge): (f64, f64),
    load: Load,
    sent: &[&RequestRecord],
    amount: impl Fn(&RequestRecord) -> f64,
) -> Column {
    let amount: Vec<f64> = sent.iter().map(|record| amount(record)).collect();
    match load {
        Load::ReqPerS(_) => Column::Arrivals { value, amount },
        Load::Users(_) => {
            let time = |record: &&RequestRecord| record.end_ns.saturating_sub(record.start_ns);
            let time: Vec<f64> = sent.iter().map(|record| time(record) as f64).collect();
            let per_time = amount.iter().sum::<f64>() / time.iter().sum::<f64>();
            Column::Rate(Rate { value, amount, time, per_time, edge })
        }
    }
}

impl PooledPercentile {
    /// Variance of the share of values that are not above the percentile, where the values of a
    /// request go together: `sum (k - F m)^2 / (sum m)^2` for k of m values of each request.
    /// Source: the linearized ratio of Woodruff (1971).
    pub(crate) fn share_variance(&self) -> f64 {
        let pairs = self.below.iter().zip(&self.count);
        let (mut squares, mut all) = (0.0, 0.0);
        for (below, count) in pairs {
            let (below, count) = (f64::from(*below), f64::from(*count));
            squares += (below - self.share_below * count).powi(2);
            all += count;
        }
        squares / (all * all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::percentile::value_at;
    use super::*;
    use ifm_metrics::testing::{MS, closed_loop, failed, run};

    fn sample(words: &[&str]) -> LevelSample {
        let mut requests = closed_loop((0, 0), (2, 30), 0.0, (100.0, 10.0, 11));
        requests.push(failed(60, 0, 0, 20_000.0, 5.0));
        let run = run(&[2], requests);
        let measures: Vec<Measure> =
            words.iter().map(|word| Measure::parse(word).expect(word)).collect();
        let summary = ifm_metrics::summarize(&run);
        let measured: Vec<&RequestRecord> = run.requests.iter().collect();
        LevelSample::of(&summary.levels[0], &measured, &measures).expect("a load")
    }

    #[test]
    fn columns_hold_what_the_requests_did() {
        let words = ["ttft.p50", "itl.p50", "itl.mean", "out_tok_s", "error_rate", "ttft_due.mean"];
        let sample = sample(&words);
        // 61 requests without the first of each of the two users.
        assert_eq!((sample.at.load, sample.requests), (Some(Load::Users(2)), 59));
        let find = |measure| sample.columns.iter().find(|told| told.measure == measure);
        let column = |word: &str| &find(Measure::parse(word).expect(word)).expect(word).column;
        let Column::Values(ttft) = column("ttft.p50") else { panic!("values") };
        assert_eq!((ttft.sorted.len(), ttft.sorted[0]), (58, 100.0 * MS as f64));
        let Column::PooledPercentile(itl) = column("itl.p50") else { panic!("pooled") };
        assert_eq!((itl.value, itl.count[0], itl.count[58]), (10.0 * MS as f64, 10, 0));
        let at = |share| value_at(&itl.grid, share);
        assert_eq!((at(0.1), at(0.9)), (10.0 * MS as f64, 10.0 * MS as f64));
        let Column::PooledMean { sum, count } = column("itl.mean") else { panic!("pooled") };
        assert_eq!((sum[0], count[0]), (100.0 * MS as f64, 10));
        let Column::Rate(Rate { amount, time, .. }) = column("out_tok_s") else { panic!("a rate") };
        assert_eq!((amount[0], time[0], amount[58]), (11.0, 200.0 * MS as f64, 0.0));
        assert!(matches!(column("error_rate"), Column::Share { hits: 1, n: 61 }));
        assert!(find(Measure::value_of(Metric::Success)).is_none());
    }

    #[test]
    fn sessions_are_units_of_their_own() {
        let mut run =
            run(&[2], ifm_metrics::testing::conversations((0, 0), (2, 12), 3, 500.0, 0.0));
        run.requests[0].outcome = Outcome::HttpError;
        let words = [
            "ttft.p50",
            "session.p50",
            "sessions_h",
            "session_ok",
            "session_failed",
            "session_cached.p10",
        ];
        let measures = words.map(|word| Measure::parse(word).expect(word));
        let summary = ifm_metrics::summarize(&run);
        let measured: Vec<&RequestRecord> = run.requests.iter().collect();
        let sample = LevelSample::of(&summary.levels[0], &measured, &measures).expect("a load");
        assert_eq!((sample.columns.len(), sample.told().count()), (1, 6));
        let sessions = sample.sessions.expect("conversations");
        assert_eq!(sessions.sessions, 24);
        let [times, rate, ok, failed, cached] = sessions.columns.as_slice() else {
            panic!("{sessions:?}")
        };
        let Column::Values(times) = &times.column else { panic!("values") };
        assert_eq!((times.sorted.len(), times.sorted[0]), (23, 1780.0 * MS as f64));
        let Column::Rate(rate) = &rate.column else { panic!("a rate") };
        assert_eq!((rate.amount[0], rate.amount[1]), (0.0, 1.0));
        assert!(matches!(ok.column, Column::Share { hits: 23, n: 24 }));
        assert!(matches!(failed.column, Column::Share { hits: 1, n: 24 }));
        let Column::Values(cached) = &cached.column else { panic!("values") };
        // Two later turns of three have 60 of 100 tokens from the cache.
        assert_eq!((cached.sorted.len(), cached.sorted[0]), (23, 0.4));
    }

    #[test]
    fn a_grid_gives_the_percentiles_of_the_pool() {
        // Gaps of 1 to 40 ms in each of 50 requests.
        let stamps: Vec<f64> = (0..=40).map(|i| f64::from(i * (i + 1)) / 2.0 + 5.0).collect();
        let requests: Vec<_> = (0..50)
            .map(|seq| ifm_metrics::testing::request(seq, 0, 0, f64::from(seq) * 2_000.0, &stamps))
            .collect();
        let refs: Vec<&RequestRecord> = requests.iter().collect();
        let Some(Column::PooledPercentile(found)) = pooled_percentile(&refs, 90.0) else {
            panic!("gaps")
        };
        let whole = Distribution::from_population(&Gaps(&refs), 1.0, &[89.0, 90.0, 91.0, 100.0]);
        for percentile in whole.expect("gaps").percentiles {
            let got = value_at(&found.grid, percentile.p / 100.0);
            assert!((got - percentile.value).abs() < 0.6 * MS as f64, "{percentile:?}: {got}");
        }
    }
}
