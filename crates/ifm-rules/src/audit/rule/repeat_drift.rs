//! A large deviation of an engine benchmark is a drift: fast at first, slow when hot or at the
//! power limit.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic, StdKind, key};

pub(super) const RULE: Rule =
    Rule { id: "repeat_drift", title: "repeats of an engine scatter around one speed", look };

/// Share of the mean from which on a deviation is not chance. An engine alone on its machine
/// repeats itself within 1 %.
const SHARE: f64 = 0.05;
/// Default number of repeats of llama-bench.
const REPEATS: f64 = 5.0;
/// Share within which a reconstructed first repeat is another row's speed.
const SAME: f64 = 0.03;

struct Wide<'c> {
    cell: &'c Cell<'c>,
    mean: f64,
    std: f64,
}

impl Wide<'_> {
    /// Speeds of the first and of the other repeats, if one was fast and the others equal: the
    /// deviation of a sample is then their difference over the root of the number.
    fn first_and_rest(&self) -> (f64, f64) {
        let rest = self.mean - self.std / REPEATS.sqrt();
        (rest + self.std * REPEATS.sqrt(), rest)
    }
}

fn look(subject: &Subject) -> Looked {
    let rows: Vec<Wide> = subject.cells(RowRole::Measured).filter_map(wide).collect();
    if rows.is_empty() {
        return Looked::Needs("engine benchmarks with standard deviations");
    }
    let seen = rows.len();
    let drifting: Vec<&Wide> = rows.iter().filter(|row| row.std > SHARE * row.mean).collect();
    let worst = drifting.iter().max_by(|a, b| (a.std / a.mean).total_cmp(&(b.std / b.mean)));
    let Some(worst) = worst else { return Looked::Found(Vec::new()) };
    let (first, rest) = worst.first_and_rest();
    // At another setting the same test runs at the speed that the first repeat must have had.
    let confirmed = rows.iter().find(|row| {
        row.std <= SHARE * row.mean
            && is_same_test(row.cell, worst.cell)
            && (row.mean / first - 1.0).abs() < SAME
    });
    let mut text = format!(
        "{} of {seen} engine results vary by more than {:.0} %. The worst is {}: {:.0} ± {:.0} tok/s \
         ({:.0} %). ",
        drifting.len(),
        SHARE * 100.0,
        what(worst.cell),
        worst.mean,
        worst.std,
        worst.std / worst.mean * 100.0,
    );
    text.push_str(&match confirmed {
        Some(known) => explained((first, rest), known, &drifting),
        None => "Its speed changed while it was measured, or other work disturbed it".to_owned(),
    });
    let level = if confirmed.is_some() { Level::Strong } else { Level::Hint };
    let mut finding = Finding::new(RULE.id, level, text)
        .at(worst.cell.spot())
        .at_all(drifting.iter().map(|row| row.cell.spot()))
        .with("mean", worst.mean, "tokens per second")
        .with("deviation", worst.std, "tokens per second")
        .remedy("show the repeats, and report the steady part");
    if confirmed.is_some() {
        finding = finding.with("steady part, if one of five was fast", rest, "tokens per second");
    }
    Looked::Found(vec![finding])
}

/// Whether one fast run explains the worst row, and whether it explains the others too: two free
/// speeds make any mean and deviation, so it is only a possibility.
fn explained((first, rest): (f64, f64), known: &Wide, drifting: &[&Wide]) -> String {
    let at = |row: &Wide| power(row.cell).unwrap_or_else(|| "another setting".to_owned());
    let contrary: Vec<String> = drifting
        .iter()
        .filter(|row| is_same_test(row.cell, known.cell))
        .filter(|row| row.first_and_rest().0 > known.mean * (1.0 + SAME))
        .map(|row| at(row))
        .collect();
    let possible = format!(
        "One run at {first:.0} and four at {rest:.0} tok/s would give this, and {:.0} is the speed at {}",
        known.mean,
        at(known)
    );
    match contrary.is_empty() {
        true => format!(
            "{possible}: probably fast in the first run only, so that the mean is the speed of no run"
        ),
        false => format!(
            "{possible}, but the same would need a first run faster than that at {}: the speed changed \
             while it was measured, in whatever steps, and the mean is the speed of no run",
            contrary.join(", ")
        ),
    }
}

/// The row in few words: model, test and power limit.
fn what(cell: &Cell) -> String {
    let named = [key::MODEL, key::TEST].iter().filter_map(|name| cell.factors.get(name));
    let words = named.map(str::to_owned).collect::<Vec<_>>().join(", ");
    match power(cell) {
        Some(watts) => format!("{words} at {watts}").trim_start().to_owned(),
        None if words.is_empty() => cell.name(),
        None => words,
    }
}

/// The power limit of a row: `200 W`.
fn power(cell: &Cell) -> Option<String> {
    Some(format!("{} W", cell.factors.get(key::POWER_LIMIT_W)?))
}

fn is_same_test(a: &Cell, b: &Cell) -> bool {
    let without = |cell: &Cell| {
        let setting = cell.setting();
        let mut kept = ifm_core::sheet::Factors::default();
        for (name, value) in setting.iter().filter(|(name, _)| *name != key::POWER_LIMIT_W) {
            kept.set(name, value);
        }
        kept
    };
    std::ptr::eq(a.sheet, b.sheet) && without(a) == without(b)
}

fn wide<'c>(cell: &'c Cell<'c>) -> Option<Wide<'c>> {
    if cell.part.kind != PartKind::Engine {
        return None;
    }
    [Metric::PrefillRate, Metric::DecodeRate].iter().find_map(|quantity| {
        let mean = cell.row.value(*quantity, Statistic::Mean).filter(|mean| *mean > 0.0)?;
        let std = [StdKind::Sample, StdKind::Population, StdKind::Unknown]
            .into_iter()
            .find_map(|kind| cell.row.value(*quantity, Statistic::Std(kind)))
            .or_else(|| cell.row.value(*quantity, Statistic::HalfWidth))?;
        // More than the mean cannot come from positive speeds in so few repeats by drift alone.
        (std < mean * REPEATS.sqrt()).then_some(Wide { cell, mean, std })
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    /// The second row is one repeat of 1000 and four of 500: mean 600, deviation 223.6.
    fn document(mean: &str, std: &str) -> Sheet {
        let test = |line, watts, mean: &str, std: &str| {
            let kind = Statistic::Std(StdKind::Sample);
            let mut row = row(
                line,
                &[
                    (Metric::PrefillRate, Statistic::Mean, mean, Unit::PerS),
                    (Metric::PrefillRate, kind, std, Unit::PerS),
                ],
            );
            row.factors = row.factors.with(key::TEST, "pp64").with(key::POWER_LIMIT_W, watts);
            row
        };
        let rows = vec![test(3, 700, "1000.0", "4.0"), test(4, 100, mean, std)];
        sheet(PartKind::Engine, rows)
    }

    #[test]
    fn reports_a_fast_first_repeat() {
        let corrupt = |sheet: &mut Sheet| *sheet = document("600.0", "223.6");
        let word = "One run at 1000 and four at 500 tok/s";
        check("repeat_drift", &document("600.0", "6.0"), corrupt, Level::Strong, word);
    }

    #[test]
    fn unconfirmed_spread_is_a_hint() {
        assert_eq!(found("repeat_drift", &[document("400.0", "90.0")])[0].level, Level::Hint);
    }
}
