//! Flags that all kernels share: who computes, on what, how often, and where results go.

use super::super::kept::KeptArgs;
use crate::exit::Failure;
use crate::guard::Guard;
use crate::interrupt::Interrupts;
use crate::kernel::{Ask, Case, Load, Masks, Provider, VERSION};
use crate::program::{Limits, span};
use crate::terminal;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How long a provider may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Written before each run: more than the caches of most machines hold, and of all GPUs.
const FLUSH_BYTES: u64 = 256 << 20;

/// Who computes, on what, how often, and where results go.
#[derive(Debug, Args)]
pub struct CourseArgs {
    /// The Python whose PyTorch is measured
    #[arg(help_heading = "Kernels", long, default_value = "python3", value_name = "PATH")]
    python: PathBuf,

    /// A command that speaks the kernel protocol, for kernels named command:NAME
    #[arg(help_heading = "Kernels", long, value_name = "COMMAND")]
    command: Option<String>,

    /// What to compute on: cpu, cuda, cuda:1 [default: our kernels the processor, PyTorch a GPU where
    /// there is one]
    #[arg(help_heading = "Kernels", long, value_name = "DEVICE")]
    device: Option<String>,

    /// Threads that compute [default: all processors]
    #[arg(help_heading = "Kernels", short, long, value_parser = clap::value_parser!(u32).range(1..=4096), value_name = "N")]
    threads: Option<u32>,

    /// Instructions of the processor: baseline, avx2, avx512 [default: all that it has]
    #[arg(help_heading = "Kernels", long, value_name = "NAME")]
    instructions: Option<String>,

    /// Runs of each pass that count
    #[arg(help_heading = "Repeats", short = 'r', long, visible_alias = "repetitions", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    repeats: u32,

    /// Runs in front of them that do not count
    #[arg(help_heading = "Repeats", long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1_000), value_name = "N")]
    warm_up: u32,

    /// Most time for the runs of a pass, seconds; one is made in any case
    #[arg(help_heading = "Repeats", long, default_value_t = 10.0, value_name = "S")]
    budget: f64,

    /// Empty the caches before each run: 256 MiB are written, not timed
    #[arg(help_heading = "Repeats", long)]
    flush: bool,

    /// Count disturbed runs too, in place of making them again
    #[arg(help_heading = "Repeats", long)]
    keep_disturbed: bool,

    /// Time limit of a run, seconds
    #[arg(help_heading = "Repeats", long, default_value_t = 120.0, value_name = "S")]
    timeout: f64,

    /// Time limit for starting a provider, and for compiling a kernel, seconds
    #[arg(help_heading = "Repeats", long, default_value_t = 900.0, value_name = "S")]
    start_timeout: f64,

    /// A file to write: .html, .md, .json or .csv; may be repeated
    #[arg(help_heading = "Results", short, long, value_name = "FILE")]
    pub out: Vec<PathBuf>,

    #[command(flatten)]
    pub kept: KeptArgs,
}

impl CourseArgs {
    /// The provider that a name stands for, and the rest of the name: `torch:flex`, `tiled`.
    ///
    /// # Errors
    /// There is no such provider.
    pub fn provider<'a>(&self, name: &'a str) -> Result<(Provider, &'a str), Failure> {
        let (provider, own) = name.split_once(':').unwrap_or(("native", name));
        Ok((self.provider_of(provider)?, own))
    }

    /// A provider by its name.
    ///
    /// # Errors
    /// There is none of the name, or it needs a command.
    pub fn provider_of(&self, name: &str) -> Result<Provider, Failure> {
        match (name, &self.command) {
            ("native", _) => Ok(Provider::Native),
            ("torch", _) => Ok(Provider::Torch(self.python.clone())),
            ("command", Some(command)) => {
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                match words.is_empty() {
                    true => Err(Failure::usage("--command is empty")),
                    false => Ok(Provider::Command(words)),
                }
            }
            ("command", None) => Err(Failure::usage("kernels of a command need --command")),
            _ => Err(Failure::usage(format!("there is no provider \"{name}\""))
                .hint("there are native, torch, and command with --command")),
        }
    }

    /// Everything that is asked for.
    ///
    /// # Errors
    /// Times that are none, or no place for a file.
    pub fn ask(
        &self,
        (cases, reference): (Vec<(Provider, Case)>, String),
        masks: Masks,
        times: bool,
        interrupts: &Interrupts,
    ) -> Result<Ask, Failure> {
        let mut providers: Vec<Provider> = Vec::new();
        let mut of_provider = |provider: Provider| {
            let known = providers.iter().position(|one| *one == provider);
            known.unwrap_or_else(|| {
                providers.push(provider);
                providers.len() - 1
            })
        };
        let cases =
            cases.into_iter().map(|(provider, case)| (of_provider(provider), case)).collect();
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::files(format!("no temporary folder: {error}")))?;
        let guard = Guard::start().map_err(|error| terminal::warn(&error.to_string())).ok();
        let load = Load {
            protocol: VERSION,
            threads: self.threads,
            instructions: self.instructions.clone(),
            device: self.device.clone(),
        };
        Ok(Ask {
            providers,
            load,
            cases,
            masks,
            repeats: self.repeats,
            warm_up: self.warm_up,
            flush_bytes: if self.flush { FLUSH_BYTES } else { 0 },
            budget: span(self.budget, "--budget")?,
            replaces: !self.keep_disturbed,
            reference,
            times,
            folder,
            limits: Limits {
                start: span(self.start_timeout, "--start-timeout")?,
                repeat: span(self.timeout, "--timeout")?,
                grace: GRACE,
                guard,
                interrupts: interrupts.clone(),
            },
        })
    }
}
