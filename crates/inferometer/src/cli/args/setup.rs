//! The flags that name a machine, a model and how its weights are stored.

use crate::exit::Failure;
use clap::Args;
use ifm_machine::measured_machine;
use ifm_predict::Calibration;
use ifm_predict::limit::FormatOrigin;
use ifm_roofline::{KvFormat, Machine, Model, Precision, RooflineError, Setup, WeightFormat};
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Maximum size of `config.json`.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// A model and its hardware.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// Machine: a name ("l40s", "NVIDIA H100 80GB HBM3") or figures (bw=864,bf16=362,mem=45)
    ///
    /// Figures after a name override its figures: l40s,bw=900. "measured" or measured:ID uses results of
    /// "kernel"
    #[arg(help_heading = "Deployment", long, value_name = "NAME")]
    pub gpu: Option<String>,

    /// Model: a name ("llama-3.1-8b", "Qwen/Qwen3-4B", "llama 7B Q4_0")
    #[arg(help_heading = "Deployment", long, short, value_name = "NAME")]
    pub model: Option<String>,

    /// The model's config.json, instead of a name
    #[arg(help_heading = "Deployment", long, value_name = "FILE", conflicts_with = "model")]
    pub config: Option<PathBuf>,

    /// Weight format: bf16, fp8, w8a8, w8a16, w4a16, mxfp4, q4_k_m, …
    ///
    /// The default is the format in the model's name, else the format that it is published in
    #[arg(help_heading = "Deployment", long, alias = "quantization", value_name = "FORMAT", value_parser = weights)]
    pub quant: Option<WeightFormat>,

    /// Number format of the KV cache
    #[arg(help_heading = "Deployment", long, alias = "kv-cache-dtype", default_value = "bf16", value_name = "FORMAT", value_parser = kv)]
    pub kv: KvFormat,

    /// Size of the weights, if known, such as 39.59GiB
    #[arg(help_heading = "Deployment", long, value_name = "SIZE", value_parser = size)]
    pub weights: Option<f64>,

    /// GPUs that share the model (tensor parallelism) [default: number in --gpu, else 1]
    #[arg(help_heading = "Deployment", long, alias = "tensor-parallel-size", value_name = "N")]
    pub tp: Option<u32>,
}

impl SetupArgs {
    /// The model on the machines, and the source of its weight format.
    ///
    /// # Errors
    /// An unknown machine, model or format, or an impossible number of GPUs.
    pub fn setup(&self, store: &Store) -> Result<(Setup, FormatOrigin), Failure> {
        let Some(gpu) = self.gpu.as_deref() else {
            return Err(Failure::usage("no machine is named")
                .hint(
                    "--gpu l40s, or another of `inferometer limit --list`; for a CPU or a machine that is \
                     not listed, run `inferometer kernel gemm` and `inferometer kernel bandwidth` on it, \
                     then pass --gpu measured",
                ));
        };
        if self.model.is_none() && self.config.is_none() {
            return Err(Failure::usage("no model is named").hint(
                "--model llama-3.1-8b, or another; inferometer limit --list shows all, --config \
                 config.json describes one",
            ));
        }
        let model = model(self)?;
        let (format, origin) = weight_format(self, &model)?;
        Ok((self.on_machine(gpu, model, format, store)?, origin))
    }

    /// The model of a calibration, if none is named.
    ///
    /// # Errors
    /// As [`SetupArgs::setup`].
    pub fn of_calibration(&self, own: &Calibration, store: &Store) -> Result<Setup, Failure> {
        let model = match &own.config {
            Some(text) => Model::from_config(text).map_err(unknown)?,
            None => Model::find(own.model.as_deref().unwrap_or_default()).map_err(unknown)?,
        };
        let format = match &self.quant {
            Some(format) => format.clone(),
            None => WeightFormat::find(&own.quant).map_err(unknown)?,
        };
        let asked = SetupArgs {
            kv: KvFormat::find(&own.kv).map_err(unknown)?,
            weights: self.weights.or(own.weight_bytes.filter(|_| self.quant.is_none())),
            ..self.clone()
        };
        asked.on_machine(self.gpu.as_deref().unwrap_or(&own.gpu), model, format, store)
    }

    fn on_machine(
        &self,
        gpu: &str,
        model: Model,
        format: WeightFormat,
        store: &Store,
    ) -> Result<Setup, Failure> {
        let gpu = measured_machine::resolve(gpu, store)?;
        let machine = Machine::parse(&gpu).map_err(unknown)?;
        let precision = Precision { weights: format, kv: self.kv, weight_bytes: self.weights };
        let gpus = self.tp.or(Machine::count_in(&gpu)).unwrap_or(1);
        Setup::new(machine, model, precision, gpus).map_err(unknown)
    }
}

fn weights(text: &str) -> Result<WeightFormat, String> {
    WeightFormat::find(text).map_err(|error| match &error {
        RooflineError::Unknown { nearest, .. } if nearest.is_empty() => {
            let known: Vec<String> =
                WeightFormat::all().map(|format| format.id.to_string()).collect();
            format!("{error}; there are {}", known.join(", "))
        }
        _ => error.to_string(),
    })
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

fn model(args: &SetupArgs) -> Result<Model, Failure> {
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

/// The text of a model's configuration.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let failure =
        |error: std::io::Error| Failure::usage(format!("--config {}: {error}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failure)?;
    file.take(CONFIG_BYTES_MAX).read_to_string(&mut text).map_err(failure)?;
    Ok(text)
}

/// The format of the weights, and its source.
fn weight_format(args: &SetupArgs, model: &Model) -> Result<(WeightFormat, FormatOrigin), Failure> {
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
            .hint("set it with --quant, such as --quant bf16")),
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
