//! The latencies of a level: one population for each definition.

use crate::request::{self, RequestMetrics};
use crate::stat::{Distribution, Population};
use crate::tpot::{SequenceTpot, TpotAbsence, are_estimates, each_tpot};
use ifm_core::RequestRecord;

/// Picoseconds in a nanosecond: the unit in which gaps per token are divided.
const PS_PER_NS: u64 = 1_000;

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

/// Latencies over complete answers. One value per request unless a field says otherwise; absent
/// where no request has a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// Start to first token of any kind, nanoseconds.
    pub ttft_ns: Option<Distribution>,
    /// Due time to first token; absent in a closed loop, where it is the same.
    pub ttft_ns_from_due: Option<Distribution>,
    /// Last byte that the server's machine had acknowledged to first token, nanoseconds; over the
    /// requests for which the kernel reported it.
    pub ttft_ns_from_acked: Option<Distribution>,
    /// Start to first token of the answer proper, nanoseconds.
    pub ttfat_ns: Option<Distribution>,
    /// Start to last token, nanoseconds.
    pub e2e_ns: Option<Distribution>,
    /// Due time to last token; absent in a closed loop.
    pub e2e_ns_from_due: Option<Distribution>,
    /// Start to the end of the stream, nanoseconds.
    pub stream_end_ns: Option<Distribution>,
    /// Time per output token after the tokens of the first read, nanoseconds, per sequence (per
    /// request unless it asked for several choices); only if the number of tokens in the time is
    /// known.
    pub tpot_ns: Option<Distribution>,
    /// The same where that is an estimate of more than 1 % of the sequences: then all are here.
    pub tpot_ns_estimated: Option<Distribution>,
    /// Sequences of two tokens or more that have no TPOT, by why.
    pub tpot_absent: TpotAbsences,
    /// 1 / TPOT, tokens per second, per sequence.
    pub user_tok_per_s: Option<Distribution>,
    /// The same from estimated counts.
    pub user_tok_per_s_estimated: Option<Distribution>,
    /// Start to the last request byte in the kernel's hands, nanoseconds.
    pub upload_ns: Option<Distribution>,
    /// Gaps between successive token-bearing events of a sequence, pooled over requests,
    /// nanoseconds. See `gap_label` for what they may be called.
    pub gap_ns: Option<Distribution>,
    /// Each gap divided by the tokens of the event that ends it, pooled, nanoseconds; only if the
    /// server reported the tokens of each event.
    pub gap_ns_per_token: Option<Distribution>,
    /// What `gap_ns` may be called.
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
}

/// Above this share of events with several tokens, gaps are not inter-token latencies.
const SEVERAL_TOKEN_SHARE_MAX: f64 = 0.01;

/// Gaps of many requests, visited one by one.
struct Gaps<'a>(&'a [&'a RequestRecord]);

impl Population for Gaps<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0 {
            request::each_gap(record, |gap, _| each(gap));
        }
    }
}

/// Gaps divided by the tokens of the event that ends them, in picoseconds.
struct GapsPerToken<'a>(&'a [&'a RequestRecord]);

impl Population for GapsPerToken<'_> {
    fn visit(&self, mut each: impl FnMut(u64)) {
        for record in self.0 {
            request::each_gap(record, |gap, tokens| {
                if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
                    each(gap.saturating_mul(PS_PER_NS) / u64::from(tokens));
                }
            });
        }
    }
}

/// Values being collected, one list for each population.
#[derive(Default)]
struct Lists {
    ttft: Vec<f64>,
    ttft_from_due: Vec<f64>,
    ttft_from_acked: Vec<f64>,
    ttfat: Vec<f64>,
    e2e: Vec<f64>,
    e2e_from_due: Vec<f64>,
    stream_end: Vec<f64>,
    tpot: Vec<f64>,
    tpot_estimated: Vec<f64>,
    tpot_absent: TpotAbsences,
    upload: Vec<f64>,
}

impl Lists {
    fn add(&mut self, record: &RequestRecord) {
        let push = |list: &mut Vec<f64>, value: Option<u64>| {
            list.extend(value.map(|value| value as f64));
        };
        let metrics = RequestMetrics::derive(record);
        push(&mut self.ttft, metrics.ttft_ns);
        push(&mut self.ttft_from_due, metrics.ttft_ns_from_due);
        push(&mut self.ttft_from_acked, metrics.ttft_ns_from_acked);
        push(&mut self.ttfat, metrics.ttfat_ns);
        push(&mut self.e2e, metrics.e2e_ns);
        push(&mut self.e2e_from_due, metrics.e2e_ns_from_due);
        push(&mut self.stream_end, metrics.stream_end_ns);
        push(&mut self.upload, metrics.upload_ns);
        each_tpot(record, |tpot| match tpot {
            SequenceTpot::Counted(ns) => self.tpot.push(ns),
            SequenceTpot::Estimated(ns) => self.tpot_estimated.push(ns),
            SequenceTpot::Unknown(TpotAbsence::AtOnce) => self.tpot_absent.at_once += 1,
            SequenceTpot::Unknown(TpotAbsence::NotSent) => self.tpot_absent.not_sent += 1,
        });
    }

    /// The times per token as one population: those that were left out would not be by chance.
    fn pool_tpot(&mut self) {
        if are_estimates(self.tpot.len(), self.tpot_estimated.len()) {
            self.tpot_estimated.append(&mut self.tpot);
        } else {
            self.tpot_estimated.clear();
        }
    }
}

impl Latencies {
    /// Gaps between tokens, nanoseconds. Absent where the median is 0: most tokens came in one read with
    /// others, so what is between them was not measured.
    pub fn gaps(&self) -> Option<&Distribution> {
        let gaps = self.gap_ns.as_ref();
        gaps.filter(|gaps| gaps.median().is_none_or(|median| median > 0.0))
    }

    /// Time to first token as targets count it: from the due time in an open loop, since that is
    /// how long a user waits, however long the client delayed the request.
    pub fn ttft(&self) -> Option<&Distribution> {
        self.ttft_ns_from_due.as_ref().or(self.ttft_ns.as_ref())
    }

    /// End-to-end time by the same rule.
    pub fn e2e(&self) -> Option<&Distribution> {
        self.e2e_ns_from_due.as_ref().or(self.e2e_ns.as_ref())
    }

    /// Time per output token, and whether it is an estimate.
    pub fn tpot(&self) -> Option<(&Distribution, bool)> {
        let estimated = || self.tpot_ns_estimated.as_ref().map(|found| (found, true));
        self.tpot_ns.as_ref().map(|found| (found, false)).or_else(estimated)
    }

    /// Whether requests of an open loop waited to be sent, so that latencies from their due times
    /// are longer by more than 1 % on average than those from their starts.
    pub fn waited_to_be_sent(&self) -> bool {
        match (&self.e2e_ns, &self.e2e_ns_from_due) {
            (Some(from_start), Some(from_due)) => from_due.mean > from_start.mean * 1.01,
            _ => false,
        }
    }

    pub(crate) fn of(measured: &[&RequestRecord], percentiles: &[f64]) -> Latencies {
        let ok: Vec<&RequestRecord> =
            measured.iter().copied().filter(|record| record.outcome.is_ok()).collect();
        let mut lists = Lists::default();
        ok.iter().for_each(|record| lists.add(record));
        lists.pool_tpot();
        let open_loop = ok.iter().any(|record| record.due_ns != record.start_ns);
        let summary = |list: Vec<f64>| Distribution::from_values(list, percentiles);
        let speeds = |list: &[f64]| {
            summary(list.iter().filter_map(|value| request::speed(*value)).collect())
        };
        let streamed: Vec<&RequestRecord> =
            ok.iter().copied().filter(|record| record.streamed).collect();
        let share = several_token_event_share(&streamed);
        let label = GapLabel::of(share);
        let per_token = streamed.iter().any(|record| !record.events.tokens.is_empty());
        Latencies {
            user_tok_per_s: speeds(&lists.tpot),
            user_tok_per_s_estimated: speeds(&lists.tpot_estimated),
            ttft_ns: summary(lists.ttft),
            ttft_ns_from_due: summary(lists.ttft_from_due).filter(|_| open_loop),
            ttft_ns_from_acked: summary(lists.ttft_from_acked),
            ttfat_ns: summary(lists.ttfat),
            e2e_ns: summary(lists.e2e),
            e2e_ns_from_due: summary(lists.e2e_from_due).filter(|_| open_loop),
            stream_end_ns: summary(lists.stream_end),
            tpot_ns: summary(lists.tpot),
            tpot_ns_estimated: summary(lists.tpot_estimated),
            tpot_absent: lists.tpot_absent,
            upload_ns: summary(lists.upload),
            gap_ns: Distribution::from_population(&Gaps(&streamed), 1.0, percentiles),
            gap_ns_per_token: per_token
                .then(|| {
                    let scale = 1.0 / PS_PER_NS as f64;
                    Distribution::from_population(&GapsPerToken(&streamed), scale, percentiles)
                })
                .flatten(),
            gap_label: label,
            several_token_event_share: share,
        }
    }
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
