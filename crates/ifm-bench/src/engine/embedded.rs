//! The embedded engine's end of the protocol: what `inferometer worker` does, a process for
//! each number of threads and each format of the weights.

use super::case::Case;
use super::protocol::{About, Answer, Ceilings, Load, Order, VERSION};
use super::{Ask, Setup, Which};
use ifm_engine::{Compute, KvFormat, Model, ModelSource, Preset, Quantization, StaticBatch};
use std::io::BufRead;
use std::path::Path;

/// Answers orders on standard input until it ends. `print` writes each answer, one line.
pub fn serve(print: impl Fn(&str)) {
    let mut loaded: Option<Loaded> = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str(&line) {
            Ok(Order::Load(load)) => match Loaded::load(&load) {
                Ok(model) => {
                    let about = model.about();
                    loaded = Some(model);
                    Answer::Ready(Box::new(about))
                }
                Err(why) => Answer::Cannot { why, seed: None },
            },
            Ok(Order::Run { case, seed }) => match &loaded {
                Some(model) => model.run(&case, seed),
                None => Answer::Cannot { why: "no model is loaded".to_owned(), seed: Some(seed) },
            },
            Err(error) => Answer::Cannot { why: format!("not an order: {error}"), seed: None },
        };
        print(&format!("{}\n", serde_json::json!(answer)));
    }
}

struct Loaded {
    model: Model,
    pass_tokens: usize,
    ceilings: Option<Ceilings>,
}

impl Loaded {
    fn load(load: &Load) -> Result<Loaded, String> {
        if load.protocol != VERSION {
            return Err(format!("this engine speaks protocol {VERSION}, not {}", load.protocol));
        }
        let source = source(&load.model, load.weights.as_deref())?;
        let context = usize::try_from(load.context_tokens).ok();
        let processors = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
        let threads = load.threads.map_or(processors, |threads| threads as usize);
        let mut compute = Compute::on_threads(threads);
        compute.kv = kv(load)?;
        if let Some(name) = &load.instructions {
            compute.isa = name.parse().map_err(|error| format!("{error}"))?;
            if !compute.isa.is_here() {
                return Err(format!("this processor has no {name}"));
            }
        }
        let kv_tokens = load.context_tokens as usize * load.sequences as usize;
        let model = match ifm_sys::host::available_memory_bytes() {
            Some(bytes) => Model::load_within(&source, context, compute, (kv_tokens, bytes)),
            None => Model::load_on(&source, context, compute),
        };
        let model = model.map_err(|error| error.to_string())?;
        let ceilings = load.ceilings.then(|| ceilings(&model)).flatten();
        Ok(Loaded {
            model, // A pass takes no more than what waits together.
            pass_tokens: load.pass_tokens.min(load.batch_tokens).max(1) as usize,
            ceilings,
        })
    }

    fn about(&self) -> About {
        let info = self.model.info();
        About {
            engine: "inferometer".to_owned(),
            engine_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            backend: Some("CPU".to_owned()),
            model: Some(info.name.clone()),
            parameters: Some(info.parameters),
            weight_bytes: Some(info.stored_bytes),
            stored: Some(variant(&info.variant).to_owned()),
            computed: Some(info.compute_dtype.clone()),
            kv: Some(info.kv_dtype.clone()),
            threads: u32::try_from(info.threads).ok(),
            instructions: Some(info.instruction_set.clone()),
            ceilings: self.ceilings,
            ..About::default()
        }
    }

    fn run(&self, case: &Case, seed: u64) -> Answer {
        let batch = StaticBatch {
            sequences: case.batch as usize,
            depth_tokens: case.depth as usize,
            prompt_tokens: case.prompt as usize,
            generated_tokens: case.steps as usize,
            prefill_chunk: self.pass_tokens,
        };
        match self.model.time_static_batch(batch) {
            Ok(timing) => Answer::Ran {
                seed,
                prompt_ns: Some(timing.prompt_ns).filter(|_| case.prompt > 0),
                step_ns: timing.step_ns,
                // There is no cache of prompts: the preceding context is held.
                cached_tokens: None,
            },
            Err(error) => Answer::Cannot { why: error.to_string(), seed: Some(seed) },
        }
    }
}

/// The format of keys and values, which is one.
fn kv(load: &Load) -> Result<KvFormat, String> {
    let read = |name: &str| match name {
        "auto" => Ok(None),
        name => name.parse::<KvFormat>().map(Some).map_err(|error| error.to_string()),
    };
    match (read(&load.kv_keys)?, read(&load.kv_values)?) {
        (Some(keys), Some(values)) if keys != values => {
            Err(format!("K and V share one cache type here, not {keys} and {values}"))
        }
        (keys, values) => Ok(keys.or(values).unwrap_or_default()),
    }
}

/// What the machine can do, and what the model needs.
fn ceilings(model: &Model) -> Option<Ceilings> {
    let (found, info) = (model.ceilings()?, model.info());
    Some(Ceilings {
        read_bytes_per_s: found.read_bytes_per_s,
        ops_per_s: found.ops_per_s,
        step_bytes: info.step_bytes,
        kv_bytes_per_token: info.shape.kv_bytes_per_token() as u64,
        ops_per_token: model.ops_per_token(),
    })
}

/// The name of a variant without the part in brackets.
fn variant(label: &str) -> &str {
    label.split(" (").next().unwrap_or(label)
}

/// Checks whether any of the requested models is there; a single missing one is reported in its own line.
///
/// # Errors
/// None is there; the reason is the first model's.
pub fn find_model(ask: &Ask) -> Result<(), String> {
    let found = |setup: &Setup| source(&setup.model, setup.weights.as_deref()).map(|_| ());
    if !matches!(ask.which, Which::Embedded) || ask.setups.iter().any(|setup| found(setup).is_ok())
    {
        return Ok(());
    }
    ask.setups.first().map_or(Ok(()), found)
}

/// A preset by its name, a GGUF file or a folder by its path.
fn source(model: &str, weights: Option<&str>) -> Result<ModelSource, String> {
    /// Equal weights everywhere.
    const SEED: u64 = 0;
    let quantization: Option<Quantization> =
        weights.map(str::parse).transpose().map_err(|error| format!("{error}"))?;
    let path = Path::new(model);
    if path.is_dir() {
        return Ok(ModelSource::HuggingFace { path: path.to_owned(), quantization });
    }
    if path.is_file() {
        return match weights {
            None => Ok(ModelSource::Gguf { path: path.to_owned() }),
            Some(weights) => Err(format!(
                "{model} has a weight format of its own and cannot be loaded as {weights}"
            )),
        };
    }
    let preset: Preset = model.parse().map_err(|_| {
        let presets = Preset::ALL.map(|preset| preset.to_string()).join(", ");
        format!(
            "there is no file and no preset {model:?}; hint: give the path of a GGUF file, or one of \
             {presets}"
        )
    })?;
    let quantization = quantization.unwrap_or(Quantization::Q8_0);
    Ok(ModelSource::Preset { preset, quantization, seed: SEED })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Setup;

    #[test]
    fn keys_and_values_have_one_format() {
        let of = |keys: &str, values: &str| {
            let kv = (keys.to_owned(), values.to_owned());
            super::kv(&Load::of(&Setup { kv, ..Setup::default() }))
        };
        assert_eq!(of("auto", "auto"), Ok(KvFormat::F32));
        assert_eq!(of("f16", "auto"), Ok(KvFormat::F16));
        assert_eq!(of("f16", "f16"), Ok(KvFormat::F16));
        assert!(of("f16", "f32").is_err_and(|why| why.contains("share one cache type")));
        assert!(of("q8_0", "q8_0").is_err_and(|why| why.contains("not q8_0")));
    }
}
