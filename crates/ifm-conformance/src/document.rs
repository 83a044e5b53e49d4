//! The results as one JSON document.

use crate::{Check, Trial, Tried, Verdict};
use serde::Serialize;

/// What `conform --json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConformanceDocument<'a> {
    /// What the document is.
    #[cfg_attr(feature = "schema", schemars(extend("const" = "conformance")))]
    kind: &'static str,
    /// The client, as a command for the shell.
    command: &'a str,
    /// The client for completions, if that needs a different command.
    #[serde(skip_serializing_if = "Option::is_none")]
    completions_command: Option<&'a str>,
    /// Tolerance of a time, milliseconds.
    tolerance_ms: f64,
    /// Maximum runs of a case; the majority decides.
    runs: usize,
    /// Cases with a right result.
    right: usize,
    /// Cases that apply to the client.
    of: usize,
    /// Cases that the command has no way to run.
    not_applicable: usize,
    /// Every case.
    cases: Vec<CaseResult<'a>>,
}

/// A stream with a known answer.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CaseResult<'a> {
    /// Name.
    case: &'static str,
    /// Class.
    class: &'static str,
    /// The client's result.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["right", "wrong", "silent", "unended", "not_applicable"]))
    )]
    verdict: &'static str,
    /// Why the case does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Mistakes.
    wrong: Vec<Number>,
    /// Every number that was compared with the truth, right or wrong.
    checked: Vec<Number>,
    /// Runs of the client for this case; 0 where it does not apply.
    runs: usize,
    /// Runs with a right result.
    right_runs: usize,
    /// Format and file from which the numbers were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_from: Option<&'a str>,
}

/// A number that the client reports, and the truth.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Number {
    /// Which number.
    what: &'static str,
    /// The client's number; null if it reports none.
    said: Option<f64>,
    /// The true number, by inferometer's definition.
    truth: Option<f64>,
}

impl<'a> ConformanceDocument<'a> {
    /// All cases and their results.
    pub fn new(trial: &'a Trial, tried: &'a [Tried]) -> ConformanceDocument<'a> {
        let with = |is: &dyn Fn(Verdict) -> bool| tried.iter().filter(|t| is(t.verdict)).count();
        let not_applicable = with(&|verdict| matches!(verdict, Verdict::NotApplicable(_)));
        ConformanceDocument {
            kind: "conformance",
            command: &trial.command,
            completions_command: trial.completions_command.as_deref(),
            tolerance_ms: trial.tolerance_ms,
            runs: trial.runs,
            right: with(&|verdict| verdict == Verdict::Right),
            of: tried.len() - not_applicable,
            not_applicable,
            cases: tried.iter().map(CaseResult::from).collect(),
        }
    }
}

impl<'a> From<&'a Tried> for CaseResult<'a> {
    fn from(tried: &'a Tried) -> CaseResult<'a> {
        let checks = tried.example().map_or(&[][..], |attempt| &attempt.checks);
        CaseResult {
            case: tried.case.name,
            class: tried.case.class.word(),
            verdict: tried.verdict.word(),
            reason: match tried.verdict {
                Verdict::NotApplicable(reason) => Some(reason),
                _ => None,
            },
            wrong: checks.iter().filter(|check| !check.is_right).map(Number::from).collect(),
            checked: checks.iter().map(Number::from).collect(),
            runs: tried.attempts.len(),
            right_runs: tried.right_runs(),
            read_from: tried.example().and_then(|attempt| attempt.source.as_deref()),
        }
    }
}

impl From<&Check> for Number {
    fn from(check: &Check) -> Number {
        Number { what: check.what, said: check.said, truth: check.truth() }
    }
}
