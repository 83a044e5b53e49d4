//! Whether constants can be used, and whether the machine's figures can be right: one rule for every
//! fit, wherever its rows come from.
//!
//! | the fit | verdict |
//! |---|---|
//! | no constant is determined within a factor of 2 (share) or 4 (time of the host), nor does one follow that well from another one | refused |
//! | a value is off by a factor of 2, and its own error does not explain it | refused |
//! | more than half of the values are off by more than 25 % | refused |
//! | any value is off by more than 25 % | of use, with a warning |
//!
//! Not here: how constants are found (`problem`).

use super::outcome::{Compared, Doubt, Estimate, Fit, FitError, MISS, Pair, Row, Suspect};
use crate::predict::Observation;

/// Widest 95 % interval, high over low, of the best known constant that is still of use: of a share,
/// and of a time of the host, whose default is known to a factor of 9.
const WIDEST: (f64, f64) = (2.0, 4.0);
/// Largest factor between a measured value and that of the fit, where the value's error does not
/// explain it.
const MISFIT: f64 = 2.0;
/// Standard errors within which an error explains any factor.
const EXPLAINED: f64 = 3.0;
/// Measured values that can show a scatter.
const SCATTER_MIN: usize = 3;
/// A share below this part of its default is suspect.
const FAR_BELOW: f64 = 1.0 / 3.0;

/// Widest interval of a constant that is of use.
fn widest(name: &str) -> f64 {
    if is_share(name) { WIDEST.0 } else { WIDEST.1 }
}

/// Whether the constant is known well enough for a forecast.
fn is_of_use(estimate: &Estimate) -> bool {
    estimate.is_determined && estimate.high / estimate.low <= widest(estimate.name)
}

fn is_share(name: &str) -> bool {
    name.ends_with("_share")
}

/// Why the constants are of no use; absent where they are. `errors` are the relative standard errors
/// of all measured values, in the order of the rows.
pub(super) fn refusal(fit: &Fit, errors: &[f64]) -> Option<FitError> {
    // One row apart from the others is named before what all of them say. Few values show no scatter
    // that could explain it, nor do constants at the end of their range.
    let is_at_bound = fit.estimates.iter().any(|estimate| estimate.is_at_bound);
    let scatter = if is_at_bound || errors.len() < SCATTER_MIN { 1.0 } else { fit.scatter };
    misfit(fit, errors, scatter)
        .or_else(|| too_wide(fit))
        .or_else(|| misfit(fit, errors, 1.0))
        .or_else(|| most_missed(fit, errors))
}

/// No constant is known well enough.
fn too_wide(fit: &Fit) -> Option<FitError> {
    let width = |estimate: &&Estimate| estimate.high / estimate.low;
    let determined = || fit.estimates.iter().filter(|estimate| estimate.is_determined);
    let best = |one: &mut dyn Iterator<Item = &'_ Estimate>| {
        one.min_by(|left, right| width(left).total_cmp(&width(right))).copied()
    };
    // Of two that explain each other, the rows determine what both do if one follows from the other.
    let is_known = |pair: &Pair| pair.width <= widest(pair.measured);
    if fit.estimates.iter().any(is_of_use) || fit.pairs.iter().any(is_known) {
        return None;
    }
    let best = best(&mut determined()).or_else(|| best(&mut fit.estimates.iter()))?;
    Some(FitError::TooWide { name: best.name, low: best.low, high: best.high })
}

/// All measured values with the numbers of their rows and their errors.
fn compared<'a>(
    fit: &'a Fit,
    errors: &'a [f64],
) -> impl Iterator<Item = (usize, (&'static str, Compared), f64)> + 'a {
    let numbered = fit.rows.iter().enumerate();
    let values = numbered.flat_map(|(number, row)| row.compared().map(move |one| (number, one)));
    values.zip(errors).map(|((number, one), error)| (number, one, *error))
}

/// The first value that is off by a factor of 2, where its error, this much larger, does not explain it.
fn misfit(fit: &Fit, errors: &[f64], scatter: f64) -> Option<FitError> {
    compared(fit, errors).find_map(|(number, (what, value), error)| {
        let Compared { measured_s, fitted_s, .. } = value;
        let most = MISFIT.ln().max(EXPLAINED * error * scatter);
        let is_off = (fitted_s / measured_s).ln().abs() > most;
        is_off.then_some(FitError::Misfit { row: number + 1, what, measured_s, fitted_s })
    })
}

fn most_missed(fit: &Fit, errors: &[f64]) -> Option<FitError> {
    let is_missed = |(_, (_, value), error): &(usize, (&str, Compared), f64)| {
        value.error.abs() > MISS && value.error.abs().ln_1p() > EXPLAINED * error
    };
    let (missed, values) =
        (compared(fit, errors).filter(is_missed).count(), compared(fit, errors).count());
    (2 * missed > values).then_some(FitError::MostMissed { missed, values })
}

/// Shares of the machine's peaks that the machine hardly has.
pub(super) fn suspects(estimates: &[Estimate], rows: &[(&Observation, &Row)]) -> Vec<Suspect> {
    let prompts = trend(rows.iter().filter_map(|(seen, row)| {
        let compared = row.ttft?;
        Some((seen.prompt_tokens, (compared.fitted_s / compared.measured_s).ln()))
    }));
    let requests = trend(rows.iter().filter_map(|(_, row)| {
        let compared = row.itl?;
        Some((row.predicted.in_flight, (compared.fitted_s / compared.measured_s).ln()))
    }));
    let doubt = |estimate: &Estimate| {
        let is_open = !estimate.is_determined;
        match estimate.name {
            _ if estimate.is_at_bound => Some(Doubt::AtBound),
            _ if !is_open && estimate.low > 1.0 => Some(Doubt::AbovePeak),
            _ if !is_open && estimate.high < FAR_BELOW * estimate.default => Some(Doubt::FarBelow),
            "arithmetic_share" if is_open && prompts => Some(Doubt::FollowsPrompts),
            "bandwidth_share" if is_open && requests => Some(Doubt::FollowsRequests),
            _ => None,
        }
    };
    let of_machine = estimates.iter().filter(|estimate| is_share(estimate.name));
    of_machine
        .filter_map(|estimate| {
            let Estimate { name, value, default, .. } = *estimate;
            Some(Suspect { name, value, default, doubt: doubt(estimate)? })
        })
        .collect()
}

/// Whether logarithms of fitted over measured go one way from the smallest to the largest place, by
/// more than a miss, and are farthest off at the largest: there the machine is most of the time.
fn trend(points: impl Iterator<Item = (f64, f64)>) -> bool {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return false };
    if last.0 < 1.5 * first.0 {
        return false;
    }
    let change = last.1 - first.1;
    let most = MISS.ln_1p();
    let is_missed = last.1.abs() > most && points.iter().all(|point| point.1.abs() <= last.1.abs());
    // Places that are alike, such as repeats, may differ by chance.
    let is_steady = points.windows(2).all(|pair| match pair {
        [one, next] => (next.1 - one.1) * change.signum() > -0.25 * change.abs(),
        _ => true,
    });
    change.abs() > most && is_missed && is_steady
}
