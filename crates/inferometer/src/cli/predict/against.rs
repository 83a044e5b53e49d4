//! `inferometer predict --against`: predicts the loads of a measured result.

use super::args::PredictArgs;
use crate::cli::args::resolve::resolve_simulated;
use crate::cli::report::{self, ReportArgs};
use crate::cli::{Alone, calibrate};
use crate::exit::{Code, Failure};
use crate::inputs;
use crate::job::levels::{Ending, LevelRequest};
use crate::session::{execute, store_root};
use crate::terminal;
use clap::{Parser as _, ValueEnum as _};
use ifm_core::Manifest;
use ifm_core::spec::LoadSpec;
use ifm_predict::{SimulatedDeployment, rows};
use ifm_sim::Load;
use ifm_store::Store;
use std::path::Path;

/// Predicts the loads of a measured result, and shows both.
///
/// # Errors
/// The result is invalid, is a prediction itself, or cannot be predicted.
pub fn against(
    args: &PredictArgs,
    result: &Path,
    deployed: SimulatedDeployment,
    words: &[String],
) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.results.store.as_ref()));
    let subjects = inputs::open(&store, &[result.to_owned()])?;
    let mut workload = args.workload.clone();
    let one = Ending::new(Some(1), None, None)?;
    let placeholder = LevelRequest { concurrency: 1, arrivals: None, ending: one, warmup: None };
    let levels: Vec<LoadSpec> = match (subjects.runs.as_slice(), subjects.sheets.is_empty()) {
        ([run], true) if run.manifest.predicted.is_some() => {
            return Err(Failure::usage(format!(
                "{} is a prediction: --against takes what was measured",
                result.display()
            )));
        }
        ([run], true) => {
            workload.seed = workload.seed.or(Some(run.manifest.spec.workload.seed));
            workload.workload = sent(&run.manifest);
            let requests = |number: u16| {
                let levels = &run.summary.levels;
                levels
                    .iter()
                    .find(|level| level.level == number)
                    .map(|level| level.counts.sent as u32)
            };
            let numbered = (0_u16..).zip(&run.manifest.spec.levels);
            // A level that ended early keeps its actual length.
            let as_long = |(number, level): (u16, &LoadSpec)| LoadSpec {
                requests: requests(number).filter(|sent| *sent > 0).or(level.requests),
                early_end: None,
                ..level.clone()
            };
            numbered.map(as_long).collect()
        }
        _ => {
            let given = calibrate::lengths(&args.workload.workload).ok();
            let rows = rows(&subjects.runs, &subjects.sheets, given);
            let Some(first) = rows.first() else {
                return Err(Failure::usage(format!(
                    "{} contains no load with lengths and times",
                    result.display()
                ))
                .hint("-W PROMPT/OUTPUT sets the missing lengths"));
            };
            let (prompt, output) = (first.seen.prompt_tokens, first.seen.output_tokens);
            workload.workload = format!("{prompt:.0}/{output:.0}");
            let is_alike = |one: f64, other: f64| (one / other - 1.0).abs() < 0.02;
            rows.iter()
                .filter(|row| {
                    is_alike(row.seen.prompt_tokens, prompt)
                        && is_alike(row.seen.output_tokens, output)
                })
                .map(|row| load_spec(&row.seen.load, workload.seed.unwrap_or(0)))
                .collect()
        }
    };
    // Resolves the name now: afterwards, "last" is the prediction.
    let measured = match store.find(&result.to_string_lossy()) {
        Ok(run) if !subjects.runs.is_empty() => run.path.clone(),
        _ => result.to_owned(),
    };
    let asked = (&workload, &args.results);
    let mut job = resolve_simulated(asked, deployed, &[placeholder], words)?;
    job.spec.levels = levels;
    job.is_a_part = true;
    let code = execute(job)?;
    if code != Code::Done {
        return Ok(code);
    }
    let predicted = store.find("last").map_err(|error| Failure::files(error.to_string()))?;
    let mut line = vec![
        "report".to_owned(),
        predicted.path.display().to_string(),
        measured.display().to_string(),
        "--store".to_owned(),
        store.root().display().to_string(),
        "--format".to_owned(),
    ];
    let format = args.results.output().to_possible_value();
    line.extend(format.map(|value| value.get_name().to_owned()));
    for (flag, is_given) in [("--no-color", args.results.no_color), ("--ascii", args.results.ascii)]
    {
        line.extend(is_given.then(|| flag.to_owned()));
    }
    for path in &args.results.out {
        line.extend(["--out".to_owned(), path.display().to_string()]);
    }
    terminal::say("");
    report::run(&Alone::<ReportArgs>::parse_from(line).args)
}

/// The workload of a run, as it would be typed; for runs of early versions only the lengths are
/// known.
fn sent(manifest: &Manifest) -> String {
    let workload = &manifest.spec.workload;
    let lengths = workload.prompt_tokens.zip(workload.output_tokens);
    let lengths = lengths.map(|(prompt, output)| format!("{prompt}/{output}"));
    workload.text.clone().or(lengths).unwrap_or_else(|| workload.kind.clone())
}

/// A measured load as a load to predict.
fn load_spec(load: &Load, seed: u64) -> LoadSpec {
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};
    use ifm_sim::Span;
    let closed = |users: u32| LoadSpec {
        concurrency: users,
        arrivals: None,
        requests: Some((users * 6).max(50)),
        duration_s: None,
        sessions: None,
        warmup_requests: users,
        early_end: None,
        scout: false,
    };
    match *load {
        Load::Closed { users } | Load::Batch { sequences: users } => closed(users),
        Load::Open { req_per_s, span, is_random } => {
            let stretch = RateStretch {
                from_req_per_s: req_per_s,
                to_req_per_s: req_per_s,
                curve: RateCurve::Linear,
                seconds: None,
            };
            let law = if is_random { ArrivalLaw::Poisson } else { ArrivalLaw::Constant };
            let (requests, duration_s) = match span {
                Span::Requests(count) => (Some(count), None),
                Span::Seconds(seconds) => (None, Some(seconds)),
            };
            LoadSpec {
                concurrency: 100_000,
                arrivals: Some(ArrivalSpec { law, stretches: vec![stretch], seed }),
                requests,
                duration_s,
                warmup_requests: 0,
                ..closed(1)
            }
        }
    }
}
