//! `inferometer run URL`: one load.

use super::arrival_args::ArrivalArgs;
use super::ending_args::EndingArgs;
use super::levels::level;
use super::load_args::LoadArgs;
use crate::exit::{Code, Failure};
use crate::resolve::resolve;
use crate::session::execute;
use clap::Args;

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Requests in flight; with --rate the most that may be [default: 1]
    #[arg(help_heading = "Load", short, long, aliases = ["max-concurrency", "num-concurrent-requests"], value_parser = level, value_name = "N")]
    concurrency: Option<u32>,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

/// Runs the command.
pub fn run(args: &RunArgs, words: &[String]) -> Result<Code, Failure> {
    args.arrivals.check_law_is_used()?;
    let schedules = args.arrivals.schedules(0)?;
    let levels = match schedules.len() {
        0 => args.ending.levels(&[args.concurrency.unwrap_or(1)])?,
        1 => {
            let limit = args.concurrency.unwrap_or(args.arrivals.max_in_flight);
            args.ending.open_levels(schedules, limit)?
        }
        _ => {
            return Err(
                Failure::usage("run takes one --rate").hint("inferometer sweep takes several")
            );
        }
    };
    execute(resolve(&args.load, &levels, words)?)
}
