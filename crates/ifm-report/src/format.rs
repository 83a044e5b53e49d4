//! How numbers are written for people: three or four digits and a unit.
//!
//! Time is in nanoseconds until it comes here. What is not here: numbers for programs, which keep
//! all digits and have their unit in the name of the field.

use ifm_chart::rounded;
use ifm_core::delimited::is_direction_mark;
use ifm_core::words::plural;
use ifm_metrics::stat::Percentile;
use ifm_rules::insight::{Meant, Piece, Sentence};

const NS_PER_MS: f64 = 1e6;
const BYTES_PER_GB: f64 = 1e9;
const FLOP_PER_TFLOP: f64 = 1e12;
const FLOP_PER_GFLOP: f64 = 1e9;
const MS_PER_S: f64 = 1e3;
const US_PER_MS: f64 = 1e3;
/// Shown where a number is not known.
pub const ABSENT: &str = "–";
/// Between groups of three digits: narrow, and no line ends there. A terminal gets a space.
pub(crate) const THOUSANDS: char = '\u{202F}';

/// A whole number in groups of three digits.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(THOUSANDS);
        }
        grouped.push(digit);
    }
    grouped
}

/// A positive number with three digits, four above 1000, then `k`, `M`, `G`; by powers of ten where
/// three places show nothing of it, and where it is too large for these.
pub fn number(value: f64) -> String {
    const SMALLEST: f64 = 0.000_5;
    const LARGEST: f64 = 1e15;
    let size = value.abs();
    if !value.is_finite() {
        ABSENT.to_owned()
    } else if size >= LARGEST || size > 0.0 && size < SMALLEST {
        format!("{value:.1e}")
    } else if size >= 999_950.0 * 1e3 {
        format!("{}G", decimals(value / 1e9))
    } else if size >= 999_950.0 {
        format!("{}M", decimals(value / 1e6))
    } else if size >= 99_999.5 {
        format!("{}k", decimals(value / 1e3))
    } else if value >= 999.5 {
        count(whole(value))
    } else {
        decimals(value)
    }
}

/// The nearest whole number, halves upwards.
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

/// Up to three digits.
fn decimals(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        _ if size >= 99.95 || size == 0.0 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.0995 => 2,
        _ => 3,
    };
    rounded(value, places)
}

/// A time in milliseconds below one second, in seconds above.
pub fn span(ns: f64) -> String {
    span_ms(ns / NS_PER_MS)
}

fn span_ms(ms: f64) -> String {
    /// Below it, two places of milliseconds show less than two digits.
    const SMALLEST_MS: f64 = 0.099_5;
    match ms.abs() {
        size if size >= 999.5 => format!("{} s", number(ms / MS_PER_S)),
        size if size >= SMALLEST_MS || size == 0.0 => format!("{} ms", number(ms)),
        _ => format!("{} µs", number(ms * US_PER_MS)),
    }
}

/// The unit of the times of one chart, of its axis and of the labels next to its points: labels in
/// several units would have to be converted before they can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Ms,
    S,
}

impl TimeUnit {
    /// The unit for times up to `largest_ms`: seconds where milliseconds would need five digits.
    pub(crate) fn up_to(largest_ms: f64) -> TimeUnit {
        if largest_ms >= 9_999.5 { TimeUnit::S } else { TimeUnit::Ms }
    }

    /// The name on the axis.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        }
    }

    /// A time in milliseconds, in this unit.
    pub(crate) fn place(self, ms: f64) -> f64 {
        match self {
            TimeUnit::Ms => ms,
            TimeUnit::S => ms / MS_PER_S,
        }
    }

    /// A time in milliseconds, as a label.
    pub(crate) fn text(self, ms: f64) -> String {
        format!("{} {}", number(self.place(ms)), self.name())
    }
}

/// A measured time with its spread, both in the unit that gives three digits: `5.39 ± 0.12 ms`,
/// `0.43 ± 0.66 µs`.
pub fn time(ms: f64, spread_ms: Option<f64>) -> String {
    let (unit, scale) = match ms.abs() {
        size if size >= 999.5 => ("s", 1.0 / MS_PER_S),
        size if size >= 0.999_5 || size == 0.0 => ("ms", 1.0),
        _ => ("µs", US_PER_MS),
    };
    match spread_ms {
        Some(spread) => format!("{} {unit}", with_spread(ms * scale, spread * scale)),
        None => format!("{} {unit}", number(ms * scale)),
    }
}

/// An arithmetic rate.
pub fn flop_per_s(rate: f64) -> String {
    meant(rate, Meant::FlopPerS)
}

/// A rate of transfer.
pub fn bytes_per_s(rate: f64) -> String {
    meant(rate, Meant::BytesPerS)
}

/// A share in percent. Shows 100 and 0 only if all or nothing is meant.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if share > 0.0 && value < 0.1 {
        "<0.1%".to_owned()
    } else if share < 1.0 && value > 99.9 {
        ">99.9%".to_owned()
    } else if value == value.round() || value.abs() >= 9.95 && !(99.0..100.0).contains(&value) {
        format!("{}%", rounded(value, 0))
    } else {
        format!("{}%", rounded(value, 1))
    }
}

/// A change with its sign, in percent: `+9.7 %`, `−15 %`.
pub(crate) fn change(share: f64) -> String {
    let percent = share * 100.0;
    let places = if percent.abs() >= 9.95 { 0 } else { 1 };
    let digits = rounded(percent.abs(), places);
    let sign = match () {
        () if digits.chars().all(|c| c == '0' || c == '.') => "",
        () if percent < 0.0 => "−",
        () => "+",
    };
    format!("{sign}{digits} %")
}

/// A number with its deviation, both with as many places: `0.95 ± 0.01`, `0.46 ± <0.01`.
pub(crate) fn with_spread(value: f64, deviation: f64) -> String {
    let text = number(value);
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    let smallest = 0.1f64.powi(i32::try_from(places).unwrap_or(0));
    match deviation > 0.0 && deviation < smallest / 2.0 {
        true => format!("{text} ± <{}", rounded(smallest, places)),
        false => format!("{text} ± {}", rounded(deviation, places)),
    }
}

/// A number with its noun: `1 user`, `2 users`.
pub(crate) fn meant_of(value: f64, kind: Meant, noun: &str) -> String {
    format!("{} {}", meant(value, kind), plural(if value == 1.0 { 1 } else { 2 }, noun))
}

/// A price in US dollars: two places, four below ten cents.
pub fn usd(value: f64) -> String {
    meant(value, Meant::Usd)
}

/// A number in a sentence or chart, with its unit.
pub(crate) fn meant(value: f64, meant: Meant) -> String {
    match meant {
        Meant::Ms => span_ms(value),
        Meant::LimitMs => limit(value),
        Meant::TokPerS => format!("{} tok/s", number(value)),
        Meant::ReqPerS => format!("{} req/s", number(value)),
        Meant::Times => format!("{}×", number(value)),
        Meant::Share => percent(value),
        Meant::Change => change(value),
        Meant::Count => count(whole(value)),
        Meant::TokPerH => format!("{} tokens/hour", number(value)),
        Meant::Usd if value < 0.1 => format!("${}", rounded(value, 4)),
        Meant::Usd => format!("${}", rounded(value, 2)),
        Meant::W => format!("{} W", number(value)),
        Meant::J => format!("{} J", number(value)),
        Meant::Bytes => bytes(value.max(0.0) as u64),
        Meant::BytesPerS => format!("{} GB/s", number(value / BYTES_PER_GB)),
        Meant::FlopPerS if value < FLOP_PER_TFLOP => {
            format!("{} GFLOPS", number(value / FLOP_PER_GFLOP))
        }
        Meant::FlopPerS => format!("{} TFLOPS", number(value / FLOP_PER_TFLOP)),
        Meant::Load if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        Meant::Load | Meant::Plain => number(value),
    }
}

/// A sentence with its numbers.
pub(crate) fn sentence(sentence: &Sentence) -> String {
    let word = |piece: &Piece| match piece {
        Piece::Text(text) => plain(text),
        Piece::Number(value, how) => meant(*value, *how),
    };
    sentence.pieces().iter().map(word).collect()
}

/// A limit as the user wrote it, in milliseconds or seconds, without rounding.
pub(crate) fn limit(ms: f64) -> String {
    if ms >= MS_PER_S { format!("{} s", ms / MS_PER_S) } else { format!("{ms} ms") }
}

/// Bytes in powers of 1024.
pub fn bytes(value: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = value as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(size), units.get(unit).copied().unwrap_or("B"))
}

/// Text from a server or a user without control characters, so that it cannot steer a terminal,
/// and of bounded length.
pub fn plain(text: &str) -> String {
    const LENGTH_MAX: usize = 300;
    bounded(text, LENGTH_MAX)
}

/// A paragraph of this program that quotes others, without control characters: whole, since it is
/// wrapped where it is shown.
pub(crate) fn paragraph(text: &str) -> String {
    const LENGTH_MAX: usize = 20_000;
    bounded(text, LENGTH_MAX)
}

fn bounded(text: &str, length_max: usize) -> String {
    let mut bounded: String = text.chars().take(length_max).map(harmless).collect();
    if text.chars().nth(length_max).is_some() {
        bounded.push('…');
    }
    bounded
}

/// The character, unless it could steer a terminal.
pub fn harmless(c: char) -> char {
    if c.is_control() || is_direction_mark(c) { '?' } else { c }
}

/// A command line as it can be given to a shell again: words that a shell would take apart are
/// quoted (POSIX single quotes).
pub fn command_line(words: &[String]) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            let word = plain(word);
            if !word.is_empty() && word.chars().all(is_safe) {
                word
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// With plain spaces inside numbers, so that what a terminal shows can be searched for.
pub(crate) fn spaced(text: &str) -> String {
    text.replace(THOUSANDS, " ")
}

/// The signs of this program in ASCII; other characters outside ASCII become `?`.
pub fn ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '●' => ascii.push('*'),
            '◀' => ascii.push('<'),
            '✓' => ascii.push_str("ok"),
            '⚠' => ascii.push('!'),
            '✗' => ascii.push('x'),
            '·' => ascii.push('|'),
            '–' => ascii.push('-'),
            '→' => ascii.push_str("->"),
            '≤' => ascii.push_str("<="),
            '≥' => ascii.push_str(">="),
            '…' => ascii.push_str("..."),
            '±' => ascii.push_str("+/-"),
            '−' => ascii.push('-'),
            '×' => ascii.push('x'),
            '≈' => ascii.push('~'),
            '⇒' => ascii.push_str("=>"),
            'µ' | 'μ' => ascii.push('u'),
            '█' => ascii.push('#'),
            '░' => ascii.push(':'),
            '│' => ascii.push('|'),
            '─' => ascii.push('-'),
            '‘' | '’' => ascii.push('\''),
            '“' | '”' => ascii.push('"'),
            THOUSANDS | '\u{A0}' => ascii.push(' '),
            c if c.is_ascii() => ascii.push(c),
            _ => ascii.push('?'),
        }
    }
    ascii
}

/// The interval of a capacity, as comparisons write it; empty where neither end is known.
pub(crate) fn capacity_interval(answer: &ifm_metrics::answer::UsersAnswer) -> String {
    let end = |at: Option<ifm_metrics::level::Load>| match at {
        None => "–".to_owned(),
        Some(ifm_metrics::level::Load::Users(users)) => users.to_string(),
        Some(ifm_metrics::level::Load::ReqPerS(rate)) => number(rate),
    };
    let [low, high] = [answer.low, answer.high].map(end);
    if low == high && answer.low.is_none() {
        String::new()
    } else {
        format!(", interval [{low}, {high}]")
    }
}

/// A percentile as a time, with `~` where it is based on too few values.
pub(crate) fn marked_span(percentile: &Percentile) -> String {
    format!("{}{}", if percentile.enough { "" } else { "~" }, span(percentile.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_digits_in_the_unit_of_its_size() {
        assert_eq!(time(4.3e-4, Some(6.6e-4)), "0.43 ± 0.66 µs");
        assert_eq!(time(0.199_9, Some(0.019_46)), "200 ± 19 µs");
        assert_eq!(time(5.39, Some(0.12)), "5.39 ± 0.12 ms");
        assert_eq!(time(4.99, None), "4.99 ms");
        assert_eq!(time(1234.0, Some(12.0)), "1.23 ± 0.01 s");
        assert_eq!(span(1_200.0), "1.20 µs");
        assert_eq!(span(320_000.0), "0.32 ms");
    }

    #[test]
    fn a_deviation_has_the_places_of_its_number() {
        assert_eq!(with_spread(0.4649, 0.00038), "0.46 ± <0.01");
        assert_eq!(with_spread(0.949, 0.014), "0.95 ± 0.01");
        assert_eq!(with_spread(45.6, 21.22), "45.6 ± 21.2");
        assert_eq!(with_spread(279.0, 0.0), "279 ± 0");
    }

    #[test]
    fn numbers_keep_three_or_four_digits() {
        let check = |value: f64, expect: &str| assert_eq!(number(value), expect, "{value}");
        check(0.0, "0");
        check(0.0123, "0.012");
        check(0.999, "1.00");
        check(3.456, "3.46");
        check(9.996, "10.0");
        check(42.04, "42.0");
        check(99.96, "100");
        check(158.4, "158");
        check(172.5, "173");
        check(12.25, "12.3");
        check(1.005, "1.01");
        check(999.6, "1\u{202F}000");
        check(2352.4, "2\u{202F}352");
        check(2352.5, "2\u{202F}353");
        check(99_999.0, "99\u{202F}999");
        check(123_456.0, "123k");
        check(999_960.0, "1.00M");
        check(8_467_200.0, "8.47M");
        check(2.5e9, "2.50G");
        check(0.000_6, "0.001");
        check(0.000_021, "2.1e-5");
        check(-1e300, "-1.0e300");
        check(f64::NAN, ABSENT);
    }

    #[test]
    fn times_change_unit_at_one_second() {
        let check = |ms: f64, expect: &str| assert_eq!(span(ms * 1e6), expect, "{ms}");
        check(0.41, "0.41 ms");
        check(6.34, "6.34 ms");
        check(91.04, "91.0 ms");
        check(410.4, "410 ms");
        check(999.6, "1.00 s");
        check(1150.0, "1.15 s");
        check(75_000.0, "75.0 s");
    }

    #[test]
    fn shares_never_round_to_all_or_nothing() {
        let check = |share: f64, expect: &str| assert_eq!(percent(share), expect, "{share}");
        check(1.0, "100%");
        check(0.0, "0%");
        check(0.9995, ">99.9%");
        check(0.999, "99.9%");
        check(0.869, "87%");
        check(0.042, "4.2%");
        check(0.0001, "<0.1%");
        check(0.125, "13%");
        check(0.145, "15%");
        check(0.0425, "4.3%");
    }

    #[test]
    fn halves_go_away_from_zero_in_every_unit() {
        let check = |value: f64, how: Meant, expect: &str| assert_eq!(meant(value, how), expect);
        check(172.5, Meant::TokPerS, "173 tok/s");
        check(2.675, Meant::Ms, "2.68 ms");
        check(1005.0, Meant::Ms, "1.01 s");
        check(-0.145, Meant::Change, "−15 %");
        check(0.0235, Meant::Change, "+2.4 %");
        check(0.125, Meant::Usd, "$0.13");
        check(0.012_25, Meant::Usd, "$0.0123");
        check(2.5, Meant::Count, "3");
    }

    #[test]
    fn counts_limits_and_bytes() {
        assert_eq!(
            (count(0), count(999), count(1_234_567)),
            ("0".into(), "999".into(), "1\u{202F}234\u{202F}567".into())
        );
        assert_eq!(
            (limit(500.0), limit(1500.0), limit(0.9)),
            ("500 ms".into(), "1.5 s".into(), "0.9 ms".into())
        );
        assert_eq!((bytes(512), bytes(8 << 30)), ("512 B".into(), "8.00 GiB".into()));
    }

    #[test]
    fn foreign_text_cannot_steer_a_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\n\u{202E}c"), "a?[2Jb??c");
        let words = ["a", "--slo", "ttft:p99<500ms", "it's", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r"a --slo 'ttft:p99<500ms' 'it'\''s' ''");
        assert_eq!(plain(&"x".repeat(400)).chars().count(), 301);
        assert_eq!(ascii("● 5 ✓ ≤ 3 → é"), "* 5 ok <= 3 -> ?");
        assert_eq!((ascii(&count(1_234)), spaced(&count(1_234))), ("1 234".into(), "1 234".into()));
    }
}
