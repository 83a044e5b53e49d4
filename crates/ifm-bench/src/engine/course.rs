//! The course of a measurement: each setup in turn, its engine started once, its tests repeated,
//! disturbed repeats measured again, failures reported and the rest kept.

use super::case::Test;
use super::protocol::About;
use super::{Engine, Repeat, Setup, Trouble, Which, start};
use crate::interrupts::Urge;
use crate::program::Limits;
use std::time::Duration;

/// What is asked for.
#[derive(Debug)]
pub struct Ask {
    /// Which engine.
    pub which: Which,
    /// What it is started with, one after the other.
    pub setups: Vec<Setup>,
    /// What each runs.
    pub tests: Vec<Test>,
    /// Repeats that count.
    pub repeats: u32,
    /// Whether one run goes before them that does not.
    pub warms_up: bool,
    /// Whether one repeat of every test is made before the next of any.
    pub in_rounds: bool,
    /// Whether disturbed repeats are measured again, up to as many times as there are repeats.
    pub replaces: bool,
    /// Pause before each test.
    pub pause: Duration,
    /// How long things may take.
    pub limits: Limits,
}

/// What came of one test with one setup.
#[derive(Debug, Clone)]
pub struct Done {
    /// Index of the setup.
    pub setup: usize,
    /// The test.
    pub test: Test,
    /// What the engine said of itself; absent where it did not start.
    pub about: Option<About>,
    /// Repeats that count, in order.
    pub repeats: Vec<Repeat>,
    /// Disturbed repeats that were replaced.
    pub replaced: Vec<Repeat>,
    /// Why there are none, or not all.
    pub trouble: Option<String>,
    /// When the first began.
    pub begun: jiff::Timestamp,
}

impl Done {
    /// Whether there is something to say of it.
    pub fn is_begun(&self) -> bool {
        self.trouble.is_some() || !self.repeats.is_empty()
    }

    pub(super) fn new(setup: usize, test: Test) -> Done {
        Done {
            setup,
            test,
            about: None,
            repeats: Vec::new(),
            replaced: Vec::new(),
            trouble: None,
            begun: jiff::Timestamp::now(),
        }
    }
}

/// Measures. Reports each finished turn of a test: all tests, which one it was, and whether it is
/// done. Ends early at Ctrl-C, with the results so far.
///
/// In rounds all engines stay loaded, and each has its turn in every round: what changes over the
/// minutes falls on all of them alike.
pub fn measure(ask: &Ask, mut tell: impl FnMut(&[Done], usize, bool)) -> Vec<Done> {
    let (rounds, each) = if ask.in_rounds { (ask.repeats, 1) } else { (1, ask.repeats) };
    let mut engines: Vec<Running> =
        ask.setups.iter().map(|setup| Running::new(ask, setup)).collect();
    let setups = 0..ask.setups.len();
    let mut all: Vec<Done> = setups
        .flat_map(|setup| ask.tests.iter().map(move |test| Done::new(setup, *test)))
        .collect();
    for round in 1..=rounds {
        for index in 0..all.len() {
            if is_over(ask) {
                break;
            }
            let done = &mut all[index];
            if let Some(engine) = engines.get_mut(done.setup).filter(|_| done.trouble.is_none()) {
                engine.repeat(done, each, round == 1);
            }
            if !ask.in_rounds {
                // One engine at a time: that of a setup ends when another's turn comes.
                let others = engines.iter_mut().enumerate().filter(|(of, _)| *of != done.setup);
                others.for_each(|(_, other)| other.engine = None);
            }
            tell(&all, index, round == rounds);
        }
    }
    if is_over(ask) {
        all.retain(Done::is_begun);
    }
    all
}

fn is_over(ask: &Ask) -> bool {
    ask.limits.interrupts.urge() != Urge::None
}

/// The engine of a setup: started when it is needed, restarted when it was lost.
struct Running<'a> {
    ask: &'a Ask,
    setup: &'a Setup,
    engine: Option<Box<dyn Engine>>,
    starts: u32,
    /// Why it is not started again.
    refusal: Option<String>,
}

impl<'a> Running<'a> {
    fn new(ask: &'a Ask, setup: &'a Setup) -> Running<'a> {
        Running { ask, setup, engine: None, starts: 0, refusal: None }
    }

    /// Starts that may be followed by a loss; more would take long and give no new information.
    const STARTS_MAX: u32 = 8;

    fn engine(&mut self) -> Result<&mut Box<dyn Engine>, String> {
        if let Some(why) = &self.refusal {
            return Err(why.clone());
        }
        if self.engine.is_none() {
            let started = match self.starts {
                Self::STARTS_MAX => {
                    Err(format!("the engine failed {} times and is not started again", self.starts))
                }
                _ => start(&self.ask.which, self.setup, &self.ask.limits),
            };
            self.starts += 1;
            // What does not start for this test does not start for the next either.
            let engine = started.inspect_err(|why| self.refusal = Some(why.clone()))?;
            self.engine = Some(engine);
        }
        self.engine.as_mut().ok_or_else(|| "the engine is not there".to_owned())
    }

    /// Adds repeats to a test, warming up before the first.
    fn repeat(&mut self, done: &mut Done, times: u32, is_first: bool) {
        std::thread::sleep(self.ask.pause);
        if is_first {
            done.begun = jiff::Timestamp::now();
        }
        if let Err(trouble) = self.try_repeat(done, times, is_first) {
            if matches!(trouble, Trouble::Lost(_)) {
                self.engine = None;
            }
            done.trouble = Some(trouble.why().to_owned());
        }
    }

    fn try_repeat(&mut self, done: &mut Done, times: u32, is_first: bool) -> Result<(), Trouble> {
        let case = done.test.case();
        let (warms_up, replaces, limit) =
            (self.ask.warms_up, self.ask.replaces, self.ask.repeats as usize);
        let interrupts = self.ask.limits.interrupts.clone();
        let engine = self.engine().map_err(Trouble::Cannot)?;
        done.about = Some(engine.about().clone());
        if warms_up && is_first && !engine.about().warms_up {
            engine.run(&case, 1)?;
        }
        if engine.about().warms_up {
            // Each call warms up again, and cannot be ended in between.
            done.repeats.extend(engine.run(&case, times)?);
            // The engine reports its facts only after the test.
            done.about = Some(engine.about().clone());
            return Ok(());
        }
        let wanted = done.repeats.len() + times as usize;
        while done.repeats.len() < wanted && interrupts.urge() == Urge::None {
            let repeats = engine.run(&case, 1)?;
            let (disturbed, quiet): (Vec<Repeat>, Vec<Repeat>) = repeats
                .into_iter()
                .partition(|repeat| repeat.disturbance.is_some_and(|what| what.is_too_much()));
            done.repeats.extend(quiet);
            match replaces && done.replaced.len() < limit {
                true => done.replaced.extend(disturbed),
                false => done.repeats.extend(disturbed),
            }
        }
        Ok(())
    }
}
