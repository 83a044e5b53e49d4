//! Heads of the columns of a table of results, which `export --as csv` writes and `import` reads.
//!
//! A header gives the quantity, statistic and unit of its column, and distinguishes figures from
//! factors, so that a table is read back without a map. Not here: the rows below.

use ifm_core::Metric;
use ifm_core::sheet::{Figure, Statistic, StdKind, Unit};

/// First columns of every table: the name of the row, and what was measured.
pub(crate) const FIRST: [&str; 2] = ["label", "kind"];
/// In front of a factor whose name could be that of another column.
pub(crate) const FACTOR: &str = "factor:";
/// In front of a figure that no plain name holds: then its quantity, and statistic and unit in
/// brackets; or all three as JSON, where these words could mean another.
pub(crate) const FIGURE: &str = "figure:";

/// The head of a factor's column.
pub(crate) fn head_of_factor(name: &str) -> String {
    let is_taken = FIRST.contains(&name)
        || name.starts_with(FACTOR)
        || name.starts_with(FIGURE)
        || figure_of_head(name).is_some();
    if is_taken { format!("{FACTOR}{name}") } else { name.to_owned() }
}

/// The head of a figure's column: its plain name where that reads back as the same.
pub(crate) fn head_of_figure(figure: &Figure) -> String {
    let meant = (figure.quantity, figure.statistic, figure.unit.clone());
    let reads_back = |name: &String| figure_of_head(name).as_ref() == Some(&meant);
    let plain = Some(column(figure)).filter(reads_back);
    let bracketed = || Some(format!("{FIGURE}{}", bracketed(figure))).filter(reads_back);
    plain
        .or_else(bracketed)
        .unwrap_or_else(|| format!("{FIGURE}{}", serde_json::to_string(&meant).unwrap_or_default()))
}

/// A figure in words: `time to connect (mean, ms)`.
fn bracketed(figure: &Figure) -> String {
    let quantity = figure.quantity.stored().to_owned();
    let statistic = match figure.statistic {
        Statistic::Value => "value".to_owned(),
        known => word_of_statistic(known).trim_start_matches('_').to_owned(),
    };
    let unit = match &figure.unit {
        Unit::Other(unit) => unit.clone(),
        known => word(known),
    };
    format!("{quantity} ({statistic}, {unit})")
}

/// What a figure in words is.
fn of_bracketed(text: &str) -> Option<(Metric, Statistic, Unit)> {
    let (quantity, rest) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (statistic, unit) = rest.split_once(", ")?;
    let known = STATISTICS.iter().find(|(word, _)| word.strip_prefix('_') == Some(statistic));
    let statistic = match (statistic, known) {
        ("value", _) => Statistic::Value,
        (_, Some((_, statistic))) => *statistic,
        (other, None) => Statistic::percentile(other.strip_prefix('p')?.parse().ok()?),
    };
    let quantity = named(quantity).unwrap_or_else(|| Metric::other(quantity));
    let unit = named(unit).unwrap_or_else(|| Unit::Other(unit.to_owned()));
    Some((quantity, statistic, unit))
}

/// What the column of a figure holds; absent for any other column.
pub(crate) fn figure_of_head(head: &str) -> Option<(Metric, Statistic, Unit)> {
    if let Some(rest) = head.strip_prefix(FIGURE) {
        return serde_json::from_str(rest).ok().or_else(|| of_bracketed(rest));
    }
    // The longest beginning that is a quantity: `input_tokens` before `input`.
    let ends = head.match_indices('_').map(|(at, _)| at).chain([head.len()]);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| {
        let quantity: Metric = named(head.get(..end)?)?;
        let rest = head.get(end..)?;
        let (statistic, unit) = statistic_and_unit(rest, quantity)?;
        Some((quantity, statistic, unit))
    })
}

/// Of `_p99_ms` the percentile and the milliseconds.
fn statistic_and_unit(rest: &str, quantity: Metric) -> Option<(Statistic, Unit)> {
    let plain = match quantity {
        Metric::Efficiency | Metric::ErrorRate | Metric::Attainment => Unit::One,
        Metric::Sparsity | Metric::Ratio => Unit::One,
        Metric::LevelRtfx | Metric::Rtfx | Metric::Rtf => Unit::One,
        _ => Unit::Count,
    };
    let unit = |rest: &str| match rest {
        "" => Some(plain.clone()),
        rest => named::<Unit>(rest.strip_prefix('_')?),
    };
    if rest == "_count" {
        return Some((Statistic::Count, Unit::Count));
    }
    if let Some(unit) = unit(rest) {
        return Some((Statistic::Value, unit));
    }
    let mut with_unit = STATISTICS.iter().filter(|(_, statistic)| *statistic != Statistic::Count);
    let known =
        with_unit.find_map(|(word, statistic)| Some((*statistic, unit(rest.strip_prefix(word)?)?)));
    known.or_else(|| {
        let digits = rest.strip_prefix("_p")?;
        let end = digits.find('_').unwrap_or(digits.len());
        let percent: f64 = digits.get(..end)?.parse().ok()?;
        Some((Statistic::percentile(percent), unit(digits.get(end..)?)?))
    })
}

/// Statistics and their words, longer ones first.
const STATISTICS: [(&str, Statistic); 11] = [
    ("_std_unknown", Statistic::Std(StdKind::Unknown)),
    ("_std_population", Statistic::Std(StdKind::Population)),
    ("_std", Statistic::Std(StdKind::Sample)),
    ("_half_width", Statistic::HalfWidth),
    ("_mean", Statistic::Mean),
    ("_p50", Statistic::Median),
    ("_min", Statistic::Min),
    ("_max", Statistic::Max),
    ("_sum", Statistic::Sum),
    ("_count", Statistic::Count),
    ("", Statistic::Value),
];

/// A quantity or unit by its stored word.
fn named<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::from(word)).ok()
}

/// The name of a figure's column, `ttft_p99_ms`: quantity, statistic, unit.
pub fn column(figure: &Figure) -> String {
    let quantity = figure.quantity.stored().to_owned();
    let statistic = match figure.statistic {
        Statistic::Std(StdKind::Unknown) => "_std".to_owned(),
        known => word_of_statistic(known),
    };
    let unit = match (&figure.unit, figure.statistic) {
        (Unit::Count | Unit::One, _) | (_, Statistic::Count) => String::new(),
        (Unit::Other(unit), _) => format!("_{unit}"),
        (unit, _) => format!("_{}", word(unit)),
    };
    format!("{quantity}{statistic}{unit}")
}

/// A statistic as it is written in the name of a column, with a leading `_`; empty for a value.
fn word_of_statistic(statistic: Statistic) -> String {
    match statistic {
        Statistic::Percentile(p) => format!("_p{p}"),
        known => {
            let found = STATISTICS.iter().find(|(_, statistic)| *statistic == known);
            found.map_or(String::new(), |(word, _)| (*word).to_owned())
        }
    }
}

/// The stored word of a quantity or unit.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a figure, and that it means the same figure.
    fn head(quantity: Metric, statistic: Statistic, unit: Unit) -> String {
        let head = head_of_figure(&Figure::new(quantity, statistic, 1.0, unit.clone()));
        assert_eq!(figure_of_head(&head), Some((quantity, statistic, unit)), "{head}");
        head
    }

    #[test]
    fn heads_are_words_and_mean_what_they_were_made_of() {
        let other = |name: &str| Metric::other(name);
        let unknown = Statistic::Std(StdKind::Unknown);
        for (quantity, statistic, unit, expected) in [
            (Metric::Ttft, Statistic::Percentile(99.0), Unit::Ms, "ttft_p99_ms"),
            (Metric::Ttft, Statistic::Count, Unit::Count, "ttft_count"),
            (Metric::ErrorRate, Statistic::Count, Unit::Count, "error_rate_count"),
            (Metric::InputTokens, Statistic::Value, Unit::Count, "input_tokens"),
            (Metric::Ttft, unknown, Unit::Ms, "figure:ttft (std_unknown, ms)"),
            (Metric::ErrorRate, Statistic::Mean, Unit::Count, "figure:error_rate (mean, count)"),
            (other("time (all)"), Statistic::Mean, Unit::Ms, "figure:time (all) (mean, ms)"),
            (other("hits"), Statistic::Percentile(99.9), Unit::Count, "figure:hits (p99.9, count)"),
            (
                other("speed"),
                Statistic::Value,
                Unit::Other("tokens/s, user".to_owned()),
                "figure:speed (value, tokens/s, user)",
            ),
            // Words that would mean another: a name of ours, and a unit of ours.
            (
                other("ttft"),
                Statistic::Mean,
                Unit::Ms,
                "figure:[{\"other\":\"ttft\"},\"mean\",\"ms\"]",
            ),
        ] {
            assert_eq!(head(quantity, statistic, unit), expected);
        }
        assert_eq!(figure_of_head("ttft_count_ms"), None);
        assert_eq!(figure_of_head("figure:ttft"), None);
        // As it was written before.
        let before = Some((Metric::Ttft, Statistic::Count, Unit::Count));
        assert_eq!(figure_of_head("figure:[\"ttft\",\"count\",\"count\"]"), before);
    }
}
