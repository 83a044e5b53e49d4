//! An engine in a child process that speaks the protocol: asked, watched, and what it answers checked.
//!
//! Not here: its start and its end (`program`), and what the lines mean (`protocol`).

use super::case::Case;
use super::protocol::{About, Answer, Load, Order};
use super::{Engine, Repeat, Setup, Trouble};
use crate::disturbance::Watch;
use crate::program::{Limits, Program};
use ifm_core::words::counted;
use std::time::Duration;

/// The words that start this program as a worker, the embedded engine.
///
/// # Errors
/// This program cannot find itself.
pub fn own_worker() -> Result<Vec<String>, String> {
    let own = ifm_sys::process::own_program()
        .map_err(|error| format!("cannot start ourselves: {error}"))?;
    Ok(vec![own.to_string_lossy().into_owned(), "worker".to_owned()])
}

/// The shipped adapters: name, and source: the lines of the protocol, then the engine.
pub const ADAPTERS: [(&str, &str); 2] = [
    ("vllm", concat!(include_str!("adapter/lines.py"), include_str!("adapter/vllm.py"))),
    ("sglang", concat!(include_str!("adapter/lines.py"), include_str!("adapter/sglang.py"))),
];

/// The source of a shipped adapter.
pub fn adapter(name: &str) -> Option<&'static str> {
    ADAPTERS.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// A running engine.
#[derive(Debug)]
pub struct Worker {
    program: Program,
    about: About,
    limits: Limits,
    seed: u64,
}

impl Worker {
    /// Starts a command and has it load the model.
    ///
    /// # Errors
    /// Why it does not run, in one sentence.
    pub fn start(words: &[String], setup: &Setup, limits: &Limits) -> Result<Worker, String> {
        let program = Program::start("engine", words, limits)?;
        let mut worker =
            Worker { program, about: About::default(), limits: limits.clone(), seed: 0 };
        let answer = worker.ask(&Order::Load(Load::of(setup)), worker.limits.start);
        match answer.map_err(|trouble| trouble.why().to_owned())? {
            Answer::Ready(about) => worker.about = *about,
            Answer::Cannot { why, .. } => return Err(why),
            Answer::Ran { .. } => return Err("the engine ran before it was asked to".to_owned()),
        }
        Ok(worker)
    }

    /// Says something and waits for the answer.
    fn ask(&mut self, order: &Order, limit: Duration) -> Result<Answer, Trouble> {
        self.program.ask(order, limit).map_err(Trouble::Lost)
    }

    /// It can no longer be used: its input closes, so that no later answer is taken for another's.
    fn lost(&mut self, why: &str) -> Trouble {
        self.program.end_input();
        Trouble::Lost(why.to_owned())
    }

    fn once(&mut self, case: &Case) -> Result<Repeat, Trouble> {
        self.seed += 1;
        let watch = Watch::begin(self.program.id());
        let begun_ns = ifm_sys::mono_ns();
        let order = Order::Run { case: *case, seed: self.seed };
        let answer = self.ask(&order, self.limits.repeat)?;
        let wall_ns = ifm_sys::mono_ns() - begun_ns;
        let disturbance = watch.end();
        let (seed, repeat) = match answer {
            Answer::Ran { seed, prompt_ns, step_ns, cached_tokens } => {
                let has_steps = case.steps > 0;
                let steps_ns = step_ns.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
                let repeat = Repeat {
                    prompt_ns,
                    steps_ns: has_steps.then_some(steps_ns),
                    step_ns,
                    cached: cached_tokens,
                    wall_ns: Some(wall_ns),
                    disturbance,
                    ..Repeat::default()
                };
                (Some(seed), Ok(repeat))
            }
            Answer::Cannot { seed, why } => (seed, Err(Trouble::Cannot(why))),
            Answer::Ready(_) => return Err(self.lost("the engine answered out of turn")),
        };
        if seed != Some(self.seed) {
            let told = seed.map_or("no run".to_owned(), |seed| format!("run {seed}"));
            return Err(
                self.lost(&format!("the engine answered {told} instead of run {}", self.seed))
            );
        }
        let mut repeat = repeat?;
        if let Some(why) = contradiction(case, &repeat) {
            return Err(self.lost(&why));
        }
        repeat.prompt_ns = repeat.prompt_ns.filter(|_| case.prompt > 0);
        Ok(repeat)
    }
}

/// Why a repeat cannot be what was asked for, if it cannot.
fn contradiction(case: &Case, repeat: &Repeat) -> Option<String> {
    let steps = case.steps as usize;
    if repeat.step_ns.len() != steps {
        let told = counted(repeat.step_ns.len() as u64, "step");
        return Some(format!("the engine reported {told} where {steps} were requested"));
    }
    let is_missing = case.prompt > 0 && repeat.prompt_ns.is_none();
    let is_zero = case.prompt > 0 && repeat.prompt_ns == Some(0) || repeat.step_ns.contains(&0);
    if is_missing || is_zero {
        let what = if is_missing { "no time of the prompts" } else { "a time of 0 ns" };
        return Some(format!("the engine reported {what}"));
    }
    let told = repeat.prompt_ns.unwrap_or(0).saturating_add(repeat.steps_ns.unwrap_or(0));
    if let Some(wall_ns) = repeat.wall_ns.filter(|wall_ns| told > *wall_ns) {
        return Some(format!(
            "the engine reported {told} ns for a run that took {wall_ns} ns here"
        ));
    }
    // Only the context before the prompts may be cached: the prompts are new each time.
    let known = u64::from(case.batch) * u64::from(case.depth);
    let cached = repeat.cached.filter(|cached| *cached > known)?;
    Some(format!(
        "{cached} prompt tokens came from a cache that can contain at most {known}: the measurement is invalid"
    ))
}

impl Engine for Worker {
    fn about(&self) -> &About {
        &self.about
    }

    fn run(&mut self, case: &Case, times: u32) -> Result<Vec<Repeat>, Trouble> {
        (0..times).map(|_| self.once(case)).collect()
    }
}
