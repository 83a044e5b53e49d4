//! Levels whose first requests were slower than the rest, or faster.

use super::{AtLevel, Check, Context, Made, Severity, ms, overload};
use crate::level::{LevelSummary, Load, Warming};

/// With a smaller share of the answers, not even P99 rests on them.
const SHARE_MAX: f64 = 0.01;
/// Minimum number of answers: ten batches of five.
const ANSWERS_MIN: u64 = 50;

const NS_PER_MS: f64 = 1e6;

pub(super) const CHECK: Check = Check {
    id: "warm_up",
    title: "levels did not start slower or faster than the rest",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    if level.counts.ok < ANSWERS_MIN || level.is_changing() {
        return AtLevel::NotApplicable;
    }
    let Some(head) = level.warming else { return AtLevel::Silent };
    // The first requests meet the shortest queue.
    if !head.is_cold() && overload::falls_behind(context, level) {
        return AtLevel::Silent;
    }
    let share = head.requests as f64 / level.counts.ok.max(1) as f64;
    let severity = if share > SHARE_MAX { Severity::Caution } else { Severity::Note };
    let is_open = matches!(level.load(), Some(Load::ReqPerS(_)));
    AtLevel::Fires(severity, words(&head, begins_together(level), is_open))
}

/// Whether several users sent their first requests at once, as in a closed loop.
fn begins_together(level: &LevelSummary) -> bool {
    level.asked.as_ref().is_some_and(|load| load.arrivals.is_none() && load.concurrency > 1)
}

fn words(head: &Warming, begins_together: bool, is_open: bool) -> String {
    let numbers = format!(
        "{} (geometric mean) was {} ms, then {} ms ({:.2} times)",
        head.metric,
        ms(head.head_ms() * NS_PER_MS),
        ms(head.rest_ms * NS_PER_MS),
        head.ratio
    );
    let requests = head.requests;
    let long = match head.seconds {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    };
    let together = match begins_together {
        true => ", or users who began together coincided again",
        false => "",
    };
    let idle = if is_open { "they met an idle server, or " } else { "" };
    match head.is_cold() {
        true => format!(
            "the first {requests} requests ({long}) were slower: their {numbers}; the \
             server may not have been warm (--warmup sends more requests first){together}; they \
             are excluded from the steady window but not from latencies, and may determine the P99; \
             measure longer to see"
        ),
        false => format!(
            "the level became slower after its first {requests} requests ({long}): their \
             {numbers}; the steady window begins after them, the latencies include them; \
             {idle}look for a machine that became hot or busy, or a cache that filled"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop, request};
    use crate::warning::testing::check;
    use ifm_core::Metric;

    /// Gives the first wave of two and the 20 requests after it another time to first token, ms; it
    /// is 100 for the rest of 120.
    fn head(ttft_ms: u64) -> impl Fn(&mut ifm_core::RunData) {
        move |run| {
            for record in run.requests.iter_mut().take(22) {
                record.events.at_ns[0] = record.start_ns + ttft_ms * MS;
            }
        }
    }

    #[test]
    fn fires_on_a_head_and_keeps_it_out_of_the_window() {
        check("warm_up", head(5), Severity::Caution, "became slower after its first 20 requests");
        let mut run = crate::warning::testing::sound_run();
        let before = crate::summarize(&run).levels[0].clone();
        head(5)(&mut run);
        let level = &crate::summarize(&run).levels[0];
        let head = level.warming.expect("a head");
        assert_eq!((head.requests, head.metric), (20, "TTFT"));
        assert!((head.ratio - 0.05).abs() < 1e-9, "{}", head.ratio);
        assert!((head.rest_ms - 100.0).abs() < 1e-9 && (head.head_ms() - 5.0).abs() < 1e-9);
        let (window, whole) =
            (level.steady.as_ref().expect("steady"), before.steady.expect("steady"));
        // Two users, ten requests each, of 250 ms.
        assert_eq!(window.window.start_ns, whole.window.start_ns + 10 * 250 * MS);
        assert_eq!(window.window.end_ns, whole.window.end_ns);
        let n = |level: &LevelSummary| level.latencies.get(Metric::Ttft).map(|ttft| ttft.n);
        assert_eq!(n(level), Some(118), "latencies keep all but the first wave");
    }

    #[test]
    fn only_a_slower_head_is_called_a_warm_up() {
        let with = |ratio| Warming {
            requests: 20,
            seconds: 2.5,
            end_ns: 0,
            metric: "TTFT",
            ratio,
            rest_ms: 100.0,
        };
        let (cold, fast) = (words(&with(3.0), true, false), words(&with(0.87), true, false));
        assert!(cold.contains("were slower") && cold.contains("was 300.0 ms, then 100.0 ms"));
        assert!(fast.contains("became slower") && !fast.contains("were slower"), "{fast}");
        assert!(fast.contains("was 87.0 ms, then 100.0 ms (0.87 times)"), "{fast}");
        // Only who began together can meet again.
        let alone = words(&with(3.0), false, false);
        assert!(cold.contains("began together") && !alone.contains("began together"), "{alone}");
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
