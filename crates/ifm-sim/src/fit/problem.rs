//! Rows and constants as a problem of least squares, and its solution.
//!
//! Not here: the search itself (`solve`), and whether what is found can be used (`judge`).

use super::outcome::{Estimate, FitError, ITL, Spread, TTFT};
use super::solve::{Optimum, Space, diagonal, directions, dot, least_squares, squares};
use crate::constants::{CONSTANTS, ConstantName, Constants};
use crate::deployment::Deployment;
use crate::predict::{Load, Observation, predict};

/// Standard deviation of the logarithm of a share.
const SHARE_SD: f64 = 0.3;
/// Standard deviation of the logarithm of a time of the host: a factor of 3.
const HOST_SD: f64 = 1.1;
/// The same of the ratio of `kv_share` to `bandwidth_share`.
const RATIO_SD: f64 = 0.1;
/// Degrees of freedom of the prior: 8 standard deviations cost as much as 3.4 of a normal one.
const PRIOR_FREEDOM: f64 = 4.0;
/// How far a constant may go from its default, in standard deviations: shares by a factor of 37,
/// times of the host by one of 740: servers in Python take milliseconds for what others do in 10 µs.
const BOUNDS: (f64, f64) = (12.0, 6.0);
/// Least relative error of a row.
const ERROR_MIN: f64 = 0.01;
/// Least relative error of the time to the first token where others are under way.
const SHARED_TTFT_ERROR_MIN: f64 = 0.05;
/// A constant is narrowed where its error is smaller than this share of the prior's.
pub(super) const NARROWED: f64 = 0.6;
/// And it stays at its default where its error is larger than this share: the rows take away less than
/// a third of the prior's variance.
const OPEN: f64 = 0.8;
/// The 95 % point of the prior, in standard deviations.
pub(super) const PRIOR_END: f64 = 2.776;
/// What a fit may be worse by, twice the logarithm of the likelihood, and still be as good: the 95 %
/// point of chi-squared with one degree of freedom.
pub(super) const AS_GOOD: f64 = 3.84;
/// A logarithm of predicted over measured beyond which other starts are tried.
const FAR: f64 = 0.1;
/// Where else a search begins, in standard deviations along each constant. Far from the default a
/// constant may have a slope that it does not have there: products that are hidden by the reading of
/// weights say nothing about the arithmetic.
const FAR_SHARE: f64 = 5.0;
const FAR_OTHER: f64 = 3.0;
/// Rounds in which errors grow to what the rows scatter.
const ROUNDS: usize = 4;

/// What each further sequence adds to a step.
const PER_SEQUENCE: &str = "sequence_host_us";
/// Constants that do the same to a step of one sequence as [`PER_SEQUENCE`].
const OF_A_STEP: [&str; 3] = ["bandwidth_share", "step_host_ms", "layer_host_us"];

/// A constant that is free.
pub(super) struct Free {
    pub constant: &'static ConstantName,
    /// Its default, or that of its ratio to `bandwidth_share`.
    default: f64,
    /// Standard deviation of the logarithm.
    pub sd: f64,
    /// Whether it is the ratio to `bandwidth_share`.
    is_ratio: bool,
    /// Whether it stays at its default, because no row can distinguish it from another free one.
    pub is_held: bool,
}

/// Rows, and the constants that are to explain them.
pub(super) struct Problem<'a> {
    deployment: &'a Deployment,
    rows: &'a [Observation],
    pub(super) free: Vec<Free>,
    /// Of each measured value, relative.
    errors: Vec<f64>,
}

/// The best point, by how much the errors had to grow there, and how many values are left over.
pub(super) struct Best {
    pub optimum: Optimum,
    scatter: f64,
    freedom: f64,
}

/// The best constants, and how well they are known.
pub(super) struct Solved {
    /// Where they are.
    pub optimum: Optimum,
    /// By how much the errors had to grow.
    pub scatter: f64,
    /// How many values are left over.
    freedom: f64,
    /// Constants that stay at their defaults.
    pub is_held: Vec<bool>,
    pub(super) rivals: Vec<Rival>,
}

/// Constants that explain the rows as well, with one of them somewhere else.
pub(super) struct Rival {
    /// The constant that was moved.
    pub of: usize,
    /// The constant that makes up for it; absent where the rows still say what each of the others is.
    pub by: Option<Partner>,
    /// Where all of them are then.
    pub point: Vec<f64>,
}

/// A constant that makes up for another one.
#[derive(Clone, Copy)]
pub(super) struct Partner {
    /// Its place.
    pub place: usize,
    /// Its standard error while the other one stays where it is, in standard deviations of the prior.
    pub error: f64,
}

/// The value of a constant, in seconds or as a share.
pub(super) fn value_of(constant: &ConstantName, mut constants: Constants) -> f64 {
    *(constant.value)(&mut constants)
}

/// Whether more than one request is under way at a time. Of an open load it is what the defaults say;
/// one that cannot be predicted is reported later.
fn has_several(deployment: &Deployment, row: &Observation) -> bool {
    match row.load {
        Load::Closed { users: several } | Load::Batch { sequences: several } => several > 1,
        Load::Open { .. } => predict(deployment, row).map_or(true, |got| got.in_flight > 1.0),
    }
}

impl<'a> Problem<'a> {
    /// A problem with these constants free.
    ///
    /// # Errors
    /// Values that cannot be, and constants that cannot be free.
    pub fn new(
        deployment: &'a Deployment,
        rows: &'a [Observation],
        names: &[&str],
    ) -> Result<Problem<'a>, FitError> {
        let free = free_of(deployment, rows, names)?;
        let mut errors = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let is_alone = matches!(row.load, Load::Closed { users: 1 } | Load::Batch { .. });
            let shared = if is_alone { ERROR_MIN } else { SHARED_TTFT_ERROR_MIN };
            for (what, value, error, least) in [
                (TTFT, row.ttft_s, row.ttft_error, shared),
                (ITL, row.itl_s, row.itl_error, ERROR_MIN),
            ] {
                let Some(value) = value else { continue };
                if !(value > 0.0 && value.is_finite()) {
                    return Err(FitError::Value { row: number + 1, what, value });
                }
                errors
                    .push(error.filter(|error| error.is_finite()).map_or(least, |e| e.max(least)));
            }
        }
        if errors.is_empty() {
            return Err(FitError::NoRows);
        }
        Ok(Problem { deployment, rows, free, errors })
    }

    /// Relative standard errors of all measured values, in the order of the rows.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The constants at a point, which is in standard deviations of the prior.
    pub fn constants(&self, point: &[f64]) -> Constants {
        let mut constants = *self.deployment.step.constants();
        let kv_ratio = constants.kv_share / constants.bandwidth_share;
        let mut moved = kv_ratio;
        for (free, at) in self.free.iter().zip(point).filter(|(_, at)| **at != 0.0) {
            let value = free.default * (free.sd * at).exp();
            if free.is_ratio {
                moved = value;
            } else {
                *(free.constant.value)(&mut constants) = value;
            }
        }
        // Keys and values move with the weights, unless they are free by themselves.
        if self.free.iter().all(|free| free.constant.name != "kv_share" || free.is_ratio) {
            constants.kv_share = constants.bandwidth_share * moved;
        }
        constants
    }

    /// Logarithms of predicted over measured, in standard errors.
    pub(super) fn residuals(&self, point: &[f64], scatter: f64) -> Result<Vec<f64>, FitError> {
        let deployment = self.deployment.with_constants(self.constants(point));
        let mut residuals = Vec::with_capacity(self.errors.len());
        let mut errors = self.errors.iter();
        for (number, row) in self.rows.iter().enumerate() {
            let predicted = predict(&deployment, row)
                .map_err(|error| FitError::Predict { row: number + 1, error })?;
            let pairs = [(row.ttft_s, Some(predicted.ttft_s)), (row.itl_s, predicted.itl_s)];
            for (measured, predicted) in pairs {
                let Some(measured) = measured else { continue };
                let error = errors.next().copied().unwrap_or(1.0) * scatter;
                // A gap of an answer of one token is not predicted: it cannot have been measured.
                let log = predicted.map_or(0.0, |predicted| (predicted / measured).ln());
                residuals.push(log / error);
            }
        }
        Ok(residuals)
    }

    pub(super) fn space(&self, is_held: &[bool]) -> Space {
        let bound = |free: &Free| {
            let most = if is_share(free) { BOUNDS.0 } else { BOUNDS.1 };
            (-most, most)
        };
        let bounds = self.free.iter().map(bound).collect();
        Space { bounds, is_held: is_held.to_vec(), freedom: PRIOR_FREEDOM }
    }

    /// Twice the negative logarithm of the likelihood, prior included.
    pub(super) fn cost(space: &Space, optimum: &Optimum) -> f64 {
        squares(&optimum.residuals) + space.penalty(&optimum.point)
    }

    /// How well a point explains the rows, twice the negative logarithm of the likelihood, where the
    /// scatter is whatever the rows show: between points that are all far from the rows, what counts is
    /// by which factor one is nearer.
    fn evidence(space: &Space, best: &Best) -> f64 {
        let values = best.optimum.residuals.len() as f64;
        let squared = squares(&best.optimum.residuals) * best.scatter * best.scatter;
        let far = squared / values;
        let rows = if far > 1.0 { values * (1.0 + far.ln()) } else { squared };
        rows + space.penalty(&best.optimum.point)
    }

    /// The best point from a start, and from others where that one leaves the rows far off.
    pub(super) fn search(
        &self,
        start: &[f64],
        is_held: &[bool],
        offsets: fn(&Free) -> [f64; 2],
    ) -> Result<Best, FitError> {
        let space = self.space(is_held);
        let find = |start| {
            let optimum = least_squares(start, &space, |at| self.residuals(at, 1.0))?;
            self.grown(optimum, 1.0, is_held)
        };
        let mut best = find(start.to_vec())?;
        let far = best.optimum.residuals.iter().zip(&self.errors);
        let far = far.map(|(residual, error)| (residual * error * best.scatter).abs());
        if far.fold(0.0, f64::max) < FAR {
            return Ok(best);
        }
        let free = self.free.iter().enumerate().zip(is_held);
        for ((place, free), _) in free.filter(|(_, is_held)| !**is_held) {
            for offset in offsets(free).into_iter().filter(|offset| *offset != 0.0) {
                let mut start = start.to_vec();
                if let Some(at) = start.get_mut(place) {
                    *at = offset;
                }
                // A start may be where there is no forecast.
                let Ok(other) = find(start) else { continue };
                if Self::evidence(&space, &other) < Self::evidence(&space, &best) {
                    best = other;
                }
            }
        }
        Ok(best)
    }

    /// The best point where errors grow to what the rows scatter.
    fn grown(
        &self,
        mut optimum: Optimum,
        mut scatter: f64,
        is_held: &[bool],
    ) -> Result<Best, FitError> {
        let space = self.space(is_held);
        let mut round = 0;
        loop {
            // How many constants the rows determine rather than the prior.
            let taken = diagonal(&optimum.covariance)
                .zip(is_held)
                .map(|(left, is_held)| if *is_held { 0.0 } else { 1.0 - left.min(1.0) });
            let freedom = (optimum.residuals.len() as f64 - taken.sum::<f64>()).max(0.0);
            round += 1;
            let grown = match freedom >= 1.0 {
                true => (squares(&optimum.residuals) / freedom).sqrt() * scatter,
                false => scatter,
            };
            if (grown.max(1.0) / scatter - 1.0).abs() < 0.05 || round == ROUNDS {
                return Ok(Best { optimum, scatter, freedom });
            }
            scatter = grown.max(1.0);
            optimum = least_squares(optimum.point, &space, |at| self.residuals(at, scatter))?;
        }
    }

    /// The best constants; those that the rows do not narrow stay at their defaults. Rivals are not
    /// looked for.
    ///
    /// # Errors
    /// A row that cannot be predicted.
    pub fn solve(&self) -> Result<Solved, FitError> {
        let mut is_held: Vec<bool> = self.free.iter().map(|free| free.is_held).collect();
        let mut best = self.search(&vec![0.0; self.free.len()], &is_held, both_ways)?;
        // Whatever is at its default although the rows want it elsewhere.
        let mut is_wanted = is_held.clone();
        while let Some(place) = self.least_narrowed(&best.optimum, &is_wanted) {
            if let Some(wanted) = is_wanted.get_mut(place) {
                *wanted = true;
            }
            let (mut without, mut start) = (is_held.clone(), best.optimum.point.clone());
            if let (Some(held), Some(at)) = (without.get_mut(place), start.get_mut(place)) {
                (*held, *at) = (true, 0.0);
            }
            let space = self.space(&without);
            let other = least_squares(start, &space, |at| self.residuals(at, best.scatter))?;
            if Self::cost(&space, &other) - Self::cost(&space, &best.optimum) < AS_GOOD {
                is_held = without;
                best = self.grown(other, best.scatter, &is_held)?;
            }
        }
        let Best { optimum, scatter, freedom } = best;
        Ok(Solved { optimum, scatter, freedom, is_held, rivals: Vec::new() })
    }

    /// The constant that the rows narrow the least, of those that were not looked at.
    fn least_narrowed(&self, optimum: &Optimum, is_seen: &[bool]) -> Option<usize> {
        let errors = diagonal(&optimum.covariance).map(f64::sqrt).enumerate().zip(is_seen);
        errors
            .filter(|((_, error), is_seen)| !**is_seen && *error >= OPEN)
            .map(|(one, _)| one)
            .max_by(|left, right| left.1.total_cmp(&right.1))
            .map(|(place, _)| place)
    }

    /// Standard errors in a 95 % interval: Student's quantile, to the first order, where the errors
    /// come from the rows themselves.
    pub(super) fn reach(solved: &Solved) -> f64 {
        let wider = if solved.scatter > 1.0 { 2.37 / solved.freedom.max(1.0) } else { 0.0 };
        1.96 + wider
    }

    /// Each constant with its interval.
    pub fn estimates(&self, solved: &Solved) -> Vec<Estimate> {
        let (optimum, reach) = (&solved.optimum, Self::reach(solved));
        let constants = self.constants(&optimum.point);
        let defaults = *self.deployment.step.constants();
        let bounds = self.space(&solved.is_held).bounds;
        let bandwidth = self.free.iter().map(|free| match free.constant.name {
            "bandwidth_share" => free.sd,
            _ => 0.0,
        });
        let bandwidth: Vec<f64> = bandwidth.collect();
        let each = self.free.iter().enumerate().map(|(place, free)| {
            // How the logarithm of the constant moves with the point.
            let unit = (0..self.free.len()).map(|at| if at == place { free.sd } else { 0.0 });
            let along: Vec<f64> = match free.is_ratio {
                true => unit.zip(&bandwidth).map(|(own, with)| own + with).collect(),
                false => unit.collect(),
            };
            let spread = optimum.covariance.iter().map(|row| dot(row, &along));
            let variance = dot(&spread.collect::<Vec<f64>>(), &along);
            let far = (reach * variance.max(0.0).sqrt()).exp();
            let own = diagonal(&optimum.covariance).nth(place).unwrap_or(1.0).sqrt();
            let constant = free.constant;
            let named = |constants| value_of(constant, constants) * constant.scale;
            let value = named(constants);
            let (mut low, mut high) = (value / far, value * far);
            // Others than the two move along, and what is narrowed is known as well there.
            let around = if own < NARROWED { far } else { 1.0 };
            for rival in &solved.rivals {
                let other = named(self.constants(&rival.point));
                let around = if rival.of == place { 1.0 } else { around };
                (low, high) = (low.min(other / around), high.max(other * around));
            }
            let rival = solved.rivals.iter().find_map(|rival| match (rival.of, rival.by?.place) {
                (of, by) if of == place => Some(by),
                (of, by) if by == place => Some(of),
                _ => None,
            });
            let rival = rival.and_then(|rival| self.free.get(rival));
            let is_moved = solved.rivals.iter().any(|rival| {
                let far = rival.point.get(place).zip(optimum.point.get(place));
                far.is_some_and(|(one, other)| (one - other).abs() >= NARROWED * PRIOR_END)
            });
            let is_held = solved.is_held.get(place).copied().unwrap_or(false);
            let at = optimum.point.get(place).copied().unwrap_or(0.0);
            Estimate {
                name: constant.name,
                value,
                low,
                high,
                default: named(defaults),
                is_determined: !is_held && own < NARROWED && rival.is_none() && !is_moved,
                rival: rival.map(|rival| rival.constant.name),
                is_at_bound: bounds.get(place).is_some_and(|(low, high)| at <= *low || at >= *high),
            }
        });
        each.collect()
    }

    /// Where else the constants may be.
    pub fn spread(&self, solved: &Solved) -> Spread {
        let reach = Self::reach(solved);
        let bounds = self.space(&solved.is_held).bounds;
        let columns = directions(&solved.optimum.covariance);
        let ends = columns.iter().map(|column| {
            [reach, -reach].map(|far| {
                let moved = solved.optimum.point.iter().zip(column).zip(&bounds);
                let moved = moved.map(|((at, by), (low, high))| (at + far * by).clamp(*low, *high));
                self.constants(&moved.collect::<Vec<f64>>())
            })
        });
        let rivals = solved.rivals.iter().map(|rival| self.constants(&rival.point));
        Spread { directions: ends.collect(), rivals: rivals.collect() }
    }
}

/// Starts along a constant at which the server is slower than by the default: a lower share of a peak, or
/// a longer time.
pub(super) fn slower(free: &Free) -> [f64; 2] {
    [if is_share(free) { -FAR_SHARE } else { FAR_OTHER }, 0.0]
}

/// Starts at which it is faster.
pub(super) fn faster(free: &Free) -> [f64; 2] {
    [if is_share(free) { FAR_OTHER } else { -FAR_OTHER }, 0.0]
}

/// Both.
fn both_ways(free: &Free) -> [f64; 2] {
    [slower(free)[0], faster(free)[0]]
}

pub(super) fn is_share(free: &Free) -> bool {
    free.constant.name.ends_with("_share")
}

/// The constants of these names, with their priors.
fn free_of(
    deployment: &Deployment,
    rows: &[Observation],
    names: &[&str],
) -> Result<Vec<Free>, FitError> {
    let defaults = *deployment.step.constants();
    // Whatever has keys and values moves with the bandwidth, asked for or not.
    let bandwidth = names.contains(&"bandwidth_share");
    let is_step_free = names.iter().any(|name| OF_A_STEP.contains(name));
    let mut free = Vec::new();
    for constant in CONSTANTS {
        if !names.contains(&constant.name) {
            continue;
        }
        let default = value_of(constant, defaults);
        if default <= 0.0 {
            let text = format!("{} is 0 by default: say a value to begin with", constant.name);
            return Err(FitError::Free(text));
        }
        let is_ratio = constant.name == "kv_share" && bandwidth;
        let sd = match constant.name.ends_with("_share") {
            true if is_ratio => RATIO_SD,
            true => SHARE_SD,
            false => HOST_SD,
        };
        let default = if is_ratio { default / defaults.bandwidth_share } else { default };
        let is_held = constant.name == PER_SEQUENCE
            && is_step_free
            && !rows.iter().any(|row| has_several(deployment, row));
        free.push(Free { constant, default, sd, is_ratio, is_held });
    }
    if free.len() < names.len() || free.is_empty() {
        let known: Vec<&str> = CONSTANTS.iter().map(|constant| constant.name).collect();
        let text = format!("constants that can be free, each once: {}", known.join(", "));
        return Err(FitError::Free(text));
    }
    Ok(free)
}
