//! `inferometer demo`: measures the embedded engine.

use super::Alone;
use super::args::level_list;
use crate::cli::args::load::{JsonKind, LoadArgs};
use crate::cli::args::quiet::QuietArgs;
use crate::cli::args::resolve::resolve;
use crate::exit::{Code, Failure};
use crate::job::levels::{Ending, LevelRequest};
use crate::session::execute;
use crate::terminal;
use clap::{Args, Parser as _};
use ifm_core::words::counted;
use ifm_engine::{
    Compute, Model, ModelSource, Preset, Quantization, StaticBatch, suggested_threads,
};
use ifm_launch::own_program::OwnServer;
use std::path::PathBuf;
use std::time::Duration;

/// Users at each level.
const LEVELS: &str = "1,2,4,8";
/// Models with the prompt and output tokens of a level, the largest first. The first model for
/// which this machine is fast enough is used, else the last.
const CHOICES: [(Preset, u32, u32); 3] =
    [(Preset::Tiny, 128, 64), (Preset::Nano, 128, 64), (Preset::Nano, 64, 16)];
/// Maximum time of one user's prompt, and of each step: a quarter of what people accept, so that
/// several users fit.
const QUICK: (Duration, Duration) = (Duration::from_millis(125), Duration::from_millis(12));
/// Sending time per level, seconds.
const LEVEL_S: f64 = 6.0;

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Model size: nano, tiny, small, llama-1b [default: chosen for this machine]
    #[arg(long)]
    preset: Option<String>,

    /// Weight format, such as q8_0, w8a8 or bf16 (all: `engine --list`)
    #[arg(long, default_value = "q8_0")]
    quant: String,

    /// Report file to write
    #[arg(short, long, default_value = "inferometer-demo.html", value_name = "FILE")]
    out: PathBuf,

    /// Sending time per level, seconds
    #[arg(short = 'z', long, default_value_t = LEVEL_S, value_name = "SECONDS")]
    duration: f64,

    /// One JSON document on standard output
    #[arg(long)]
    json: bool,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// Show a full-screen live view; q stops the run, ? shows help
    #[arg(long)]
    tui: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,
}

impl Default for DemoArgs {
    fn default() -> DemoArgs {
        Alone::<DemoArgs>::parse_from(["demo"]).args
    }
}

/// Measures this machine for a second, and picks the largest model for which it is fast enough.
fn choose(quant: &str) -> Result<(String, u32, u32), Failure> {
    let quantization: Quantization =
        quant.parse().map_err(|error| Failure::usage(format!("--quant: {error}")))?;
    let processors = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let compute = Compute::on_threads(suggested_threads(processors));
    let (last, others) = CHOICES.split_last().unwrap_or((&CHOICES[0], &[]));
    for (preset, prompt, output) in others {
        let source = ModelSource::Preset { preset: *preset, quantization, seed: 0 };
        let batch = StaticBatch {
            sequences: 1,
            depth_tokens: 0,
            prompt_tokens: *prompt as usize,
            generated_tokens: 8,
            prefill_chunk: *prompt as usize,
        };
        // An error here also occurs in the server, which reports it.
        let Ok(model) = Model::load_on(&source, Some(256), compute) else { break };
        let Ok(timing) = model.time_static_batch(batch) else { break };
        let step_ns = timing.step_ns.iter().min().copied().unwrap_or_default();
        let (prompt_took, step_took) =
            (Duration::from_nanos(timing.prompt_ns), Duration::from_nanos(step_ns));
        if prompt_took <= QUICK.0 && step_took <= QUICK.1 {
            return Ok((preset.name().to_owned(), *prompt, *output));
        }
        terminal::tell(&format!(
            "{} takes {:.0} ms for a prompt of {prompt} tokens here, {:.1} ms a token: a smaller one.",
            preset.name(),
            prompt_took.as_secs_f64() * 1e3,
            step_took.as_secs_f64() * 1e3
        ));
    }
    Ok((last.0.name().to_owned(), last.1, last.2))
}

/// Runs the command.
pub fn run(args: &DemoArgs, words: &[String]) -> Result<Code, Failure> {
    crate::output::check_path(&args.out)?;
    if !(args.duration.is_finite() && args.duration > 0.0) {
        return Err(Failure::usage("--duration must be a positive number of seconds"));
    }
    if !ifm_engine::BUILT {
        return Err(Failure::usage(ifm_engine::NOT_BUILT)
            .hint("use serve --sim instead of a server; the full program has the engine"));
    }
    terminal::tell("No server needed: starting the embedded engine.");
    let (preset, prompt, output) = match &args.preset {
        Some(preset) => {
            let preset: Preset =
                preset.parse().map_err(|error| Failure::usage(format!("--preset: {error}")))?;
            (preset.name().to_owned(), CHOICES[0].1, CHOICES[0].2)
        }
        None => choose(&args.quant)?,
    };
    let server = OwnServer::start(&["--preset", &preset, "--quant", &args.quant])?;
    let mut load = Alone::<LoadArgs>::parse_from(["demo", &server.url]).args;
    load.workload.workload = format!("{prompt}/{output}");
    load.results.name = Some("demo".to_owned());
    load.results.out = vec![args.out.clone()];
    load.results.store.clone_from(&args.store);
    load.results.json = args.json.then_some(JsonKind::Document);
    load.results.tui = args.tui;
    load.results.quiet = args.quiet.quiet;
    load.results.no_color = args.no_color;
    load.results.ascii = args.ascii;
    // The engine's own server needs no key, and must not receive one.
    load.api_key_env = None;
    let ending = Ending::new(None, None, Some(args.duration))?;
    let levels: Vec<LevelRequest> = level_list::parse(LEVELS)
        .map_err(Failure::usage)?
        .into_iter()
        .map(|concurrency| LevelRequest { concurrency, arrivals: None, ending, warmup: None })
        .collect();
    let job = resolve(&load, &levels, words)?;
    let seconds = args.duration * levels.len() as f64;
    terminal::tell(&format!(
        "{}, about {:.0} s.",
        counted(levels.len() as u64, "level"),
        seconds * 1.3
    ));
    let code = execute(job)?;
    terminal::tell(&format!("report  {}", args.out.display()));
    terminal::tell("next    inferometer sweep http://localhost:8000   (your own server)");
    Ok(code)
}
