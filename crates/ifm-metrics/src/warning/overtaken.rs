//! Requests whose first token came late although later ones, with no less to compute, had theirs before.
//!
//! A server that processes requests in order lets no request be overtaken for long: such a request
//! was held up by something of its own, such as a compilation, a cold replica, or a proxy.
//!
//! Not here: requests that all waited (`overload`), and answers that stopped later (`stalls`).

use super::{AtLevel, Check, Context, Made, Severity, ms};
use crate::level::LevelSummary;
use ifm_core::RequestRecord;
use ifm_core::order::Order as _;
use ifm_core::words::counted;

/// A shorter wait is not reported, nanoseconds.
const NS_MIN: u64 = 250_000_000;
/// A wait of less than this many times the median is not reported either.
const FACTOR: u64 = 5;
/// Minimum number of later requests that got their first token earlier.
const OTHERS_MIN: usize = 5;
/// Maximum number of later requests examined for each, so that the cost of many late ones stays
/// linear.
const LOOKED_AT_MAX: usize = 1000;

pub(super) const CHECK: Check = Check {
    id: "overtaken",
    title: "first tokens came in the order of the requests",
    run: Made::ByLevel(make),
};

/// A first token on its way.
struct Wait {
    start_ns: u64,
    first_ns: u64,
    class: Option<u16>,
    /// Prompt tokens that had to be computed; absent if they were not counted.
    fresh: Option<u32>,
}

impl Wait {
    /// Whether it has at least as much to do as another one, as far as is known.
    fn is_no_lighter(&self, than: &Wait) -> bool {
        self.class == than.class && self.fresh.zip(than.fresh).is_some_and(|(own, it)| own >= it)
    }
}

fn wait(record: &RequestRecord) -> Option<Wait> {
    let first_ns = record.first_token_ns().filter(|_| record.outcome.is_ok() && record.streamed)?;
    let prompt = record.prompt_tokens.map(|counted| counted.tokens).or(record.prompt_tokens_asked);
    let fresh = prompt.map(|tokens| tokens.saturating_sub(record.cached_tokens.unwrap_or(0)));
    Some(Wait { start_ns: record.start_ns, first_ns, class: record.class, fresh })
}

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let mut waits: Vec<Wait> =
        context.measured(level).iter().filter_map(|record| wait(record)).collect();
    if waits.len() <= OTHERS_MIN {
        return AtLevel::NotApplicable;
    }
    waits.order_by_key(|wait| wait.start_ns);
    let mut lengths: Vec<u64> = waits.iter().map(span).collect();
    let middle = lengths.len() / 2;
    let limit_ns = (FACTOR * *lengths.select_nth_unstable(middle).1).max(NS_MIN);
    let late = waits.iter().enumerate().filter(|(_, wait)| span(wait) > limit_ns);
    let before = |place: usize, wait: &Wait, most: usize| {
        let later = waits.iter().skip(place + 1).filter(|it| it.start_ns > wait.start_ns);
        let near = later.take_while(|it| it.start_ns < wait.first_ns).take(LOOKED_AT_MAX);
        near.filter(|it| it.first_ns < wait.first_ns && it.is_no_lighter(wait)).take(most).count()
    };
    let late: Vec<(usize, &Wait)> =
        late.filter(|(place, wait)| before(*place, wait, OTHERS_MIN) == OTHERS_MIN).collect();
    let Some(&(place, worst)) = late.iter().max_by_key(|(_, wait)| span(wait)) else {
        return AtLevel::Silent;
    };
    let (others, longest) = (before(place, worst, LOOKED_AT_MAX), span(worst));
    let text = format!(
        "{} of {} waited more than {} ms for the first token while later ones had theirs; the \
         longest, {} ms, was overtaken by {others}: something held them up, such as a compilation \
         or a cold replica, and that dominates the tail of TTFT",
        late.len(),
        counted(waits.len() as u64, "request"),
        ms(limit_ns as f64),
        ms(longest as f64)
    );
    AtLevel::Fires(Severity::Note, text)
}

fn span(wait: &Wait) -> u64 {
    wait.first_ns.saturating_sub(wait.start_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::{check, sound_run};
    use ifm_core::{CountSource, Counted, RunData};

    fn delay(run: &mut RunData, ns: u64) {
        let record = &mut run.requests[0];
        record.events.at_ns.iter_mut().for_each(|at| *at += ns);
        record.end_ns += ns;
    }

    #[test]
    fn notes_a_request_that_others_overtook() {
        let corrupt = |run: &mut RunData| delay(run, 3_000_000_000);
        check("overtaken", corrupt, Severity::Note, "1 of 120 requests waited more than 500.0 ms");
    }

    #[test]
    fn a_long_prompt_may_take_its_time_and_all_may_wait() {
        let mut long = sound_run();
        delay(&mut long, 3_000_000_000);
        long.requests[0].prompt_tokens_asked = Some(100_000);
        long.requests[0].prompt_tokens = None;
        // Later turns have longer prompts, of which the cache knows most.
        let mut cold = sound_run();
        delay(&mut cold, 3_000_000_000);
        for record in cold.requests.iter_mut().skip(1) {
            record.prompt_tokens = Some(Counted { tokens: 9_000, from: CountSource::FinalUsage });
            record.cached_tokens = Some(8_950);
        }
        let mut other = sound_run();
        delay(&mut other, 3_000_000_000);
        other.requests[0].class = Some(1);
        let mut all = sound_run();
        for record in &mut all.requests {
            record.events.at_ns.iter_mut().for_each(|at| *at += 3_000_000_000);
            record.end_ns += 3_000_000_000;
        }
        for run in [long, cold, other, all] {
            let summary = crate::summarize(&run);
            let found = summary.checks.iter().find(|check| check.id == "overtaken").unwrap();
            assert!(found.is_applicable && found.warnings.is_empty(), "{:?}", found.warnings);
        }
    }
}
