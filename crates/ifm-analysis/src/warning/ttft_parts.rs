//! A server whose own times of a request are more than what the client saw.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::measured::ttft_parts::told;

/// The parts have to add up for this share of the requests that tell them.
const SHARE_MIN: f64 = 0.95;

pub(super) const CHECK: Check = Check {
    id: "ttft_parts",
    title: "the server's own times fit into the time to first token that the client saw",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let splits = told(context.measured(level));
    if splits.is_empty() {
        return AtLevel::NotApplicable;
    }
    let adding_up = splits.iter().filter(|split| split.adds_up()).count();
    let share = adding_up as f64 / splits.len() as f64;
    if share >= SHARE_MIN {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the server's times of queue and first token are more than what passed between sending \
             and first token for {} of the requests that tell them: they count from elsewhere, or \
             belong to other requests",
            percent(1.0 - share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MS;
    use crate::warning::testing::check;

    #[test]
    fn speaks_of_parts_that_are_more_than_the_whole() {
        let spoil = |run: &mut ifm_core::RunData| {
            for record in &mut run.requests {
                record.sent_ns = Some(record.start_ns);
                record.server_queue_ns = Some(MS);
                record.server_first_token_ns = Some(60_000 * MS);
            }
        };
        check("ttft_parts", spoil, Severity::Caution, "100 % of the requests that tell them");
    }
}
