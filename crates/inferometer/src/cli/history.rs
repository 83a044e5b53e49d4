//! `inferometer history [TAG|RUN…]`: shows stored runs over time, and what changed in them.

use super::compare::{metric, no_target};
use super::sides::share;
use crate::cli::args::page::PageArgs;
use crate::exit::{Code, Failure};
use crate::inputs::timeline;
use crate::output::OwnFormats;
use crate::session::store_root;
use crate::terminal;
use clap::{Args, Parser as _, ValueEnum};
use ifm_compare::comparison::{Measure, Settings};
use ifm_compare::history::{History, HistorySettings, Per, RUNS_MAX, SeriesState, history, names};
use ifm_report::page::{self, Pictures};
use ifm_report::{Charts, history_csv, history_json, history_page};
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// What changed, and a table
    Text,
    /// One JSON document
    Json,
    /// Markdown
    Md,
    /// Every value, one per line
    Csv,
}

/// When a history fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// The latest change of a series is for the worse
    Worse,
}

/// Flags of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Tag, name or IDs of runs; files; folders [default: every stored run]
    #[arg(value_name = "TAG|RUN")]
    runs: Vec<String>,

    /// Metrics to analyze: ttft.p50,itl.p99,out_tok_s,… [default: as in compare]
    #[arg(long, value_delimiter = ',', value_parser = metric, value_name = "METRIC")]
    metric: Vec<Measure>,

    /// Additional facts or tags that separate series: server, kernel, branch, …; repeatable
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    by: Vec<String>,

    /// Unit of one value: run, day, or a tag such as commit
    #[arg(long, default_value = "run", value_name = "WHAT")]
    per: String,

    /// Maximum number of latest runs
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=RUNS_MAX as u64))]
    last: usize,

    /// Smallest relevant change
    #[arg(long, default_value = "3%", value_parser = share, value_name = "SHARE")]
    threshold: f64,

    /// Exit with code 1 if the latest change is worse
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    /// Random seed for the intervals
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    files: PageArgs,

    /// Format of standard output when no file is named
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,

    /// List series without a verdict too
    #[arg(short, long)]
    verbose: bool,
}

/// Draws for the interval of each value; the detection of changes uses the differences between
/// runs.
const RESAMPLES: u32 = 400;

/// Runs the command.
pub fn run(args: &HistoryArgs) -> Result<Code, Failure> {
    args.files.check()?;
    let found = find(args)?;
    let own =
        OwnFormats { json: Some(&|| history_json(&found)), csv: Some(&|| history_csv(&found)) };
    args.files.write(|| Ok(history_page(&found, Charts::All)), &own)?;
    if args.files.out.is_empty() || args.json {
        let style = terminal::style(args.no_color, args.ascii);
        let format = if args.json { Format::Json } else { args.format };
        let page = |charts| args.files.titled(history_page(&found, charts));
        terminal::print(&match format {
            Format::Text => {
                let charts = if args.verbose { Charts::Changed } else { Charts::Decided };
                page::terminal(&page(charts), &style)
            }
            Format::Json => history_json(&found),
            Format::Md => page::markdown(&page(Charts::Changed), Pictures::None),
            Format::Csv => history_csv(&found),
        });
    }
    let is_worse = found.count(SeriesState::Worse) > 0;
    Ok(if args.fail_on.is_some() && is_worse { Code::Failed } else { Code::Done })
}

/// The history of runs, as the command computes it by default.
///
/// # Errors
/// A name of nothing, or no run.
pub fn of_runs(store: &Path, runs: &[String]) -> Result<History, Failure> {
    let words = ["history".to_owned(), "--store".to_owned(), store.display().to_string()];
    let words = words.into_iter().chain(["--".to_owned()]).chain(runs.iter().cloned());
    let parsed = super::Alone::<HistoryArgs>::try_parse_from(words);
    find(&parsed.map_err(|error| Failure::usage(error.to_string().trim().to_owned()))?.args)
}

fn find(args: &HistoryArgs) -> Result<History, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    let measures =
        if args.metric.is_empty() { Measure::DEFAULT.to_vec() } else { args.metric.clone() };
    let comparison = Settings {
        threshold: args.threshold,
        seed: args.seed,
        resamples: RESAMPLES,
        measures,
        slo: no_target(),
        ..Settings::default()
    };
    let all = timeline::read(&store, &args.runs, args.last, &comparison)?;
    if all.is_empty() {
        return Err(Failure::usage(format!("there is no run in {} yet", store.root().display()))
            .hint("measure one: inferometer run http://127.0.0.1:8000 --tag nightly"));
    }
    let known = names(&all);
    if let Some(name) = args.by.iter().find(|name| !is_known(name, &known)) {
        return Err(Failure::usage(format!("no run tells of \"{name}\""))
            .hint(format!("known are: {}", known.join(", "))));
    }
    let per = match args.per.as_str() {
        "run" => Per::Run,
        "day" => Per::Day,
        name if is_known(name, &known) => Per::Tag(name.to_owned()),
        name => {
            return Err(Failure::usage(format!("no run has a tag {name}=…")).hint(
                "--per accepts run, day, or the name of a tag: runs tag last commit=1a2b3c",
            ));
        }
    };
    let found = history(&all, &HistorySettings { comparison, by: args.by.clone(), per });
    if found.series.is_empty() {
        return Err(Failure::usage("no run has a value of these metrics")
            .hint("inferometer runs show last lists what a run has"));
    }
    Ok(found)
}

fn is_known(name: &str, known: &[String]) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], " ");
    known.iter().any(|one| plain(one) == plain(name))
}
