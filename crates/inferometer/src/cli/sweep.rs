//! `inferometer sweep URL`: measures several loads, in one table.

use crate::cli::args::arrival::ArrivalArgs;
use crate::cli::args::ending::EndingArgs;
use crate::cli::args::load::LoadArgs;
use crate::cli::args::pacing::PacingArgs;
use crate::cli::args::probe::ProbeArgs;
use crate::cli::args::repeats::RepeatArgs;
use crate::cli::args::{level_list, simulated_url};
use crate::exit::{Code, Failure};
use crate::session::execute;
use clap::{Args, ValueEnum};
use ifm_session::level_planner::LevelPlanner;

/// Default levels: they end early when more users add nothing.
const DEFAULT_LEVELS: &str = "1..256";

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Users per level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1..256]
    ///
    /// The default ends early when two doublings bring less than 5 % or more than 1 % of the
    /// requests fail
    #[arg(help_heading = "Load", short, long, allow_negative_numbers = true, aliases = ["max-concurrency", "num-concurrent-requests"], value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps", "bursts"])]
    concurrency: Option<String>,

    #[command(flatten)]
    arrivals: ArrivalArgs,

    #[command(flatten)]
    repeats: RepeatArgs,

    /// Load profile of GuideLLM
    ///
    /// sweep measures one user, as many as possible, and then rates between the results of these
    /// two. concurrent uses --rate as users
    #[arg(help_heading = "Load", long, value_enum, aliases = ["rate-type", "benchmark-kind"], value_name = "PROFILE", conflicts_with_all = ["ramp", "steps", "bursts", "replay"])]
    profile: Option<Profile>,

    /// Number of rates between the ends of --profile sweep
    #[arg(help_heading = "Load", long, default_value_t = 8, requires = "profile", value_parser = clap::value_parser!(u32).range(1..=98), value_name = "N")]
    points: u32,

    #[command(flatten)]
    ending: EndingArgs,

    #[command(flatten)]
    pacing: PacingArgs,

    #[command(flatten)]
    probe: ProbeArgs,
}

/// Loads without a number of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// One user
    Synchronous,
    /// As many requests in flight as --max-in-flight allows, maximum 512
    Throughput,
    /// One user, as many as possible, and rates between
    Sweep,
    /// Number of users from --rate, or --concurrency
    Concurrent,
    /// The rates of --rate, at constant intervals
    Constant,
    /// The rates of --rate, at random intervals
    Poisson,
}

/// The users and arrivals of a profile.
///
/// # Errors
/// A load in addition to a profile that has its own, or no load for a profile that needs one.
fn meant(args: &SweepArgs) -> Result<(Option<String>, ArrivalArgs), Failure> {
    let (mut users, mut arrivals) = (args.concurrency.clone(), args.arrivals.clone());
    let Some(profile) = args.profile else { return Ok((users, arrivals)) };
    let name = profile.to_possible_value().map(|value| value.get_name().to_owned());
    let name = name.unwrap_or_default();
    let refuse = |why: &str| Err(Failure::usage(format!("--profile {name} {why}")));
    match profile {
        Profile::Synchronous | Profile::Throughput | Profile::Sweep => {
            if users.is_some() || arrivals.rate.is_some() {
                return refuse("has loads of its own: leave --concurrency and --rate out");
            }
        }
        Profile::Concurrent => {
            if users.is_some() == arrivals.rate.is_some() {
                return refuse("needs the users, in --concurrency or --rate");
            }
            users = users.or_else(|| arrivals.rate.take());
        }
        Profile::Constant | Profile::Poisson => {
            if arrivals.rate.is_none() || users.is_some() || arrivals.arrivals.is_some() {
                return refuse("needs --rate, and neither --concurrency nor --arrivals");
            }
            arrivals.arrivals = Some(name);
        }
    }
    Ok((users, arrivals))
}

/// Maximum requests in flight of the profile throughput.
const THROUGHPUT_USERS: u32 = 512;

/// Runs the command.
pub fn run(args: &SweepArgs, words: &[String]) -> Result<Code, Failure> {
    let (concurrency, arrivals) = meant(args)?;
    let list = concurrency.as_deref().unwrap_or(DEFAULT_LEVELS);
    let users = level_list::parse(list)
        .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
    if args.profile != Some(Profile::Sweep) {
        arrivals.check_law_is_used()?;
    }
    let schedules = arrivals.schedules(0)?;
    let is_open_loop = !schedules.is_empty();
    let most = arrivals.max_in_flight.min(THROUGHPUT_USERS);
    let levels = match (args.profile, is_open_loop) {
        (Some(Profile::Synchronous), _) => args.ending.levels(&[1])?,
        (Some(Profile::Throughput), _) => args.ending.levels(&[most])?,
        (Some(Profile::Sweep), _) => args.ending.levels(&[1, most])?,
        (_, true) => args.ending.open_levels(schedules, arrivals.max_in_flight)?,
        (_, false) => args.ending.levels(&users)?,
    };
    let finds_its_levels = args.profile == Some(Profile::Sweep)
        || (args.profile.is_none() && concurrency.is_none() && !is_open_loop);
    if args.repeats.repeats() && finds_its_levels {
        return Err(Failure::usage("--repeat needs levels that are known in advance")
            .hint("name them with --concurrency or --rate"));
    }
    let levels = args.repeats.spread(&levels, args.load.workload.seed.unwrap_or(0));
    let probe = args.probe.open(&args.load.workload)?;
    let mut job = simulated_url::job(&args.load, &levels, words, probe)?;
    args.pacing.set(&mut job.spec);
    job.measures_again = args.repeats.measures_again();
    if args.profile == Some(Profile::Sweep) {
        let law = arrivals.law()?;
        job.course = LevelPlanner::Between { points: args.points, law };
    } else if finds_its_levels {
        job.course = LevelPlanner::UntilPlateau;
    }
    execute(job)
}
