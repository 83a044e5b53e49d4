//! The constants of one deployment from a few measured rows.
//!
//! The most likely constants given the rows and the defaults: least squares of the logarithms of
//! times, each row by its standard error (at least 1 %; 5 % for a first token that others could
//! delay, which hangs on how requests met), with a prior around each default. Shares of peaks lie
//! within about 30 % of it and times of the host within a factor of 3, one standard deviation each;
//! the prior has the heavy tails of a Student distribution, since figures of a machine may be off by
//! ten. The forward model is [`predict`](crate::predict()), so that constants mean the same when
//! they are used. Where the rows scatter more around the fit than their errors say, the errors grow
//! until they do not (D. MacKay, "Bayesian interpolation", 1992).
//!
//! A constant is determined by the rows where two things hold. They narrow it: its standard error by
//! the curvature of the fit, all other constants free, is below 60 % of the prior's. And where it is
//! more than two standard deviations from its default, the best fit with it at the default is worse
//! by more than 3.84, the 95 % point of a likelihood ratio: else some other constant, its rival,
//! explains the rows as well. It is not determined either if it moves by more than the first rule allows
//! while a constant that the rows leave open goes to either end of its prior and the rows are explained
//! as well: then only the combination of both is known. What is not narrowed stays at its default, exactly; its prior still
//! widens the intervals of the others.
//!
//! What rows cannot say: with one model and one user the time of the host for a step and the share
//! of the bandwidth do the same to every number. The time of the host for a layer and for a step do
//! the same for one model always, so that one of them is free: that of a layer for mixtures of
//! experts. `kv_share` moves with `bandwidth_share` unless short and long contexts separate them. The
//! time of the host for a sequence is one more time of a step where no row has two of them: then it
//! stays at its default too, whatever else would fit better with it.
//!
//! Not here: the search (`solve`, `problem`, `rivals`), the verdict (`judge`), and where rows come from.

mod judge;
mod outcome;
mod problem;
mod rivals;
mod solve;

pub use outcome::{
    Compared, Doubt, Estimate, Fit, FitError, HeldOut, MISS, Pair, Row, Spread, Suspect,
};

use crate::constants::{CONSTANTS, ConstantName};
use crate::deployment::Deployment;
use crate::predict::Observation;
use problem::{Problem, value_of};

/// The constants that are free when nothing is said.
pub fn free_by_default(deployment: &Deployment) -> Vec<&'static str> {
    let is_experts = deployment.setup.model().has_experts();
    let constants = *deployment.step.constants();
    // Of both times of the host for a step one is free: a time that is 0 has no scale to move on.
    let is_by_layer = is_experts || constants.step_host_s <= 0.0;
    let named = |constant: &&ConstantName| match constant.name {
        "bandwidth_share" | "kv_share" | "arithmetic_share" | "attention_share" => true,
        "sequence_host_us" | "frontend_ms" => true,
        "layer_host_us" => is_by_layer,
        "step_host_ms" => !is_by_layer,
        _ => false,
    };
    let free = CONSTANTS.iter().filter(named);
    // A time that is 0 is not lost at all.
    free.filter(|constant| value_of(constant, constants) > 0.0)
        .map(|constant| constant.name)
        .collect()
}

/// Finds the constants of a deployment, of use or not: [`Fit::refusal`] says why they are not. Those
/// that the deployment has are the center of the prior.
///
/// # Errors
/// [`FitError`]: rows that hold nothing, or that cannot be predicted.
pub fn estimate(
    deployment: &Deployment,
    rows: &[Observation],
    free: &[&str],
) -> Result<Fit, FitError> {
    let problem = Problem::new(deployment, rows, free)?;
    let mut solved = problem.solve()?;
    solved.rivals = problem.rivals(&solved)?;
    let constants = problem.constants(&solved.optimum.point);
    let fitted = deployment.with_constants(constants);
    let of = |(number, row)| {
        Row::of(&fitted, row).map_err(|error| FitError::Predict { row: number + 1, error })
    };
    let compared: Vec<Row> = rows.iter().enumerate().map(of).collect::<Result<_, _>>()?;
    let estimates = problem.estimates(&solved);
    let pairs = problem.pairs(&solved, &estimates);
    let both: Vec<(&Observation, &Row)> = rows.iter().zip(&compared).collect();
    let suspects = judge::suspects(&estimates, &both);
    let mut fit = Fit {
        constants,
        suspects,
        estimates,
        rows: compared,
        scatter: solved.scatter,
        spread: problem.spread(&solved),
        pairs,
        refusal: None,
    };
    fit.refusal = judge::refusal(&fit, problem.errors());
    Ok(fit)
}

/// The same, where constants that are of no use are an error.
///
/// # Errors
/// [`FitError`].
pub fn fit(deployment: &Deployment, rows: &[Observation], free: &[&str]) -> Result<Fit, FitError> {
    let mut found = estimate(deployment, rows, free)?;
    match found.refusal.take() {
        Some(refusal) => Err(refusal),
        None => Ok(found),
    }
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
        let point = problem.solve()?.optimum.point;
        let fitted = deployment.with_constants(problem.constants(&point));
        let row =
            Row::of(&fitted, row).map_err(|error| FitError::Predict { row: number + 1, error })?;
        all.push(HeldOut { number, row });
    }
    Ok(all)
}
