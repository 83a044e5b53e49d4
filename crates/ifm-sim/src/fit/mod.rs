//! The constants of one deployment from a few measured rows.
//!
//! The most likely constants given the rows and the defaults: least squares of the logarithms of
//! times, each row by its standard error (at least 1 %; 5 % for a first token that others could
//! delay, which hangs on how requests met), with a log-normal prior around each default. Shares of
//! peaks lie within about 30 % of it and times of the host within a factor of 3, one standard
//! deviation each. The forward model is [`predict`](crate::predict()), so that constants mean the
//! same when they are used. Where the rows scatter more around the fit than their errors say, the
//! errors grow until they do not (D. MacKay, "Bayesian interpolation", 1992).
//!
//! What rows cannot say: with one model and one user the time of the host for a layer or a step
//! and the share of the bandwidth do the same to every number, so that the host stays at its
//! default unless it is asked for, or the model is a mixture of experts, where it is most of a
//! step. `kv_share` moves with `bandwidth_share` unless short and long contexts separate them. The
//! time of the host for a sequence is one more time of a step where no row has two of them: then it
//! stays at its default too, whatever else would fit better with it.
//!
//! Not here: how a search goes (`solve`), and where rows come from.

mod solve;

use crate::constants::{CONSTANTS, ConstantName, Constants};
use crate::deployment::Deployment;
use crate::predict::{Load, Observation, PredictError, Predicted, predict};
use serde::Serialize;
use solve::{Optimum, diagonal, dot, least_squares, squares};

/// Standard deviation of the logarithm of a share.
const SHARE_SD: f64 = 0.3;
/// Standard deviation of the logarithm of a time of the host: a factor of 3.
const HOST_SD: f64 = 1.1;
/// The same of the ratio of `kv_share` to `bandwidth_share`.
const RATIO_SD: f64 = 0.1;
/// How far a constant may go from its default, in standard deviations: shares by a factor of 11,
/// times of the host by one of 740: servers in Python take milliseconds for what others do in 10 µs.
const BOUNDS: (f64, f64) = (8.0, 6.0);
/// Largest factor between a measured value and that of the fit, where neither errors nor scatter
/// explain it.
const MISFIT: f64 = 2.0;
/// Least relative error of a row.
const ERROR_MIN: f64 = 0.01;
/// Least relative error of the time to the first token where others are under way.
const SHARED_TTFT_ERROR_MIN: f64 = 0.05;
/// A constant is determined where its error is smaller than this share of the prior's.
const DETERMINED: f64 = 0.6;
/// Widest 95 % interval, high over low, of the best known constant that is still of use.
const WIDEST: f64 = 2.0;
/// Rounds in which errors grow to what the rows scatter.
const ROUNDS: usize = 4;

/// What each further sequence adds to a step.
const PER_SEQUENCE: &str = "sequence_host_us";
/// Constants that do the same to a step of one sequence as [`PER_SEQUENCE`].
const OF_A_STEP: [&str; 3] = ["bandwidth_share", "step_host_ms", "layer_host_us"];

/// What a row may hold.
const TTFT: &str = "the time to the first token";
const ITL: &str = "the gap between tokens";

/// Why no constants were found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There is nothing to fit to.
    #[error("no row holds a time to the first token or a gap between tokens")]
    NoRows,
    /// A measured value that cannot be.
    #[error("row {row}: {what} is above 0, not {value}")]
    Value {
        /// Which row, from 1.
        row: usize,
        /// What it is.
        what: &'static str,
        /// What it was said to be.
        value: f64,
    },
    /// A constant that cannot be free.
    #[error("{0}")]
    Free(String),
    /// The rows scatter so much that they say nothing.
    #[error(
        "these rows do not say enough to calibrate with: the best known constant, {name}, could be anything from {low:.3} to {high:.3} (95 %)"
    )]
    TooWide {
        /// The constant with its unit.
        name: &'static str,
        /// Low end of the interval.
        low: f64,
        /// High end of the interval.
        high: f64,
    },
    /// No constants explain a row.
    #[error(
        "row {row}: {what} was {:.3} ms, and the nearest that these rows allow is {:.3} ms: look at its load, its lengths, the machine and the model",
        .measured_s * 1e3, .fitted_s * 1e3
    )]
    Misfit {
        /// Which row, from 1.
        row: usize,
        /// What it is.
        what: &'static str,
        /// Measured, seconds.
        measured_s: f64,
        /// With the best constants, seconds.
        fitted_s: f64,
    },
    /// A row that cannot be predicted.
    #[error("row {row}: {error}")]
    Predict {
        /// Which row, from 1.
        row: usize,
        /// Why not.
        error: PredictError,
    },
}

/// One constant as the rows and its default have it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Name with the unit.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// Low end of the 95 % interval.
    pub low: f64,
    /// High end of the 95 % interval.
    pub high: f64,
    /// What it was before.
    pub default: f64,
    /// Whether the rows say it; else it is from the default, not from these rows.
    pub is_determined: bool,
}

/// A measured value beside that of the fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// Measured, seconds.
    pub measured_s: f64,
    /// With the constants that were found, seconds.
    pub fitted_s: f64,
    /// By how much it is larger than what was measured, as a share.
    pub error: f64,
}

impl Compared {
    fn of(measured_s: Option<f64>, fitted_s: Option<f64>) -> Option<Compared> {
        let (measured_s, fitted_s) = (measured_s?, fitted_s?);
        Some(Compared { measured_s, fitted_s, error: fitted_s / measured_s - 1.0 })
    }
}

/// A row beside the fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// Time to the first token.
    pub ttft: Option<Compared>,
    /// Gap between tokens.
    pub itl: Option<Compared>,
    /// All that is predicted for its load.
    pub predicted: Predicted,
}

impl Row {
    fn of(deployment: &Deployment, row: &Observation) -> Result<Row, PredictError> {
        let predicted = predict(deployment, row)?;
        Ok(Row {
            ttft: Compared::of(row.ttft_s, Some(predicted.ttft_s)),
            itl: Compared::of(row.itl_s, predicted.itl_s),
            predicted,
        })
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// All constants, those that were not free too.
    pub constants: Constants,
    /// Those that were free.
    pub estimates: Vec<Estimate>,
    /// Each row beside the fit, in the order given.
    pub rows: Vec<Row>,
    /// How much more the rows scatter around the fit than their errors say; 1 where they do not.
    pub scatter: f64,
}

/// A row that took no part beside what the others say of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOut {
    /// Its number, from 0.
    pub number: usize,
    /// The row beside the fit of the others.
    pub row: Row,
}

/// Whether more than one request is under way at a time. Of an open load it is what the defaults say;
/// one that cannot be predicted is told later.
fn has_several(deployment: &Deployment, row: &Observation) -> bool {
    match row.load {
        Load::Closed { users: several } | Load::Batch { sequences: several } => several > 1,
        Load::Open { .. } => predict(deployment, row).map_or(true, |got| got.in_flight > 1.0),
    }
}

/// The constants that are free when nothing is said.
pub fn free_by_default(deployment: &Deployment) -> Vec<&'static str> {
    let is_experts = deployment.setup.model().has_experts();
    let named = |constant: &&ConstantName| match constant.name {
        "bandwidth_share" | "kv_share" | "arithmetic_share" | "attention_share" => true,
        "sequence_host_us" | "frontend_ms" => true,
        "layer_host_us" => is_experts,
        _ => false,
    };
    let free = CONSTANTS.iter().filter(named);
    // A time that is 0 is not lost at all.
    free.filter(|constant| value_of(constant, *deployment.step.constants()) > 0.0)
        .map(|constant| constant.name)
        .collect()
}

/// Finds the constants of a deployment; those that it has are the centre of the prior.
///
/// # Errors
/// [`FitError`].
pub fn fit(deployment: &Deployment, rows: &[Observation], free: &[&str]) -> Result<Fit, FitError> {
    let problem = Problem::new(deployment, rows, free)?;
    let start = vec![0.0; problem.free.len()];
    let (optimum, scatter, freedom) = problem.solve(start)?;
    let constants = problem.constants(&optimum.point);
    let fitted = deployment.with_constants(constants);
    let of = |(number, row)| {
        Row::of(&fitted, row).map_err(|error| FitError::Predict { row: number + 1, error })
    };
    let rows: Vec<Row> = rows.iter().enumerate().map(of).collect::<Result<_, _>>()?;
    problem.check_misfit(&rows, scatter)?;
    let estimates = problem.estimates(&optimum, scatter, freedom);
    let best = estimates
        .iter()
        .min_by(|left, right| (left.high / left.low).total_cmp(&(right.high / right.low)));
    let determined = estimates.iter().filter(|estimate| estimate.is_determined);
    let is_of_use = determined.clone().any(|estimate| estimate.high / estimate.low <= WIDEST);
    if !is_of_use && let Some(best) = determined.chain(best).next() {
        return Err(FitError::TooWide { name: best.name, low: best.low, high: best.high });
    }
    Ok(Fit { constants, estimates, rows, scatter })
}

/// What the other rows say of each row. One row alone has no others.
///
/// # Errors
/// [`FitError`].
pub fn held_out(
    deployment: &Deployment,
    rows: &[Observation],
    free: &[&str],
) -> Result<Vec<HeldOut>, FitError> {
    let mut all = Vec::new();
    if rows.len() < 2 {
        return Ok(all);
    }
    for (number, row) in rows.iter().enumerate() {
        let others = rows.iter().enumerate().filter(|(other, _)| *other != number);
        let others: Vec<Observation> = others.map(|(_, other)| other.clone()).collect();
        let problem = Problem::new(deployment, &others, free)?;
        let (optimum, ..) = problem.solve(vec![0.0; problem.free.len()])?;
        let fitted = deployment.with_constants(problem.constants(&optimum.point));
        let row =
            Row::of(&fitted, row).map_err(|error| FitError::Predict { row: number + 1, error })?;
        all.push(HeldOut { number, row });
    }
    Ok(all)
}

/// A constant that is free.
struct Free {
    constant: &'static ConstantName,
    /// Its default, or that of its ratio to `bandwidth_share`.
    default: f64,
    /// Standard deviation of the logarithm.
    sd: f64,
    /// Whether it stands for the ratio to `bandwidth_share`.
    is_ratio: bool,
    /// Whether it stays at its default, because no row can tell it from another one that is free.
    is_held: bool,
}

struct Problem<'a> {
    deployment: &'a Deployment,
    rows: &'a [Observation],
    free: Vec<Free>,
    /// Of each measured value, relative.
    errors: Vec<f64>,
}

fn value_of(constant: &ConstantName, mut constants: Constants) -> f64 {
    *(constant.value)(&mut constants)
}

impl<'a> Problem<'a> {
    fn new(
        deployment: &'a Deployment,
        rows: &'a [Observation],
        names: &[&str],
    ) -> Result<Problem<'a>, FitError> {
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

    /// The constants at a point, which is in standard deviations of the prior.
    fn constants(&self, point: &[f64]) -> Constants {
        let mut constants = *self.deployment.step.constants();
        let kv_ratio = constants.kv_share / constants.bandwidth_share;
        let mut moved = kv_ratio;
        for (free, at) in self.free.iter().zip(point).filter(|(free, _)| !free.is_held) {
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
    fn residuals(&self, point: &[f64], scatter: f64) -> Result<Vec<f64>, FitError> {
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

    /// The optimum, by how much the errors had to grow, and how many values were left over.
    fn solve(&self, start: Vec<f64>) -> Result<(Optimum, f64, f64), FitError> {
        let bound = |free: &Free| {
            let most = if free.constant.name.ends_with("_share") { BOUNDS.0 } else { BOUNDS.1 };
            (-most, most)
        };
        let bounds: Vec<(f64, f64)> = self.free.iter().map(bound).collect();
        let (mut point, mut scatter) = (start, 1.0_f64);
        let mut round = 0;
        loop {
            let optimum = least_squares(point, &bounds, |at| self.residuals(at, scatter))?;
            // How many constants the rows determine rather than the prior.
            let taken: f64 = diagonal(&optimum.covariance).map(|left| 1.0 - left.min(1.0)).sum();
            let freedom = (optimum.residuals.len() as f64 - taken).max(0.0);
            round += 1;
            let grown = match freedom >= 1.0 {
                true => (squares(&optimum.residuals) / freedom).sqrt() * scatter,
                false => scatter,
            };
            if grown.max(1.0) / scatter < 1.05 || round == ROUNDS {
                return Ok((optimum, scatter, freedom));
            }
            (point, scatter) = (optimum.point, grown.max(1.0));
        }
    }

    /// Whether a row is much further from the fit than its error and the scatter of all explain.
    fn check_misfit(&self, rows: &[Row], scatter: f64) -> Result<(), FitError> {
        let mut errors = self.errors.iter();
        for (number, row) in rows.iter().enumerate() {
            let observed = self.rows.get(number);
            for (what, compared, is_measured) in [
                (TTFT, row.ttft, observed.is_some_and(|row| row.ttft_s.is_some())),
                (ITL, row.itl, observed.is_some_and(|row| row.itl_s.is_some())),
            ] {
                if !is_measured {
                    continue;
                }
                let error = errors.next().copied().unwrap_or(1.0);
                let Some(Compared { measured_s, fitted_s, .. }) = compared else { continue };
                let most = MISFIT.ln().max(3.0 * error * scatter);
                if (fitted_s / measured_s).ln().abs() > most {
                    return Err(FitError::Misfit { row: number + 1, what, measured_s, fitted_s });
                }
            }
        }
        Ok(())
    }

    fn estimates(&self, optimum: &Optimum, scatter: f64, freedom: f64) -> Vec<Estimate> {
        // Student's quantile, to the first order, where the errors come from the rows themselves.
        let wider = if scatter > 1.0 { 2.37 / freedom.max(1.0) } else { 0.0 };
        let mut constants = self.constants(&optimum.point);
        let mut defaults = *self.deployment.step.constants();
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
            let reach = ((1.96 + wider) * variance.max(0.0).sqrt()).exp();
            let own = diagonal(&optimum.covariance).nth(place).unwrap_or(1.0);
            let constant = free.constant;
            let value = *(constant.value)(&mut constants) * constant.scale;
            Estimate {
                name: constant.name,
                value,
                low: value / reach,
                high: value * reach,
                default: *(constant.value)(&mut defaults) * constant.scale,
                is_determined: own.sqrt() < DETERMINED,
            }
        });
        each.collect()
    }
}
