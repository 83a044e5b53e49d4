//! `inferometer capacity URL`: finds the largest number of users, or rate, that meets a latency
//! target. For stored runs and files of other tools, it finds the loads between which the capacity
//! lies.

use crate::cli::args::arrival::ArrivalArgs;
use crate::cli::args::level_list::level;
use crate::cli::args::load::LoadArgs;
use crate::cli::args::pacing::PacingArgs;
use crate::cli::args::probe::ProbeArgs;
use crate::cli::args::{price, simulated_url};
use crate::cli::capacity_of_results;
use crate::exit::{Code, Failure};
use crate::job::Job;
use crate::job::levels::{Ending, LevelRequest};
use crate::output::Format;
use crate::session::execute;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_core::Metric;
use ifm_core::duration::seconds;
use ifm_core::spec::SloSpec;
use ifm_metrics::capacity::{Search, Worth};
use ifm_metrics::slo;
use ifm_session::level_planner::{Axis, CapacityCourse, LevelPlanner, Look, Tier};
use ifm_session::pacing::span_words;

/// What is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Users, each with one request in flight
    Users,
    /// Concurrent sessions of conversations, measured to their end
    Sessions,
    /// Requests per second, sent on schedule (open loop)
    Rate,
}

/// Flags of `capacity`.
#[derive(Debug, Args)]
pub struct CapacityArgs {
    #[command(flatten)]
    load: LoadArgs,

    /// Existing results instead of the URL; sends nothing
    ///
    /// Accepts runs and imports by ID or name, files and folders of other tools, and "-" for
    /// standard input
    #[arg(value_name = "RESULT")]
    more: Vec<String>,

    /// Load axis to search
    #[arg(help_heading = "Search", long, value_enum, default_value = "users", value_name = "WHAT")]
    by: By,

    /// Initial load: users, or requests per second [default: 8 users or 4 req/s; 1 without scouts]
    #[arg(help_heading = "Search", long, value_name = "N")]
    start: Option<f64>,

    /// Measure every load in full, instead of finding the edge with a few requests per load
    ///
    /// Takes several times as long, and has no time budget unless --budget sets one
    #[arg(help_heading = "Search", long)]
    no_scouts: bool,

    /// Maximum number of users
    #[arg(help_heading = "Search", long, default_value = "1024", value_parser = level, value_name = "N")]
    max_users: u32,

    /// Maximum requests per second, for --by rate
    #[arg(help_heading = "Search", long, default_value_t = 1000.0, value_name = "RATE")]
    max_rate: f64,

    /// Arrival process for --by rate: poisson, constant, gamma:SHAPE, burst:N [default: poisson]
    #[arg(help_heading = "Search", long, value_name = "LAW")]
    arrivals: Option<String>,

    /// Maximum requests in flight with --by rate
    ///
    /// A rate that needs more fails the target
    #[arg(help_heading = "Search", long, value_name = "N", default_value_t = 4096, value_parser = level)]
    max_in_flight: u32,

    /// Stop when the highest passing and lowest failing load are this close
    #[arg(help_heading = "Search", long, default_value_t = 0.05, value_name = "SHARE")]
    precision: f64,

    /// Additional targets to evaluate on the same measurements; repeatable
    ///
    /// Each is TERMS, NAME=TERMS, or a name of --list such as mlperf-llama3.1-8b
    #[arg(help_heading = "Search", long = "tiers", visible_alias = "tier", value_name = "TARGET", value_parser = tier)]
    tiers: Vec<Tier>,

    /// Requests per measurement of a load
    ///
    /// Four per user if that is more
    #[arg(help_heading = "Search", short = 'n', long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    requests: u32,

    /// Sending time per measurement, instead of a number of requests
    ///
    /// --by rate extends it where the target needs more
    #[arg(help_heading = "Search", short = 'z', long, aliases = ["max-seconds", "benchmark-duration", "time-limit"], conflicts_with = "requests", value_parser = seconds, value_name = "SPAN")]
    duration: Option<f64>,

    /// Measurements of one load before it counts as unsettled [default: 3; 6 without scouts]
    #[arg(help_heading = "Search", long = "measurements", alias = "looks", value_parser = clap::value_parser!(u32).range(1..=100), value_name = "N")]
    looks: Option<u32>,

    /// Think time between an answer and the next request
    ///
    /// Converts concurrent users to people served
    #[arg(help_heading = "Search", long, value_parser = seconds, value_name = "SPAN")]
    users_think: Option<f64>,

    /// Number of people to serve; computes the servers needed
    #[arg(help_heading = "Search", long, requires = "users_think", value_name = "N")]
    target_users: Option<u32>,

    /// Share of a server to keep free
    #[arg(help_heading = "Search", long, default_value_t = 0.2, value_name = "SHARE")]
    headroom: f64,

    /// Price per GPU hour, US dollars
    #[arg(help_heading = "Search", long, value_parser = price::money, value_name = "MONEY")]
    price: Option<f64>,

    /// Number of GPUs of the server [default: from its machine, if it is on loopback; for
    /// --price else 1]
    #[arg(help_heading = "Search", long, value_name = "N")]
    gpus: Option<f64>,

    /// List the named targets and exit
    #[arg(help_heading = "Search", long)]
    list: bool,

    #[command(flatten)]
    probe: ProbeArgs,

    #[command(flatten)]
    pacing: PacingArgs,
}

/// All named targets, one per line.
fn list() -> String {
    let rows =
        || slo::PRESETS.iter().flat_map(|preset| preset.names().map(move |name| (name, preset)));
    let width = |of: fn((&'static str, &'static slo::Preset)) -> &'static str| {
        rows().map(|row| of(row).len()).max().unwrap_or(0)
    };
    let (name, terms) = (width(|(name, _)| name), width(|(_, preset)| preset.terms));
    let mut text = String::from(
        "For --slo and --tiers. MLPerf targets are the limits of its server scenario, round 6.1.\n\n",
    );
    for (word, preset) in rows() {
        text.push_str(&format!("{word:<name$}  {:<terms$}  {}\n", preset.terms, preset.about));
    }
    text
}

/// Parses a target with or without a name: `fast=speed:p10>50,ttft:p95<3s`.
///
/// # Errors
/// The error in the target.
fn tier(text: &str) -> Result<Tier, String> {
    let is_name = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    let named = text.split_once('=').map(|(name, terms)| (name.trim(), terms));
    let (name, terms) = match named.filter(|(name, _)| is_name(name)) {
        Some((name, terms)) => (name.to_owned(), terms),
        None => (text.trim().to_owned(), text),
    };
    let slo = slo::parse(terms).map_err(|error| error.to_string())?;
    let name = if name == text.trim() && slo.name == "custom" { slo::words(&slo) } else { name };
    Ok(Tier { name, slo })
}

/// Runs the command.
pub fn run(args: &CapacityArgs, words: &[String]) -> Result<Code, Failure> {
    if args.list {
        terminal::print(&terminal::folded(&list()));
        return Ok(Code::Done);
    }
    let worth = worth(args)?;
    if let Some(results) = capacity_of_results::named(&args.load, &args.more)? {
        return capacity_of_results::run(&args.load, &args.tiers, &worth, &results);
    }
    let (axis, search) = search(args)?;
    let first = LevelRequest {
        concurrency: match axis {
            Axis::Users => args.start.unwrap_or(START) as u32,
            Axis::Rate { .. } => args.max_in_flight,
        },
        arrivals: None,
        ending: match args.duration {
            None => Ending::new(Some(args.requests), None, None)?,
            Some(duration_s) => Ending::new(None, None, Some(duration_s))?,
        },
        // For rates, a fixed number of requests warms up the server, not one for each request that
        // may be in flight.
        warmup: (args.by == By::Rate).then_some(RATE_WARMUP),
    };
    let mut load = args.load.clone();
    let (first_tier, tiers) = match args.tiers.split_first() {
        // Without a target, the first tier is the target.
        Some((tier, others)) if load.results.slo.is_none() && load.results.goodput.is_empty() => {
            load.results.slo = Some(match slo::preset(&tier.slo.name) {
                Some(_) => tier.slo.name.clone(),
                None => slo::words(&tier.slo),
            });
            (Some(tier.clone()), others.to_vec())
        }
        _ => (None, args.tiers.clone()),
    };
    let probe = args.probe.open(&load.workload)?;
    let mut job = simulated_url::job(&load, &[first], words, probe)?;
    if args.by == By::Sessions && !job.dataset.has_conversations() {
        return Err(Failure::usage("--by sessions needs a workload of conversations")
            .hint("for example -W 'random:256/64?turns=4', or --by users"));
    }
    if job.spec.slo.terms.is_empty() {
        return Err(Failure::usage("a capacity needs a latency target")
            .hint("for example --slo \"ttft:p99<500ms,itl:p99<50ms\""));
    }
    // Without a named target, the API's default target applies.
    job.spec.slo.is_default = false;
    args.pacing.set(&mut job.spec);
    // Later turns of a conversation have longer prompts, which a scout does not reach.
    let has_scouts = !args.no_scouts && !job.dataset.has_conversations();
    let search = if has_scouts {
        job.spec.budget_s = job.spec.budget_s.or(Some(BUDGET_S));
        // An overloaded server works off the queue of an open loop for long.
        search.with_scouts(args.start.is_none().then(|| scout_start(axis)), axis == Axis::Users)
    } else {
        search
    };
    let looks = args.looks.unwrap_or(if has_scouts { LOOKS } else { LOOKS_WITHOUT_SCOUTS });
    let template = job.spec.levels[0].clone();
    let look = Look {
        requests: args.requests,
        judged_min: if has_scouts { bounding(&job.spec.slo) } else { 0 },
        duration_s: args.duration,
        rate_s: longest_wait_s(&job.spec.slo) / args.precision.max(PRECISION_MIN),
        seed: job.spec.workload.seed,
        is_of_sessions: args.by == By::Sessions,
    };
    // All of them are in one table, the first included.
    let tiers = first_tier.into_iter().chain(tiers).collect();
    let course = CapacityCourse::new(search, axis, template, looks, look, worth).with_tiers(tiers);
    job.spec.levels = course.first().into_iter().collect();
    job.course = LevelPlanner::Capacity(Box::new(course));
    if job.format == Format::Text && !job.quiet {
        announce(&job);
    }
    execute(job)
}

/// The total time, before the first request is sent.
fn announce(job: &Job) {
    let text = match job.spec.budget_s {
        Some(budget_s) => format!(
            "the search takes at most {}: a few requests per load find the edge, and only loads \
             near it are measured in full (--budget changes the time)",
            span_words(budget_s)
        ),
        None => "the search has no time limit (--budget sets one)".to_owned(),
    };
    terminal::say(terminal::wrapped("", &text).trim_end_matches('\n'));
}

/// Where the first scout goes.
fn scout_start(axis: Axis) -> u32 {
    match axis {
        Axis::Users => SCOUT_START_USERS,
        Axis::Rate { step_req_per_s, .. } => {
            (SCOUT_START_REQ_PER_S / step_req_per_s).round() as u32
        }
    }
}

/// What to convert the capacity to.
///
/// # Errors
/// An invalid share or number of GPUs.
fn worth(args: &CapacityArgs) -> Result<Worth, Failure> {
    if !(0.0..1.0).contains(&args.headroom) {
        return Err(Failure::usage("--headroom is not a share from 0 to below 1"));
    }
    if args.gpus.is_some_and(|gpus| !(gpus > 0.0 && gpus.is_finite())) {
        return Err(Failure::usage(
            "--gpus is not a number of GPUs: 1, 8, or 0.5 for a part of one",
        ));
    }
    Ok(Worth {
        think_s: args.users_think,
        target_people: args.target_users,
        headroom: args.headroom,
        usd_per_gpu_hour: args.price,
        usd_per_hour: None,
        gpus: args.gpus,
    })
}

/// The first load of a search without scouts, in users or requests per second.
const START: f64 = 1.0;
/// Load of the first scout: one that most servers reach, where a dozen requests take no minute.
const SCOUT_START_USERS: u32 = 8;
const SCOUT_START_REQ_PER_S: f64 = 4.0;
/// Higher percentiles have no more requests per measurement.
const PERCENTILE_MAX: f64 = 99.0;
/// Default measurements of a load.
const LOOKS: u32 = 3;
const LOOKS_WITHOUT_SCOUTS: u32 = 6;
/// Default time of a search with scouts, seconds.
const BUDGET_S: f64 = 300.0;

/// Warm-up requests before a measurement at a rate.
const RATE_WARMUP: u32 = 4;
/// Minimum precision used to compute the duration of a measurement at a rate.
const PRECISION_MIN: f64 = 0.005;

/// The load axis, and the search over it.
fn search(args: &CapacityArgs) -> Result<(Axis, Search), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let first = args.start.unwrap_or(START);
    let is_number = |load: f64| load > 0.0 && load.is_finite();
    let (axis, start, max) = match args.by {
        By::Users | By::Sessions => {
            if args.arrivals.is_some() {
                return Err(usage(&"--arrivals needs --by rate"));
            }
            let start = level(&first.to_string()).map_err(|error| usage(&error))?;
            (Axis::Users, start, args.max_users)
        }
        By::Rate => {
            if !is_number(first) || !is_number(args.max_rate) || first > args.max_rate {
                return Err(usage(&format!(
                    "a search from {} to {} requests per second is not possible",
                    first, args.max_rate
                )));
            }
            let law = ArrivalArgs { arrivals: args.arrivals.clone(), ..ArrivalArgs::default() };
            let law = law.law()?;
            let step_req_per_s = step(first * args.precision.max(PRECISION_MIN) / 2.0);
            let steps = |rate: f64| (rate / step_req_per_s).round() as u32;
            (Axis::Rate { step_req_per_s, law }, steps(first), steps(args.max_rate))
        }
    };
    let search = Search::new(start, max, args.precision).map_err(|error| usage(&error))?;
    Ok((axis, search))
}

/// The largest of 1, 2 and 5 times a power of ten that is not above a number.
fn step(most: f64) -> f64 {
    let power = 10f64.powf(most.log10().floor());
    let times = [5.0, 2.0, 1.0].into_iter().find(|times| times * power <= most * (1.0 + 1e-9));
    times.unwrap_or(1.0) * power
}

/// Requests that bound the highest percentile of a target, and a quarter more: fewer than `ln(0.025)
/// / ln(p)` values have no upper bound.
fn bounding(slo: &SloSpec) -> u32 {
    let percentiles = slo.terms.iter().filter_map(|term| term.percentile);
    let highest = percentiles.fold(0.0, f64::max).min(PERCENTILE_MAX) / 100.0;
    if highest > 0.0 { (1.25 * 0.025f64.ln() / highest.ln()).ceil() as u32 } else { 0 }
}

/// The longest wait that the target allows for a whole request or its first token, seconds. A queue
/// that grows by the precision each second exceeds that after this many seconds divided by the
/// precision.
fn longest_wait_s(slo: &SloSpec) -> f64 {
    let waits = slo.terms.iter().filter(|term| {
        matches!(term.metric, Metric::Ttft | Metric::Ttfat | Metric::E2e | Metric::Ttfa)
    });
    waits.map(|term| term.limit_ms / 1e3).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (most, expect) in [(0.025, 0.02), (0.25, 0.2), (0.5, 0.5), (1.0, 1.0), (9.9, 5.0)] {
            assert!((step(most) / expect - 1.0).abs() < 1e-9, "{most}: {}", step(most));
        }
    }

    #[test]
    fn only_waits_grow_with_a_queue() {
        let slo = slo::parse("ttft:p99<500ms,itl:p99<900s,e2e:p50<2s").unwrap();
        assert_eq!(longest_wait_s(&slo), 2.0);
    }
}
