//! `inferometer capacity URL`: the largest number of users inside a latency target.

use super::duration::seconds;
use super::levels::level;
use super::load_args::LoadArgs;
use super::pacing_args::PacingArgs;
use crate::course::{CapacityCourse, Course, Worth};
use crate::exit::{Code, Failure};
use crate::levels::{Ending, LevelRequest};
use crate::resolve::resolve;
use crate::session::execute;
use clap::Args;
use ifm_analysis::capacity::{Price, Search};

/// Flags of `capacity`.
#[derive(Debug, Args)]
pub struct CapacityArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Users to begin with
    #[arg(long, default_value = "1", value_parser = level, value_name = "N")]
    start: u32,

    /// Users at most
    #[arg(long, default_value = "1024", value_parser = level, value_name = "N")]
    max_users: u32,

    /// The search ends when both ends of the bracket are within this share of each other
    #[arg(long, default_value_t = 0.05, value_name = "SHARE")]
    precision: f64,

    /// Requests of one look at a load; four for each user if that is more
    #[arg(short = 'n', long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    requests: u32,

    /// Looks at a load before it counts as unsettled
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100), value_name = "N")]
    looks: u32,

    /// Pause between an answer and the next request of a person, to turn users into people
    #[arg(long, value_parser = seconds, value_name = "SPAN")]
    users_think: Option<f64>,

    /// People to be served; tells how many servers they need
    #[arg(long, requires = "users_think", value_name = "N")]
    target_users: Option<u32>,

    /// Share of a server that is kept free
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    headroom: f64,

    /// Price of one GPU for an hour, in any currency
    #[arg(long, value_name = "MONEY")]
    price: Option<f64>,

    /// GPUs of the server, for --price
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    gpus: f64,

    #[command(flatten)]
    pacing: PacingArgs,
}

/// Runs the command.
pub fn run(args: &CapacityArgs, words: &[String]) -> Result<Code, Failure> {
    let search = Search::new(args.start, args.max_users, args.precision)
        .map_err(|error| Failure::usage(error.to_string()))?;
    if !(0.0..1.0).contains(&args.headroom) {
        return Err(Failure::usage("--headroom is no share from 0 to below 1"));
    }
    if args.price.is_some_and(|price| !(price >= 0.0 && price.is_finite())) {
        return Err(Failure::usage("--price is no amount of money"));
    }
    let worth = Worth {
        think_s: args.users_think,
        target_people: args.target_users,
        headroom: args.headroom,
        price: args.price.map(|price| Price { per_hour: price * args.gpus }),
    };
    let first = LevelRequest {
        concurrency: args.start,
        arrivals: None,
        ending: Ending::new(Some(args.requests), None, None)?,
        warmup: None,
    };
    let mut job = resolve(&args.load, &[first], words)?;
    if job.spec.slo.terms.is_empty() {
        return Err(Failure::usage("a capacity needs a latency target")
            .hint("for example --slo \"ttft:p99<500ms,itl:p99<50ms\""));
    }
    args.pacing.set(&mut job.spec);
    let template = job.spec.levels[0].clone();
    let course = CapacityCourse::new(search, template, args.looks, args.requests, worth);
    job.spec.levels = vec![course.look_at(args.start, true)];
    job.course = Course::Capacity(Box::new(course));
    execute(job)
}
