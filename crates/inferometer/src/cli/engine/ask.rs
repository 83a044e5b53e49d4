//! From the flags to the measurement: the engine, its setups, and the tests in llama-bench's order.

use super::{EngineArgs, Numbers};
use crate::cli::args::resolve::endpoint;
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use ifm_bench::engine::{self, Ask, Limits, Setup, Shape, Test, Which};
use ifm_bench::program::{self, span};
use ifm_bench::server_engine::Target;
use ifm_engine::Preset;
use ifm_launch::guard::Guard;
use ifm_probe::url::BaseUrl;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for an engine to exit on its own.
const GRACE: Duration = Duration::from_secs(2);

/// The static batches of the study of variants.
const STUDY: &str = "variants";
/// The weights of the study of variants: 16 bits, 8 and 4 bits with unquantized activations, both in 8
/// bits, and llama.cpp's 8 bits.
const VARIANTS: [&str; 7] = ["bf16", "w8a16", "w8a8", "w8a8-static", "w4a16", "w4a16-asym", "q8_0"];

impl EngineArgs {
    pub(super) fn ask(&self, interrupts: &Interrupts) -> Result<Ask, Failure> {
        let tests = self.tests()?;
        let count = |of: fn(&Test) -> u32| tests.iter().map(of).max().unwrap_or_default();
        let (sequences, context) = (count(|test| test.case().batch), count(Test::context));
        let which = self.which()?;
        let models = match (self.models.is_empty(), &which) {
            (false, _) => self.models.clone(),
            // The study takes a minute with one, a quarter of an hour with the other.
            (true, Which::Embedded) if self.preset.as_deref() == Some(STUDY) => {
                vec!["nano".to_owned()]
            }
            (true, Which::Embedded) => vec!["tiny".to_owned()],
            // A server already has a model; other engines need one.
            (true, Which::Url(_)) => vec![String::new()],
            (true, _) => return Err(Failure::usage("no model given; use --model")),
        };
        let is_study = self.is_study(&models, &which);
        let weights: Vec<Option<String>> = match (self.weights.is_empty(), is_study) {
            (true, false) => vec![None],
            (true, true) => VARIANTS.map(|name| Some(name.to_owned())).to_vec(),
            (false, _) => self.weights.iter().cloned().map(Some).collect(),
        };
        let threads = all(&self.threads);
        if threads.contains(&0) {
            return Err(Failure::usage("--threads 0: at least one thread computes"));
        }
        let threads: Vec<Option<u32>> = match threads.is_empty() {
            true => vec![None],
            false => threads.into_iter().map(Some).collect(),
        };
        let mut setups = vec![Setup {
            instructions: self.instructions.clone(),
            sequences,
            context,
            ceilings: !self.no_limit,
            ..Setup::default()
        }];
        vary(&mut setups, &models, |setup, model| setup.model.clone_from(model));
        vary(&mut setups, &weights, |setup, weights| setup.weights.clone_from(weights));
        vary(&mut setups, &all(&self.batch_size), |setup, tokens| setup.batch_tokens = *tokens);
        vary(&mut setups, &all(&self.ubatch_size), |setup, tokens| setup.pass_tokens = *tokens);
        vary(&mut setups, &self.cache_type_k, |setup, kind| setup.kv.0.clone_from(kind));
        vary(&mut setups, &self.cache_type_v, |setup, kind| setup.kv.1.clone_from(kind));
        vary(&mut setups, &threads, |setup, threads| setup.threads = *threads);
        if self.llama_bench.is_none()
            && let Some(flag) =
                self.llama_flags.iter().find(|flag| flag.trim_start_matches('-').starts_with("hf"))
        {
            let flag = flag.split('=').next().unwrap_or_default();
            return Err(Failure::usage(format!("{flag} names a model that llama.cpp would fetch"))
                .hint(
                    "give a file or a preset by --model, or measure llama.cpp by --llama-bench",
                ));
        }
        if !self.llama_flags.is_empty() && self.llama_bench.is_none() {
            let names: Vec<&str> =
                self.llama_flags.iter().filter_map(|flag| flag.split('=').next()).collect();
            terminal::warn(&format!(
                "flags that only llama.cpp has are ignored: {} (--llama-bench measures llama.cpp)",
                names.join(", ")
            ));
        }
        let has_batches = tests.iter().any(|test| matches!(test.shape, Shape::Batch(_)));
        let guard = Guard::start().map_err(|error| terminal::warn(&error.to_string())).ok();
        let guard = guard.map(|guard| Arc::new(guard) as Arc<dyn program::Guard>);
        Ok(Ask {
            which,
            setups,
            tests,
            repeats: self.repetitions.unwrap_or(if has_batches { 3 } else { 5 }),
            warms_up: !self.no_warmup,
            in_rounds: self.order.as_deref().map_or(is_study, |order| order == "rounds"),
            replaces: !self.keep_disturbed,
            pause: span(self.delay, "--delay").map_err(Failure::usage)?,
            limits: Limits {
                start: span(self.start_timeout, "--start-timeout").map_err(Failure::usage)?,
                repeat: span(self.timeout, "--timeout").map_err(Failure::usage)?,
                grace: GRACE,
                guard,
                interrupts: interrupts.clone(),
            },
        })
    }

    /// Whether the study of variants is requested: its batches, and a model that is available in all
    /// variants.
    fn is_study(&self, models: &[String], which: &Which) -> bool {
        let is_preset = |model: &String| model.parse::<Preset>().is_ok();
        self.preset.as_deref() == Some(STUDY)
            && matches!(which, Which::Embedded)
            && models.iter().all(is_preset)
    }

    fn which(&self) -> Result<Which, Failure> {
        if let Some(url) = &self.url {
            let (url, _) = BaseUrl::parse(url)?;
            let endpoint = endpoint(url, self.api_key_env.as_deref(), Vec::new(), false)?;
            return Ok(Which::Url(Arc::new(Target { endpoint })));
        }
        if let Some(name) = &self.adapter {
            return Ok(Which::Adapter { name: name.clone(), python: self.python.clone() });
        }
        if let Some(command) = &self.command {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            return match words.is_empty() {
                true => Err(Failure::usage("--command is empty")),
                false => Ok(Which::Command(words)),
            };
        }
        let Some(program) = self.llama_bench.clone() else { return Ok(Which::Embedded) };
        let flags = self.llama_flags.iter().filter_map(|flag| flag.split_once('='));
        let flags = flags.flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]).collect();
        Ok(Which::LlamaBench { program, warms_up: !self.no_warmup, flags })
    }

    /// The tests, as llama-bench orders them: by depth, then prompts, generation, both.
    fn tests(&self) -> Result<Vec<Test>, Failure> {
        let mut batches = self.batches.clone();
        if let Some(name) = &self.preset {
            let known = engine::preset(name).ok_or_else(|| {
                let names: Vec<&str> = engine::presets().map(|(name, _)| name).collect();
                Failure::usage(format!("there are no static batches \"{name}\""))
                    .hint(format!("there are {}", names.join(", ")))
            })?;
            batches.extend_from_slice(known);
        }
        let is_told = |given: &[Numbers]| !given.is_empty();
        let numbers = |given: &[Numbers], default: u32| -> Vec<u32> {
            // An explicitly requested test runs alone.
            let others = !batches.is_empty() || !self.prompt_gen.is_empty();
            match (is_told(given), others) {
                (true, _) => all(given),
                (false, true) => Vec::new(),
                (false, false) => vec![default],
            }
        };
        let (prompts, generated) = (numbers(&self.n_prompt, 512), numbers(&self.n_gen, 128));
        let mut tests = Vec::new();
        for depth in &all(&self.n_depth) {
            let mut add = |shape, prompt, generated| {
                if prompt + generated > 0 {
                    tests.push(Test { shape, prompt, generated, depth: *depth });
                }
            };
            prompts.iter().for_each(|prompt| add(Shape::Bench, *prompt, 0));
            generated.iter().for_each(|generated| add(Shape::Bench, 0, *generated));
            self.prompt_gen
                .iter()
                .for_each(|(prompt, generated)| add(Shape::Bench, *prompt, *generated));
            batches
                .iter()
                .for_each(|(size, input, output)| add(Shape::Batch(*size), *input, *output));
        }
        match tests.is_empty() {
            true => Err(Failure::usage("nothing to measure: -p, -n, -pg and --static are empty")),
            false => Ok(tests),
        }
    }
}

/// All numbers of a repeatable flag.
fn all(given: &[Numbers]) -> Vec<u32> {
    given.iter().flat_map(|Numbers(all)| all.iter().copied()).collect()
}

/// Every setup with each of the values, the later ones varying fastest.
fn vary<T>(setups: &mut Vec<Setup>, values: &[T], set: impl Fn(&mut Setup, &T)) {
    let with = |setup: &Setup, value: &T| {
        let mut varied = setup.clone();
        set(&mut varied, value);
        varied
    };
    *setups =
        setups.iter().flat_map(|setup| values.iter().map(|value| with(setup, value))).collect();
}
