//! A percentile of a speed is reported from its slow side.
//!
//! Nine of ten users are slower than the P90 of a speed. Stated as what a user gets, it describes
//! the fastest tenth. A user can rely on the P10, or on the speed at the P90 of the time per token.
//! Documents that report both sides hide nothing, and are left alone.

use super::super::subject::shown;
use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic};
use ifm_core::spec::other_end;

pub(super) const RULE: Rule =
    Rule { id: "rate_tail", title: "percentiles of speeds describe the slow side", look };

/// A speed this many times that at the same percentile of the time per token is not a rounding
/// difference.
const APART: f64 = 1.2;
const MS_PER_S: f64 = 1e3;

/// A percentile of the fast side, and what shows it.
struct Fast<'c> {
    cell: &'c Cell<'c>,
    figure: &'c Figure,
    p: f64,
    /// The speed at the same percentile of the time per token, and the name of the time.
    slow: Option<(f64, &'static str)>,
    median: Option<f64>,
}

fn look(subject: &Subject) -> Looked {
    let (mut seen, mut found) = (0, Vec::new());
    for role in [RowRole::Measured, RowRole::Summary, RowRole::Stated] {
        for cell in subject.cells(role) {
            let of_user = |figure: &&Figure| figure.quantity == Metric::UserSpeed;
            let percentiles: Vec<(&Figure, f64)> = cell
                .row
                .figures
                .iter()
                .filter(of_user)
                .filter_map(|figure| match figure.statistic {
                    Statistic::Percentile(p) if figure.value.is_some() => Some((figure, p)),
                    _ => None,
                })
                .collect();
            seen += percentiles.len();
            let has_slow_side = cell.row.figure(Metric::UserSpeed, Statistic::Min).is_some()
                || percentiles.iter().any(|(_, p)| *p < 50.0);
            if has_slow_side {
                continue;
            }
            found.extend(percentiles.into_iter().filter_map(|(figure, p)| fast(cell, figure, p)));
        }
    }
    match seen {
        0 => Looked::Needs("percentiles of the speed of one user"),
        _ => Looked::Found(told(&found).into_iter().collect()),
    }
}

fn fast<'c>(cell: &'c Cell<'c>, figure: &'c Figure, p: f64) -> Option<Fast<'c>> {
    let value = figure.canonical()?;
    let slow =
        [(Metric::Tpot, "TPOT"), (Metric::Itl, "ITL")].into_iter().find_map(|(quantity, name)| {
            let ms = cell.row.value(quantity, Statistic::Percentile(p)).filter(|ms| *ms > 0.0)?;
            Some((MS_PER_S / ms, name))
        });
    let slow = slow.filter(|(speed, _)| value > speed * APART);
    let median = cell.row.value(Metric::UserSpeed, Statistic::Median);
    let median = median.filter(|median| value > *median);
    (slow.is_some() || median.is_some()).then_some(Fast { cell, figure, p, slow, median })
}

fn told(found: &[Fast]) -> Option<Finding> {
    let worst = found.iter().max_by(|a, b| {
        let times = |fast: &Fast| fast.slow.map_or(0.0, |(speed, _)| fast.value() / speed);
        times(a).total_cmp(&times(b))
    })?;
    let p = worst.p;
    let text = format!(
        "{} {} of the speed of one user {} of the fast side, such as {}: p{p} is {}, which {} of 100 \
         users do not reach; {}",
        found.len(),
        if found.len() == 1 { "percentile" } else { "percentiles" },
        if found.len() == 1 { "is" } else { "are" },
        worst.cell.name(),
        shown(worst.figure),
        p,
        match (worst.slow, worst.median) {
            (Some((speed, name)), _) => {
                format!(
                    "by the p{p} of the {name} a user gets {speed:.1} tok/s or more in {p} of 100"
                )
            }
            (None, Some(median)) =>
                format!("its median is {median}, and no lower percentile is given"),
            (None, None) => "no lower percentile is given".to_owned(),
        }
    );
    let level = if worst.slow.is_some() { Level::Strong } else { Level::Hint };
    let mut finding = Finding::new(RULE.id, level, text)
        .with("stated", worst.value(), "tok/s")
        .at_all(std::iter::once(worst.spot()).chain(found.iter().map(Fast::spot)))
        .remedy(format!(
            "state the p{} of the speed, or the speed at the p{p} of the TPOT",
            other_end(p)
        ));
    if let Some((speed, _)) = worst.slow {
        finding = finding.with("at the same percentile of the time", speed, "tok/s");
    }
    Some(finding)
}

impl Fast<'_> {
    fn value(&self) -> f64 {
        self.figure.canonical().unwrap_or_default()
    }

    fn spot(&self) -> Spot {
        self.cell.spot_of_figure(self.figure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(figures: &[(Metric, Statistic, &str, Unit)]) -> Sheet {
        sheet(PartKind::Serving, vec![row(3, figures)])
    }

    const P90: Statistic = Statistic::Percentile(90.0);

    /// The published case: 371 tok/s at P90, where 44.2 ms a token are 22.6 tok/s.
    #[test]
    fn a_p90_that_its_own_times_contradict_is_strong() {
        let of = |speed: &str| {
            document(&[
                (Metric::UserSpeed, P90, speed, Unit::PerS),
                (Metric::Tpot, P90, "44.2", Unit::Ms),
            ])
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("371");
        check("rate_tail", &of("22.6"), corrupt, Level::Strong, "gets 22.6 tok/s");
    }

    #[test]
    fn p90_above_its_median_is_a_hint_unless_the_slow_side_is_given() {
        let median = (Metric::UserSpeed, Statistic::Median, "60", Unit::PerS);
        let fast = (Metric::UserSpeed, P90, "95", Unit::PerS);
        let slow = (Metric::UserSpeed, Statistic::Percentile(10.0), "31", Unit::PerS);
        let sound = document(&[median.clone(), fast.clone(), slow]);
        let corrupt = |sheet: &mut Sheet| *sheet = document(&[median, fast]);
        check("rate_tail", &sound, corrupt, Level::Hint, "its median is 60");
        let whole = document(&[
            (Metric::UserSpeed, Statistic::Min, "12", Unit::PerS),
            (Metric::UserSpeed, Statistic::Median, "60", Unit::PerS),
            (Metric::UserSpeed, P90, "95", Unit::PerS),
        ]);
        assert_eq!(found("rate_tail", &[whole]), [], "the slowest is given");
        let ranked = document(&[
            (Metric::UserSpeed, Statistic::Median, "60", Unit::PerS),
            (Metric::UserSpeed, P90, "40", Unit::PerS),
        ]);
        assert_eq!(found("rate_tail", &[ranked]), [], "already ranked from the slow side");
    }
}
