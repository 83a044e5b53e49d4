//! `inferometer run URL`: measures one load.

use crate::cli::args::arrival::ArrivalArgs;
use crate::cli::args::ending::EndingArgs;
use crate::cli::args::level_list::level;
use crate::cli::args::load::LoadArgs;
use crate::cli::args::probe::ProbeArgs;
use crate::cli::args::simulated_url;
use crate::exit::{Code, Failure};
use crate::job::levels::LevelRequest;
use crate::session::execute;
use clap::Args;

/// The shapes of a load, for the help.
pub const SHAPES: &str = "\
Shapes of the load:
  users, each in turn      -c 8
  all at once              --rate inf -n 1000
  a rate                   --rate 5 [--arrivals poisson|constant|gamma:0.5|burst:8]
  a rate that changes      --ramp 1-50/60s, --ramp 1-50/60s:exp, --steps 1,2,4/30s
  bursts with a queue      --bursts 64/5s
  a recorded trace         --replay, --replay=10";

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Concurrent requests; with --rate, the maximum [default: 1]
    #[arg(help_heading = "Load", short, long, allow_negative_numbers = true, aliases = ["max-concurrency", "num-concurrent-requests"], value_parser = level, value_name = "N")]
    concurrency: Option<u32>,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    ending: EndingArgs,

    #[command(flatten)]
    probe: ProbeArgs,
}

/// Runs the command.
pub fn run(args: &RunArgs, words: &[String]) -> Result<Code, Failure> {
    let probe = args.probe.open(&args.load.workload)?;
    execute(simulated_url::job(&args.load, &levels(args)?, words, probe)?)
}

/// The requested level.
fn levels(args: &RunArgs) -> Result<Vec<LevelRequest>, Failure> {
    args.arrivals.check_law_is_used()?;
    if args.arrivals.is_all_at_once()? {
        let room = args.concurrency.unwrap_or(args.arrivals.max_in_flight);
        let users = room.min(args.ending.requests().unwrap_or(room)).max(1);
        return args.ending.levels(&[users]);
    }
    let schedules = args.arrivals.schedules(0)?;
    match schedules.len() {
        0 => args.ending.levels(&[args.concurrency.unwrap_or(1)]),
        1 => {
            let limit = args.concurrency.unwrap_or(args.arrivals.max_in_flight);
            args.ending.open_levels(schedules, limit)
        }
        _ => {
            Err(Failure::usage("run accepts one --rate").hint("inferometer sweep accepts several"))
        }
    }
}
