//! Why a form as typed by the user is invalid.

use thiserror::Error;

/// Why forms are invalid.
#[derive(Debug, Error)]
pub enum FormError {
    /// There are too many.
    #[error("a run has at most {max} forms")]
    TooMany {
        /// Maximum number of forms in a run.
        max: usize,
    },
    /// Their shares add up to more than all requests.
    #[error(
        "the shares of the forms add up to {sum}; hint: they are parts of all requests: the maximum \
         is 1 together"
    )]
    Shares {
        /// Sum of the shares.
        sum: f64,
    },
    /// A form cannot be read.
    #[error(
        "--form {text}: {reason}; hint: write json, json:FILE, json-unique:FILE, preset:NAME, \
         json-unique:preset:NAME, regex:PATTERN, choice:A,B or grammar:FILE, with a share as \
         0.5*json:FILE"
    )]
    Invalid {
        /// As typed.
        text: String,
        /// Why.
        reason: String,
    },
}
