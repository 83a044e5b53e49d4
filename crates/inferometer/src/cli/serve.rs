//! `inferometer serve`: the embedded engine as a server.

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::Args;
use ifm_core::words::counted;
use ifm_engine::{
    Compute, Engine, EngineOptions, ModelSource, Preset, Quantization, suggested_threads,
};
use ifm_serve::{Faults, ServeOptions, Shutdown, serve};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Flags of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Model from disk: a GGUF file, or a folder with config.json, safetensors and a tokenizer
    #[arg(long, value_name = "PATH", conflicts_with = "preset")]
    model: Option<PathBuf>,

    /// Size of a model with random weights: nano, tiny, small, llama-1b
    #[arg(long, default_value = "tiny")]
    preset: String,

    /// Variant of the weights: q8_0, q4_k, q4_0, q6_k, f16, bf16, f32, w8a16, w8a8, w8a8-static,
    /// w4a16, w4a16-asym [default: q8_0; a model from disk keeps its own]
    #[arg(long)]
    quant: Option<String>,

    /// Seed of random weights, and of the requests that faults strike
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,

    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    port: u16,

    /// Name of the model in requests [default: its own]
    #[arg(long, value_name = "NAME")]
    served_model_name: Option<String>,

    /// Environment variable that holds the key which requests must bring
    #[arg(long, value_name = "NAME")]
    api_key_env: Option<String>,

    /// Threads that compute [default: all processors but two, 1 to 8]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Most requests computed at once
    #[arg(long, default_value_t = EngineOptions::suggested().max_batch, value_name = "N")]
    max_batch: usize,

    /// Most prompt tokens computed in one pass
    #[arg(long, default_value_t = EngineOptions::suggested().prefill_chunk, value_name = "TOKENS")]
    prefill_chunk: usize,

    /// Most tokens of a prompt and its answer [default: what the model was made for]
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,

    /// Faults on demand, such as 429:0.05,stall:0.01:2s,no-usage; each is in docs/reference/serve.md
    #[arg(long, value_name = "LIST")]
    fault: Option<String>,

    /// Answers tell their times, as vLLM's do with this flag
    #[arg(long)]
    enable_per_request_metrics: bool,

    /// End when standard input closes (for a parent process)
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<Code, Failure> {
    let source = source(args)?;
    let faults = args.fault.as_deref().map(|list| Faults::parse(list, args.seed)).transpose();
    let faults = faults.map_err(|error| Failure::usage(format!("--fault: {error}")))?;
    let api_key = args.api_key_env.as_deref().map(key).transpose()?;
    let processors = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let threads = args.threads.unwrap_or_else(|| suggested_threads(processors)).max(1);
    let options = EngineOptions {
        compute: Compute::on_threads(threads),
        context: args.context,
        max_batch: args.max_batch,
        prefill_chunk: args.prefill_chunk,
        available_bytes: ifm_sys::host::available_memory_bytes(),
        ..EngineOptions::suggested()
    };
    let engine = Engine::load(&source, options)
        .map_err(|error| Failure::usage(format!("the model cannot be served: {error}")))?;
    let mut options = ServeOptions::new(SocketAddr::new(args.host, args.port), engine.clone());
    options.api_key = api_key;
    options.faults = faults.unwrap_or_default();
    options.per_request_metrics = args.enable_per_request_metrics;
    options.version = env!("CARGO_PKG_VERSION").to_owned();
    if let Some(name) = &args.served_model_name {
        options.model_name.clone_from(name);
    }
    let shutdown = Shutdown::new();
    watch_signals(&shutdown);
    if args.until_stdin_closes {
        watch_stdin(&shutdown);
    }
    let model = &engine.info().model;
    let weights = match model.random_seed {
        Some(seed) => format!("random weights, seed {seed}: the speed is real, the text is noise"),
        None => "weights from disk".to_owned(),
    };
    let name = options.model_name.clone();
    let line = format!(
        "{name}: {} {:.0} M parameters, {}, {:.2} bits a weight, {}; {weights}",
        model.architecture,
        model.parameters as f64 / 1e6,
        model.variant,
        model.bits_per_weight,
        counted(model.threads as u64, "thread")
    );
    let served = serve(options, &shutdown, |address| {
        terminal::print(&format!("listening on http://{address}\n"));
        terminal::say(&line);
    });
    engine.shutdown();
    served.map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Code::Done)
}

fn source(args: &ServeArgs) -> Result<ModelSource, Failure> {
    let quantization: Option<Quantization> = args
        .quant
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| Failure::usage(format!("--quant: {error}")))?;
    match &args.model {
        Some(path) if path.is_dir() => {
            Ok(ModelSource::HuggingFace { path: path.clone(), quantization })
        }
        Some(path) if quantization.is_none() => Ok(ModelSource::Gguf { path: path.clone() }),
        Some(path) => Err(Failure::usage(format!("{} keeps its own weights", path.display()))
            .hint("leave --quant out for a GGUF file")),
        None => {
            let preset: Preset = args
                .preset
                .parse()
                .map_err(|error| Failure::usage(format!("--preset: {error}")))?;
            let quantization = quantization.unwrap_or(Quantization::Q8_0);
            Ok(ModelSource::Preset { preset, quantization, seed: args.seed })
        }
    }
}

fn key(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
        _ => Err(Failure::usage(format!("the environment variable {name} holds no key"))),
    }
}

/// The first signal ends the server in order, the second at once.
fn watch_signals(shutdown: &Shutdown) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    let shutdown = shutdown.clone();
    std::thread::spawn(move || {
        let mut caught = 0;
        for _ in signals.forever() {
            caught += 1;
            if caught > 1 {
                std::process::exit(Code::Interrupted as i32);
            }
            shutdown.request();
        }
    });
}

fn watch_stdin(shutdown: &Shutdown) {
    let shutdown = shutdown.clone();
    std::thread::spawn(move || {
        let mut byte = [0];
        // Whatever is read or fails: only the end of the stream counts, and an error is one.
        while matches!(std::io::stdin().read(&mut byte), Ok(count) if count > 0) {}
        shutdown.request();
    });
}
