//! `inferometer serve`: runs the embedded engine as a server.
//!
//! Not here: simulated servers (`serve_simulated`), and what both have in common (`args::serving`).

use super::serve_simulated;
use crate::cli::args::serving::ServingArgs;
use crate::exit::{Code, Failure};
use clap::Args;
use ifm_core::words::counted;
use ifm_engine::{
    Compute, Engine, EngineOptions, ModelSource, Preset, Quantization, suggested_threads,
};
use std::path::PathBuf;

/// The end of its help.
pub const SIMULATED: &str =
    "A simulated server, for real clients: serve --sim --help shows its flags";

/// Flags of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Model: GGUF file, or folder with config.json, safetensors and tokenizer
    #[arg(long, value_name = "PATH", conflicts_with = "preset")]
    model: Option<PathBuf>,

    /// Size of a model with random weights: nano, tiny, small, llama-1b
    #[arg(long, default_value = "tiny")]
    preset: String,

    /// Weight format [default: q8_0; a model from disk keeps its own]
    ///
    /// One of q8_0, q4_k, q4_0, q6_k, f16, bf16, f32, w8a16, w8a8, w8a8-static, w4a16, w4a16-asym
    #[arg(long)]
    quant: Option<String>,

    /// Number of compute threads [default: all processors but two, 1 to 8]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Maximum requests computed at once
    #[arg(long, default_value_t = EngineOptions::suggested().max_batch, value_name = "N")]
    max_batch: usize,

    /// Maximum prompt tokens computed in one pass
    #[arg(long, default_value_t = EngineOptions::suggested().prefill_chunk, value_name = "TOKENS")]
    prefill_chunk: usize,

    /// Maximum tokens of a prompt and its answer [default: the model's context length]
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,

    #[command(flatten)]
    serving: ServingArgs,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<Code, Failure> {
    let serving = args.serving.checked()?;
    let source = source(args)?;
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
    let model = &engine.info().model;
    let weights = match model.random_seed {
        Some(seed) => format!("random weights, seed {seed}: the speed is real, the text is noise"),
        None => "weights from disk".to_owned(),
    };
    let line = format!(
        "{} {:.0} M parameters, {}, {:.2} bits a weight, {}; {weights}",
        model.architecture,
        model.parameters as f64 / 1e6,
        model.variant,
        model.bits_per_weight,
        counted(model.threads as u64, "thread")
    );
    let served = serving.serve(engine.clone().into(), &line);
    engine.shutdown();
    served
}

/// Distinguishes the two kinds of servers, which share the command and few of its flags: the words
/// for a simulated server become the words of a separate command.
pub fn told_apart(mut words: Vec<String>) -> Vec<String> {
    let is_sim = |word: &String| word == "--sim";
    let has_sim = words.iter().any(is_sim);
    if let Some(verb) = words.get_mut(1).filter(|verb| *verb == "serve" && has_sim) {
        *verb = serve_simulated::VERB.to_owned();
        words.retain(|word| !is_sim(word));
    }
    words
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
            Ok(ModelSource::Preset { preset, quantization, seed: args.serving.seed })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    #[test]
    fn a_simulated_server_is_a_command_of_its_own() {
        let told = |words: &str| {
            let words = words.split(' ').map(str::to_owned).collect();
            told_apart(words).join(" ")
        };
        assert_eq!(told("i serve --gpu x --sim"), "i serve-simulated --gpu x");
        for other in ["i serve --port 0", "i run --sim", "i", "i serve", "i --sim serve"] {
            assert_eq!(told(other), other);
        }
    }
}
