//! `inferometer predict`: a server that does not exist, under any load that one that does takes.

use super::arrival_args::ArrivalArgs;
use super::deployment_args::DeploymentArgs;
use super::ending_args::EndingArgs;
use super::load_args::ResultArgs;
use super::report::{self, ReportArgs};
use super::resolve::resolve_simulated;
use super::workload_args::WorkloadArgs;
use super::{Alone, levels, vary};
use crate::exit::{Code, Failure};
use crate::levels::{Ending, LevelRequest};
use crate::predict::{Deployed, rows};
use crate::session::{execute, store_root};
use crate::subjects;
use crate::terminal;
use clap::{Args, Parser as _, ValueEnum as _};
use ifm_core::Manifest;
use ifm_core::spec::LoadSpec;
use ifm_sim::Load;
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Users at each level when nothing is said.
const LEVELS: &str = "1,8,32";

/// Flags of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub deployment: DeploymentArgs,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Users at each level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1,8,32]
    #[arg(help_heading = "Load", short, long, value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps", "bursts"])]
    pub concurrency: Option<String>,

    #[command(flatten)]
    pub arrivals: ArrivalArgs,

    #[command(flatten)]
    pub ending: EndingArgs,

    /// A measured result, a run or a file of another tool: its loads are predicted, and both are
    /// shown side by side
    #[arg(help_heading = "Questions", long, value_name = "RESULT", conflicts_with_all = ["concurrency", "rate", "vary"])]
    pub against: Option<PathBuf>,

    #[command(flatten)]
    pub vary: vary::VaryArgs,

    #[command(flatten)]
    pub results: ResultArgs,
}

impl PredictArgs {
    /// The levels that are asked for.
    ///
    /// # Errors
    /// A load that cannot be.
    pub fn levels(&self) -> Result<Vec<LevelRequest>, Failure> {
        self.arrivals.check_law_is_used()?;
        let schedules = self.arrivals.schedules(0)?;
        if !schedules.is_empty() {
            return self.ending.open_levels(schedules, self.arrivals.max_in_flight);
        }
        let list = self.concurrency.as_deref().unwrap_or(LEVELS);
        let users = levels::parse(list)
            .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
        self.ending.levels(&users)
    }

    /// Whether a load was named.
    pub fn names_a_load(&self) -> Result<bool, Failure> {
        Ok(self.concurrency.is_some() || !self.arrivals.schedules(0)?.is_empty())
    }

    /// The deployment.
    ///
    /// # Errors
    /// As [`DeploymentArgs::deployed`].
    pub fn deployed(&self) -> Result<Deployed, Failure> {
        let store = Store::at(store_root(self.results.store.as_ref()));
        self.deployment.deployed(&store, self.workload.seed.unwrap_or(0))
    }
}

/// Runs the command.
///
/// # Errors
/// A deployment that cannot be, or a load.
pub fn run(args: &PredictArgs, words: &[String]) -> Result<Code, Failure> {
    if args.vary.is_asked() {
        return vary::run(args, words);
    }
    let deployed = args.deployed()?;
    if let Some(result) = &args.against {
        return against(args, result, deployed, words);
    }
    let asked = (&args.workload, &args.results);
    execute(resolve_simulated(asked, deployed, &args.levels()?, words)?)
}

/// Predicts the loads of a measured result, and shows both.
fn against(
    args: &PredictArgs,
    result: &Path,
    deployed: Deployed,
    words: &[String],
) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.results.store.as_ref()));
    let subjects = subjects::open(&store, &[result.to_owned()])?;
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
            // A level that ended early is as long as it was.
            let as_long = |(number, level): (u16, &LoadSpec)| LoadSpec {
                requests: requests(number).filter(|sent| *sent > 0).or(level.requests),
                early_end: None,
                ..level.clone()
            };
            numbered.map(as_long).collect()
        }
        _ => {
            let given = super::calibrate::lengths(&args.workload.workload).ok();
            let rows = rows(&subjects, given);
            let Some(first) = rows.first() else {
                return Err(Failure::usage(format!(
                    "{} holds no load with lengths and times",
                    result.display()
                ))
                .hint("-W PROMPT/OUTPUT says lengths that it does not tell"));
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
        result.display().to_string(),
        "--store".to_owned(),
        store.root().display().to_string(),
        "--format".to_owned(),
    ];
    let format = args.results.output().to_possible_value();
    line.extend(format.map(|value| value.get_name().to_owned()));
    for path in &args.results.out {
        line.extend(["--out".to_owned(), path.display().to_string()]);
    }
    terminal::say("");
    report::run(&Alone::<ReportArgs>::parse_from(line).args)
}

/// What a run sent, as it would be typed.
fn sent(manifest: &Manifest) -> String {
    let workload = &manifest.spec.workload;
    workload.text.clone().unwrap_or_else(|| workload.kind.clone())
}

/// A measured load as one to predict.
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
