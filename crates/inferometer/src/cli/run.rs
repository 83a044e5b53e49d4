//! `inferometer run URL`: one load.

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

    /// Requests in flight
    #[arg(short, long, aliases = ["max-concurrency", "num-concurrent-requests"], default_value = "1", value_parser = level, value_name = "N")]
    concurrency: u32,

    #[command(flatten)]
    ending: EndingArgs,
}

/// Runs the command.
pub fn run(args: &RunArgs, words: &[String]) -> Result<Code, Failure> {
    let levels = args.ending.levels(&[args.concurrency])?;
    execute(resolve(&args.load, &levels, words)?)
}
