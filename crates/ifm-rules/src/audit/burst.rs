//! Requests that a level sends all at once when it begins, and when their first tokens came.
//!
//! With `n` requests and `c` users the first `c` begin together. At most `n (1 - p)` requests took
//! longer than the percentile `p` of the time to first token, so that the others of the first `c`
//! had their prompts computed by then. Not here: how long prompts have to take (`light`,
//! `rule/prompt_burst`).

use super::Cell;
use ifm_core::Metric;
use ifm_core::sheet::Statistic;

/// Tools whose users all begin at once.
const AT_ONCE: [&str; 5] = [
    "vllm bench serve",
    "vllm bench serve, Rust client",
    "sglang.bench_serving",
    "sglang.bench_serving, Rust client",
    "TensorRT-LLM benchmark_serving",
];
/// The fewest prompts that a burst is judged by, and their least share of those that begin together.
const FEWEST: f64 = 8.0;
const LEAST: f64 = 0.5;
/// What a count computed from a share may be off.
const ROUNDING: f64 = 1e-6;

/// Prompts that were computed by a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Burst {
    /// The fewest prompts that have their first token by then.
    pub prompts: f64,
    /// Mean length of all prompts of the level, tokens.
    pub tokens: f64,
    /// Seconds after they began.
    pub within_s: f64,
    /// Whether all requests of the level began together: then exactly this many prompts were
    /// computed by that time.
    pub is_whole: bool,
}

impl Burst {
    /// Prompt tokens per second.
    pub fn rate(&self) -> f64 {
        self.prompts * self.tokens / self.within_s
    }
}

/// The burst with which a level begins; empty if the level is not known to begin with one.
pub(super) fn bursts(cell: &Cell) -> Vec<Burst> {
    let is_at_once = cell.measured_by().is_some_and(|tool| AT_ONCE.contains(&tool));
    let failed = cell.row.value(Metric::RequestsFailed, Statistic::Value).unwrap_or(0.0);
    let known = || Some((cell.requests()?, cell.mean_tokens(Metric::InputTokens)?));
    let Some((requests, tokens)) = known().filter(|_| is_at_once && failed == 0.0) else {
        return Vec::new();
    };
    let Some(users) = cell.users_at_once() else { return Vec::new() };
    let first = users.min(requests);
    let of = |figure: &ifm_core::sheet::Figure| {
        let share = match figure.statistic {
            Statistic::Median => 0.5,
            Statistic::Percentile(percent) => percent / 100.0,
            _ => return None,
        };
        let within_s = figure.canonical().filter(|ms| *ms > 0.0)? / 1e3;
        let slower = (requests * (1.0 - share) - ROUNDING).ceil();
        let prompts = (first - slower).floor();
        let is_enough = prompts >= FEWEST.max(LEAST * first);
        is_enough.then_some(Burst { prompts, tokens, within_s, is_whole: users >= requests })
    };
    let ttft = cell.row.figures.iter().filter(|figure| figure.quantity == Metric::Ttft);
    ttft.filter_map(of).collect()
}
