//! Numbers as they are shown while a run goes on, with their units. Three digits are enough here;
//! the result has more.

/// A time in nanoseconds: milliseconds below one second, seconds above.
pub fn span(ns: f64) -> String {
    let ms = ns / 1e6;
    if ms >= 999.5 { format!("{} s", number(ms / 1e3)) } else { format!("{} ms", number(ms)) }
}

/// A number with three digits; whole, with a space between thousands, above 100.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    match value.abs() {
        size if size >= 999_999_500.0 => format!("{value:.2e}"),
        size if size >= 99.95 => count(value.round().max(0.0) as u64),
        size if size >= 9.995 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// A whole number in groups of three digits.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Bytes in millions: `0.42 MB`.
pub fn megabytes(bytes: u64) -> String {
    format!("{} MB", number(bytes as f64 / 1e6))
}

/// A number of seconds that is an estimate or a clock: `39 s`, `5 min 20 s`, `2 h 05 min`.
pub fn seconds(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// A share of 0 to 1 in percent. 100 only where all is done.
pub fn percent(share: f64) -> String {
    let whole = (share * 100.0).round();
    let shown = if share < 1.0 { whole.min(99.0) } else { whole };
    format!("{shown:.0}%")
}

/// A bar of this many cells, of which a share of 0 to 1 is full.
pub fn bar(share: f64, cells: usize, ascii: bool) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    let (full, rest) = if ascii { ((eighths + 4) / 8, 0) } else { (eighths / 8, eighths % 8) };
    let full = full.min(cells);
    let mut bar = (if ascii { "#" } else { "█" }).repeat(full);
    if full < cells && rest > 0 {
        bar.push(EIGHTHS[rest]);
    }
    let empty = cells - full - usize::from(full < cells && rest > 0);
    bar + &(if ascii { "." } else { "·" }).repeat(empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_a_unit() {
        assert_eq!([0.0, 1.234, 12.34, 123.4].map(number), ["0", "1.23", "12.3", "123"]);
        assert_eq!([1234.5, 9.999e5].map(number), ["1 235", "999 900"]);
        assert_eq!(number(f64::NAN), "-");
        assert_eq!([41.2e6, 1.5e9, 0.02e6].map(span), ["41.2 ms", "1.50 s", "0.02 ms"]);
        let times = [0.4, 39.0, 320.0, 7500.0].map(seconds);
        assert_eq!(times, ["0 s", "39 s", "5 min 20 s", "2 h 05 min"]);
        assert_eq!([0.0, 0.712, 0.999, 1.0].map(percent), ["0%", "71%", "99%", "100%"]);
    }

    #[test]
    fn a_bar_has_its_length_whatever_the_share() {
        for share in [-1.0, 0.0, 0.01, 0.5, 0.99, 1.0, 2.0, f64::NAN] {
            for ascii in [false, true] {
                assert_eq!(bar(share, 9, ascii).chars().count(), 9, "{share}");
            }
        }
        assert_eq!((bar(0.5, 4, true), bar(0.5, 3, false)), ("##..".into(), "█▌·".into()));
    }
}
