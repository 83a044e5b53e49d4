//! Reasoning that the server counted and did not send.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use ifm_core::Metric;

/// Below this share of the output, TTFT is hardly longer for it.
const SHARE_NOTED: f64 = 0.01;

pub(super) const CHECK: Check =
    Check { id: "hidden_tokens", title: "reasoning was sent, too", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    if level.latencies.get(Metric::Ttft).is_none() || level.tokens.output_total.is_none() {
        return AtLevel::NotApplicable;
    }
    let Some(hidden) = level.tokens.hidden_reasoning else { return AtLevel::Silent };
    let share = hidden.tokens as f64 / hidden.output_tokens.max(1) as f64;
    let answers = match hidden.answers == level.counts.ok {
        true => String::new(),
        false => format!(" in {} of {} answers", hidden.answers, level.counts.ok),
    };
    AtLevel::Fires(
        if share < SHARE_NOTED { Severity::Note } else { Severity::Caution },
        format!(
            "{} of {} output tokens ({}){answers} were hidden reasoning: TTFT includes their time, \
             TPOT and tok/s/user leave them out",
            hidden.tokens,
            hidden.output_tokens,
            percent(share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;
    use ifm_core::{CountSource, Counted, RunData};

    fn hide(each: usize) -> impl Fn(&mut RunData) {
        move |run| {
            for record in run.requests.iter_mut().step_by(each) {
                // 48 tokens were reasoning, and 16 came one by one.
                let tokens = Counted { tokens: 64, from: CountSource::FinalUsage };
                (record.output_tokens, record.reasoning_tokens) = (Some(tokens), Some(48));
                let late_ns = 240_000_000;
                record.events.at_ns.iter_mut().for_each(|at_ns| *at_ns += late_ns);
            }
        }
    }

    #[test]
    fn says_how_many_tokens_were_hidden() {
        let said = "5760 of 7680 output tokens (75.0 %) were hidden reasoning: TTFT includes";
        check("hidden_tokens", hide(1), Severity::Caution, said);
        let said = "2880 of 3840 output tokens (75.0 %) in 60 of 120 answers were hidden reasoning";
        check("hidden_tokens", hide(2), Severity::Caution, said);
    }
}
