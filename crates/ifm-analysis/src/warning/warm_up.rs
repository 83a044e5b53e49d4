//! Levels whose first requests were still warming up.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;

/// With a smaller share of the answers, not even P99 rests on them.
const SHARE_MAX: f64 = 0.01;
/// Of fewer answers nobody can tell: ten batches of five.
const ANSWERS_MIN: u64 = 50;

pub(super) const CHECK: Check =
    Check { id: "warm_up", title: "levels were warm when they began", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    if level.counts.ok < ANSWERS_MIN {
        return AtLevel::NotApplicable;
    }
    let Some(head) = level.warming else { return AtLevel::Silent };
    let share = head.requests as f64 / level.counts.ok.max(1) as f64;
    let severity = if share > SHARE_MAX { Severity::Caution } else { Severity::Note };
    AtLevel::Fires(
        severity,
        format!(
            "the first {} requests ({:.1} s) were still warming up, with a {} {:.2} times that of \
             the others: they are left out of the steady window, not of the latencies; send more \
             before, with --warmup",
            head.requests, head.seconds, head.metric, head.ratio
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop, request};
    use crate::warning::testing::check;

    /// Delays the first token of the first 20 of 120 requests.
    fn cold(run: &mut ifm_core::RunData) {
        for record in run.requests.iter_mut().take(20) {
            record.events.at_ns[0] = record.start_ns + 5 * MS;
        }
    }

    #[test]
    fn fires_on_a_cold_start_and_keeps_it_out_of_the_window() {
        check("warm_up", cold, Severity::Caution, "the first 20 requests");
        let mut run = crate::warning::testing::sound_run();
        let before = crate::summarize(&run).levels[0].clone();
        cold(&mut run);
        let level = &crate::summarize(&run).levels[0];
        let head = level.warming.expect("a head");
        assert_eq!((head.requests, head.metric), (20, "TTFT"));
        assert!((head.ratio - 0.05).abs() < 1e-9, "{}", head.ratio);
        let (window, whole) =
            (level.steady.as_ref().expect("steady"), before.steady.expect("steady"));
        // Two users, ten requests each, of 250 ms.
        assert_eq!(window.window.start_ns, whole.window.start_ns + 10 * 250 * MS);
        assert_eq!(window.window.end_ns, whole.window.end_ns);
        let n = |level: &LevelSummary| level.latencies.ttft_ns.as_ref().map(|ttft| ttft.n);
        assert_eq!(n(level), Some(120), "latencies keep them");
    }

    #[test]
    fn a_few_of_many_are_a_note() {
        let mut requests = closed_loop((0, 0), (1, 1_000), 0.0, (100.0, 10.0, 2));
        for (index, record) in requests.iter_mut().enumerate().take(5) {
            let start_ms = record.start_ns as f64 / MS as f64;
            *record = request(index as u32, 0, 0, start_ms, &[40.0, 110.0]);
        }
        let summary = crate::summarize(&crate::testing::run(&[1], requests));
        let found = summary.warnings.iter().find(|warning| warning.check == "warm_up");
        assert_eq!(found.map(|warning| warning.severity), Some(Severity::Note));
    }
}
