//! The result of a fit, or the reason why it failed.
//!
//! Not here: how it is found (`problem`), and whether it can be used (`judge`).

use crate::constants::Constants;
use crate::deployment::Deployment;
use crate::predict::{Observation, PredictError, Predicted, predict};
use serde::Serialize;

/// What a row may hold.
pub(super) const TTFT: &str = "the time to the first token";
pub(super) const ITL: &str = "the gap between tokens";

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
    /// The best constants miss most of what they were fitted to.
    #[error(
        "the best constants miss {missed} of {values} measured times by more than {:.0} %",
        MISS * 100.0
    )]
    MostMissed {
        /// Measured times that are missed.
        missed: usize,
        /// All measured times.
        values: usize,
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

/// Error of a fitted value beyond which the constants say little of its row.
pub const MISS: f64 = 0.25;

/// One constant as the rows and its default have it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Name with the unit.
    pub name: &'static str,
    /// The value: the default where the rows do not determine it.
    pub value: f64,
    /// Low end of the 95 % interval.
    pub low: f64,
    /// High end of the 95 % interval.
    pub high: f64,
    /// What it was before.
    pub default: f64,
    /// Whether the rows determine it: they narrow what the default allows, and no other constant
    /// explains them as well.
    pub is_determined: bool,
    /// The constant that explains the rows as well as this one does; the interval covers both.
    pub rival: Option<&'static str>,
    /// Whether it is at the end of the range in which it was searched for.
    pub is_at_bound: bool,
}

/// A measured value and the fit's.
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

/// A row and the fit.
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
    pub(super) fn of(deployment: &Deployment, row: &Observation) -> Result<Row, PredictError> {
        let predicted = predict(deployment, row)?;
        Ok(Row {
            ttft: Compared::of(row.ttft_s, Some(predicted.ttft_s)),
            itl: Compared::of(row.itl_s, predicted.itl_s),
            predicted,
        })
    }

    /// Each measured value with its name.
    pub(super) fn compared(&self) -> impl Iterator<Item = (&'static str, Compared)> {
        [(TTFT, self.ttft), (ITL, self.itl)]
            .into_iter()
            .filter_map(|(what, compared)| Some((what, compared?)))
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// All constants, those that were not free too.
    pub constants: Constants,
    /// Those that were free.
    pub estimates: Vec<Estimate>,
    /// Each row and its fit, in the order given.
    pub rows: Vec<Row>,
    /// How much more the rows scatter around the fit than their errors say; 1 where they do not.
    pub scatter: f64,
    /// Where else the constants may be.
    pub spread: Spread,
    /// Constants of which only a combination is known.
    pub pairs: Vec<Pair>,
    /// Shares of the machine's peaks that the machine hardly has.
    pub suspects: Vec<Suspect>,
    /// Why the constants are of no use.
    #[serde(skip)]
    pub refusal: Option<FitError>,
}

/// Where else the constants may be, with all that the rows do and do not say. What any load takes with
/// these is how uncertain its forecast is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Pairs of both ends of independent directions, each at the end of its 95 % interval.
    pub directions: Vec<[Constants; 2]>,
    /// Constants that explain the rows as well.
    pub rivals: Vec<Constants>,
}

/// Two constants that explain each other: the rows determine only what both do together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// Their names.
    pub names: [&'static str; 2],
    /// The one of the two whose value follows from the other one.
    pub measured: &'static str,
    /// Its 95 % interval, high over low, where the other one is known.
    pub width: f64,
}

/// A share of a peak of the machine that suggests that the peak is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Suspect {
    /// The constant.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its default.
    pub default: f64,
    /// Why it is suspect.
    pub doubt: Doubt,
}

/// Why a share of a peak is suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The rows need more than the peak.
    AbovePeak,
    /// The rows show less than a third of the default share.
    FarBelow,
    /// It is at the end of the range in which it was searched for.
    AtBound,
    /// The rows do not determine it, and the errors of first tokens follow the length of the prompt.
    FollowsPrompts,
    /// The rows do not determine it, and the errors of gaps follow the number of requests.
    FollowsRequests,
}

/// A held-out row and what the fit of the other rows predicts for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOut {
    /// Its number, from 0.
    pub number: usize,
    /// The row and the fit of the others.
    pub row: Row,
}
