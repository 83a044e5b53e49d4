//! Units as tools write them beside a number or behind a name.

use ifm_core::sheet::Unit;

/// The unit of a word such as `ms`, `tokens/sec`, `%`; absent for a word that is none.
pub(crate) fn unit(word: &str) -> Option<Unit> {
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "ns" | "nanoseconds" => Unit::Ns,
        "us" | "µs" | "microseconds" => Unit::Us,
        "ms" | "msec" | "milliseconds" => Unit::Ms,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::S,
        "min" | "minutes" => Unit::Min,
        "h" | "hours" => Unit::H,
        "tokens/sec" | "tokens/s" | "token/s" | "tok/s" | "tok/sec" | "requests/sec"
        | "requests/s" | "req/s" | "per sec" | "per second" | "tokens/sec/user" | "tps" | "rps" => {
            Unit::PerS
        }
        "requests/min" | "per minute" => Unit::PerMin,
        "tokens" | "requests" | "count" | "token" | "request" => Unit::Count,
        "ratio" => Unit::One,
        "%" | "percent" => Unit::Percent,
        "w" | "watts" | "watt" => Unit::W,
        "j" | "joules" => Unit::J,
        "gb" => Unit::Gb,
        "mib" => Unit::MiB,
        "gib" => Unit::GiB,
        "bytes" | "b" => Unit::Bytes,
        other @ ("kb" | "mj" | "mhz" | "c" | "°c" | "celsius" | "usd" | "tokens/sec/w") => {
            Unit::Other(other.to_owned())
        }
        _ => return None,
    })
}

/// A name and the unit in the last parentheses behind it: `Time to First Token (ms)`.
pub(crate) fn split(name: &str) -> (&str, Option<Unit>) {
    let found = name.trim().strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match found.and_then(|(name, word)| Some((name.trim(), unit(word)?))) {
        Some((name, unit)) => (name, Some(unit)),
        None => (name.trim(), None),
    }
}

/// A printed number and the unit behind it: `30.10 req/s`, `0.00%`, `1,573.89`.
pub(crate) fn printed(cell: &str) -> Option<(f64, &str, Option<Unit>)> {
    let cell = cell.trim();
    let end = cell
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+')))
        .unwrap_or(cell.len());
    let (number, rest) = cell.split_at(end);
    let value = number.replace(',', "").parse().ok()?;
    match rest.trim() {
        "" => Some((value, number, None)),
        rest => Some((value, number, Some(unit(rest)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_cells_are_taken_apart() {
        assert_eq!(split("Time to First Token (ms)"), ("Time to First Token", Some(Unit::Ms)));
        assert_eq!(split("Completed Requests (Success + Error)").1, None);
        assert_eq!(split("Effective Latency (CO-aware) (ms)").0, "Effective Latency (CO-aware)");
        assert_eq!(printed("30.10 req/s"), Some((30.1, "30.10", Some(Unit::PerS))));
        assert_eq!(printed("0.00%"), Some((0.0, "0.00", Some(Unit::Percent))));
        assert_eq!(printed("1,573.89"), Some((1573.89, "1,573.89", None)));
        assert_eq!((printed("N/A"), printed("7/7"), printed("--")), (None, None, None));
    }
}
