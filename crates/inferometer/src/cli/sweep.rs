//! `inferometer sweep URL`: several loads, one table.

use super::levels;
use super::load_args::LoadArgs;
use crate::exit::{Code, Failure};
use crate::resolve::{Ending, LevelRequest, resolve};
use crate::session::execute;
use clap::Args;

/// The levels that are tried when none is named: they end early when more users bring nothing.
const DEFAULT_LEVELS: &str = "1..256";

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Users at each level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1..256, ending early
    /// when two doublings bring less than 5 % or more than 1 % of the requests fail]
    #[arg(short, long, aliases = ["max-concurrency", "num-concurrent-requests"], value_name = "LIST")]
    concurrency: Option<String>,

    /// Requests to measure at each level [default: what fits into the duration]
    #[arg(short = 'n', long, aliases = ["num-prompts", "request-count", "max-requests"], value_name = "N")]
    requests: Option<u32>,

    /// How long to send at each level [default: 20s without --requests]
    #[arg(short = 'z', long, aliases = ["max-seconds", "benchmark-duration", "time-limit"], value_parser = super::duration::seconds, value_name = "SPAN")]
    duration: Option<f64>,

    /// Requests sent before each measurement [default: one per user]
    #[arg(short = 'w', long, aliases = ["num-warmups", "warmup-request-count"], value_name = "N")]
    warmup: Option<u32>,
}

/// Runs the command.
pub fn run(args: &SweepArgs, words: &[String]) -> Result<Code, Failure> {
    let list = args.concurrency.as_deref().unwrap_or(DEFAULT_LEVELS);
    let ending = Ending::new(args.requests, args.duration)?;
    let levels: Vec<LevelRequest> = levels::parse(list)
        .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?
        .into_iter()
        .map(|concurrency| LevelRequest { concurrency, ending, warmup: args.warmup })
        .collect();
    let mut job = resolve(&args.load, &levels, words)?;
    job.stop_at_plateau = args.concurrency.is_none();
    execute(job)
}
