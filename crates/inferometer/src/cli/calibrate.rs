//! `inferometer calibrate`: determines the constants of a server, from a few small measurements or
//! from existing results.

use crate::cli::args::deployment::DeploymentArgs;
use crate::cli::args::quiet::QuietArgs;
use crate::cli::args::setup::{self, SetupArgs};
use crate::exit::{Code, Failure};
use crate::inputs::stored::{find, load};
use crate::inputs::{self, Subjects};
use crate::interrupt;
use crate::output;
use crate::plan::measure::{Measured, measure};
use crate::session::store_root;
use crate::terminal;
use clap::Args;
use ifm_core::Facts;
use ifm_core::manifest::ServerInfo;
use ifm_core::tag::check_name;
use ifm_core::words::counted;
use ifm_launch::guard::Guard;
use ifm_machine::facts;
use ifm_machine::measured_machine;
use ifm_predict::{
    Calibration, CalibrationDocument, Fitted, MEASURE_IT, MeasuredRow, SimulatedDeployment, ending,
    fitted, misses, of_run, page, rows, text,
};
use ifm_probe::server;
use ifm_probe::url::BaseUrl;
use ifm_roofline::{KvFormat, Machine, WeightFormat};
use ifm_sim::Kind;
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Version of the stored form of calibrations.
const SCHEMA_VERSION: u32 = 1;
/// Loads to measure by default: single requests, short and long, and a few at a time.
const POINTS: &str = "1:128/64,1:1024/16,4:256/64";
/// Loads to measure for prediction by default.
const HELD_OUT: &str = "8:256/64";
/// Default number of requests per user.
const REQUESTS_PER_USER: u32 = 6;
/// Minimum number of requests per point.
const REQUESTS_MIN: u32 = 8;

/// Flags of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Base URL of the server
    #[arg(value_name = "URL", required_unless_present = "from")]
    url: Option<String>,

    /// Calibrate from existing results instead of a server
    ///
    /// Accepts runs and imports by ID or name, and files and folders of other tools
    #[arg(help_heading = "Measurement", long, value_name = "RESULT", num_args = 1.., conflicts_with = "url")]
    from: Vec<PathBuf>,

    #[command(flatten)]
    deployment: DeploymentArgs,

    /// Name of the calibration [default: machine and model]
    #[arg(help_heading = "Results", long, value_parser = check_name)]
    name: Option<String>,

    /// Loads to measure, as USERS:PROMPT/OUTPUT
    #[arg(help_heading = "Measurement", long, default_value = POINTS, value_name = "LIST")]
    points: String,

    /// Loads to measure and predict without fitting to them; "none" for none
    #[arg(help_heading = "Measurement", long, default_value = HELD_OUT, value_name = "LIST")]
    held_out: String,

    /// With --from: users or requests per second of the loads to fit [default: all]
    ///
    /// The other loads are predicted
    #[arg(
        help_heading = "Measurement",
        long,
        value_delimiter = ',',
        requires = "from",
        value_name = "LIST"
    )]
    loads: Vec<f64>,

    /// With --from: number of the document's table, from 1 [default: all]
    #[arg(help_heading = "Measurement", long, requires = "from", value_name = "N")]
    table: Option<usize>,

    /// With --from: lengths of prompts and answers, where the results lack them
    #[arg(help_heading = "Measurement", long, value_parser = lengths, requires = "from", value_name = "PROMPT/OUTPUT")]
    lengths: Option<(f64, f64)>,

    /// Requests per load [default: 6 per user, minimum 8]
    #[arg(help_heading = "Measurement", short = 'n', long, value_name = "N")]
    requests: Option<u32>,

    /// Also write the calibration to a file: .html, .md, .json or .csv
    #[arg(help_heading = "Results", short, long, visible_alias = "output", value_name = "FILE")]
    out: Vec<PathBuf>,

    /// Folder of stored runs and calibrations [default: .inferometer/runs]
    #[arg(help_heading = "Results", long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Show constants and rows even if they are refused
    #[arg(help_heading = "Results", short, long)]
    verbose: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    /// One JSON document on standard output
    #[arg(help_heading = "Results", long)]
    json: bool,

    /// Additional flags of `run` for the measurements, after --: -- --api completions
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<String>,
}

/// `1058/512`.
pub(super) fn lengths(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| *n >= 1.0 && *n < 1e8);
    let both = text.split_once('/').and_then(|(prompt, output)| number(prompt).zip(number(output)));
    both.ok_or_else(|| "expected PROMPT/OUTPUT in tokens, such as 1058/512".to_owned())
}

/// A load to measure.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    users: u32,
    lengths: String,
}

fn wanted(flag: &str, text: &str) -> Result<Vec<Wanted>, Failure> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let one = |word: &str| {
        let (users, lengths) = word.trim().split_once(':')?;
        let users = users.parse().ok().filter(|users| *users > 0)?;
        let (prompt, output) = lengths.split_once('/')?;
        let is_length = |text: &str| text.parse::<u32>().is_ok_and(|tokens| tokens > 0);
        (is_length(prompt) && is_length(output))
            .then(|| Wanted { users, lengths: lengths.to_owned() })
    };
    let each = text.split(',').map(|word| {
        one(word).ok_or_else(|| {
            Failure::usage(format!("{flag} {word}: expected USERS:PROMPT/OUTPUT, such as 4:256/64"))
        })
    });
    each.collect()
}

/// The measurements, and what the results say about the server.
#[derive(Default)]
struct Seen {
    used: Vec<MeasuredRow>,
    held: Vec<MeasuredRow>,
    server: Option<ServerInfo>,
    facts: Option<Facts>,
}

/// Runs the command.
///
/// # Errors
/// An unknown deployment, a server that cannot be measured, or rows with too little information.
pub fn run(args: &CalibrateArgs) -> Result<Code, Failure> {
    let store = Store::at(store_root(args.store.as_ref()));
    if let Some(name) = &args.name {
        Calibration::check_name(name)?;
    }
    if args.deployment.calibration.is_some() {
        return Err(Failure::usage("calibrate creates a calibration, and does not accept one"));
    }
    args.out.iter().try_for_each(|path| check_file(path))?;
    let deployment = match &args.url {
        Some(url) => as_told(&args.deployment, url, &store),
        None => args.deployment.clone(),
    };
    if deployment.setup.gpu.is_none() {
        return Err(Failure::usage("no machine is named").hint(format!(
            "--gpu l40s, or another of `inferometer limit --list`; for a CPU or a machine that is not \
             listed, {MEASURE_IT}"
        )));
    }
    // Impossible requests are rejected before anything is measured.
    deployment.deployed(&store, 0)?;
    let seen = match &args.url {
        Some(url) => match measured(args, url, &store)? {
            Ok(seen) => seen,
            Err(code) => return Ok(code),
        },
        None => existing(args, &store)?,
    };
    if seen.used.is_empty() {
        return Err(Failure::usage(
            "no result holds a load with lengths and times to calibrate with",
        )
        .hint("inferometer import shows what is read from a file"));
    }
    if seen.used.iter().all(|row| row.seen.itl_s.is_none()) {
        return Err(Failure::usage("no result has a time between tokens (ITL or TPOT)").hint(
            "calibrate with streamed answers of two tokens or more, whose events carry one token each or whose token \
             counts the server reports",
        ));
    }
    let deployment = with_what_was_seen(&deployment, &seen);
    let deployed = deployment.deployed(&store, 0)?;
    let mut found = fitted(&deployed.deployment, &seen.used, &seen.held)?;
    let refusal = found.refusal.take();
    let calibration = calibration((args, &deployment.setup), &store, (&deployed, &seen), found)?;
    let path = match &refusal {
        Some(_) => None,
        None => Some(calibration.keep(&store)?.display().to_string()),
    };
    let document = document(&calibration, &deployed, (path.clone(), refusal.as_ref()));
    for file in &args.out {
        match file.extension().is_some_and(|ending| ending == "json") {
            true => output::write_text(file, &document.to_json())?,
            false => {
                let why = refusal.as_ref().map(Failure::sentence);
                output::write_page(&page(&calibration, why), file).map(|_| ())?;
            }
        }
    }
    match args.json {
        true => terminal::print_document(&document),
        // The error is the answer.
        false if refusal.is_some() && !args.verbose => {}
        false => {
            let end = path.map(|path| ending(&calibration, &path)).unwrap_or_default();
            terminal::print(&terminal::folded(&(text(&calibration) + &end)));
        }
    }
    refusal.map_or(Ok(Code::Done), Err)
}

/// Checks before measuring whether the calibration can be written there.
fn check_file(path: &Path) -> Result<(), Failure> {
    output::check_path(path)?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ["svg", "png"].contains(&ending) {
        true => {
            Err(Failure::usage(format!("--out {}: a calibration has no chart", path.display()))
                .hint("end the name with .html, .md, .json or .csv"))
        }
        false => Ok(()),
    }
}

/// Machine, model and format, if no flag names them: as the server and this host report. What they
/// do not report stays unset and is required from the user.
fn as_told(args: &DeploymentArgs, url: &str, store: &Store) -> DeploymentArgs {
    let mut args = args.clone();
    let Ok((base, _)) = BaseUrl::parse(url) else { return args };
    let is_here = base
        .resolve()
        .is_ok_and(|addresses| addresses.iter().all(|address| address.ip().is_loopback()));
    if args.setup.gpu.is_none() && is_here {
        let gpu = facts::of_host().0.gpus.first().and_then(|gpu| gpu.name.clone());
        let known = gpu.filter(|name| Machine::find(name).is_ok());
        let measured = || measured_machine::resolve("measured", store).ok();
        args.setup.gpu = known.or_else(measured);
        if let Some(gpu) = &args.setup.gpu {
            // A server on this host may compute on a GPU other than the first.
            terminal::tell(&format!("machine: {gpu}, of this host; --gpu names another"));
        }
    }
    let wanted = args.setup.model.as_deref();
    let Ok(told) = server::inspect(&base, false, None, &[], None, server::PATIENCE) else {
        return args;
    };
    let kind = told.info.kind.as_deref().and_then(|kind| kind.parse::<Kind>().ok());
    // A simulated server reports what it simulates.
    let simulated = told.info.notes.get("server_defaults").and_then(|kind| kind.parse().ok());
    let kind = simulated.or(kind);
    if wanted.is_none() && args.setup.config.is_none() {
        args.setup.model = Some(match kind {
            Some(Kind::Inferometer) => format!("inferometer-{}", told.model),
            _ => told.model.clone(),
        });
    }
    let note = |name: &str| told.info.notes.get(name);
    if kind == Some(Kind::Inferometer) {
        let format = note("stored_dtype").and_then(|name| WeightFormat::find(name).ok());
        args.setup.quant = args.setup.quant.or(format);
        if let Some(kv) = note("kv_dtype").and_then(|name| KvFormat::find(name).ok()) {
            args.setup.kv = kv;
        }
        args.kv_tokens = args.kv_tokens.or(note("kv_tokens").and_then(|count| count.parse().ok()));
        args.max_num_seqs = args.max_num_seqs.or(note("max_batch").and_then(|n| n.parse().ok()));
    }
    args.server = args.server.or(kind);
    args
}

/// KV cache size and kind of the server, as it reported them.
fn with_what_was_seen(args: &DeploymentArgs, seen: &Seen) -> DeploymentArgs {
    let mut args = args.clone();
    let told = seen.facts.as_ref().and_then(|facts| facts.server.as_ref()?.kv_capacity_tokens);
    args.kv_tokens = args.kv_tokens.or(told);
    let kind = seen.server.as_ref().and_then(|server| server.kind.as_deref()?.parse::<Kind>().ok());
    args.server = args.server.or(kind);
    args
}

/// Measures every load, one run after another. Returns the exit code if the user stopped it.
fn measured(args: &CalibrateArgs, url: &str, store: &Store) -> Result<Result<Seen, Code>, Failure> {
    let used = wanted("--points", &args.points)?;
    let held = wanted("--held-out", &args.held_out)?;
    let count = used.len();
    let all: Vec<Wanted> = used.into_iter().chain(held).collect();
    let guard = Guard::start()?;
    let interrupts = interrupt::watch();
    let logs = store.root().join(".calibrations");
    std::fs::create_dir_all(&logs)
        .map_err(|error| Failure::files(format!("cannot create {}: {error}", logs.display())))?;
    let log = logs.join("last.log");
    let mut seen = Seen::default();
    terminal::tell(&format!("{} to measure", counted(all.len() as u64, "load")));
    for (number, wanted) in all.iter().enumerate() {
        let (users, lengths) = (wanted.users, &wanted.lengths);
        let requests = args.requests.unwrap_or((users * REQUESTS_PER_USER).max(REQUESTS_MIN));
        let label = format!("{}, {lengths} tokens", counted(users.into(), "user"));
        let mut words: Vec<String> =
            ["run", "--base-url", url, "--quiet", "--json", "--workload", lengths]
                .map(str::to_owned)
                .to_vec();
        words.extend(["--concurrency".to_owned(), users.to_string()]);
        words.extend(["--requests".to_owned(), requests.to_string()]);
        words.extend(["--name".to_owned(), format!("calibration: {label}")]);
        words.extend(["--store".to_owned(), store.root().display().to_string()]);
        words.extend(args.flags.iter().cloned());
        let began = std::time::Instant::now();
        match measure(&words, &log, &guard, &interrupts, || {})? {
            Measured::Done { run } => {
                terminal::tell(&format!(
                    "{label}: done in {:.1} s, run {run}",
                    began.elapsed().as_secs_f64()
                ));
                let run = load(store, &find(store, &run)?)?;
                let rows = of_run(&run);
                match number < count {
                    true => seen.used.extend(rows),
                    false => seen.held.extend(rows),
                }
                seen.server = Some(run.manifest.server.clone());
                seen.facts = run.manifest.facts.clone().or(seen.facts);
            }
            Measured::Failed { reason, .. } => {
                return Err(Failure::server(format!("{label}: {reason}")).hint(
                    "start the server, or check host and port; put flags of `run` that it needs after --",
                ));
            }
            Measured::Interrupted => return Ok(Err(Code::Interrupted)),
        }
    }
    Ok(Ok(seen))
}

/// Rows of existing results.
fn existing(args: &CalibrateArgs, store: &Store) -> Result<Seen, Failure> {
    let subjects: Subjects = inputs::open(store, &args.from)?;
    let all = rows(&subjects.runs, &subjects.sheets, args.lengths).into_iter();
    let meant = all.filter(|row| args.table.is_none_or(|table| row.table == table));
    let takes_part = |row: &MeasuredRow| {
        args.loads.is_empty() || args.loads.iter().any(|number| row.is_at(*number))
    };
    let (used, held) = meant.partition(takes_part);
    let first = subjects.runs.first().map(|run| &run.manifest);
    Ok(Seen {
        used,
        held,
        server: first.map(|manifest| manifest.server.clone()),
        facts: first.and_then(|manifest| manifest.facts.clone()),
    })
}

fn calibration(
    (args, asked): (&CalibrateArgs, &SetupArgs),
    store: &Store,
    (deployed, seen): (&SimulatedDeployment, &Seen),
    found: Fitted,
) -> Result<Calibration, Failure> {
    let setup = &deployed.deployment.setup;
    let clean = |text: &str| -> String {
        let mapped =
            text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' });
        mapped.collect::<String>().trim_matches('-').to_owned()
    };
    let model_name = clean(&setup.model().id);
    let name =
        args.name.clone().unwrap_or_else(|| format!("{}-{model_name}", clean(&setup.machine().id)));
    Calibration::check_name(&name)?;
    let config = match &asked.config {
        Some(path) => Some(setup::read(path)?),
        None => None,
    };
    let process = seen.facts.as_ref().and_then(|facts| facts.server.as_ref());
    let engine = seen.server.as_ref().and_then(|server| {
        let kind = server.kind.as_deref()?;
        Some(match &server.version {
            Some(version) => format!("{kind} {version}"),
            None => kind.to_owned(),
        })
    });
    let constants = found.deployment.step.constants().named();
    let mut settings = deployed.deployment.settings.clone();
    settings.kv_tokens = Some(deployed.deployment.kv_tokens());
    Ok(Calibration {
        schema_version: SCHEMA_VERSION,
        name,
        // The ceilings of this host were measured today.
        gpu: measured_machine::resolve(asked.gpu.as_deref().unwrap_or_default(), store)?,
        gpus: setup.gpus() as u32,
        model: config.is_none().then(|| setup.model().id.clone()),
        config,
        quant: setup.precision().weights.id.to_owned(),
        kv: setup.precision().kv.id.to_owned(),
        weight_bytes: setup.precision().weight_bytes,
        server: deployed.kind,
        settings,
        constants: constants.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        estimates: found.estimates,
        scatter: found.scatter,
        rows: found.rows,
        left_out: found.left_out,
        unsaid: found.unsaid,
        suspects: found.suspects,
        spread: found.spread,
        created_utc: facts::now_utc(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        engine,
        engine_flags: process.map(|process| process.command.clone()).unwrap_or_default(),
        machine: seen.facts.as_ref().and_then(facts::machine_name),
    })
}

fn document(
    calibration: &Calibration,
    deployed: &SimulatedDeployment,
    (path, refusal): (Option<String>, Option<&Failure>),
) -> CalibrationDocument {
    CalibrationDocument {
        refused: refusal.map(|failure| failure.sentence().to_owned()),
        schema_version: calibration.schema_version,
        name: calibration.name.clone(),
        path,
        gpu: calibration.gpu.clone(),
        gpus: calibration.gpus,
        model: deployed.deployment.setup.model().id.clone(),
        quant: calibration.quant.clone(),
        kv: calibration.kv.clone(),
        server: calibration.server.word().to_owned(),
        engine: calibration.engine.clone(),
        kv_tokens: deployed.deployment.kv_tokens(),
        constants: calibration.constants.clone(),
        estimates: calibration.estimates.clone(),
        scatter: calibration.scatter,
        rows: calibration.rows.clone(),
        left_out: calibration.left_out.clone(),
        warnings: misses(&calibration.rows),
        unsaid: calibration.unsaid.clone(),
        suspects: calibration.suspects.clone(),
        undetermined: calibration.undetermined(),
        spread: calibration.spread.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_users_and_lengths() {
        let read = |text| wanted("--points", text);
        let two = read("1:128/64, 4:256/32").expect("two loads");
        assert_eq!(two[1], Wanted { users: 4, lengths: "256/32".to_owned() });
        assert!(read("none").expect("none").is_empty());
        for bad in ["4", "0:1/1", "4:256", "4:0/1", "x:1/1", ""] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
