//! `inferometer gate RESULT`: checks a stored run or a file of another tool against thresholds, for
//! build servers. It can also measure two servers in turn.

mod file;
mod interleave;

use super::compare::no_target;
use super::sides::{Named, Rendered, SideArgs, name_runs, name_sides, read_sides, settings};
use crate::cli::args::quiet::QuietArgs;
use crate::exit::{Code, Failure};
use crate::inputs::timeline::Baseline;
use crate::output::check_folder;
use crate::secrets::mask_command;
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use file::ThresholdsFile;
use ifm_compare::comparison::{DifferenceKind, Measure, Settings};
use ifm_compare::gate::{
    Against, Bound, GateResult, GateState, Suggestion, Threshold, band_thresholds, judge, measures,
    suggest,
};
use ifm_report::Undecided;
use ifm_store::Store;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The variable with which GitHub Actions names the file of a job's summary.
const SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// How to treat an inconclusive threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inconclusive {
    /// Exit code 4
    Report,
    /// It passes: exit code 0
    Pass,
    /// It fails: exit code 1
    Fail,
}

/// Flags of `gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Result to check
    ///
    /// A run or import by ID or name, "last", a file or folder of another tool, or "-" for standard
    /// input. Separate repeats of the same configuration with commas: a1,a2,a3
    #[arg(default_value = "last", conflicts_with = "interleave")]
    run: String,

    /// Baseline run or file, or history:20 (last 20 comparable runs)
    ///
    /// history:20:TAG is the last 20 with a tag or a name. With history and no threshold, no metric
    /// may leave the band of those runs
    #[arg(long, value_name = "RUN", conflicts_with = "interleave")]
    baseline: Option<String>,

    /// Measure and compare two servers in turn (A B B A …)
    ///
    /// Changes compare the second server with the first. "engine", or "engine:FLAGS" with
    /// flags of serve, is the embedded engine
    #[arg(long, num_args = 2, action = clap::ArgAction::Set, value_names = ["BASELINE_URL", "URL"], conflicts_with = "init")]
    interleave: Vec<String>,

    /// Measurements of each server with --interleave [default: 4]
    ///
    /// An even number contains each order equally often
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=50), value_name = "N")]
    repeat: Option<u32>,

    /// Flags of sweep for --interleave, the same for both servers
    #[arg(last = true, allow_hyphen_values = true, value_name = "SWEEP_FLAGS")]
    load: Vec<String>,

    /// TOML file of thresholds; --init prints one
    #[arg(short, long, value_name = "FILE")]
    thresholds: Option<PathBuf>,

    /// Upper thresholds: itl.p99@64=50ms, ttft.p50@64=+5%, error_rate=1%, itl.p50=band; repeatable
    #[arg(long, value_name = "METRIC@LOAD=LIMIT")]
    max: Vec<String>,

    /// Lower thresholds: out_tok_s@256=-3%, success=99%, rtfx.p10=20; repeatable
    ///
    /// Accepts the metrics of --max
    #[arg(long, value_name = "METRIC@LOAD=LIMIT")]
    min: Vec<String>,

    /// Accept an intended difference; repeatable
    ///
    /// Either of the machine (kernel, power-limit, …) or of what was requested, by the name in the
    /// refusal
    #[arg(long, value_name = "NAME")]
    allow_difference: Vec<String>,

    /// How to treat inconclusive thresholds [default: report]
    #[arg(long, value_enum, value_name = "WHAT")]
    inconclusive: Option<Inconclusive>,

    /// Also write JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Also add Markdown to the job summary of GitHub Actions
    #[arg(long)]
    github_summary: bool,

    /// Print a thresholds file based on the run and exit
    #[arg(long, conflicts_with_all = ["thresholds", "max", "min", "junit", "github_summary"])]
    init: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    #[command(flatten)]
    sides: SideArgs,
}

/// Measurements per server by default.
const REPEATS: u32 = 4;

/// Runs the command.
pub fn run(args: &GateArgs, words: &[String]) -> Result<Code, Failure> {
    if args.interleave.is_empty() && (args.repeat.is_some() || !args.load.is_empty()) {
        return Err(Failure::usage("--repeat and the flags after -- belong to --interleave")
            .hint("a stored run is not measured again: inferometer sweep measures one"));
    }
    args.sides.check_files()?;
    let store = Store::at(store_root(args.sides.store.as_ref()));
    if args.init {
        return init(args, &store);
    }
    if let Some(path) = &args.junit {
        check_folder(path)?;
    }
    let summary = args.github_summary.then(summary_file).transpose()?;
    let file = args.thresholds.as_deref().map(file::read).transpose()?.unwrap_or_default();
    let word =
        args.baseline.as_ref().or(file.baseline.as_ref()).filter(|_| args.interleave.is_empty());
    let past = word.map(|word| Baseline::parse(word)).transpose()?.flatten();
    let thresholds = thresholds(args, &file, past.is_some())?;
    let named = if args.interleave.is_empty() {
        let mut words = vec![args.run.clone()];
        words.extend(word.filter(|_| past.is_none()).cloned());
        name_sides(&store, &words)?
    } else {
        let folder = store_root(args.sides.store.as_ref());
        let mut sides = interleave::measure(
            &args.interleave,
            args.repeat.unwrap_or(REPEATS),
            &args.load,
            &folder,
        )?;
        // The checked result comes first, before its baseline.
        sides.reverse();
        let named = sides.iter().map(|side| name_runs(&store, &side.label, &side.runs));
        named.collect::<Result<_, _>>()?
    };
    let allowed: Vec<&String> =
        args.allow_difference.iter().chain(&file.allow_differences).collect();
    let mut result = check(args, (&store, &named, past.as_ref()), &thresholds, &allowed)?;
    if !args.interleave.is_empty() {
        // The repeat command measures both sides again.
        result.run.command = mask_command(words);
    }
    let inconclusive = args.inconclusive.or(file.inconclusive).unwrap_or(Inconclusive::Report);
    let undecided = match inconclusive {
        Inconclusive::Report => Undecided::Report,
        Inconclusive::Pass => Undecided::Pass,
        Inconclusive::Fail => Undecided::Fail,
    };
    args.sides.tell(&Rendered {
        text: &|style| ifm_report::gate_terminal(&result, undecided, style),
        json: &|| ifm_report::gate_json(&result),
        markdown: &|| ifm_report::gate_markdown(&result, undecided),
        page: &|| ifm_report::gate_page(&result, undecided, &mask_command(words)),
    })?;
    if let Some(path) = &args.junit {
        write(path, &ifm_report::gate_junit(&result, undecided), false)?;
    }
    if let Some(path) = &summary {
        write(path, &ifm_report::gate_markdown(&result, undecided), true)?;
    }
    Ok(code(result.state, inconclusive))
}

fn code(state: GateState, inconclusive: Inconclusive) -> Code {
    match (state, inconclusive) {
        (GateState::Pass, _) | (GateState::Inconclusive, Inconclusive::Pass) => Code::Done,
        (GateState::Fail, _) | (GateState::Inconclusive, Inconclusive::Fail) => Code::Failed,
        (GateState::Inconclusive, Inconclusive::Report) => Code::Inconclusive,
    }
}

/// The thresholds of the file, then of the flags. With a history, none are required.
fn thresholds(
    args: &GateArgs,
    file: &ThresholdsFile,
    is_history: bool,
) -> Result<Vec<Threshold>, Failure> {
    let flags = [(Bound::Max, &args.max), (Bound::Min, &args.min)];
    let of_flags = flags.into_iter().flat_map(|(bound, words)| {
        words.iter().map(move |word| {
            Threshold::parse(word, bound).map_err(|error| Failure::usage(error.to_string()))
        })
    });
    let mut all = file.thresholds()?;
    all.extend(of_flags.collect::<Result<Vec<_>, _>>()?);
    if all.is_empty() && !is_history {
        return Err(Failure::usage("there is no threshold to check").hint(
            "--max itl.p99@64=50ms, or --thresholds FILE; inferometer gate RUN --init prints such \
             a file",
        ));
    }
    Ok(all)
}

fn check(
    args: &GateArgs,
    (store, named, past): (&Store, &[Named], Option<&Baseline>),
    thresholds: &[Threshold],
    allowed: &[&String],
) -> Result<GateResult, Failure> {
    let looked_at = match thresholds {
        [] => Measure::DEFAULT.to_vec(),
        some => measures(some),
    };
    let settings = settings(&args.sides, looked_at, no_target(), Settings::default().threshold);
    let mut sides = read_sides(store, named, &settings)?.into_iter();
    let (Some(run), mut baseline) = (sides.next(), sides.next()) else {
        return Err(Failure::usage("there is no run to check"));
    };
    if let Some(past) = past {
        baseline = Some(past.before(store, &run, &settings)?);
    }
    let against = match &baseline {
        None => Against::Nothing,
        Some(side) if past.is_some() => Against::History(side),
        Some(side) => Against::Side(side),
    };
    let bands = if thresholds.is_empty() { band_thresholds(&run, &settings) } else { Vec::new() };
    let thresholds = if thresholds.is_empty() { &bands } else { thresholds };
    let result = judge(&run, against, thresholds, &settings)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let is_allowed = |what: &str| allowed.iter().any(|name| plain_name(name) == plain_name(what));
    let refused = result.differences.iter().filter(|found| {
        let is_unlike = found.kind == DifferenceKind::Unlike
            || (found.is_of_machine && found.kind > DifferenceKind::Same);
        is_unlike && !is_allowed(&found.what)
    });
    let way_out = "--allow-difference NAME lets one of them differ; ";
    args.sides.refuse(&run.label, refused, way_out)?;
    Ok(result)
}

/// Normalizes a name for comparison: `power-limit` is `power limit`.
fn plain_name(name: &str) -> String {
    name.to_lowercase().replace(['-', '_'], " ")
}

/// Prints a thresholds file based on the run.
fn init(args: &GateArgs, store: &Store) -> Result<Code, Failure> {
    let named = name_sides(store, std::slice::from_ref(&args.run))?;
    let Some(first) = named.first() else {
        return Err(Failure::usage("there is no run to begin with"));
    };
    // The run's own target decides which loads fit.
    let target = first.slo().map_or_else(no_target, |slo| slo.named());
    let measures = Suggestion::measures();
    let settings = settings(&args.sides, measures, target, Settings::default().threshold);
    let sides = read_sides(store, &named, &settings)?;
    let suggestions = sides
        .first()
        .and_then(|side| suggest(side, &settings))
        .ok_or_else(|| Failure::usage("the run has no measured level to make thresholds from"))?;
    terminal::print(&ifm_report::gate_template(&suggestions));
    Ok(Code::Done)
}

/// The file of the job's summary.
fn summary_file() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(SUMMARY_VARIABLE).filter(|name| !name.is_empty());
    named.map(PathBuf::from).ok_or_else(|| {
        Failure::usage(format!("{SUMMARY_VARIABLE} names no file"))
            .hint("--github-summary is for jobs of GitHub Actions, which set it")
    })
}

fn write(path: &Path, text: &str, append: bool) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(append).write(true).truncate(!append);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))
}
