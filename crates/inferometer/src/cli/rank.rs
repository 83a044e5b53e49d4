//! `inferometer rank RESULT…`: results in order of one metric.

use super::compare::{metric, no_target};
use super::sides::{Rendered, SideArgs, name_sides, read_sides, settings, share};
use crate::exit::{Code, Failure};
use crate::secrets::mask_command;
use crate::session::store_root;
use clap::Args;
use ifm_compare::comparison::rank::common_conditions;
use ifm_compare::comparison::{Condition, Measure, Metric, Side, rank};
use ifm_compare::gate::parse_load;
use ifm_store::Store;

/// Flags of `rank`.
#[derive(Debug, Args)]
pub struct RankArgs {
    /// Results to rank
    ///
    /// Accepts runs and imports by ID or name, "last", files and folders of other tools, and "-"
    /// for standard input. Separate repeats of the same configuration with commas: a1,a2,a3
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    runs: Vec<String>,

    /// Metric to rank by: out_tok_s, itl.p50, ttft.p99, … [default: out_tok_s]
    ///
    /// For files of other tools, the default is the first throughput, or time, that all contain
    #[arg(long, value_parser = metric)]
    metric: Option<Measure>,

    /// Load: users, a rate (2.5/s), or a test (tg128) [default: the highest that all have]
    #[arg(long, value_name = "LOAD")]
    at: Option<String>,

    /// Smallest relevant difference
    #[arg(long, default_value = "3%", value_parser = share, value_name = "SHARE")]
    threshold: f64,

    #[command(flatten)]
    sides: SideArgs,
}

/// Default metrics to rank by: throughputs, the most usual first, and times for files without
/// throughput.
const METRICS: [Measure; 11] = [
    Measure::value_of(Metric::OutputRate),
    Measure::value_of(Metric::DecodeRate),
    Measure::value_of(Metric::PrefillRate),
    Measure::value_of(Metric::TotalRate),
    Measure::value_of(Metric::RequestRate),
    Measure::percentile_of(Metric::E2e, 50.0),
    Measure::percentile_of(Metric::Ttft, 50.0),
    Measure::value_of(Metric::Prefill),
    Measure::value_of(Metric::Kernel),
    Measure::value_of(Metric::StepRate),
    Measure::value_of(Metric::Duration),
];

/// Runs the command.
pub fn run(args: &RankArgs, words: &[String]) -> Result<Code, Failure> {
    args.sides.check_files()?;
    let store = Store::at(store_root(args.sides.store.as_ref()));
    let named = name_sides(&store, &args.runs)?;
    let measures = args.metric.map_or_else(|| METRICS.to_vec(), |measure| vec![measure]);
    let settings = settings(&args.sides, measures, no_target(), args.threshold);
    let sides = read_sides(&store, &named, &settings)?;
    let (measure, at) = place(args, &sides, &settings.measures)?;
    let ranking = rank(&sides, measure, &at, &settings);
    for (label, differences) in &ranking.differences {
        args.sides.refuse_unlike(label, differences.iter())?;
    }
    if ranking.order.iter().all(|ranked| ranked.cell.is_none()) {
        return Err(Failure::usage(format!("no result has a value of {measure} there"))
            .hint("inferometer runs list shows the loads"));
    }
    args.sides.tell(&Rendered {
        text: &|style| ifm_report::ranking_terminal(&ranking, style),
        json: &|| ifm_report::ranking_json(&ranking),
        markdown: &|| ifm_report::ranking_markdown(&ranking),
        page: &|| ifm_report::ranking_page(&ranking, &mask_command(words)),
    })?;
    Ok(Code::Done)
}

/// The metric and the load to rank by: the largest load for which all sides have a value, unless
/// one is named.
fn place(
    args: &RankArgs,
    sides: &[Side],
    measures: &[Measure],
) -> Result<(Measure, Condition), Failure> {
    let named = |text: &str, common: &[Condition]| -> Option<Condition> {
        let load = parse_load(text);
        let is_meant = |at: &&Condition| match load {
            Some(load) => at.is_load(load),
            None => at.has(text),
        };
        common.iter().rfind(is_meant).cloned()
    };
    for measure in measures {
        let common = common_conditions(sides, *measure);
        let found = match &args.at {
            None => common.last().cloned(),
            Some(text) => named(text, &common),
        };
        if let Some(at) = found {
            return Ok((*measure, at));
        }
    }
    let first = measures.first().copied().unwrap_or(Measure::value_of(Metric::OutputRate));
    match &args.at {
        None => Err(Failure::new(
            Code::Unlike,
            "there is no load that every result was measured at",
        )
        .hint("inferometer runs list shows the loads; --at names one, --metric another metric")),
        Some(text) => match parse_load(text) {
            // Some of the results may have it.
            Some(load) => Ok((first, load.into())),
            None => Err(Failure::usage(format!(
                "\"{text}\" is not a load that every result was measured at"
            ))
            .hint("write 64, a rate such as 2.5/s, or a test such as tg128")),
        },
    }
}
