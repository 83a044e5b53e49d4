//! `inferometer exec -- CMD…`: runs any command with the telemetry of runs, and stores the result.

use crate::cli::args::telemetry::{PowerWord, power, power_ask, watts};
use crate::exit::Failure;
use crate::output;
use crate::secrets::Secrets;
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use ifm_compare::comparison::ResultsEvidence;
use ifm_core::duration::seconds;
use ifm_core::sheet::{Factors, SHEET_VERSION};
use ifm_core::tag::check_name;
use ifm_core::{Sheet, parse_tag};
use ifm_launch::measured_command::pattern::{Field, Patterns};
use ifm_launch::measured_command::{self, Ask, Stream};
use ifm_machine::telemetry::{MetricsAsk, TelemetryAsk};
use ifm_report::kind::{Kind, Subject};
use ifm_report::page::{self, Page};
use ifm_results::Results;
use ifm_rules::insight::{Question, insights};
use ifm_store::{Import, Store, new_run_id};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// The report that shows commands.
const REPORT: &str = "note";

/// Flags of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Command to measure, with its arguments; its output passes through
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<String>,

    /// Regular expression of lines that report a step
    ///
    /// The first group is the number of the step. Without a group, each matching line is a step
    #[arg(help_heading = "Progress", long, value_name = "REGEX")]
    steps: Option<String>,

    /// Regular expression for tokens since the previous such line
    #[arg(help_heading = "Progress", long, value_name = "REGEX")]
    tokens: Option<String>,

    /// Regular expression for tokens since the start
    #[arg(help_heading = "Progress", long, conflicts_with = "tokens", value_name = "REGEX")]
    tokens_total: Option<String>,

    /// Tokens of each step, if no line reports them
    #[arg(help_heading = "Progress", long, conflicts_with_all = ["tokens", "tokens_total"], value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    tokens_per_step: Option<u32>,

    /// Regular expression for the loss
    #[arg(help_heading = "Progress", long, value_name = "REGEX")]
    loss: Option<String>,

    /// Fields of lines that are JSON objects: step, tokens, tokens_total, loss
    #[arg(help_heading = "Progress", long, value_name = "step=.step,loss=.loss")]
    json_lines: Option<String>,

    /// First step that counts in rates; earlier steps are warm-up
    #[arg(help_heading = "Progress", long, default_value_t = 0, value_name = "N")]
    skip_steps: u64,

    /// Number of measured runs of the command
    #[arg(help_heading = "Runs", long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100), value_name = "N")]
    repeat: u32,

    /// Number of uncounted runs before them
    #[arg(help_heading = "Runs", long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100), value_name = "N")]
    warmup: u32,

    /// End each run after this time
    ///
    /// The rates of an ended run count, its time does not
    #[arg(help_heading = "Runs", long, value_parser = seconds, value_name = "SPAN")]
    timeout: Option<f64>,

    /// Power of these devices counts: auto, local:0,1, off
    ///
    /// auto is all devices of this host; local:0,1 is these GPUs
    #[arg(help_heading = "Telemetry", long, default_value = "auto", value_parser = power, value_name = "WHICH")]
    power: PowerWord,

    /// Page of a DCGM exporter that reports the power of the GPUs
    #[arg(help_heading = "Telemetry", long, value_name = "URL", conflicts_with = "power_watts")]
    power_url: Option<String>,

    /// Assume this power draw when no sensor is available
    #[arg(help_heading = "Telemetry", long, value_parser = watts, value_name = "W")]
    power_watts: Option<f64>,

    /// Name to store the result under
    #[arg(help_heading = "Results", long, value_parser = check_name)]
    name: Option<String>,

    /// Tag with a setting, e.g. model=llama-3.2-1b or batch_size=32; repeatable
    #[arg(help_heading = "Results", long = "tag", value_parser = parse_tag, value_name = "NAME=VALUE")]
    tags: Vec<(String, String)>,

    /// The cell of a plan, written by `plan run`.
    #[arg(long, hide = true, value_name = "PLAN/CELL/REPEAT/ATTEMPT")]
    plan_cell: Option<ifm_core::PlanCell>,

    /// File to write: .html, .md, .json or .csv; repeatable
    #[arg(help_heading = "Results", short, long, value_name = "FILE")]
    out: Vec<PathBuf>,

    /// One JSON document on standard output; command output goes to standard error
    #[arg(help_heading = "Results", long)]
    json: bool,

    /// Do not print the summary
    #[arg(help_heading = "Results", short = 's', long)]
    quiet: bool,

    /// Also report what was not found
    #[arg(help_heading = "Telemetry", short, long)]
    verbose: bool,

    /// Folder of stored runs and imports [default: .inferometer/runs]
    #[arg(help_heading = "Results", long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Print without color (also: NO_COLOR)
    #[arg(help_heading = "Results", long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(help_heading = "Results", long)]
    ascii: bool,
}

/// What `exec --json` writes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Executed<'a> {
    /// What kind of document this is.
    #[cfg_attr(test, schemars(extend("const" = "inferometer_exec")))]
    kind: &'static str,
    /// Exit code: 0 if every run succeeded, else that of the first that did not.
    exit_code: u8,
    /// The measurements, as they are stored.
    import: &'a Import,
}

/// Runs the command and gives its exit code.
///
/// # Errors
/// An invalid flag, or results that cannot be stored.
pub fn run(args: &ExecArgs) -> Result<u8, Failure> {
    let ask = args.ask()?;
    args.out.iter().try_for_each(|path| output::check_path(path))?;
    let root = store_root(args.store.as_ref());
    // Hours of work must not be lost at the end.
    std::fs::create_dir_all(&root).map_err(|error| {
        Failure::files(format!("cannot create the store {}: {error}", root.display()))
    })?;
    let id = new_run_id(ifm_sys::real_ns(), std::process::id() as u16);
    let measured = match measured_command::measure(&ask, &id) {
        Ok(measured) => measured,
        Err(error) => {
            terminal::say(&Failure::usage(error.sentence).to_string());
            return Ok(error.code);
        }
    };
    let import = Import {
        sheet_version: SHEET_VERSION,
        id,
        name: args.name.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: args.plan_cell.clone(),
        sheets: vec![measured.sheet],
    };
    let kept = Store::at(root).keep_import(&import);
    args.tell(&import, measured.code)?;
    kept.map_err(|error| Failure::files(error.to_string()))?;
    if !args.quiet {
        terminal::say(&format!("kept as {}", import.id));
    }
    Ok(measured.code)
}

impl ExecArgs {
    fn ask(&self) -> Result<Ask, Failure> {
        let mut patterns = Patterns::default();
        let mut add = |field, flag: &str, pattern: &Option<String>| {
            let added = pattern.iter().try_for_each(|pattern| patterns.add_text(field, pattern));
            added.map_err(|why| Failure::usage(format!("{flag}: {why}")))
        };
        add(Field::Step, "--steps", &self.steps)?;
        add(Field::Tokens, "--tokens", &self.tokens)?;
        add(Field::TokensTotal, "--tokens-total", &self.tokens_total)?;
        add(Field::Loss, "--loss", &self.loss)?;
        let added = self.json_lines.iter().try_for_each(|text| patterns.add_json(text));
        added.map_err(|why| Failure::usage(format!("--json-lines: {why}")))?;
        if self.tokens_per_step.is_some() && !patterns.has(Field::Step) {
            return Err(Failure::usage(
                "--tokens-per-step needs --steps: it counts the tokens of each step",
            ));
        }
        let mut factors = Factors::default();
        self.tags.iter().for_each(|(name, value)| factors.set(name, value));
        let is_once = self.repeat + self.warmup == 1;
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Ok(Ask {
            words: self.command.clone(),
            name: self.name.clone(),
            factors,
            repeats: self.repeat,
            warmups: self.warmup,
            timeout: self.timeout.map(Duration::from_secs_f64),
            patterns,
            skip_steps: self.skip_steps,
            tokens_per_step: self.tokens_per_step.map(f64::from),
            telemetry: TelemetryAsk {
                metrics: MetricsAsk::Off,
                power: power_ask(self.power_url.as_deref(), self.power_watts, &self.power)?,
                verbose: self.verbose,
            },
            // In its own group it could not read a terminal, and would hang.
            has_input: is_once && !std::io::stdin().is_terminal(),
            output: if self.json { Stream::Err } else { Stream::Out },
            tells: !self.quiet,
            secrets: Secrets::of_command(&self.command, environment),
        })
    }

    /// Prints the measurements, and writes them to the requested files. Standard output belongs to
    /// the command, unless a document was requested.
    fn tell(&self, import: &Import, code: u8) -> Result<(), Failure> {
        let remarks = import.sheets.iter().flat_map(|sheet| &sheet.remarks);
        // The report below has them, too.
        for remark in remarks.filter(|_| self.json && !self.quiet) {
            terminal::warn(&remark.text);
        }
        let page = shown(&import.sheets);
        for path in &self.out {
            let nothing = || Failure::usage("the command was not measured: nothing to report");
            let page = page.as_ref().ok_or_else(nothing)?;
            let written = output::write_page(page, path)?;
            written.iter().for_each(|path| terminal::say(&format!("wrote {}", path.display())));
        }
        if self.json {
            terminal::print_document(&Executed {
                kind: "inferometer_exec",
                exit_code: code,
                import,
            });
        } else if let Some(page) = page.filter(|_| !self.quiet) {
            let style = terminal::style(self.no_color, self.ascii);
            terminal::say(page::terminal(&page, &style).trim_end());
        }
        Ok(())
    }
}

/// The report of what was measured.
fn shown(sheets: &[Sheet]) -> Option<Page> {
    let results = Results::of_sheets(sheets);
    let evidence = ResultsEvidence::new([], sheets);
    let question = Question { evidence: &evidence, ..Question::new(&results) };
    let insights = insights(&question);
    let subject =
        Subject { runs: &[], sheets, question, insights: &insights, audit: None, title: None };
    Some(Kind::from_word(REPORT)?.page(&subject))
}
