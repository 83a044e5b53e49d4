//! `inferometer run URL`: one load.

use super::levels::level;
use super::load_args::LoadArgs;
use crate::exit::{Code, Failure};
use crate::resolve::{Ending, LevelRequest, resolve};
use crate::session::execute;
use clap::Args;

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Requests in flight
    #[arg(short, long, aliases = ["max-concurrency", "num-concurrent-requests"], default_value = "1", value_parser = level, value_name = "N")]
    concurrency: u32,

    /// Requests to measure [default: what fits into the duration]
    #[arg(short = 'n', long, aliases = ["num-prompts", "request-count", "max-requests"], value_name = "N")]
    requests: Option<u32>,

    /// How long to send; what is in flight then still finishes [default: 20s without --requests]
    #[arg(short = 'z', long, aliases = ["max-seconds", "benchmark-duration", "time-limit"], value_parser = super::duration::seconds, value_name = "SPAN")]
    duration: Option<f64>,

    /// Requests sent before the measurement [default: one per user]
    #[arg(short = 'w', long, aliases = ["num-warmups", "warmup-request-count"], value_name = "N")]
    warmup: Option<u32>,
}

/// Runs the command.
pub fn run(args: &RunArgs, words: &[String]) -> Result<Code, Failure> {
    let ending = Ending::new(args.requests, args.duration)?;
    let levels = [LevelRequest { concurrency: args.concurrency, ending, warmup: args.warmup }];
    execute(resolve(&args.load, &levels, words)?)
}
