//! `inferometer rank RUN…`: stored runs in order of one metric.

use super::compare::metric;
use super::sides::{Rendered, SideArgs, name_sides, read_side, settings, share};
use crate::exit::{Code, Failure};
use crate::session::store_root;
use clap::Args;
use ifm_analysis::comparison::rank::largest_common_load;
use ifm_analysis::comparison::{Measure, Side, rank};
use ifm_analysis::gate::parse_load;
use ifm_analysis::level::Load;
use ifm_core::spec::SloSpec;
use ifm_store::Store;

/// Flags of `rank`.
#[derive(Debug, Args)]
pub struct RankArgs {
    /// Runs: id, name, path, or "last"; repeats of one thing with commas between them: a1,a2,a3
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<String>,

    /// What they are ordered by: out_tok_s, itl.p50, ttft.p99, …
    #[arg(long, default_value = "out_tok_s", value_parser = metric)]
    metric: Measure,

    /// At which load: a number of users, or a rate such as 2.5/s [default: the largest that all have]
    #[arg(long, value_parser = load, value_name = "LOAD")]
    at: Option<Load>,

    /// Smallest relevant difference
    #[arg(long, default_value = "3%", value_parser = share, value_name = "SHARE")]
    threshold: f64,

    #[command(flatten)]
    sides: SideArgs,
}

fn load(text: &str) -> Result<Load, String> {
    parse_load(text).ok_or(format!("\"{text}\" is no load; write 64, or a rate such as 2.5/s"))
}

/// Runs the command.
pub fn run(args: &RankArgs) -> Result<Code, Failure> {
    args.sides.check_files()?;
    let store = Store::at(store_root(args.sides.store.as_ref()));
    let named = name_sides(&store, &args.runs)?;
    let target = SloSpec { name: "none".to_owned(), terms: Vec::new() };
    let settings = settings(&args.sides, vec![args.metric], target, args.threshold);
    let sides: Vec<Side> = named
        .iter()
        .map(|side| read_side(&store, side, &settings.measures, &settings.slo))
        .collect::<Result<_, _>>()?;
    let load = args.at.or_else(|| largest_common_load(&sides)).ok_or_else(|| {
        Failure::new(Code::Unlike, "there is no load that every run was measured at")
            .hint("inferometer runs list shows the loads; --at names one of some runs")
    })?;
    let ranking = rank(&sides, args.metric, load, &settings);
    for (label, differences) in &ranking.differences {
        args.sides.refuse_unlike(label, differences.iter())?;
    }
    if ranking.order.iter().all(|ranked| ranked.cell.is_none()) {
        return Err(Failure::usage(format!("no run has a value of {} there", args.metric))
            .hint("inferometer runs list shows the loads"));
    }
    args.sides.tell(&Rendered {
        text: &|style| ifm_report::ranking_terminal(&ranking, style),
        json: &|| ifm_report::ranking_json(&ranking),
        markdown: &|| ifm_report::ranking_markdown(&ranking),
    })?;
    Ok(Code::Done)
}
