//! A server whose own times of a request are more than what the client saw.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::measured::ttft_parts::told;

/// The parts have to add up for this share of the requests that tell them.
const SHARE_MIN: f64 = 0.95;

pub(super) const CHECK: Check = Check {
    id: "ttft_parts",
    title: "the server's own times fit into the TTFT that the client measured",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    // Where none adds up, there are no parts to show.
    let share = match level.ttft_parts.as_deref() {
        Some(parts) => parts.adding_up as f64 / parts.requests.max(1) as f64,
        None if told(context.measured(level)).is_empty() => return AtLevel::NotApplicable,
        None => 0.0,
    };
    if share >= SHARE_MIN {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the server's queue and first-token times exceed the time between sending and first \
             token for {} of the requests that report them: they count from another moment, or \
             belong to other requests",
            percent(1.0 - share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{MS, closed_loop, run};
    use crate::warning::CheckState;

    #[test]
    fn speaks_of_parts_that_are_more_than_the_whole() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        let found = |run: &ifm_core::RunData| {
            let checks = crate::summarize(run).checks;
            let check = checks.into_iter().find(|check| check.id == "ttft_parts").expect("made");
            (check.state(), check.warnings.first().map(|it| it.text.clone()).unwrap_or_default())
        };
        assert_eq!(found(&run).0, CheckState::NotApplicable);
        let queue = |run: &mut ifm_core::RunData, number: usize, queue_ms: u64| {
            let record = &mut run.requests[number];
            record.sent_ns = Some(record.start_ns);
            record.server_queue_ns = Some(queue_ms * MS);
            record.server_first_token_ns = Some(80 * MS);
        };
        (0..120).for_each(|number| queue(&mut run, number, 5));
        // Five of the 118 after each user's first request are 4.2 %.
        (10..15).for_each(|number| queue(&mut run, number, 50));
        assert_eq!(found(&run), (CheckState::Passed, String::new()));
        queue(&mut run, 15, 50);
        let (state, text) = found(&run);
        assert_eq!(state, CheckState::Caution);
        assert!(text.contains("for 5.1 % of the requests"), "{text}");
    }
}
