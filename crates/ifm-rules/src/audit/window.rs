//! The time that the rates of a row are over: not always the duration that its tool gives.
//!
//! Known of the tools' sources, and of files that hold both. Not here: what a rate counts
//! (`rule/own_arithmetic`).

use super::Cell;
use super::subject::slack;
use ifm_core::Metric;
use ifm_core::sheet::Statistic;

/// Tools whose rates are counts of what succeeded over the duration that they give.
const OVER_DURATION: [&str; 8] = [
    "vllm bench serve",
    "vllm bench serve, Rust client",
    "sglang.bench_serving",
    "sglang.bench_serving, Rust client",
    "TensorRT-LLM benchmark_serving",
    "genai-bench",
    "inference-perf",
    "oha",
];
/// Beginning of the versions of GuideLLM whose rates of tokens are over the same window as those
/// of requests.
const GUIDELLM: &str = "0.8.";

/// What the rates of a row are over.
pub(super) struct Over {
    /// Which statistic of a rate it is.
    pub rate: Statistic,
    /// The time; more than one where versions of the tool differ.
    pub spans: Vec<Span>,
}

/// A time, seconds, and how far the true one may lie from it.
pub(super) struct Span {
    pub seconds: f64,
    pub slack_s: f64,
}

/// What the rates of a row are over; absent where that is not known.
pub(super) fn over(cell: &Cell) -> Option<Over> {
    let given = || {
        let duration = cell.row.figure(Metric::Duration, Statistic::Value)?;
        let seconds = duration.canonical()? / 1e3;
        Some(Span { seconds, slack_s: slack(duration) / 1e3 })
    };
    let (rate, spans) = match cell.measured_by()? {
        "aiperf" => {
            (Statistic::Value, [Some(phase(cell)?), given()].into_iter().flatten().collect())
        }
        "guidellm" if is_uncut(cell) => (Statistic::Mean, vec![given()?]),
        tool if OVER_DURATION.contains(&tool) => (Statistic::Value, vec![given()?]),
        _ => return None,
    };
    let spans: Vec<Span> = spans;
    let is_positive = spans.iter().all(|span| span.seconds > 0.0);
    (is_positive && !spans.is_empty()).then_some(Over { rate, spans })
}

/// Whether GuideLLM measured from the first request to the end of the last: what began or ended
/// outside of its window is in its counts, and not in its rates.
pub(super) fn is_uncut(cell: &Cell) -> bool {
    let is_zero =
        |name: &str| cell.row.unknown.get(name).and_then(|value| value.as_f64()) == Some(0.0);
    let is_known =
        cell.sheet.source.tool_version.as_deref().is_some_and(|it| it.starts_with(GUIDELLM));
    let cut_off = cell.row.value(Metric::RequestsIncomplete, Statistic::Value);
    is_known && is_zero("warmup_duration") && is_zero("cooldown_duration") && cut_off == Some(0.0)
}

/// AIPerf's phase: from the order to send the first request to the end of the phase. What it gives
/// as its duration is shorter, from the first request to the last answer; former versions took
/// their rates over that.
fn phase(cell: &Cell) -> Option<Span> {
    let of = |name: &str| cell.row.unknown.get(name)?.as_str();
    // Stamps have microseconds.
    Some(Span { seconds: seconds_between(of("start_time")?, of("end_time")?)?, slack_s: 2e-6 })
}

/// Seconds from one stamp to another.
fn seconds_between(start: &str, end: &str) -> Option<f64> {
    let (first_day, from) = day_and_seconds(start)?;
    let (last_day, to) = day_and_seconds(end)?;
    Some((last_day - first_day) as f64 * 86_400.0 + (to - from))
}

/// The day of a timestamp such as `2026-11-20T11:20:34.463403`, counted from one long ago, and the
/// seconds of that day; a time zone is ignored.
fn day_and_seconds(stamp: &str) -> Option<(i64, f64)> {
    let (date, time) = stamp.split_once(['T', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let time = time.split(['Z', '+', '-']).next()?;
    let mut time = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    if !(1..=12).contains(&month) || !(0..=9999).contains(&year) {
        return None;
    }
    // A year begins with March here, so that the day that may be missing is its last one.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let before = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = before + (153 * month + 2) / 5 + day;
    Some((days, hours * 3600.0 + minutes * 60.0 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_as_far_apart_as_a_calendar_says() {
        for (from, to, seconds) in [
            ("2026-11-20T11:20:34.463403", "2026-11-20T11:20:34.946785", 0.483_382),
            ("2026-11-20T23:59:59", "2026-11-21T00:00:01", 2.0),
            ("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z", 2.0 * 86_400.0),
            ("2026-02-28T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 86_400.0),
            ("2025-12-31 12:00:00", "2026-01-01 12:00:00", 86_400.0),
        ] {
            let apart = seconds_between(from, to).unwrap();
            assert!((apart - seconds).abs() < 1e-6, "{from} {to}: {apart}");
        }
        for stamp in ["", "2026-11-20", "11:20:34", "2026-13-01T00:00:00", "2026-01-01Tnoon"] {
            assert_eq!(day_and_seconds(stamp), None, "{stamp}");
        }
    }
}
