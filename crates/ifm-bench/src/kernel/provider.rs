//! Providers of kernels: each a process that speaks the protocol. One dies with its case alone.

use super::protocol::{About, Answer, Case, Load, Order, Pass, Prepared, Timed, VERSION};
use crate::disturbance::{Disturbance, Watch};
use crate::program::{Limits, Program};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The driver for PyTorch, which is run by the user's own Python.
const TORCH: &str = include_str!("torch.py");

/// Where kernels come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// This program.
    Native,
    /// PyTorch, run by a Python.
    Torch(PathBuf),
    /// A command that speaks the protocol.
    Command(Vec<String>),
}

impl Provider {
    /// The prefix of the names of its implementations.
    pub fn name(&self) -> &'static str {
        match self {
            Provider::Native => "native",
            Provider::Torch(_) => "torch",
            Provider::Command(_) => "command",
        }
    }

    /// Starts it, and ends it again; returns what it reports about itself.
    ///
    /// # Errors
    /// Why it does not run, in one sentence.
    pub fn describe(&self, load: &Load, limits: &Limits) -> Result<About, String> {
        Running::start(self, load, limits).map(|running| running.about)
    }

    /// What helps where it does not run.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Provider::Torch(_) => Some(
                "--python PATH names a Python that has PyTorch for this device (pip install torch); \
                 --provider native --device cpu measures the processor",
            ),
            Provider::Native => Some(
                "native kernels run on the processor: pass --device cpu, or measure a GPU with PyTorch \
                 (--provider torch, kernels torch:NAME)",
            ),
            Provider::Command(_) => None,
        }
    }

    fn words(&self) -> Result<Vec<String>, String> {
        match self {
            Provider::Native => own_words("kernels"),
            Provider::Torch(python) => {
                Ok(vec![python.display().to_string(), "-c".to_owned(), TORCH.to_owned()])
            }
            Provider::Command(words) => Ok(words.clone()),
        }
    }
}

/// The words that start this program as a worker.
fn own_words(what: &str) -> Result<Vec<String>, String> {
    let mut words = crate::engine::own_worker()?;
    words.push(what.to_owned());
    Ok(words)
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// This case, or this pass of it, cannot be run; others can.
    Cannot(String),
    /// The provider is gone, or can no longer be trusted.
    Lost(String),
}

/// A provider that runs.
#[derive(Debug)]
pub struct Running {
    program: Program,
    /// What it reports about itself.
    pub about: About,
    limits: Limits,
    seed: u64,
}

impl Running {
    /// Starts a provider.
    ///
    /// # Errors
    /// Why it does not run, in one sentence.
    pub fn start(provider: &Provider, load: &Load, limits: &Limits) -> Result<Running, String> {
        let mut program = Program::start("provider", &provider.words()?, limits)?;
        let load = Order::Load(Load { protocol: VERSION, ..load.clone() });
        match program.ask(&load, limits.start)? {
            Answer::Ready(about) => {
                // Two starts draw other inputs too.
                let seed = ifm_sys::real_ns();
                Ok(Running { program, about: *about, limits: limits.clone(), seed })
            }
            Answer::Cannot { why } => Err(why),
            _ => Err("the provider answered out of turn".to_owned()),
        }
    }

    fn ask(&mut self, order: &Order, limit: Duration) -> Result<Answer, Trouble> {
        match self.program.ask(order, limit).map_err(Trouble::Lost)? {
            Answer::Cannot { why } => Err(Trouble::Cannot(why)),
            answer => Ok(answer),
        }
    }

    fn out_of_turn<T>(&mut self) -> Result<T, Trouble> {
        self.lost("the provider answered out of turn")
    }

    fn lost<T>(&mut self, why: &str) -> Result<T, Trouble> {
        self.program.end_input();
        Err(Trouble::Lost(why.to_owned()))
    }

    /// Prepares a case on new inputs.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn prepare(&mut self, case: &Case, check: &Path) -> Result<Prepared, Trouble> {
        self.seed = self.seed.wrapping_add(1);
        // Seeds of JSON are whole numbers that every language has.
        let seed = self.seed & 0x7FFF_FFFF;
        let order =
            Order::Prepare { case: Box::new(case.clone()), seed, check: check.to_path_buf() };
        match self.ask(&order, self.limits.start)? {
            Answer::Prepared(prepared) => Ok(prepared),
            _ => self.out_of_turn(),
        }
    }

    /// Times a pass, and reports what disturbed it.
    ///
    /// # Errors
    /// Why there are no times.
    pub fn time(
        &mut self,
        pass: Pass,
        (warm_up, repeats): (u32, u32),
        flush_bytes: u64,
    ) -> Result<(Timed, Option<Disturbance>), Trouble> {
        let watch = Watch::begin(self.program.id());
        let begun_ns = ifm_sys::mono_ns();
        let limit = self.limits.repeat.saturating_mul(warm_up.saturating_add(repeats));
        let order = Order::Time { pass, warm_up, repeats, flush_bytes };
        let answer = self.ask(&order, limit)?;
        let wall_ns = ifm_sys::mono_ns() - begun_ns;
        let disturbance = watch.end();
        let Answer::Timed(timed) = answer else { return self.out_of_turn() };
        match contradiction(&timed, repeats, wall_ns) {
            Some(why) => self.lost(&why),
            None => Ok((timed, disturbance)),
        }
    }
}

/// Why times cannot be what was asked for, if they cannot.
fn contradiction(timed: &Timed, repeats: u32, wall_ns: u64) -> Option<String> {
    let runs = repeats as usize;
    for (name, times) in
        [("wall", &timed.wall_ns), ("processor", &timed.cpu_ns), ("device", &timed.device_ns)]
    {
        let may_be_absent = name != "wall";
        if times.len() != runs && !(may_be_absent && times.is_empty()) {
            let told = times.len();
            return Some(format!("the provider reported {told} {name} times for {runs} runs"));
        }
        if name != "processor" && times.contains(&0) {
            return Some(format!("the provider reported a {name} time of 0 ns"));
        }
    }
    let sum = |times: &[u64]| times.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    let told = sum(&timed.wall_ns).max(sum(&timed.device_ns));
    (told > wall_ns)
        .then(|| format!("the provider reported {told} ns for runs that took {wall_ns} ns here"))
}
