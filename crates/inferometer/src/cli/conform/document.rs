//! The results as one JSON document.

use crate::conformance::{Trial, Tried, Verdict};
use serde_json::{Value, json};

/// All cases and what came of them.
pub fn document(trial: &Trial, tried: &[Tried]) -> Value {
    let with = |is: &dyn Fn(Verdict) -> bool| tried.iter().filter(|t| is(t.verdict)).count();
    let not_applicable = with(&|verdict| matches!(verdict, Verdict::NotApplicable(_)));
    let mut document = json!({
        "kind": "conformance",
        "command": trial.command,
        "tolerance_ms": trial.tolerance_ms,
        "runs": trial.runs,
        "right": with(&|verdict| verdict == Verdict::Right),
        "of": tried.len() - not_applicable,
        "not_applicable": not_applicable,
        "cases": tried.iter().map(case).collect::<Vec<_>>(),
    });
    if let Some(command) = &trial.completions_command {
        document["completions_command"] = json!(command);
    }
    document
}

fn case(tried: &Tried) -> Value {
    let checks = tried.example().map_or(&[][..], |attempt| &attempt.checks);
    let number = |check: &crate::conformance::Check| json!({"what": check.what, "said": check.said, "truth": check.truth()});
    let wrong: Vec<_> = checks.iter().filter(|check| !check.is_right).map(number).collect();
    let mut case = json!({
        "case": tried.case.name,
        "class": tried.case.class.word(),
        "verdict": tried.verdict.word(),
        "wrong": wrong,
        "checked": checks.iter().map(number).collect::<Vec<_>>(),
        "runs": tried.attempts.len(),
        "right_runs": tried.right_runs(),
    });
    if let Verdict::NotApplicable(reason) = tried.verdict {
        case["reason"] = json!(reason);
    }
    if let Some(source) = tried.example().and_then(|attempt| attempt.source.as_ref()) {
        case["read_from"] = json!(source);
    }
    case
}
