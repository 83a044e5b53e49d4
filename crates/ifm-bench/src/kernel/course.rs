//! The course of a measurement: every case prepared, checked, and only then timed; what fails is named,
//! and the rest is kept.

use super::check::{Check, Verdict, check};
use super::clock::clock_mhz;
use super::masks::Masks;
use super::protocol::{About, Case, Load, Operation, Pass, Prepared};
use super::provider::{Provider, Running, Trouble};
use crate::disturbance::Disturbance;
use crate::interrupts::Urge;
use crate::program::Limits;
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

/// Runs shorter than this are timed in one order: the way there and back would be part of them.
const SHORT: Duration = Duration::from_millis(20);
/// And they are run so long in front: threads need some time to find processors of their own, and clocks
/// to rise.
const WARMING: Duration = Duration::from_millis(100);

/// What is asked for.
#[derive(Debug)]
pub struct Ask {
    /// Providers.
    pub providers: Vec<Provider>,
    /// What each is started with.
    pub load: Load,
    /// Cases in their order, each with its provider's index.
    pub cases: Vec<(usize, Case)>,
    /// The masks of the cases.
    pub masks: Masks,
    /// Runs that count.
    pub repeats: u32,
    /// Warm-up runs, which do not count.
    pub warm_up: u32,
    /// Bytes that are written before each run, so that caches hold nothing of it.
    pub flush_bytes: u64,
    /// Most time for the runs of a pass: at least one run is made.
    pub budget: Duration,
    /// Whether disturbed runs are measured again, up to as many times as there are repeats.
    pub replaces: bool,
    /// The implementation that the others are compared with.
    pub reference: String,
    /// Whether anything is timed.
    pub times: bool,
    /// A folder for what is checked.
    pub folder: TempDir,
    /// How long things may take.
    pub limits: Limits,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// By the monotonic clock, nanoseconds.
    pub wall_ns: u64,
    /// On processors, all threads together, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// By the device's own clock, nanoseconds.
    pub device_ns: Option<u64>,
    /// What disturbed it, or the runs that were timed with it.
    pub disturbance: Option<Disturbance>,
}

impl Run {
    /// The time that counts: the device's own, else the monotonic clock's, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.device_ns.unwrap_or(self.wall_ns)
    }

    fn is_disturbed(&self) -> bool {
        self.disturbance.is_some_and(|what| what.is_too_much())
    }
}

/// One pass of a case.
#[derive(Debug, Clone, Default)]
pub struct Passed {
    /// Runs that count, in order.
    pub runs: Vec<Run>,
    /// Disturbed runs that were replaced.
    pub replaced: Vec<Run>,
    /// Why there are none, or not all.
    pub trouble: Option<String>,
    /// Clocks before and after the runs, MHz.
    pub clock_mhz: Vec<u32>,
    /// Most memory, bytes.
    pub peak_bytes: Option<u64>,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Done {
    /// Index of the provider.
    pub provider: usize,
    /// The case.
    pub case: Case,
    /// What the provider said of itself; absent where it did not start.
    pub about: Option<About>,
    /// What is known since it was prepared.
    pub prepared: Option<Prepared>,
    /// What the check found.
    pub check: Option<Check>,
    /// Each pass that was asked for.
    pub passes: BTreeMap<Pass, Passed>,
    /// Whether its turn came.
    pub is_begun: bool,
}

impl Done {
    /// A case whose turn has not come.
    pub fn new(provider: usize, case: Case) -> Done {
        let passes = match &case.operation {
            Operation::Attention(attention) => attention.passes.clone(),
            _ => vec![Pass::Forward],
        };
        let passes = passes.into_iter().map(|pass| (pass, Passed::default())).collect();
        Done { provider, case, about: None, prepared: None, check: None, passes, is_begun: false }
    }

    /// Whether some pass has a time.
    pub fn is_timed(&self) -> bool {
        self.passes.values().any(|pass| !pass.runs.is_empty())
    }

    /// Whether it gave what was asked for: times, or where none are asked for a check that it passed.
    pub fn is_good(&self) -> bool {
        self.passes.values().all(|pass| pass.trouble.is_none()) && self.check.is_some()
    }

    /// The first reason of what is missing.
    pub fn why(&self) -> Option<&str> {
        self.passes.values().find_map(|pass| pass.trouble.as_deref())
    }

    /// No pass of it can be timed.
    fn give_up(&mut self, why: &str) {
        let open = self.passes.values_mut().filter(|pass| pass.trouble.is_none());
        open.for_each(|pass| pass.trouble = Some(why.to_owned()));
    }
}

/// Measures. Reports each finished turn of a case: all cases, and which one it was. Ends early at
/// Ctrl-C, with the results so far.
pub fn measure(ask: &Ask, mut tell: impl FnMut(&[Done], usize)) -> Vec<Done> {
    let mut providers: Vec<Slot> = ask.providers.iter().map(|one| Slot::new(ask, one)).collect();
    let cases = ask.cases.iter();
    let mut all: Vec<Done> =
        cases.map(|(provider, case)| Done::new(*provider, case.clone())).collect();
    for index in 0..all.len() {
        if ask.limits.interrupts.urge() != Urge::None {
            break;
        }
        let done = &mut all[index];
        done.is_begun = true;
        if let Some(provider) = providers.get_mut(done.provider) {
            provider.run(done);
        }
        tell(&all, index);
    }
    all.retain(|done| done.is_begun);
    all
}

/// A provider: started when it is needed, restarted when it was lost.
struct Slot<'a> {
    ask: &'a Ask,
    provider: &'a Provider,
    running: Option<Running>,
    starts: u32,
    /// Why it is not started again.
    refusal: Option<String>,
}

impl<'a> Slot<'a> {
    /// Starts that may be followed by a loss; more would take long and give no new information.
    const STARTS_MAX: u32 = 64;

    fn new(ask: &'a Ask, provider: &'a Provider) -> Slot<'a> {
        Slot { ask, provider, running: None, starts: 0, refusal: None }
    }

    fn running(&mut self) -> Result<&mut Running, String> {
        if let Some(why) = &self.refusal {
            return Err(why.clone());
        }
        if self.running.is_none() {
            let started = match self.starts {
                Self::STARTS_MAX => Err(format!(
                    "the provider failed {} times and is not started again",
                    self.starts
                )),
                _ => Running::start(self.provider, &self.ask.load, &self.ask.limits),
            };
            self.starts += 1;
            // What does not start for this case does not start for the next either.
            self.running = Some(started.inspect_err(|why| self.refusal = Some(why.clone()))?);
        }
        self.running.as_mut().ok_or_else(|| "the provider is not there".to_owned())
    }

    fn run(&mut self, done: &mut Done) {
        if let Err(trouble) = self.try_run(done) {
            let (Trouble::Cannot(why) | Trouble::Lost(why)) = &trouble;
            done.give_up(why);
            self.forget_if_lost(&trouble);
        }
    }

    fn forget_if_lost(&mut self, trouble: &Trouble) {
        if matches!(trouble, Trouble::Lost(_)) {
            self.running = None;
        }
    }

    fn try_run(&mut self, done: &mut Done) -> Result<(), Trouble> {
        let ask = self.ask;
        let file = ask.folder.path().join("checked");
        let running = self.running().map_err(Trouble::Cannot)?;
        done.case.on(&running.about);
        done.about = Some(running.about.clone());
        let prepared = running.prepare(&done.case, &file)?;
        for (pass, why) in &prepared.cannot {
            if let Some(passed) = done.passes.get_mut(pass) {
                passed.trouble = Some(why.clone());
            }
        }
        let backward =
            done.passes.get(&Pass::Backward).is_some_and(|passed| passed.trouble.is_none());
        let checked = check(&ask.masks, &done.case, &prepared, backward, &file);
        // It is large, and the next one is written again.
        let _ = std::fs::remove_file(&file);
        done.prepared = Some(prepared);
        let found = checked.map_err(Trouble::Cannot)?;
        let verdict = found.verdict();
        done.check = Some(found);
        if let Verdict::Wrong(why) = verdict {
            return Err(Trouble::Cannot(why));
        }
        let open: Vec<Pass> = done
            .passes
            .iter()
            .filter(|(_, of)| of.trouble.is_none())
            .map(|(pass, _)| *pass)
            .collect();
        for pass in open.into_iter().filter(|_| ask.times) {
            let Some(passed) = done.passes.get_mut(&pass) else { continue };
            let Some(running) = self.running.as_mut() else {
                passed.trouble = Some("the provider was lost in the pass before".to_owned());
                continue;
            };
            if let Err(trouble) = time(ask, running, pass, passed) {
                let (Trouble::Cannot(why) | Trouble::Lost(why)) = &trouble;
                passed.trouble = Some(why.clone());
                self.forget_if_lost(&trouble);
            } else if passed.runs.is_empty() {
                passed.trouble = Some("interrupted".to_owned());
            }
        }
        Ok(())
    }
}

/// Times a pass: run by run where runs are long, else all in one order.
fn time(ask: &Ask, running: &mut Running, pass: Pass, passed: &mut Passed) -> Result<(), Trouble> {
    let mut warm_up = ask.warm_up;
    let device = running.about.device.clone();
    passed.clock_mhz.extend(clock_mhz(&device));
    let (mut spent, mut slowest) = (Duration::ZERO, Duration::ZERO);
    // The first of several short runs only shows how short they are.
    let mut is_look = true;
    let wanted = ask.repeats as usize;
    while passed.runs.len() < wanted && ask.limits.interrupts.urge() == Urge::None {
        let left = ask.repeats - passed.runs.len() as u32;
        let is_first = passed.runs.is_empty() && passed.replaced.is_empty();
        let count = if is_look || slowest > SHORT { 1 } else { left };
        if !is_first && spent + slowest * count > ask.budget {
            break;
        }
        let begun_ns = ifm_sys::mono_ns();
        let (timed, disturbance) = running.time(pass, (warm_up, count), ask.flush_bytes)?;
        spent += Duration::from_nanos(ifm_sys::mono_ns() - begun_ns);
        warm_up = 0;
        passed.peak_bytes = passed.peak_bytes.max(timed.peak_bytes);
        let runs = (0..timed.wall_ns.len()).map(|index| Run {
            wall_ns: timed.wall_ns[index],
            cpu_ns: timed.cpu_ns.get(index).copied(),
            device_ns: timed.device_ns.get(index).copied(),
            disturbance,
        });
        let (disturbed, quiet): (Vec<Run>, Vec<Run>) = runs.partition(Run::is_disturbed);
        let times = quiet.iter().chain(&disturbed).map(|run| Duration::from_nanos(run.wall_ns));
        slowest = times.max().unwrap_or_default();
        if is_look && slowest <= SHORT && ask.warm_up > 0 && ask.flush_bytes == 0 {
            is_look = false;
            warm_up = (WARMING.as_nanos() / slowest.as_nanos().max(1)).min(100_000) as u32;
            continue;
        }
        is_look = false;
        passed.runs.extend(quiet);
        match ask.replaces && passed.replaced.len() < wanted {
            true => passed.replaced.extend(disturbed),
            false => passed.runs.extend(disturbed),
        }
    }
    passed.clock_mhz.extend(clock_mhz(&device));
    if passed.runs.is_empty() {
        // Time ran out while all of them were disturbed: they are what there is.
        passed.runs.append(&mut passed.replaced);
    }
    Ok(())
}
