//! Why a machine, a model or a number format is not understood.
//!
//! Not here: measured values that lie below a bound, which are answers.

/// Why a question cannot be answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RooflineError {
    /// Several rows of a table fit the name.
    #[error("{what} \"{asked}\" may be {}; name one of them", candidates.join(", "))]
    Ambiguous {
        /// What was looked for: "machine" or "model".
        what: &'static str,
        /// What was asked for.
        asked: String,
        /// Ids of the rows that fit.
        candidates: Vec<String>,
    },
    /// No row fits the name.
    #[error("no {what} \"{asked}\" in the table{}", suggestion(nearest))]
    Unknown {
        /// What was looked for: "machine", "model" or "number format".
        what: &'static str,
        /// What was asked for.
        asked: String,
        /// Ids of the nearest rows, the nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// A custom machine description could not be parsed.
    #[error("machine \"{text}\": {reason}")]
    Machine {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A model's configuration is not understood.
    #[error("configuration: {reason}")]
    Config {
        /// Field and what is wrong with it.
        reason: String,
    },
    /// The model cannot be served that way.
    #[error("{reason}")]
    Setup {
        /// What does not fit.
        reason: String,
    },
}

fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}
