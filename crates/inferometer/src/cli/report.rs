//! `inferometer report RUN|FILE…`: results as a document.

use super::history;
use super::plan_report;
use crate::cli::args::load::JsonKind;
use crate::cli::args::page::PageArgs;
use crate::cli::args::price;
use crate::exit::{Code, Failure};
use crate::inputs::author_notes;
use crate::inputs::{self, Subjects};
use crate::output;
use crate::output::{Format, OwnFormats};
use crate::plan::Experiment;
use crate::session::store_root;
use crate::terminal;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser as _};
use ifm_compare::comparison::ResultsEvidence;
use ifm_compare::matrix::RankBy;
use ifm_core::sheet::key;
use ifm_core::spec::SloSpec;
use ifm_machine::measured_machine::beside;
use ifm_metrics::definitions::{self, Definitions};
use ifm_metrics::slo;
use ifm_plan::Journal;
use ifm_report::kind::{KINDS, Kind, Subject};
use ifm_report::page::{self, Page, Pictures};
use ifm_report::{Charts, ReportModel, history_page};
use ifm_results::Results;
use ifm_rules::audit::{Audit, Subject as Audited, audit};
use ifm_rules::insight::{Question, Ranks, insights};
use ifm_store::Store;
use std::path::PathBuf;

/// Flags of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Results to report
    ///
    /// Accepts runs and imports by ID, start of an ID, name or "last", a plan by name, files and folders of other
    /// tools, and "-" for standard input. Separate repeats of the same configuration with commas:
    /// a1,a2,a3. A history also accepts tags, and without a name it includes every stored run
    #[arg(default_value = "last")]
    subjects: Vec<PathBuf>,

    /// Kind of report [default: based on the results]
    #[arg(long, alias = "type", value_name = "KIND", value_parser = kinds())]
    kind: Option<String>,

    #[command(flatten)]
    files: PageArgs,

    /// Format of standard output when no file is named
    #[arg(short, long, value_enum, default_value = "text")]
    format: Format,

    /// The same as --format json; --json=requests for one line per finished request
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "document", conflicts_with = "format", value_name = "KIND")]
    json: Option<JsonKind>,

    /// Markdown file with your own notes, which the report marks as yours
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,

    /// Latency target, or a preset [default: the run's]
    #[arg(long, value_name = "TERMS")]
    slo: Option<String>,

    /// Price of the server per hour, US dollars
    #[arg(long, value_parser = price::money, value_name = "USD")]
    price: Option<f64>,

    /// Factor to compare by, such as cc or model [default: the one that differs]
    #[arg(long, value_name = "FACTOR")]
    compare: Option<String>,

    /// Baseline value of that factor
    #[arg(long, value_name = "VALUE")]
    baseline: Option<String>,

    /// Rank models by output, overall or input throughput, or latency
    ///
    /// The default depends on the lengths of prompts and answers
    #[arg(long, value_name = "MEASURE", value_parser = measures())]
    rank_by: Option<String>,

    /// Rank models by mean alone, even if the repeats show no difference
    #[arg(long)]
    strict_order: bool,

    /// Show places as numbers instead of medals
    #[arg(long)]
    no_emoji: bool,

    /// Machine whose limits to draw, by name or figures as in "limit"
    #[arg(long, value_name = "GPU")]
    gpu: Option<String>,

    /// Model whose limit to draw [default: that of the results]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Number of people to serve; reports the servers needed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    people: Option<u32>,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,
}

/// The kind that shows runs over time instead of their results.
const HISTORY: &str = "history";

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(KINDS.iter().map(|kind| kind.word).chain([HISTORY]))
}

fn measures() -> PossibleValuesParser {
    PossibleValuesParser::new(RankBy::ALL.map(|(word, _)| word))
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<Code, Failure> {
    args.files.check()?;
    let store = Store::at(store_root(args.store.as_ref()));
    let format = JsonKind::or(args.json, args.format);
    let is_printed = args.files.out.is_empty() || args.json.is_some();
    if let (Format::Requests | Format::Sglang, true) = (format, is_printed) {
        if let Some(path) = args.files.out.first() {
            return Err(Failure::usage(format!(
                "--out {}: lines per request have no file",
                path.display()
            ))
            .hint(
                "redirect standard output: inferometer report RUN --json=requests > requests.jsonl",
            ));
        }
        return match format {
            Format::Requests => requests(&store, &args.subjects),
            _ => sglang(&store, &args.subjects),
        };
    }
    args.check_names()?;
    let notes = args.notes.as_deref().map(author_notes::read).transpose()?;
    if args.kind.as_deref() == Some(HISTORY) {
        args.refuse_beside_history()?;
        let found = history::of_runs(store.root(), &args.dated())?;
        let page = |charts| {
            let page = args.files.titled(history_page(&found, charts));
            Page { notes: notes.clone(), ..page }
        };
        return args.tell(&page, format);
    }
    if let Some(of) = args.plan(&store)? {
        let page = plan_page(&of, &of.journal()?, &[], args)?;
        return args.tell(&|_| Page { notes: notes.clone(), ..page.clone() }, format);
    }
    let mut subjects = inputs::open(&store, &args.subjects)?;
    for run in &mut subjects.runs {
        run.ceilings = beside(&machine_of(run), &store);
    }
    if let (true, [only], []) = (args.is_plain(), &subjects.runs[..], &subjects.sheets[..]) {
        for path in &args.files.out {
            say(&output::write_file(only, path)?);
        }
        if is_printed {
            let style = terminal::style(args.no_color, args.ascii);
            terminal::print(&output::text(only, format, &style));
        }
        return Ok(Code::Done);
    }
    if let (Format::Vllm, true, several @ 2..) = (format, is_printed, subjects.runs.len()) {
        let ids: Vec<&str> = subjects.runs.iter().map(|run| run.manifest.run_id.as_str()).collect();
        let names: Vec<_> = args.subjects.iter().map(|name| name.to_string_lossy()).collect();
        return Err(Failure::usage(format!(
            "--format vllm shows one run, and \"{}\" names {several}: {}",
            names.join(" "),
            ids.join(", ")
        ))
        .hint("name one of them by its ID, or use --format md, json or text"));
    }
    let mut page = Page { notes, ..args.page(&subjects)? };
    page.conditions.extend(ceilings(&subjects, &store));
    args.tell(&|_| page.clone(), format)
}

/// The report of a plan: that of its runs, with the reason for every cell without a result. The plan's
/// own settings hold where `args` has none.
///
/// # Errors
/// No cell is measured, or a run cannot be read.
pub fn plan_page(
    of: &Experiment,
    journal: &Journal,
    left_out: &[String],
    args: &ReportArgs,
) -> Result<Page, Failure> {
    let head = &of.plan.head;
    let args = ReportArgs {
        kind: args.kind.clone().or(head.report.clone()),
        files: PageArgs {
            title: args.files.title.clone().or(head.title.clone()),
            ..args.files.clone()
        },
        price: args.price.or(head.price),
        slo: args.slo.clone().or(head.slo.clone()),
        ..args.clone()
    };
    let runs = plan_report::runs(of, journal)?;
    let mut page = args.page(&inputs::open(&of.store, &runs)?)?;
    plan_report::complete(&mut page, of, journal, left_out);
    Ok(page)
}

/// The names of the devices that computed a run: GPUs, or the processor if it has none.
fn machine_of(run: &ReportModel) -> Vec<&str> {
    let Some(facts) = &run.manifest.facts else { return Vec::new() };
    let gpus = facts.gpus.iter().filter_map(|gpu| gpu.name.as_deref());
    let cpu = facts.host.as_ref().and_then(|host| host.cpu.as_ref()?.name.as_deref());
    let gpus: Vec<&str> = gpus.collect();
    if gpus.is_empty() { cpu.into_iter().collect() } else { gpus }
}

/// The measured ceilings of the machines of runs and documents.
fn ceilings(subjects: &Subjects, store: &Store) -> Option<String> {
    let mut names: Vec<&str> = subjects.runs.iter().flat_map(machine_of).collect();
    let parts = subjects.sheets.iter().flat_map(|sheet| &sheet.parts);
    let factors = parts.flat_map(|part| {
        let own = std::iter::once(&part.factors).chain(part.rows.iter().map(|row| &row.factors));
        own.flat_map(|factors| [key::HARDWARE, key::GPU].map(|name| factors.get(name)))
    });
    names.extend(factors.flatten());
    names.sort_unstable();
    names.dedup();
    beside(&names, store)
}

fn say(written: &[PathBuf]) {
    written.iter().for_each(|path| terminal::say(&format!("wrote {}", path.display())));
}

/// Every request of every run as one line of JSON.
fn requests(store: &Store, names: &[PathBuf]) -> Result<Code, Failure> {
    for name in names {
        let run = inputs::open_run(store, name)?;
        for record in &run.requests {
            let id = run.manifest.request_id(record.seq);
            terminal::print(&format!("{}\n", ifm_report::request_line(record, id.as_deref())));
        }
    }
    Ok(Code::Done)
}

/// SGLang's block of every level of every run.
fn sglang(store: &Store, names: &[PathBuf]) -> Result<Code, Failure> {
    for name in names {
        let run = inputs::open_run(store, name)?;
        let model = ReportModel::new(&run, ifm_metrics::summarize(&run));
        let sheet = definitions::sheet(&run, Definitions::Sglang);
        terminal::print(&ifm_report::sglang(&model, &sheet));
    }
    Ok(Code::Done)
}

impl ReportArgs {
    /// Writes a page to its files, and prints it if requested; a terminal has room for few charts.
    fn tell(&self, page: &dyn Fn(Charts) -> Page, format: Format) -> Result<Code, Failure> {
        self.files.write(|| Ok(page(Charts::All)), &OwnFormats::default())?;
        if self.files.out.is_empty() || self.json.is_some() {
            let style = terminal::style(self.no_color, self.ascii);
            terminal::print(&match format {
                Format::Text => page::terminal(&page(Charts::Changed), &style),
                Format::Json => page::json(&page(Charts::All)),
                Format::Md => page::markdown(&page(Charts::Changed), Pictures::None),
                Format::Vllm | Format::Sglang | Format::Requests | Format::Sessions => {
                    return Err(Failure::usage("this format supports one run")
                        .hint("name one run, or use --format md, json or text"));
                }
            });
        }
        Ok(Code::Done)
    }

    /// The runs of a history: a single run has none.
    fn dated(&self) -> Vec<String> {
        let named = self.subjects.iter().map(|name| name.to_string_lossy().into_owned());
        match named.collect::<Vec<_>>() {
            last if last == ["last"] => Vec::new(),
            named => named,
        }
    }

    /// Flags for levels have no meaning for a history.
    ///
    /// # Errors
    /// The first such flag.
    fn refuse_beside_history(&self) -> Result<(), Failure> {
        let given = [
            ("--slo", self.slo.is_some()),
            ("--price", self.price.is_some()),
            ("--compare", self.compare.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--rank-by", self.rank_by.is_some()),
            ("--strict-order", self.strict_order),
            ("--no-emoji", self.no_emoji),
            ("--gpu", self.gpu.is_some()),
            ("--model", self.model.is_some()),
            ("--people", self.people.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!("{flag} says nothing of a history"))
                .hint("inferometer history has --metric, --by, --per, --last and --threshold")),
        }
    }

    /// The plan that the only subject names, if no result has that name.
    ///
    /// # Errors
    /// The plan is invalid.
    fn plan(&self, store: &Store) -> Result<Option<Experiment>, Failure> {
        let [name] = self.subjects.as_slice() else { return Ok(None) };
        let is_plan = name.components().count() == 1
            && store.plan(&name.to_string_lossy()).text().is_ok_and(|text| text.is_some());
        match is_plan && inputs::find_argument(store, name).is_err() {
            true => Experiment::open(name, Store::at(store.root())).map(Some),
            false => Ok(None),
        }
    }

    /// Whether no flag requests something that only a page can show.
    fn is_plain(&self) -> bool {
        self.kind.is_none()
            && self.files.title.is_none()
            && self.files.chart.is_none()
            && self.notes.is_none()
            && self.slo.is_none()
            && self.price.is_none()
            && self.compare.is_none()
            && self.ranks() == Ranks::default()
            && self.gpu.is_none()
            && self.model.is_none()
            && self.people.is_none()
    }

    /// The values of a flag, as typed on a command line.
    ///
    /// # Errors
    /// An unknown value.
    pub fn of_words(words: &[String]) -> Result<ReportArgs, Failure> {
        let parsed = super::Alone::<ReportArgs>::try_parse_from(words);
        let args = parsed.map_err(|error| Failure::usage(error.to_string().trim().to_owned()))?;
        args.args.check_names()?;
        Ok(args.args)
    }

    /// The report of the opened results.
    ///
    /// # Errors
    /// Nothing to report, or a target that cannot be read.
    pub fn page(&self, subjects: &Subjects) -> Result<Page, Failure> {
        let mut results = subjects.results();
        self.check_factors(&results)?;
        if self.compare.as_deref() == Some(key::RUN) {
            results = results.by_side();
        }
        let audit: Option<Audit> =
            (!subjects.sheets.is_empty()).then(|| audit(&self.audited(subjects)));
        let members = subjects.runs.iter().map(|run| run.evidence.clone());
        let evidence = ResultsEvidence::new(members, &subjects.sheets);
        let question = Question {
            results: &results,
            evidence: &evidence,
            slo: self.target(subjects)?,
            usd_per_hour: self.price.or_else(|| price::stored(subjects)),
            compare_by: self.compare.clone(),
            baseline: self
                .baseline
                .as_ref()
                .map(|word| results.side_of(word).unwrap_or(word).to_owned()),
            gpu: self.gpu.clone(),
            model: self.model.clone(),
            people: self.people.map(f64::from),
            ranks: self.ranks(),
        };
        let insights = insights(&question);
        let subject = Subject {
            runs: &subjects.runs,
            sheets: &subjects.sheets,
            question,
            insights: &insights,
            audit: audit.as_ref(),
            title: self.files.title.as_deref(),
        };
        let kind = match &self.kind {
            Some(word) if word == HISTORY => {
                return Err(Failure::usage("a history needs stored runs")
                    .hint("inferometer report --kind history TAG, or inferometer history TAG"));
            }
            Some(word) => Kind::from_word(word),
            None => Kind::recognise(&subject),
        };
        let kind = kind.ok_or_else(|| Failure::usage("nothing to report"))?;
        let mut page = kind.page(&subject);
        page.banners.extend(subjects.copies.iter().map(|copied| format!("⚠ {copied}.")));
        Ok(page)
    }

    /// Rejects a factor that no result has, and a baseline that is not one of its values.
    ///
    /// # Errors
    /// The available factors or values.
    fn check_factors(&self, results: &Results) -> Result<(), Failure> {
        let factors = results.factor_names();
        if let Some(by) = self.compare.as_ref().filter(|by| !factors.contains(by)) {
            return Err(Failure::usage(format!(
                "--compare {by}: no result has the factor \"{by}\""
            ))
            .hint(format!("factors of these results: {}", factors.join(", "))));
        }
        let Some(baseline) = &self.baseline else { return Ok(()) };
        let of = |by: &String| results.side_values(by);
        let values: Vec<String> = match &self.compare {
            Some(by) => of(by),
            None => factors.iter().flat_map(of).collect(),
        };
        let wanted = baseline.to_lowercase();
        let is_meant = |value: &String| value.to_lowercase().contains(&wanted);
        if values.iter().any(is_meant) || results.side_of(baseline).is_some() {
            return Ok(());
        }
        let by = self.compare.as_ref().map(|by| format!(" of {by}")).unwrap_or_default();
        let values = match &self.compare {
            Some(by) => of(by),
            None => of(&key::RUN.to_owned()),
        };
        Err(Failure::usage(format!(
            "--baseline {baseline}: no result has the value \"{baseline}\""
        ))
        .hint(format!("values{by}: {}", values.join(", "))))
    }

    fn ranks(&self) -> Ranks {
        let by = |word: &String| RankBy::ALL.iter().find(|(known, _)| known == word);
        Ranks {
            by: self.rank_by.as_ref().and_then(by).map(|(_, by)| *by),
            are_shared: !self.strict_order,
            has_medals: !self.no_emoji,
        }
    }

    fn audited<'s>(&self, subjects: &'s Subjects) -> Audited<'s> {
        Audited::new(&subjects.sheets).measured_with(self.gpu.clone(), self.model.clone())
    }

    /// An unknown machine or model is reported before anything is drawn.
    fn check_names(&self) -> Result<(), Failure> {
        let wrong = |error: ifm_roofline::RooflineError| Failure::usage(error.to_string());
        if let Some(gpu) = &self.gpu {
            ifm_roofline::Machine::parse(gpu).map_err(wrong)?;
        }
        if let Some(model) = &self.model {
            ifm_roofline::Model::find(model).map_err(wrong)?;
        }
        Ok(())
    }

    /// The target given here or for the first run, if any.
    fn target(&self, subjects: &Subjects) -> Result<SloSpec, Failure> {
        match (&self.slo, subjects.runs.first()) {
            (Some(text), _) => slo::parse(text).map_err(|error| Failure::usage(error.to_string())),
            (None, Some(run)) => Ok(run.manifest.spec.slo.named()),
            (None, None) => Ok(SloSpec::none()),
        }
    }
}
