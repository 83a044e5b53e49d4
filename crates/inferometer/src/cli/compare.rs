//! `inferometer compare A B…`: compares results with a baseline.

use super::sides::{Rendered, SideArgs, has_documents, name_sides, read_sides, settings, share};
use crate::exit::{Code, Failure};
use crate::secrets::mask_command;
use crate::session::store_root;
use clap::{Args, ValueEnum};
use ifm_compare::comparison::{Comparison, Measure, Settings, Verdict, compare};
use ifm_core::spec::SloSpec;
use ifm_metrics::slo;
use ifm_store::Store;

/// When a comparison fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A row is worse than the baseline
    Worse,
}

/// Flags of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Baseline, then the results to compare with it
    ///
    /// Accepts runs and imports by ID or name, "last", files and folders of other tools, and "-"
    /// for standard input. Separate repeats of the same configuration with commas: a1,a2,a3
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    runs: Vec<String>,

    /// Smallest relevant change, as a share of the baseline
    #[arg(long, default_value = "3%", value_parser = share, value_name = "SHARE")]
    threshold: f64,

    /// Metrics to compare: ttft.p50,itl.p99,out_tok_s,… [default: the usual ones]
    ///
    /// The default leaves out metrics that either side lacks. For files of other tools it is every
    /// metric that both contain
    #[arg(long, value_delimiter = ',', value_parser = metric, value_name = "METRIC")]
    metric: Vec<Measure>,

    /// Latency target for "how many users fit" [default: the baseline's]
    #[arg(long, value_name = "TERMS")]
    slo: Option<String>,

    /// Interpolate loads that only one side measured
    #[arg(long)]
    interpolate: bool,

    /// Exit with code 1 if a row is worse
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    #[command(flatten)]
    sides: SideArgs,
}

/// Reads a metric.
///
/// # Errors
/// A sentence on what is expected.
pub fn metric(text: &str) -> Result<Measure, String> {
    Measure::parse(text).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(args: &CompareArgs, words: &[String]) -> Result<Code, Failure> {
    args.sides.check_files()?;
    let store = Store::at(store_root(args.sides.store.as_ref()));
    let named = name_sides(&store, &args.runs)?;
    let target = match &args.slo {
        Some(text) => slo::parse(text).map_err(|error| Failure::usage(error.to_string()))?,
        None => named.iter().find_map(|side| side.slo()).map_or_else(SloSpec::none, SloSpec::named),
    };
    let is_choice = args.metric.is_empty() && has_documents(&named);
    let measures = match (args.metric.is_empty(), is_choice) {
        (true, true) => Measure::of_documents(),
        (true, false) => Measure::DEFAULT.to_vec(),
        (false, _) => args.metric.clone(),
    };
    let settings = settings(&args.sides, measures, target, args.threshold);
    let settings = Settings { is_choice, interpolates: args.interpolate, ..settings };
    let mut sides = read_sides(&store, &named, &settings)?;
    let baseline = sides.remove(0);
    let comparison = compare(&baseline, &sides, &settings);
    let has_rows = comparison.pairs.iter().any(|pair| !pair.rows.is_empty());
    for pair in &comparison.pairs {
        if !(args.sides.even_so && has_rows) {
            args.sides.refuse_no_common_load(&pair.side.label, &pair.differences)?;
        }
        args.sides.refuse_unlike(&pair.side.label, pair.differences.iter())?;
    }
    args.sides.tell(&Rendered {
        text: &|style| ifm_report::comparison_terminal(&comparison, style),
        json: &|| ifm_report::comparison_json(&comparison),
        markdown: &|| ifm_report::comparison_markdown(&comparison),
        page: &|| ifm_report::comparison_page(&comparison, &mask_command(words)),
    })?;
    Ok(code(&comparison, args.fail_on))
}

/// A target without terms: no capacity is compared.
pub(super) fn no_target() -> SloSpec {
    SloSpec::none()
}

fn code(comparison: &Comparison, fail_on: Option<FailOn>) -> Code {
    let is_worse = comparison.pairs.iter().any(|pair| pair.count(Verdict::Worse) > 0);
    if fail_on == Some(FailOn::Worse) && is_worse { Code::Failed } else { Code::Done }
}
