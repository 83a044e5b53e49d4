//! The flags of `predict`.

use crate::cli::args::arrival::ArrivalArgs;
use crate::cli::args::deployment::DeploymentArgs;
use crate::cli::args::ending::EndingArgs;
use crate::cli::args::level_list;
use crate::cli::args::load::ResultArgs;
use crate::cli::args::workload::WorkloadArgs;
use crate::exit::Failure;
use crate::job::levels::LevelRequest;
use crate::session::store_root;
use clap::{ArgGroup, Args};
use ifm_predict::SimulatedDeployment;
use ifm_store::Store;
use std::path::PathBuf;

/// Default users per level.
const LEVELS: &str = "1,8,32";

/// Flags of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    #[command(flatten)]
    pub deployment: DeploymentArgs,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Users per level: 1,2,8 or 1..32 (doubling) or 4..16:4 [default: 1,8,32]
    ///
    /// Without --requests, --sessions and --duration, a level simulates 400 requests, or 20 per user if
    /// that is more
    #[arg(help_heading = "Load", short, long, value_name = "LIST", conflicts_with_all = ["rate", "ramp", "steps", "bursts"])]
    pub concurrency: Option<String>,

    #[command(flatten)]
    pub arrivals: ArrivalArgs,

    #[command(flatten)]
    pub ending: EndingArgs,

    /// Predict the loads of a measured result, and compare side by side
    ///
    /// The result is a run, or a file of another tool
    #[arg(help_heading = "Questions", long, value_name = "RESULT", conflicts_with_all = ["concurrency", "rate", "vary"])]
    pub against: Option<PathBuf>,

    #[command(flatten)]
    pub vary: VaryArgs,

    #[command(flatten)]
    pub results: ResultArgs,
}

impl PredictArgs {
    /// The requested levels.
    ///
    /// # Errors
    /// An impossible load.
    pub fn levels(&self) -> Result<Vec<LevelRequest>, Failure> {
        self.arrivals.check_law_is_used()?;
        let schedules = self.arrivals.schedules(0)?;
        if !schedules.is_empty() {
            return self.ending.open_levels(schedules, self.arrivals.max_in_flight);
        }
        let list = self.concurrency.as_deref().unwrap_or(LEVELS);
        let users = level_list::parse(list)
            .map_err(|error| Failure::usage(format!("--concurrency {list}: {error}")))?;
        let levels = users.iter().map(|&count| self.ending.or_simulated(count).levels(&[count]));
        Ok(levels.collect::<Result<Vec<_>, Failure>>()?.concat())
    }

    /// Whether a load was given.
    pub fn names_a_load(&self) -> Result<bool, Failure> {
        Ok(self.concurrency.is_some() || !self.arrivals.schedules(0)?.is_empty())
    }

    /// The deployment.
    ///
    /// # Errors
    /// As [`DeploymentArgs::deployed`].
    pub fn deployed(&self) -> Result<SimulatedDeployment, Failure> {
        let store = Store::at(store_root(self.results.store.as_ref()));
        self.deployment.deployed(&store, self.workload.seed.unwrap_or(0))
    }
}

/// What-if questions.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Questions")]
#[command(group(ArgGroup::new("asks").args(["vary", "price"]).multiple(true)))]
pub struct VaryArgs {
    /// Compare deployments by a flag and its values, e.g. gpu=l40s,h100-sxm; repeatable
    ///
    /// Other examples: quant=bf16,fp8, users=8,32, workload=512/64,8192/64. Each deployment is
    /// loaded up to the latency target, or with the given load
    #[arg(long, value_parser = axis, value_name = "FLAG=VALUES")]
    pub vary: Vec<(String, Vec<String>)>,

    /// Maximum number of users, for --vary and --price
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=20_000), requires = "asks", value_name = "N")]
    pub max_users: u32,

    /// Price per GPU hour, US dollars: one for all, or l40s=0.9,h100=2.5; adds the cost of output
    /// tokens at the largest load that meets the target
    #[arg(long, value_name = "USD")]
    pub price: Option<String>,
}

impl VaryArgs {
    /// The flags of this question that were given.
    pub fn flags(&self) -> &'static str {
        match (self.vary.is_empty(), self.price.is_some()) {
            (false, true) => "--vary and --price",
            (false, false) => "--vary",
            (true, _) => "--price",
        }
    }

    /// Whether variants are requested.
    pub fn is_asked(&self) -> bool {
        !self.vary.is_empty() || self.price.is_some()
    }
}

/// Other names for flags that people vary.
const OTHER_WORDS: [(&str, &str); 7] = [
    ("users", "concurrency"),
    ("c", "concurrency"),
    ("machine", "gpu"),
    ("quantization", "quant"),
    ("lengths", "workload"),
    ("W", "workload"),
    ("m", "model"),
];

/// `gpu=l40s,h100`; values that contain a comma are separated by semicolons.
fn axis(text: &str) -> Result<(String, Vec<String>), String> {
    let (flag, values) = text.split_once('=').ok_or("write it as FLAG=VALUE,VALUE")?;
    let flag = flag.trim().trim_start_matches('-');
    let other = OTHER_WORDS.iter().find(|(word, _)| *word == flag);
    let flag = other.map_or(flag, |(_, flag)| flag).to_owned();
    let between = if values.contains(';') { ';' } else { ',' };
    let values: Vec<String> = values.split(between).map(|value| value.trim().to_owned()).collect();
    match flag.is_empty() || values.iter().any(String::is_empty) {
        true => Err("write it as FLAG=VALUE,VALUE".to_owned()),
        false => Ok((flag, values)),
    }
}

#[cfg(test)]
mod tests {
    use super::axis;

    #[test]
    fn an_axis_is_a_flag_and_its_values() {
        let two = axis("--quant=bf16,fp8").expect("an axis");
        assert_eq!(two, ("quant".to_owned(), vec!["bf16".to_owned(), "fp8".to_owned()]));
        assert_eq!(axis("users=4,8").expect("an axis").0, "concurrency");
        let figures = axis("gpu=bw=864,bf16=362;h100").expect("an axis");
        assert_eq!(figures.1, ["bw=864,bf16=362", "h100"]);
        assert!(axis("gpu").is_err() && axis("=a").is_err() && axis("gpu=a,,b").is_err());
    }
}
