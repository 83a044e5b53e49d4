//! `inferometer predict`: a server that does not exist, under any load that one that does takes.

use super::arrival_args::ArrivalArgs;
use super::deployment_args::DeploymentArgs;
use super::ending_args::EndingArgs;
use super::levels;
use super::load_args::ResultArgs;
use super::resolve::resolve_simulated;
use super::workload_args::WorkloadArgs;
use crate::exit::{Code, Failure};
use crate::session::{execute, store_root};
use clap::Args;
use ifm_store::Store;

/// Flags of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    #[command(flatten)]
    deployment: DeploymentArgs,

    #[command(flatten)]
    workload: WorkloadArgs,

    /// Users at each level: 1,2,8 or 1..32 (doubling) or 4..16:4
    #[arg(help_heading = "Load", short, long, default_value = "1,8,32", value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps", "bursts"])]
    concurrency: String,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    ending: EndingArgs,

    #[command(flatten)]
    results: ResultArgs,
}

/// Runs the command.
///
/// # Errors
/// A deployment that cannot be, or a load.
pub fn run(args: &PredictArgs, words: &[String]) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.results.store.as_ref()));
    let deployed = args.deployment.deployed(&store, args.workload.seed.unwrap_or(0))?;
    args.arrivals.check_law_is_used()?;
    let schedules = args.arrivals.schedules(0)?;
    let levels = match schedules.is_empty() {
        false => args.ending.open_levels(schedules, args.arrivals.max_in_flight)?,
        true => {
            let list = args.concurrency.as_str();
            let users = levels::parse(list)
                .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
            args.ending.levels(&users)?
        }
    };
    execute(resolve_simulated((&args.workload, &args.results), deployed, &levels, words)?)
}
