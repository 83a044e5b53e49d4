//! Each fault of a simulated server against all checks of a run and the rules of an audit: those that are
//! about it speak, all others are silent, and without a fault all are. What a fault does on the wire is said in
//! `ifm-serve`.

use crate::support::{assert_measured, json, run, served};
use ifm_serve::KNOWN_FAULTS;
use ifm_truth::slower_and_slower;
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks that a busy host makes speak of a sound server too.
const OF_HOST: [&str; 4] = ["client", "co_arrival", "drift", "warm_up"];
/// Checks that speak of every run here: it is of a simulation, and short.
const OF_RUN: [&str; 2] = ["predicted", "samples"];

/// A fault, the load that shows it, and what is said of it: one of the checks, and words of it.
struct Case {
    /// `{N}` is N milliseconds, longer where the server is slower.
    fault: &'static str,
    load: &'static [&'static str],
    speaks: &'static [&'static str],
    says: &'static str,
}

const FEW: &[&str] = &["-W", "random:64/16", "-c", "4", "-n", "40"];
const COLD: &[&str] = &["-W", "random:64/16", "-c", "8", "-n", "60", "-w", "0"];
const LONG: &[&str] = &["-W", "random:64/4", "-c", "4", "-n", "500"];
const FORMS: &[&str] = &["-W", "random:64/16", "-n", "20", "--form", "choice:yes,no"];

const fn case(fault: &'static str, speaks: &'static [&'static str], says: &'static str) -> Case {
    Case { fault, load: FEW, speaks, says }
}

const ENDS: [Case; 7] = [
    case("", &[], ""),
    case("429:0.2", &["failures"], "with status 429"),
    case("500:0.2", &["failures"], "with status 500"),
    case("503:0.2", &["failures"], "with status 503"),
    case("reset:0.2", &["failures"], "transport_error"),
    case("error-in-stream:0.2", &["failures"], "in_band_error"),
    case("truncate:0.2", &["failures"], "truncated"),
];

const EVENTS: [Case; 4] = [
    case("coalesce:4", &["co_arrival"], "most gaps count as 0"),
    case("multi-token:4", &["counting"], "gaps between events are not gaps between tokens"),
    case("no-usage", &["counting"], "output tokens are estimated from events"),
    Case {
        fault: "invalid-form:1",
        load: FORMS,
        speaks: &["form_validity"],
        says: "of choice:yes,no",
    },
];

const TIMES: [Case; 4] = [
    case("stall:0.2:{400}", &["stalls"], "in the middle"),
    Case {
        fault: "slow-first:0.1:{400}",
        load: COLD,
        speaks: &["overtaken"],
        says: "while later ones had theirs",
    },
    Case { fault: "cold:{400}", load: COLD, speaks: &["overtaken"], says: "while later ones" },
    // The course of a level that is long enough is cut where it changes; a shorter one drifts.
    Case { fault: "throttle:{900}:2", load: LONG, speaks: &["drift", "warm_up"], says: " ms (" },
];

/// A fault whose times are multiplied by `factor`.
fn with_times(fault: &str, factor: u64) -> String {
    let Some((before, rest)) = fault.split_once('{') else { return fault.to_owned() };
    let (ms, behind) = rest.split_once('}').unwrap();
    format!("{before}{}ms{behind}", ms.parse::<u64>().unwrap() * factor)
}

/// What the checks of a run say, and what an audit of it says: the same.
fn said(case: &Case, factor: u64) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let scale = (0.1 * factor as f64).to_string();
    let fault = with_times(case.fault, factor);
    let mut flags = vec!["--sim", "--gpu", "l40s", "--model", "llama-3.1-8b"];
    flags.extend(["--time-scale", &scale, "--enable-per-request-metrics"]);
    if !fault.is_empty() {
        flags.extend(["--fault", &fault]);
    }
    let (_server, url) = served(folder.path(), &flags);
    let output = run(folder.path(), &[&["run", &url, "--json"], case.load].concat());
    assert_measured(&output);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let warnings = json(&output)["warnings"].as_array().unwrap().clone();
    let said: Vec<(String, String)> =
        warnings.iter().map(|one| (text(&one["check"]), text(&one["text"]))).collect();
    let audit = json(&run(folder.path(), &["audit", "last", "--json"]));
    let findings = audit["findings"].as_array().unwrap().iter();
    let found: BTreeSet<String> = findings.map(|one| text(&one["rule"])).collect();
    assert_eq!(found, said.iter().map(|(check, _)| check.clone()).collect(), "{fault}");
    said
}

/// Whether the checks that are about a fault speak, and no others.
fn hold(case: &Case, said: &[(String, String)]) -> Result<(), String> {
    let is_about = |check: &str| case.speaks.contains(&check);
    let speaks_of = |(check, text): &(String, String)| is_about(check) && text.contains(case.says);
    let speaks = case.speaks.is_empty() || said.iter().any(speaks_of);
    let may = |check: &str| is_about(check) || OF_HOST.contains(&check) || OF_RUN.contains(&check);
    match said.iter().find(|(check, _)| !may(check)) {
        None if speaks => Ok(()),
        other => Err(format!("{}: {other:?} of {said:?}", case.fault)),
    }
}

fn all_hold(cases: &[Case]) {
    for case in cases {
        // On a host that stalls, answers stop and others overtake them.
        slower_and_slower(|factor| hold(case, &said(case, factor))).unwrap();
    }
}

#[test]
fn reports_failing_answers_but_not_a_sound_server() {
    all_hold(&ENDS);
}

#[test]
fn reports_events_that_are_not_tokens() {
    all_hold(&EVENTS);
}

#[test]
fn reports_answers_that_wait() {
    all_hold(&TIMES);
}

#[test]
fn every_fault_has_its_check() {
    let cases = || ENDS.iter().chain(&EVENTS).chain(&TIMES);
    for (form, _) in KNOWN_FAULTS {
        let word = form.split(':').next().unwrap();
        let is_of = |case: &Case| case.fault.split(':').next() == Some(word);
        assert!(cases().any(|case| is_of(case) && !case.speaks.is_empty()), "{form}");
    }
}
