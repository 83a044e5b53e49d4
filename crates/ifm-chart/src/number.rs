//! Numbers as few letters as a tick or a tooltip needs.
//!
//! At most three significant digits, SI letters above 9999, exponents where nothing else is short.
//! What is not here: the numbers of tables, which a caller prints, and exact figures
//! ([`crate::table`]).

/// SI letters by powers of 1000.
const LETTERS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
/// From here on numbers get a letter: 1000 to 9999 are read as easily in full.
const LETTERED: f64 = 1e4;
/// Numbers beyond these are written with exponents.
const LARGEST: f64 = 1e15;
const SMALLEST: f64 = 1e-3;

/// A number with at most three significant digits; whole numbers up to 9999 in full.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(SMALLEST..LARGEST).contains(&size) {
        let text = format!("{value:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return minus(&format!("{}e{exponent}", trim(mantissa)));
    }
    if size >= LETTERED {
        let (unit, letter) =
            LETTERS.into_iter().find(|(unit, _)| size >= *unit).unwrap_or((1.0, ""));
        return minus(&(digits(value / unit) + letter));
    }
    if value.fract() == 0.0 {
        return minus(&format!("{value}"));
    }
    minus(&digits(value))
}

/// Three significant digits without zeros at the end.
fn digits(value: f64) -> String {
    let size = value.abs().max(f64::MIN_POSITIVE);
    // The decimals that leave three digits: 0.0123 has four, 12.3 has one.
    let decimals = (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    trim(&rounded(value, decimals))
}

/// A number with `decimals` decimals, halves rounded away from zero as people expect: 172.5 becomes
/// 173 and 2.675 becomes 2.68, although 172 is the even neighbor and 2.675 is slightly lower as a binary
/// number. Only the first 15 digits of a number count; the rest of an `f64` is rounding error of
/// arithmetic. Infinity and NaN are written as Rust writes them.
pub fn rounded(value: f64, decimals: usize) -> String {
    const DIGITS: usize = 15;
    if !value.is_finite() {
        return format!("{value}");
    }
    let text = format!("{:.*e}", DIGITS - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    // Digits before the point; negative where zeros follow it first.
    let mut whole = exponent.parse::<isize>().unwrap_or(0) + 1;
    if whole < 1 {
        digits.splice(0..0, std::iter::repeat_n(b'0', whole.unsigned_abs() + 1));
        whole = 1;
    }
    let kept = whole.unsigned_abs() + decimals;
    let is_up = digits.get(kept).is_some_and(|digit| *digit >= b'5');
    digits.resize(kept, b'0');
    if is_up && carry(&mut digits) {
        whole += 1;
    }
    let is_zero = digits.iter().all(|digit| *digit == b'0');
    let mut out = String::from(if value < 0.0 && !is_zero { "-" } else { "" });
    let (before, behind) = digits.split_at(whole.unsigned_abs());
    out.extend(before.iter().map(|digit| char::from(*digit)));
    if !behind.is_empty() {
        out.push('.');
        out.extend(behind.iter().map(|digit| char::from(*digit)));
    }
    out
}

/// Adds one to the last of some digits; whether there is one digit more now.
fn carry(digits: &mut Vec<u8>) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return false;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
    true
}

/// Numbers of one axis: the same letter and the same decimals for all.
pub(crate) fn even(values: &[f64], step: f64) -> Vec<String> {
    let most = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    if most == 0.0 || !(SMALLEST..LARGEST).contains(&most) {
        return values.iter().map(|value| short(*value)).collect();
    }
    let (unit, letter) = LETTERS
        .into_iter()
        .find(|(unit, _)| most >= LETTERED && most >= *unit)
        .unwrap_or((1.0, ""));
    let decimals = decimals_of(step / unit);
    let write = |value: &f64| {
        if *value == 0.0 {
            return "0".to_owned();
        }
        minus(&(rounded(value / unit, decimals) + letter))
    };
    values.iter().map(write).collect()
}

/// Decimals needed to distinguish multiples of a step.
fn decimals_of(step: f64) -> usize {
    let is_whole = |power: i32| {
        let scaled = step * 10_f64.powi(power);
        (scaled - scaled.round()).abs() < 1e-6 && scaled.round() != 0.0
    };
    (0..8).find(|power| is_whole(*power)).unwrap_or(3) as usize
}

fn trim(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// A true minus sign.
fn minus(text: &str) -> String {
    text.strip_prefix('-').map_or_else(|| text.to_owned(), |rest| format!("−{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_letters() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (172.47, "172"),
            (172.5, "173"),
            (14.25, "14.3"),
            (1024.0, "1024"),
            (12_400.0, "12.4k"),
            (2.5e6, "2.5M"),
            (-3.0, "−3"),
            (1e300, "1e300"),
            (1.5e300, "1.5e300"),
            (1e-300, "1e-300"),
            (0.0123, "0.0123"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn halves_go_away_from_zero_as_they_are_read() {
        let cases = [
            (172.5, 0, "173"),
            (-172.5, 0, "-173"),
            (173.5, 0, "174"),
            (2.675, 2, "2.68"),
            (1.005, 2, "1.01"),
            (0.145 * 100.0, 0, "15"),
            (0.145, 2, "0.15"),
            (0.5, 0, "1"),
            (0.49, 0, "0"),
            (-0.004, 2, "0.00"),
            (0.004, 1, "0.0"),
            (0.0, 2, "0.00"),
            (9.995, 2, "10.00"),
            (999.5, 0, "1000"),
            (0.000_123_45, 7, "0.0001235"),
            (12.0, 3, "12.000"),
            (1e21, 1, "1000000000000000000000.0"),
            (5e-324, 3, "0.000"),
            (f64::NAN, 1, "NaN"),
        ];
        for (value, decimals, text) in cases {
            assert_eq!(rounded(value, decimals), text, "{value}");
        }
    }

    #[test]
    fn one_axis_has_one_letter() {
        let texts = even(&[0.0, 5_000.0, 10_000.0, 15_000.0], 5_000.0);
        assert_eq!(texts, ["0", "5k", "10k", "15k"]);
        assert_eq!(even(&[0.0, 0.25, 0.5], 0.25), ["0", "0.25", "0.50"]);
        assert_eq!(even(&[0.0, 2.5e6, 5e6], 2.5e6), ["0", "2.5M", "5.0M"]);
    }
}
