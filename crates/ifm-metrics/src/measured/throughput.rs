//! Rates over a named window, each counted by event time inside it.

use super::in_flight::{Concurrency, InFlight};
use super::media::{MediaRates, MediaTally};
use crate::request::last_token_or_body_end;
use crate::stat::Distribution;
use ifm_core::RequestRecord;
use ifm_core::spec::{ArrivalLaw, LoadSpec};
use ifm_core::words::counted;

/// A steady window is at least this many median E2E latencies long; a shorter one shows one phase
/// of the requests, not their mix.
const STEADY_E2E_MIN: f64 = 3.0;
/// A steady window holds at least this many complete answers.
const STEADY_COMPLETIONS_MIN: u64 = 10;
const NS_PER_S: f64 = 1e9;

ifm_core::vocabulary! {
    /// Which part of a level a rate is taken over.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum WindowKind {
        /// From the start of the first request after the first wave to the last moment at which the
        /// requested number of requests was in flight. This excludes the ramp at the start and the
        /// drain at the end, when slots had nothing more to send. In an open loop, from one median
        /// answer after the first start to the last start. For bursts, whole periods. A changing
        /// rate has no steady window. Requests that were still warming up are also excluded.
        Steady = "steady",
        /// From the first start to the last end.
        Whole = "whole",
    }
}

/// A part of a level. An event belongs to it if `start_ns < event <= end_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Which part.
    pub kind: WindowKind,
    /// Start, nanoseconds since the run's origin.
    pub start_ns: u64,
    /// End, nanoseconds since the run's origin.
    pub end_ns: u64,
}

impl Window {
    /// Length, seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / NS_PER_S
    }

    fn holds(&self, at_ns: u64) -> bool {
        at_ns > self.start_ns && at_ns <= self.end_ns
    }

    /// Share of a request's time that lies in the window, 0 to 1.
    fn share_of(&self, record: &RequestRecord) -> f64 {
        let lasted = record.end_ns.saturating_sub(record.start_ns);
        if lasted == 0 {
            return f64::from(u8::from(self.holds(record.end_ns)));
        }
        let from = record.start_ns.max(self.start_ns);
        let until = record.end_ns.min(self.end_ns);
        until.saturating_sub(from) as f64 / lasted as f64
    }
}

/// Rates and concurrency over one window. Output and total are never mixed.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSummary {
    /// The window.
    pub window: Window,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Complete answers whose end is in the window.
    pub ok: u64,
    /// Output tokens that arrived in the window, on any request. Where the server did not
    /// tell the tokens of each event, the tokens of a request are spread evenly over its events.
    pub output_tokens: f64,
    /// Output tokens from requests that did not complete.
    pub output_tokens_incomplete: f64,
    /// Output tokens whose number is an estimate.
    pub output_tokens_estimated: f64,
    /// Prompt tokens of the requests whose first token arrived in the window; absent if one of
    /// them was not counted.
    pub prompt_tokens: Option<u64>,
    /// Output tokens per second.
    pub output_tok_per_s: f64,
    /// Output and prompt tokens per second, cached prompt tokens included.
    pub total_tok_per_s: Option<f64>,
    /// Complete answers per second. In a closed loop each answer counts by the share of its tokens
    /// that arrived in the window, as output tokens do; by the share of its time where it has none
    /// that were seen to arrive. Users who move in step would else bring or take a whole wave of
    /// answers at the window's edges, 4 of 17 where 4 users send 6 requests each. In an open loop,
    /// where a queue may grow, it is those whose end is in the window.
    pub req_per_s: f64,
    /// Media of complete answers per second, each counted by the share that its answer counts by;
    /// absent where prompts were text alone.
    pub media: Option<MediaRates>,
    /// Answers per second that met every term of the latency target.
    pub good_req_per_s: Option<f64>,
}

/// What a level was to keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Requests in flight; absent where it is not known.
    InFlight(Option<u32>),
    /// Requests per second, whatever is in flight.
    Rate,
    /// Bursts of requests at a fixed period, whatever is in flight.
    Bursts {
        /// From one burst to the next.
        period_ns: u64,
    },
    /// Requests at a rate that changes: there is no steady part.
    Changing,
}

impl Target {
    /// What a level was asked to keep up.
    pub fn of(asked: Option<&LoadSpec>) -> Target {
        let Some(arrivals) = asked.and_then(|asked| asked.arrivals.as_ref()) else {
            return Target::InFlight(asked.map(|asked| asked.concurrency));
        };
        match (arrivals.constant_req_per_s(), arrivals.law) {
            (Some(rate), ArrivalLaw::Burst(size)) => {
                Target::Bursts { period_ns: (f64::from(size) / rate * NS_PER_S) as u64 }
            }
            // The times of a trace are what they were, and only their mean is known.
            (Some(_), _) | (None, ArrivalLaw::Replay(_)) => Target::Rate,
            (None, _) => Target::Changing,
        }
    }
}

/// What a steady window lies within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// What the level was to keep up.
    pub target: Target,
    /// When its first wave was over and it had warmed up, nanoseconds since the run's origin; absent
    /// where it has no such wave and was warm.
    pub steady_from_ns: Option<u64>,
}

/// The windows of a level.
pub(crate) struct Windows {
    pub whole: Option<WindowSummary>,
    pub steady: Option<WindowSummary>,
    pub steady_absent_because: Option<String>,
}

/// Finds the windows and counts in them. `good` has one entry per request of `sent`.
pub(crate) fn windows(
    bounds: Bounds,
    e2e_ns: Option<&Distribution>,
    sent: &[&RequestRecord],
    good: Option<&[bool]>,
) -> Windows {
    let in_flight = InFlight::of(sent);
    let whole = whole_window(sent);
    let steady = steady_window(bounds, e2e_ns, &in_flight, sent);
    let is_closed = matches!(bounds.target, Target::InFlight(_));
    let summarize = |window: Window| WindowSummary::of((window, is_closed), &in_flight, sent, good);
    let (steady, steady_absent_because) = match steady {
        Ok(window) => (summarize(window), None),
        Err(reason) => (None, Some(reason)),
    };
    Windows { whole: whole.and_then(summarize), steady, steady_absent_because }
}

fn whole_window(sent: &[&RequestRecord]) -> Option<Window> {
    let start_ns = sent.iter().map(|record| record.start_ns).min()?;
    let end_ns = sent.iter().map(|record| record.end_ns).max()?;
    Some(Window { kind: WindowKind::Whole, start_ns, end_ns })
}

fn steady_window(
    bounds: Bounds,
    e2e_ns: Option<&Distribution>,
    in_flight: &InFlight,
    sent: &[&RequestRecord],
) -> Result<Window, String> {
    let e2e_ns = e2e_ns.and_then(Distribution::median).ok_or("no request completed")?;
    let (mut window, what) = match bounds.target {
        Target::InFlight(target) => {
            let target = target.ok_or("the requested number of requests in flight is unknown")?;
            let were = requests_were(target);
            let (start_ns, end_ns) = in_flight.span_with(target.max(1)).ok_or_else(|| {
                format!("{were} never in flight at once, at most {}", in_flight.max())
            })?;
            let window = Window { kind: WindowKind::Steady, start_ns, end_ns };
            (window, format!("{were} in flight"))
        }
        Target::Rate => {
            let starts = sent.iter().map(|record| record.start_ns);
            let (first, last) = (starts.clone().min(), starts.max());
            let start_ns = first.unwrap_or(0).saturating_add(e2e_ns as u64);
            let end_ns = last.unwrap_or(0).max(start_ns);
            let window = Window { kind: WindowKind::Steady, start_ns, end_ns };
            (window, "requests were sent".to_owned())
        }
        Target::Bursts { period_ns } => {
            let starts = sent.iter().map(|record| record.start_ns);
            let (first, last) = (starts.clone().min(), starts.max());
            // Whole periods: a burst at one edge alone would be one too many or too few.
            let periods = (e2e_ns as u64).div_ceil(period_ns.max(1));
            let start_ns = first.unwrap_or(0).saturating_add(periods.saturating_mul(period_ns));
            let end_ns = last.unwrap_or(0).max(start_ns);
            let window = Window { kind: WindowKind::Steady, start_ns, end_ns };
            (window, "bursts were sent".to_owned())
        }
        Target::Changing => return Err("the rate changed while requests were sent".to_owned()),
    };
    // The ramp, the first wave and what was still warming up are out.
    window.start_ns = window.start_ns.max(bounds.steady_from_ns.unwrap_or(0)).min(window.end_ns);
    let e2e_s = e2e_ns / NS_PER_S;
    if window.seconds() < STEADY_E2E_MIN * e2e_s {
        return Err(format!(
            "{what} for {} altogether, less than {STEADY_E2E_MIN} times the median request of {}",
            seconds(window.seconds()),
            seconds(e2e_s)
        ));
    }
    let completions =
        sent.iter().filter(|record| record.outcome.is_ok() && window.holds(record.end_ns)).count()
            as u64;
    if completions < STEADY_COMPLETIONS_MIN {
        return Err(format!(
            "only {} completed while {what}, fewer than {STEADY_COMPLETIONS_MIN}",
            counted(completions, "answer")
        ));
    }
    Ok(window)
}

fn requests_were(number: u32) -> String {
    match number {
        1 => "1 request was".to_owned(),
        _ => format!("{number} requests were"),
    }
}

/// A time as text, in milliseconds below one second.
fn seconds(seconds: f64) -> String {
    match seconds < 1.0 {
        true => format!("{:.0} ms", seconds * 1e3),
        false => format!("{seconds:.1} s"),
    }
}

/// Counts being taken in one window.
#[derive(Default)]
struct Tally {
    ok: u64,
    /// Complete answers, and the answers that meet the target, as rates count them.
    answers: f64,
    good: f64,
    output: f64,
    incomplete: f64,
    estimated: f64,
    prompt: u64,
    prompt_unknown: u64,
    media: MediaTally,
}

impl Tally {
    fn add(&mut self, (window, is_closed): (&Window, bool), record: &RequestRecord, good: bool) {
        self.ok += u64::from(record.outcome.is_ok() && window.holds(record.end_ns));
        let share = match is_closed {
            true => share_within(window, record),
            false => f64::from(u8::from(window.holds(record.end_ns))),
        };
        if record.outcome.is_ok() {
            self.answers += share;
            if let Some(media) = &record.media {
                self.media.add(media, share);
            }
        }
        if good {
            self.good += share;
        }
        let tokens = tokens_within(window, record);
        self.output += tokens;
        if !record.outcome.is_ok() {
            self.incomplete += tokens;
        }
        if record.output_tokens.is_none_or(|counted| counted.from.is_estimate()) {
            self.estimated += tokens;
        }
        let first = record.first_token_ns().or_else(|| last_token_or_body_end(record));
        if first.is_some_and(|first| window.holds(first)) {
            match record.prompt_tokens {
                Some(counted) => self.prompt += u64::from(counted.tokens),
                None => self.prompt_unknown += 1,
            }
        }
    }
}

impl WindowSummary {
    fn of(
        (window, is_closed): (Window, bool),
        in_flight: &InFlight,
        sent: &[&RequestRecord],
        good: Option<&[bool]>,
    ) -> Option<WindowSummary> {
        let concurrency = in_flight.over(window.start_ns, window.end_ns)?;
        let mut tally = Tally::default();
        for (index, record) in sent.iter().enumerate() {
            let is_good = good.and_then(|good| good.get(index)).copied().unwrap_or(false);
            tally.add((&window, is_closed), record, is_good);
        }
        let per_s = |count: f64| count / window.seconds();
        let prompt_tokens = (tally.prompt_unknown == 0).then_some(tally.prompt);
        Some(WindowSummary {
            window,
            concurrency,
            ok: tally.ok,
            output_tokens: tally.output,
            output_tokens_incomplete: tally.incomplete,
            output_tokens_estimated: tally.estimated,
            prompt_tokens,
            output_tok_per_s: per_s(tally.output),
            total_tok_per_s: prompt_tokens.map(|prompt| per_s(tally.output + prompt as f64)),
            req_per_s: per_s(tally.answers),
            media: tally.media.per_s(window.seconds()),
            good_req_per_s: good.map(|_| per_s(tally.good)),
        })
    }
}

/// Share of an answer that arrived within a window, 0 to 1: of its tokens, else of its time.
fn share_within(window: &Window, record: &RequestRecord) -> f64 {
    let every = Window { kind: WindowKind::Whole, start_ns: 0, end_ns: u64::MAX };
    let all = match record.events.is_empty() {
        true => 0.0,
        false => tokens_within(&every, record),
    };
    if all > 0.0 { tokens_within(window, record) / all } else { window.share_of(record) }
}

/// Output tokens of one request that arrived within a window.
fn tokens_within(window: &Window, record: &RequestRecord) -> f64 {
    let events = &record.events;
    if events.is_empty() {
        // Counted but never seen as events: they came with the body, or not visibly at all.
        let end = record.stream_end_ns.unwrap_or(record.end_ns);
        let tokens = record.output_tokens.map_or(0.0, |counted| f64::from(counted.tokens));
        return if window.holds(end) { tokens } else { 0.0 };
    }
    // Stamps rise within a request, so the events of the window are one range.
    let from = events.at_ns.partition_point(|at_ns| *at_ns <= window.start_ns);
    let until = events.at_ns.partition_point(|at_ns| *at_ns <= window.end_ns).max(from);
    if events.tokens.len() == events.len() {
        let within = events.tokens.get(from..until).unwrap_or_default();
        return within.iter().map(|tokens| f64::from(*tokens)).sum();
    }
    let all = record.output_tokens.map_or(events.len() as f64, |counted| f64::from(counted.tokens));
    all * (until - from) as f64 / events.len() as f64
}
