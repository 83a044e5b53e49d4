//! `inferometer limit`: what a machine and a model can do at most.

use super::levels;
use crate::exit::{Code, Failure};
use crate::limit::{self, Answer, FormatOrigin, LimitDocument, LimitList, Measured, Request};
use crate::measured_machine;
use crate::session::store_root;
use crate::terminal;
use clap::{Args, ValueEnum};
use ifm_roofline::{KvFormat, Machine, Model, Precision, RooflineError, Setup, WeightFormat};
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Largest `config.json` that is read.
const CONFIG_BYTES_MAX: u64 = 4 << 20;
/// Most tokens of a prompt or an answer.
const TOKENS_MAX: u64 = 100_000_000;

/// Flags of `limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Machine: a name ("l40s", "NVIDIA H100 80GB HBM3"), figures (bw=864,bf16=362,mem=45), or a
    /// name with figures replaced (l40s,bw=900); "measured" or measured:ID for results of "kernel"
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    gpu: Option<String>,

    /// Model: a name ("llama-3.1-8b", "Qwen/Qwen3-4B", "llama 7B Q4_0")
    #[arg(long, short, value_name = "NAME", required_unless_present_any = ["list", "config"])]
    model: Option<String>,

    /// The model's config.json, instead of a name
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    config: Option<PathBuf>,

    /// Number format of the weights: bf16, fp8, w8a8, w8a16, w4a16, mxfp4, q4_k_m, …
    /// [default: what the model's name says, else what it is published in]
    #[arg(long, alias = "quantization", value_name = "FORMAT", value_parser = weights)]
    quant: Option<WeightFormat>,

    /// Number format of keys and values
    #[arg(long, alias = "kv-cache-dtype", default_value = "bf16", value_name = "FORMAT", value_parser = kv)]
    kv: KvFormat,

    /// Size of the weights where it is known, such as 39.59GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    weights: Option<f64>,

    /// GPUs that share the model (tensor parallelism) [default: what --gpu counts, else 1]
    #[arg(long, alias = "tensor-parallel-size", value_name = "N")]
    tp: Option<u32>,

    /// Prompt tokens of a request
    #[arg(long, visible_alias = "input", alias = "isl", default_value_t = 1024, value_name = "TOKENS",
          value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    prompt: u64,

    /// Output tokens of a request
    #[arg(long, alias = "osl", default_value_t = 256, value_name = "TOKENS",
          value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    output: u64,

    /// Users: 1,8,32 or 1..64 (doubling)
    #[arg(long, short, default_value = "1,8,32", value_name = "LIST")]
    concurrency: String,

    /// A measured value to compare with the limit: itl=22.2ms@1, ttft=115.9ms, latency=11.4s@1,
    /// tok_s=885@100, tg=279, pp=16634; may be repeated
    #[arg(long, value_name = "NAME=VALUE[@USERS]", value_parser = Measured::parse)]
    measured: Vec<Measured>,

    /// List the machines and the models that are known
    #[arg(long)]
    list: bool,

    /// Folder of stored results, for --gpu measured [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    store: Option<PathBuf>,

    /// What goes to standard output
    #[arg(short, long, value_enum, default_value = "text")]
    format: LimitFormat,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LimitFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

fn weights(text: &str) -> Result<WeightFormat, String> {
    WeightFormat::find(text).map_err(|error| error.to_string())
}

fn kv(text: &str) -> Result<KvFormat, String> {
    KvFormat::find(text).map_err(|error| error.to_string())
}

/// Reads a size in bytes: `39.59GiB`, `4.9GB`, `512MiB`.
fn size(text: &str) -> Result<f64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "mib" => f64::from(1_u32 << 20),
        "gib" => f64::from(1_u32 << 30),
        "tib" => f64::from(1_u32 << 30) * 1024.0,
        _ => return Err(format!("unknown unit \"{unit}\": use MB, GB, TB, MiB, GiB or TiB")),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value * scale),
        _ => Err("expected a size such as 39.59GiB".to_owned()),
    }
}

/// Runs the command.
pub fn run(args: &LimitArgs) -> Result<Code, Failure> {
    let users = levels::parse(&args.concurrency)
        .map_err(|error| Failure::usage(format!("--concurrency {}: {error}", args.concurrency)))?;
    let is_json = args.json || args.format == LimitFormat::Json;
    if args.list {
        match is_json {
            true => terminal::print_document(&LimitList::new()),
            false => _ = terminal::print(&limit::list_text()),
        }
        return Ok(Code::Done);
    }
    let store = Store::at(store_root(args.store.as_ref()));
    let gpu = measured_machine::resolve(args.gpu.as_deref().unwrap_or_default(), &store)?;
    let machine = Machine::parse(&gpu).map_err(unknown)?;
    let model = model(args)?;
    let (format, origin) = weight_format(args, &model)?;
    let precision = Precision { weights: format, kv: args.kv, weight_bytes: args.weights };
    let counted = Machine::count_in(&gpu);
    let gpus = args.tp.or(counted).unwrap_or(1);
    let setup = Setup::new(machine, model, precision, gpus).map_err(unknown)?;
    let request = Request { input: args.prompt as f64, output: args.output as f64 };
    let answer = Answer::new(setup, origin, request, &users, &args.measured);
    match is_json {
        true => terminal::print_document(&LimitDocument::from(&answer)),
        false => _ = terminal::print(&limit::text(&answer)),
    }
    Ok(Code::Done)
}

fn model(args: &LimitArgs) -> Result<Model, Failure> {
    match &args.config {
        Some(path) => {
            let text = read(path)?;
            let model = Model::from_config(&text)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            Ok(model)
        }
        None => Model::find(args.model.as_deref().unwrap_or_default()).map_err(unknown),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let failure =
        |error: std::io::Error| Failure::usage(format!("--config {}: {error}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failure)?;
    file.take(CONFIG_BYTES_MAX).read_to_string(&mut text).map_err(failure)?;
    Ok(text)
}

/// The format of the weights, and who says so.
fn weight_format(args: &LimitArgs, model: &Model) -> Result<(WeightFormat, FormatOrigin), Failure> {
    if let Some(format) = &args.quant {
        return Ok((format.clone(), FormatOrigin::Asked));
    }
    if let Some(format) = args.model.as_deref().and_then(WeightFormat::named_in) {
        return Ok((format, FormatOrigin::Name));
    }
    match &model.native_format {
        Some(native) => {
            let format = WeightFormat::find(native).map_err(unknown)?;
            Ok((format, FormatOrigin::Published))
        }
        None => Err(Failure::usage("the configuration does not say how weights are stored")
            .hint("say it with --quant, such as --quant bf16")),
    }
}

fn unknown(error: RooflineError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        RooflineError::Unknown { what: "machine", .. } => failure.hint(
            "inferometer limit --list shows all; --gpu bw=864,bf16=362,mem=45 describes another \
             (GB/s, dense 1e12 a second, GiB)",
        ),
        RooflineError::Unknown { what: "model", .. } => failure
            .hint("inferometer limit --list shows all; --config config.json describes another"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("1GiB"), Ok(1_073_741_824.0));
        assert_eq!(size("4.9 GB"), Ok(4.9e9));
        assert_eq!(size("512"), Ok(512.0));
        for text in ["", "GB", "-1GB", "1parsec", "nanGB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
