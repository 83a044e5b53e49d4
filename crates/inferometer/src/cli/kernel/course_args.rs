//! Flags that all kernels share: the device, the repeats, and the destination of results.

use crate::cli::growing_document::DocumentArgs;
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::terminal;
use clap::Args;
use ifm_bench::kernel::{Ask, Case, Load, Masks, Provider, VERSION};
use ifm_bench::program::{self, Limits, span};
use ifm_launch::guard::Guard;
use ifm_machine::facts;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for a provider to exit on its own.
const GRACE: Duration = Duration::from_secs(2);
/// Written before each run: larger than the caches of most machines, and of all GPUs.
const FLUSH_BYTES: u64 = 256 << 20;

/// The device, the repeats and the destination of results.
#[derive(Debug, Args)]
pub struct CourseArgs {
    /// Python interpreter whose PyTorch to measure
    #[arg(help_heading = "Kernels", long, default_value = "python3", value_name = "PATH")]
    python: PathBuf,

    /// Command that speaks the kernel protocol, for kernels named command:NAME
    #[arg(help_heading = "Kernels", long, value_name = "COMMAND")]
    command: Option<String>,

    /// Device to compute on: cpu, cuda, cuda:1
    ///
    /// By default the CPU for native kernels, and a GPU for PyTorch if there is one
    #[arg(help_heading = "Kernels", long, value_name = "DEVICE")]
    device: Option<String>,

    /// Number of compute threads [default: all processors]
    #[arg(help_heading = "Kernels", short, long, value_parser = clap::value_parser!(u32).range(1..=4096), value_name = "N")]
    threads: Option<u32>,

    /// Processor instructions to use: baseline, avx2, avx512 [default: all it has]
    #[arg(help_heading = "Kernels", long, value_name = "NAME")]
    instructions: Option<String>,

    /// Show each mask with its skipped blocks, rooflines and errors
    #[arg(help_heading = "Results", short, long)]
    pub verbose: bool,

    /// Counted runs of each pass
    #[arg(help_heading = "Repeats", short = 'r', long, visible_alias = "repetitions", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    repeats: u32,

    /// Warm-up runs before them
    #[arg(help_heading = "Repeats", long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=1_000), value_name = "N")]
    warm_up: u32,

    /// Maximum time for the runs of a pass, seconds; minimum one run
    #[arg(help_heading = "Repeats", long, default_value_t = 10.0, value_name = "S")]
    budget: f64,

    /// Empty the caches before each run
    ///
    /// This writes 256 MiB, outside the timing
    #[arg(help_heading = "Repeats", long)]
    flush: bool,

    /// Count disturbed runs too, instead of measuring them again
    #[arg(help_heading = "Repeats", long)]
    keep_disturbed: bool,

    /// Time limit per run, seconds
    #[arg(help_heading = "Repeats", long, default_value_t = 120.0, value_name = "S")]
    timeout: f64,

    /// Time limit for starting a provider or compiling a kernel, seconds
    #[arg(help_heading = "Repeats", long, default_value_t = 900.0, value_name = "S")]
    start_timeout: f64,

    /// File to write: .html, .md, .json or .csv; repeatable
    #[arg(help_heading = "Results", short, long, value_name = "FILE")]
    pub out: Vec<PathBuf>,

    #[command(flatten)]
    pub kept: DocumentArgs,
}

/// Default providers, each with whether it computes on a GPU. Native kernels run on the processor,
/// so a GPU is measured with PyTorch. Calls `has_gpu_torch` only if the result matters.
fn usual(
    device: Option<&str>,
    has_command: bool,
    has_gpu_torch: impl FnOnce() -> bool,
) -> Vec<(&'static str, bool)> {
    match device {
        _ if has_command => vec![("command", false)],
        Some(device) if is_cpu(device) => vec![("native", false)],
        Some(_) => vec![("torch", true)],
        None if has_gpu_torch() => vec![("native", false), ("torch", true)],
        None => vec![("native", false)],
    }
}

fn is_cpu(device: &str) -> bool {
    device == "cpu"
}

impl CourseArgs {
    /// Whether the kernels should run on a GPU.
    pub fn is_on_gpu(&self) -> bool {
        self.device.as_deref().is_some_and(|device| !is_cpu(device))
    }

    /// The named providers, or the default ones for this host, each with whether it computes on a GPU.
    ///
    /// # Errors
    /// No provider has this name, or it needs a command.
    pub fn providers(
        &self,
        names: &[String],
        interrupts: &Interrupts,
    ) -> Result<Vec<(Provider, bool)>, Failure> {
        let has_gpu_torch = || {
            has_gpu() && {
                let torch = Provider::Torch(self.python.clone());
                let found = self.limits(interrupts, None).and_then(|limits| {
                    torch.describe(&self.load(), &limits).map_err(Failure::usage)
                });
                found.is_ok_and(|about| about.gpu.is_some())
            }
        };
        if names.is_empty() {
            let usual = usual(self.device.as_deref(), self.command.is_some(), has_gpu_torch);
            return usual
                .iter()
                .map(|(name, is_gpu)| Ok((self.provider_of(name)?, *is_gpu)))
                .collect();
        }
        let named = |name: &String| {
            let provider = self.provider_of(name)?;
            let is_torch = matches!(provider, Provider::Torch(_));
            // PyTorch uses a GPU if no device is named and there is one.
            let is_gpu = self.is_on_gpu() || (self.device.is_none() && has_gpu());
            Ok((provider, is_torch && is_gpu))
        };
        names.iter().map(named).collect()
    }

    fn load(&self) -> Load {
        Load {
            protocol: VERSION,
            threads: self.threads,
            instructions: self.instructions.clone(),
            device: self.device.clone(),
        }
    }

    fn limits(&self, interrupts: &Interrupts, guard: Option<Guard>) -> Result<Limits, Failure> {
        Ok(Limits {
            start: span(self.start_timeout, "--start-timeout").map_err(Failure::usage)?,
            repeat: span(self.timeout, "--timeout").map_err(Failure::usage)?,
            grace: GRACE,
            guard: guard.map(|guard| Arc::new(guard) as Arc<dyn program::Guard>),
            interrupts: interrupts.clone(),
        })
    }

    /// The provider in a name, and the rest of the name: `torch:flex`, `tiled`.
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
    /// No provider has this name, or it needs a command.
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

    /// All requested cases.
    ///
    /// # Errors
    /// Invalid times, or a file that cannot be created.
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
        Ok(Ask {
            providers,
            load: self.load(),
            cases,
            masks,
            repeats: self.repeats,
            warm_up: self.warm_up,
            flush_bytes: if self.flush { FLUSH_BYTES } else { 0 },
            budget: span(self.budget, "--budget").map_err(Failure::usage)?,
            replaces: !self.keep_disturbed,
            reference,
            times,
            folder,
            limits: self.limits(interrupts, guard)?,
        })
    }
}

/// Whether this host has a GPU that PyTorch may support: an NVIDIA GPU by its library, an AMD GPU by
/// its driver.
fn has_gpu() -> bool {
    !facts::of_host().0.gpus.is_empty() || Path::new("/dev/kfd").exists()
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn measures_a_gpu_by_pytorch_unless_told_otherwise() {
        let (yes, no) = (|| true, || false);
        let unasked = || -> bool { panic!("PyTorch is not started for nothing") };
        for (device, has_command, has_torch, expected) in [
            (None, false, yes as fn() -> bool, &[("native", false), ("torch", true)][..]),
            (None, false, no, &[("native", false)]),
            (Some("cpu"), false, unasked, &[("native", false)]),
            (Some("cuda"), false, unasked, &[("torch", true)]),
            (Some("cuda:1"), false, unasked, &[("torch", true)]),
            (Some("mps"), false, unasked, &[("torch", true)]),
            (Some("cuda"), true, unasked, &[("command", false)]),
            (None, true, unasked, &[("command", false)]),
        ] {
            assert_eq!(usual(device, has_command, has_torch), expected, "{device:?} {has_command}");
        }
    }
}
