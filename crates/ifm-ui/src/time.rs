//! Times for people, and the one clock of this crate.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970-01-01 UTC.
pub(crate) fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Date and minute of an RFC 3339 time, or of the id of a run or import; the text itself where it
/// is neither.
pub(crate) fn minute(text: &str) -> String {
    let is_rfc = text.len() >= 16 && text.as_bytes().get(10) == Some(&b'T');
    if let Some((date, time)) = text.get(..10).zip(text.get(11..16)).filter(|_| is_rfc) {
        return format!("{date} {time}");
    }
    let digits = |from: usize, to: usize| {
        text.get(from..to).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts = (digits(0, 4), digits(4, 6), digits(6, 8), digits(9, 11), digits(11, 13));
    match parts {
        (Some(year), Some(month), Some(day), Some(hour), Some(minute)) => {
            format!("{year}-{month}-{day} {hour}:{minute}")
        }
        _ => ifm_report::plain(text),
    }
}

/// `39 s`, `5 min 20 s`, `2 h 05 min`.
pub(crate) fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_runs_and_imports_read_alike() {
        assert_eq!(minute("2026-11-20T12:14:27Z"), "2026-11-20 12:14");
        assert_eq!(minute("20261120-121427-7f3a"), "2026-11-20 12:14");
        assert_eq!(minute("mine"), "mine");
        assert_eq!(minute("é026-11-20T12:14"), "é026-11-20T12:14");
        assert_eq!([0.4, 80.0, 7500.0].map(clock), ["0 s", "1 min 20 s", "2 h 05 min"]);
    }
}
