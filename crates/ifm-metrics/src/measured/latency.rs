//! What the requests of a level measured: a population for each metric.

use crate::request::{self, RequestMetrics, each_value};
use crate::stat::{self, Distribution};
use crate::tpot::{SequenceTpot, TPOT_ESTIMATED, TpotAbsence, are_estimates, each_tpot};
use ifm_core::order::Order as _;
use ifm_core::{Metric, RequestRecord};

/// What the gaps between token-bearing events may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapLabel {
    /// Inter-token latency: practically every event carries one token.
    InterToken,
    /// Inter-event latency: more than 1 % of the events carry several tokens.
    InterEvent,
}

impl GapLabel {
    /// The label where this share of the events, 0 to 1, carries several tokens.
    pub fn of(several_token_event_share: Option<f64>) -> GapLabel {
        match several_token_event_share {
            Some(share) if share > SEVERAL_TOKEN_SHARE_MAX => GapLabel::InterEvent,
            _ => GapLabel::InterToken,
        }
    }

    /// The short name for column heads.
    pub fn short(self) -> &'static str {
        match self {
            GapLabel::InterToken => "ITL",
            GapLabel::InterEvent => "IEL",
        }
    }

    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            GapLabel::InterToken => "itl",
            GapLabel::InterEvent => "inter_event",
        }
    }

    /// The full name.
    pub fn long(self) -> &'static str {
        match self {
            GapLabel::InterToken => "inter-token latency",
            GapLabel::InterEvent => "inter-event latency",
        }
    }
}

/// The values of one metric, over complete answers.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricValues {
    /// The metric.
    pub metric: Metric,
    /// Whether they are estimates: the number of tokens is not known of more than 1 % of them. Then
    /// all values are here, also the counted ones.
    pub is_estimated: bool,
    /// The values, in the unit of the metric.
    pub values: Distribution,
}

/// What requests measured, over complete answers: a population for each metric of
/// [`Metric::of_requests`] that has a value. From the due time only in an open loop; in a closed one
/// it is the same as from the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// In the order of the metrics, a metric at most once.
    populations: Vec<MetricValues>,
    /// Sequences of two tokens or more that have no TPOT, by why.
    pub tpot_absent: TpotAbsences,
    /// What gaps may be called.
    pub gap_label: GapLabel,
    /// Share of token-bearing events that carry several tokens, 0 to 1; absent if no request shows
    /// it.
    pub several_token_event_share: Option<f64>,
}

/// Sequences of two tokens or more that have no time per output token, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TpotAbsences {
    /// All or nearly all of their tokens came in one read, or the whole answer had been buffered.
    pub at_once: u64,
    /// Tokens were counted that did not come, and nothing says when they were generated.
    pub not_sent: u64,
}

impl TpotAbsences {
    /// All of them.
    pub fn total(self) -> u64 {
        self.at_once + self.not_sent
    }

    fn count(&mut self, record: &RequestRecord) {
        each_tpot(record, |tpot| match tpot {
            SequenceTpot::Counted(_) | SequenceTpot::Estimated(_) => {}
            SequenceTpot::Unknown(TpotAbsence::AtOnce) => self.at_once += 1,
            SequenceTpot::Unknown(TpotAbsence::NotSent) => self.not_sent += 1,
        });
    }
}

/// Speed for one user if the tokens were not counted.
pub const USER_RATE_ESTIMATED: &str = "estimated tok/s/user";

/// Above this share of events with several tokens, gaps are not inter-token latencies.
const SEVERAL_TOKEN_SHARE_MAX: f64 = 0.01;

/// Gaps of many requests, visited one by one.
struct Gaps<'a>(&'a [&'a RequestRecord]);

impl stat::Population for Gaps<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0 {
            request::each_gap(record, |gap, _| each(gap));
        }
    }
}

/// Gaps divided by the tokens of the event that ends them, in picoseconds.
struct GapsPerToken<'a>(&'a [&'a RequestRecord]);

impl stat::Population for GapsPerToken<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        self.0.iter().for_each(|record| request::each_gap_per_token(record, &mut each));
    }
}

/// Values of one metric while they are collected.
struct List {
    metric: Metric,
    counted: Vec<f64>,
    estimated: Vec<f64>,
}

impl List {
    /// The values as one population: those that were left out would not be by chance.
    fn population(mut self, percentiles: &[f64]) -> Option<MetricValues> {
        let is_estimated = are_estimates(self.counted.len(), self.estimated.len());
        if is_estimated {
            self.counted.append(&mut self.estimated);
        }
        let percentiles = with_slow_tail(self.metric, percentiles);
        let values = Distribution::from_values(self.counted, &percentiles)?;
        Some(MetricValues { metric: self.metric, is_estimated, values })
    }
}

/// The percentiles to compute of a metric. Where more is better, the tail that users notice is at the
/// other end: P5 of a speed is what P95 is of a time.
fn with_slow_tail(metric: Metric, percentiles: &[f64]) -> Vec<f64> {
    let mut all = percentiles.to_vec();
    all.extend(percentiles.iter().map(|p| metric.slow_tail(*p)).filter(|p| *p > 0.0));
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// Metrics that have many values for each request: no list of them is kept.
const GAPS: [Metric; 2] = [Metric::Itl, Metric::ItlPerToken];

impl Latencies {
    /// All populations, in the order of the metrics.
    pub fn populations(&self) -> impl Iterator<Item = &MetricValues> {
        self.populations.iter()
    }

    /// The values of a metric, estimates or not.
    pub fn population(&self, metric: Metric) -> Option<&MetricValues> {
        self.populations.iter().find(|population| population.metric == metric)
    }

    /// The values of a metric; absent where they are estimates.
    pub fn get(&self, metric: Metric) -> Option<&Distribution> {
        let found = self.population(metric).filter(|population| !population.is_estimated);
        found.map(|population| &population.values)
    }

    /// The values of a metric where they are estimates.
    pub fn estimated(&self, metric: Metric) -> Option<&Distribution> {
        let found = self.population(metric).filter(|population| population.is_estimated);
        found.map(|population| &population.values)
    }

    /// The values of a metric as targets count them, estimates or not: waits from the due time in an
    /// open loop, since that is how long a user waits, however long the client delayed the request.
    pub fn waited(&self, metric: Metric) -> Option<&Distribution> {
        let found = self.population(metric.from_due()).or_else(|| self.population(metric));
        found.map(|population| &population.values)
    }

    /// The quantity that a document would call these values: what is estimated, and gaps that are not
    /// between tokens, have a name of their own.
    pub fn quantity(&self, of: &MetricValues) -> Metric {
        let name = match (of.metric, of.is_estimated) {
            (Metric::Itl, _) if self.gap_label == GapLabel::InterEvent => self.gap_label.long(),
            (Metric::Tpot, true) => TPOT_ESTIMATED,
            (Metric::UserSpeed, true) => USER_RATE_ESTIMATED,
            (metric, _) => return metric,
        };
        Metric::other(name)
    }

    /// Gaps between tokens, nanoseconds. Absent where the median is 0: most tokens came in one read with
    /// others, so what is between them was not measured.
    pub fn gaps(&self) -> Option<&Distribution> {
        self.get(Metric::Itl).filter(|gaps| gaps.median().is_none_or(|median| median > 0.0))
    }

    /// Time to first token as targets count it.
    pub fn ttft(&self) -> Option<&Distribution> {
        self.waited(Metric::Ttft)
    }

    /// End-to-end time as targets count it.
    pub fn e2e(&self) -> Option<&Distribution> {
        self.waited(Metric::E2e)
    }

    /// Time per output token, and whether it is an estimate.
    pub fn tpot(&self) -> Option<(&Distribution, bool)> {
        self.population(Metric::Tpot).map(|tpot| (&tpot.values, tpot.is_estimated))
    }

    /// Whether requests of an open loop waited to be sent, so that latencies from their due times
    /// are longer by more than 1 % on average than those from their starts.
    pub fn waited_to_be_sent(&self) -> bool {
        match (self.get(Metric::E2e), self.get(Metric::E2eDue)) {
            (Some(from_start), Some(from_due)) => from_due.mean > from_start.mean * 1.01,
            _ => false,
        }
    }

    pub fn of(measured: &[&RequestRecord], percentiles: &[f64]) -> Latencies {
        let ok: Vec<&RequestRecord> =
            measured.iter().copied().filter(|record| record.outcome.is_ok()).collect();
        let open_loop = ok.iter().any(|record| record.due_ns != record.start_ns);
        let listed =
            |metric: &Metric| !GAPS.contains(metric) && (open_loop || !metric.is_from_due());
        let list = |metric| List { metric, counted: Vec::new(), estimated: Vec::new() };
        let mut lists: Vec<List> = Metric::of_requests().filter(listed).map(list).collect();
        let mut tpot_absent = TpotAbsences::default();
        for record in &ok {
            let metrics = RequestMetrics::derive(record);
            for list in &mut lists {
                each_value(record, &metrics, list.metric, |value, is_counted| {
                    let values = if is_counted { &mut list.counted } else { &mut list.estimated };
                    values.push(value);
                });
            }
            tpot_absent.count(record);
        }
        let streamed: Vec<&RequestRecord> =
            ok.iter().copied().filter(|record| record.streamed).collect();
        let share = several_token_event_share(&streamed);
        let gaps = gaps(&streamed, percentiles);
        let mut populations: Vec<MetricValues> =
            lists.into_iter().filter_map(|list| list.population(percentiles)).chain(gaps).collect();
        populations.order_by_key(|population| population.metric);
        Latencies {
            populations,
            tpot_absent,
            gap_label: GapLabel::of(share),
            several_token_event_share: share,
        }
    }
}

/// The gaps of streamed answers, as they are and divided by tokens.
fn gaps(streamed: &[&RequestRecord], percentiles: &[f64]) -> impl Iterator<Item = MetricValues> {
    let told = streamed.iter().any(|record| !record.events.tokens.is_empty());
    let per_token = || {
        let scale = 1.0 / request::PS_PER_NS as f64;
        Distribution::from_population(&GapsPerToken(streamed), scale, percentiles)
    };
    let of = |metric, values: Option<Distribution>| {
        Some(MetricValues { metric, is_estimated: false, values: values? })
    };
    let plain = Distribution::from_population(&Gaps(streamed), 1.0, percentiles);
    let per_token = told.then(per_token).flatten();
    [of(Metric::Itl, plain), of(Metric::ItlPerToken, per_token)].into_iter().flatten()
}

/// Share of events that carry several tokens; see [`request::several_token_events`].
fn several_token_event_share(streamed: &[&RequestRecord]) -> Option<f64> {
    let (mut events, mut several) = (0u64, 0u64);
    for (of_all, of_these) in streamed.iter().filter_map(|r| request::several_token_events(r)) {
        events += of_all;
        several += of_these;
    }
    (events > 0).then(|| several as f64 / events as f64)
}
