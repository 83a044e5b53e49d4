//! `inferometer demo`: the embedded engine, measured.

use super::load_args::{JsonKind, LoadArgs};
use super::resolve::resolve;
use super::{Alone, levels};
use crate::child::OwnServer;
use crate::exit::{Code, Failure};
use crate::levels::{Ending, LevelRequest};
use crate::session::execute;
use crate::terminal;
use clap::{Args, Parser as _};
use ifm_core::words::counted;
use std::path::PathBuf;

/// Users at each level.
const LEVELS: &str = "1,2,4,8";
/// Prompt and output tokens: small, so that a processor answers many within a level.
const WORKLOAD: &str = "128/64";
/// Seconds of sending at each level.
const LEVEL_S: f64 = 6.0;

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Size of the model: nano, tiny, small, llama-1b
    #[arg(long, default_value = "tiny")]
    preset: String,

    /// Variant of the weights, as in `serve`: q8_0, q4_k, f16, w8a8, w4a16, …
    #[arg(long, default_value = "q8_0")]
    quant: String,

    /// Report to write
    #[arg(short, long, default_value = "inferometer-demo.html", value_name = "FILE")]
    out: PathBuf,

    /// Seconds of sending at each level
    #[arg(short = 'z', long, default_value_t = LEVEL_S, value_name = "SECONDS")]
    duration: f64,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Show the run on the full screen while it goes on; q stops it, ? helps
    #[arg(long)]
    tui: bool,

    /// No colour (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Only ASCII characters
    #[arg(long)]
    ascii: bool,
}

impl Default for DemoArgs {
    fn default() -> DemoArgs {
        Alone::<DemoArgs>::parse_from(["demo"]).args
    }
}

/// Runs the command.
pub fn run(args: &DemoArgs, words: &[String]) -> Result<Code, Failure> {
    crate::output::check_path(&args.out)?;
    if !(args.duration.is_finite() && args.duration > 0.0) {
        return Err(Failure::usage("--duration must be a positive number of seconds"));
    }
    terminal::say("No server needed: starting the embedded engine.");
    let server = OwnServer::start(&["--preset", &args.preset, "--quant", &args.quant])?;
    let mut load = Alone::<LoadArgs>::parse_from(["demo", &server.url]).args;
    WORKLOAD.clone_into(&mut load.workload.workload);
    load.name = Some("demo".to_owned());
    load.out = vec![args.out.clone()];
    load.store.clone_from(&args.store);
    load.json = args.json.then_some(JsonKind::Document);
    load.tui = args.tui;
    load.no_color = args.no_color;
    load.ascii = args.ascii;
    // The engine's own server asks for no key, and none must reach it.
    load.api_key_env = None;
    let ending = Ending::new(None, None, Some(args.duration))?;
    let levels: Vec<LevelRequest> = levels::parse(LEVELS)
        .map_err(Failure::usage)?
        .into_iter()
        .map(|concurrency| LevelRequest { concurrency, arrivals: None, ending, warmup: None })
        .collect();
    let job = resolve(&load, &levels, words)?;
    let seconds = args.duration * levels.len() as f64;
    terminal::say(&format!(
        "{}, about {:.0} s.",
        counted(levels.len() as u64, "level"),
        seconds * 1.3
    ));
    let code = execute(job)?;
    terminal::say(&format!("report  {}", args.out.display()));
    terminal::say("next    inferometer sweep http://localhost:8000   (your own server)");
    Ok(code)
}
