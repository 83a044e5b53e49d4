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
    trim(&format!("{value:.decimals$}"))
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
        minus(&format!("{:.decimals$}{letter}", value / unit))
    };
    values.iter().map(write).collect()
}

/// Decimals that tell multiples of a step apart.
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
            (14.25, "14.2"),
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
    fn one_axis_has_one_letter() {
        let texts = even(&[0.0, 5_000.0, 10_000.0, 15_000.0], 5_000.0);
        assert_eq!(texts, ["0", "5k", "10k", "15k"]);
        assert_eq!(even(&[0.0, 0.25, 0.5], 0.25), ["0", "0.25", "0.50"]);
        assert_eq!(even(&[0.0, 2.5e6, 5e6], 2.5e6), ["0", "2.5M", "5.0M"]);
    }
}
