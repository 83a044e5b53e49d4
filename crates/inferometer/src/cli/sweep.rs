//! `inferometer sweep URL`: several loads, one table.

use super::arrival_args::ArrivalArgs;
use super::ending_args::EndingArgs;
use super::levels;
use super::load_args::LoadArgs;
use super::pacing_args::PacingArgs;
use super::repeats::RepeatArgs;
use crate::course::Course;
use crate::exit::{Code, Failure};
use crate::resolve::resolve;
use crate::session::execute;
use clap::{Args, ValueEnum};

/// The levels that are tried when none is named: they end early when more users bring nothing.
const DEFAULT_LEVELS: &str = "1..256";

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Users at each level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1..256, ending early
    /// when two doublings bring less than 5 % or more than 1 % of the requests fail]
    #[arg(help_heading = "Load", short, long, aliases = ["max-concurrency", "num-concurrent-requests"], value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps", "bursts"])]
    concurrency: Option<String>,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    repeats: RepeatArgs,

    /// Which loads, in GuideLLM's words: sweep measures one user, as many as possible, and then
    /// rates between what the two reached
    #[arg(help_heading = "Load", long, value_enum, aliases = ["rate-type", "benchmark-kind"], value_name = "PROFILE", conflicts_with_all = ["concurrency", "rate", "ramp", "steps", "bursts", "replay"])]
    profile: Option<Profile>,

    /// Rates between the two ends of --profile sweep
    #[arg(help_heading = "Load", long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=98), value_name = "N")]
    points: u32,

    #[command(flatten)]
    ending: EndingArgs,

    #[command(flatten)]
    pacing: PacingArgs,
}

/// Loads without a number of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// One user
    Synchronous,
    /// As many requests in flight as --max-in-flight allows, 512 at most
    Throughput,
    /// One user, as many as possible, and rates between
    Sweep,
}

/// Requests in flight of the profile throughput, at most.
const THROUGHPUT_USERS: u32 = 512;

/// Runs the command.
pub fn run(args: &SweepArgs, words: &[String]) -> Result<Code, Failure> {
    let list = args.concurrency.as_deref().unwrap_or(DEFAULT_LEVELS);
    let users = levels::parse(list)
        .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
    if args.profile != Some(Profile::Sweep) {
        args.arrivals.check_law_is_used()?;
    }
    let schedules = args.arrivals.schedules(0)?;
    let is_open_loop = !schedules.is_empty();
    let most = args.arrivals.max_in_flight.min(THROUGHPUT_USERS);
    let levels = match (args.profile, is_open_loop) {
        (Some(Profile::Synchronous), _) => args.ending.levels(&[1])?,
        (Some(Profile::Throughput), _) => args.ending.levels(&[most])?,
        (Some(Profile::Sweep), _) => args.ending.levels(&[1, most])?,
        (None, true) => args.ending.open_levels(schedules, args.arrivals.max_in_flight)?,
        (None, false) => args.ending.levels(&users)?,
    };
    let finds_its_levels = args.profile == Some(Profile::Sweep)
        || (args.profile.is_none() && args.concurrency.is_none() && !is_open_loop);
    if args.repeats.repeats() && finds_its_levels {
        return Err(Failure::usage("--repeat needs levels that are known before")
            .hint("name them with --concurrency or --rate"));
    }
    let levels = args.repeats.spread(&levels, args.load.workload.seed.unwrap_or(0));
    let mut job = resolve(&args.load, &levels, words)?;
    args.pacing.set(&mut job.spec);
    if args.profile == Some(Profile::Sweep) {
        let law = args.arrivals.law()?;
        job.course = Course::Between { points: args.points, law };
    } else if finds_its_levels {
        job.course = Course::UntilPlateau;
    }
    execute(job)
}
