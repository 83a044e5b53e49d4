//! Runs the cells of a plan one after another, until all are done or the plan should stop.
//!
//! Every cell is tried once before any is retried: temporary causes of a failure may be gone by
//! then. Only one cell is measured at a time.

use super::conditions::{self, Conditions, Ready};
use super::measure::{Measured, measure};
use super::{Experiment, absolute, adopt, files};
use crate::exit::{Code, Failure};
use crate::interrupt::{self, Interrupts, Urge};
use crate::secrets::mask_words;
use crate::terminal;
use ifm_core::PlanCell;
use ifm_core::facts::ServerProcess;
use ifm_core::words::counted;
use ifm_launch::guard::Guard;
use ifm_launch::server::{self, Ask, Container, Kind, Launched, Reset};
use ifm_machine::facts::{self, FactsDocument};
use ifm_plan::{Cell, CellLoad, Event, Fate, Journal, Line, Words, estimate, groups, words};
use ifm_store::PlanJournal;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Default maximum wait for a server to become ready.
const READY_S: f64 = 1200.0;
const SECONDS_PER_HOUR: f64 = 3600.0;

/// The limits of this call, besides the plan.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The group of cells of a cluster's task; absent for all.
    pub task: Option<usize>,
    /// Seconds after which no cell starts, instead of the plan's value.
    pub budget_s: Option<f64>,
    /// Whether to retry cells that failed in earlier calls.
    pub tries_failed: bool,
}

/// Runs the remaining cells of a plan.
///
/// # Errors
/// The reason why no cell can be measured. A failure of a single cell is reported and recorded.
pub fn run(of: &Experiment, limits: &Limits) -> Result<Code, Failure> {
    let journal = of.journal()?;
    let is_left = |cell: &Cell| journal.next_attempt(&cell.key, of.plan.head.retries).is_some();
    if of.cells.iter().any(is_left) || limits.tries_failed {
        conditions::require(&of.plan.conditions)?;
    }
    let mut runner = Runner::new(of, limits)?;
    runner.forgive();
    let ended = runner.passes();
    runner.conditions.undo();
    terminal::clear_line();
    ended?;
    Ok(runner.code())
}

struct Runner<'a> {
    of: &'a Experiment,
    limits: &'a Limits,
    journal: Journal,
    writer: PlanJournal,
    guard: Guard,
    interrupts: Interrupts,
    conditions: Conditions,
    /// Cells that wait for another state of the machine.
    waiting: BTreeSet<String>,
    /// Seconds of earlier calls.
    spent_s: f64,
    begun: Instant,
    logs: PathBuf,
}

impl<'a> Runner<'a> {
    fn new(of: &'a Experiment, limits: &'a Limits) -> Result<Runner<'a>, Failure> {
        of.folder.keep_text(&of.text).map_err(files)?;
        let writer = of.folder.journal(limits.task).map_err(|error| match error {
            ifm_store::StoreError::Live { id } => {
                Failure::usage(format!("plan {id} is being run by another process"))
            }
            error => files(error),
        })?;
        let logs = absolute(&of.folder.path().join("logs"));
        std::fs::create_dir_all(&logs).map_err(|error| {
            Failure::files(format!("cannot create {}: {error}", logs.display()))
        })?;
        let journal = of.journal()?;
        if limits.task.is_some_and(|task| task >= of.groups.len()) {
            let count = counted(of.groups.len() as u64, "task");
            return Err(Failure::usage(format!("--task: the plan has {count}, counted from 0")));
        }
        let cells_s = of.cells.iter().filter_map(|cell| match journal.fate(&cell.key) {
            Fate::Done { seconds, .. } => Some(*seconds),
            _ => None,
        });
        let spent_s = cells_s.sum::<f64>() + journal.starts_s.iter().sum::<f64>();
        let mut runner = Runner {
            of,
            limits,
            journal,
            writer,
            guard: Guard::start()?,
            interrupts: interrupt::watch(),
            conditions: Conditions::default(),
            waiting: BTreeSet::new(),
            spent_s,
            begun: Instant::now(),
            logs,
        };
        for event in adopt::missing_events(of, &runner.journal)? {
            runner.note(event)?;
        }
        Ok(runner)
    }

    /// Writes an event to the journal, and applies it.
    fn note(&mut self, event: Event) -> Result<(), Failure> {
        let at_utc = format!("{:.3}", jiff::Timestamp::now());
        let line = Line { at_utc, event };
        let text = serde_json::to_string(&line)
            .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        self.writer.add(&text).map_err(files)?;
        self.journal.add(line.event);
        Ok(())
    }

    /// Allows another round of tries for cells that failed in earlier calls, and reports why they
    /// failed.
    fn forgive(&mut self) {
        if !self.limits.tries_failed {
            return;
        }
        let keys = self.in_scope().iter().map(|cell| cell.key.as_str());
        let reasons = self.journal.forgive(keys);
        for (reason, count) in super::text::grouped(reasons.iter().map(String::as_str)) {
            let cells = counted(count as u64, "failed cell");
            terminal::tell(&format!("trying {cells} again; the last try: {reason}"));
        }
    }

    /// Cells of this call that can be tried now.
    fn left(&self) -> Vec<Cell> {
        let is_left = |cell: &&Cell| {
            !self.waiting.contains(&cell.key)
                && self.journal.next_attempt(&cell.key, self.of.plan.head.retries).is_some()
        };
        self.in_scope().iter().filter(is_left).cloned().collect()
    }

    /// Cells of this call: all, or a cluster task's cells.
    fn in_scope(&self) -> &'a [Cell] {
        let all = &self.of.cells;
        match self.limits.task {
            None => all,
            Some(task) => {
                let range = self.of.groups.get(task).map_or(0..0, |group| group.cells.clone());
                all.get(range).unwrap_or_default()
            }
        }
    }

    fn is_over(&self) -> bool {
        if self.interrupts.urge() > Urge::None {
            return true;
        }
        let elapsed_s = self.spent_s + self.begun.elapsed().as_secs_f64();
        let head = &self.of.plan.head;
        let budget_s = self.limits.budget_s.or(head.budget_s);
        let by_money =
            head.money.zip(head.price).map(|(usd, price)| usd / price * SECONDS_PER_HOUR);
        budget_s.into_iter().chain(by_money).any(|limit_s| elapsed_s >= limit_s)
    }

    fn passes(&mut self) -> Result<(), Failure> {
        loop {
            let left = self.left();
            if left.is_empty() || self.is_over() {
                return Ok(());
            }
            for group in groups(&self.of.plan, &left) {
                if self.is_over() {
                    return Ok(());
                }
                let cells: Vec<Cell> = left.get(group.cells).unwrap_or_default().to_vec();
                self.group(&cells)?;
            }
        }
    }

    /// Cells that share one start of a server.
    fn group(&mut self, cells: &[Cell]) -> Result<(), Failure> {
        let mut server: Option<Launched> = None;
        for cell in cells {
            if self.is_over() {
                break;
            }
            if let Ready::Not { why } = self.conditions.set(self.of, cell, &self.guard, true)? {
                self.wait_for(cell, &why);
                continue;
            }
            if let Some(ended) = server.take_if(|server| !server.is_alive()) {
                let says = ended.last_line().map(|line| format!("; its log says: {line}"));
                terminal::warn(&format!(
                    "the server has ended and is started anew{}",
                    says.unwrap_or_default()
                ));
            }
            if server.is_none() {
                server = match self.start(cell)? {
                    Start::Up(launched) => launched.map(|launched| *launched),
                    Start::Failed { reason, is_final } => {
                        self.fail_all(cells, &reason, is_final)?;
                        return Ok(());
                    }
                };
            }
            if let Ready::Not { why } = self.conditions.set(self.of, cell, &self.guard, false)? {
                self.wait_for(cell, &why);
                continue;
            }
            self.cell(cell, server.as_mut())?;
        }
        if let Some(stopped) = server.map(Launched::stop).filter(|stopped| !stopped.is_gone) {
            let killed = if stopped.was_killed { ", although they were killed" } else { "" };
            terminal::warn(&format!("processes of the server are still there{killed}"));
        }
        Ok(())
    }

    fn wait_for(&mut self, cell: &Cell, why: &str) {
        if self.waiting.is_empty() {
            terminal::tell(&format!("waiting for another state of this machine: {why}"));
        }
        self.waiting.insert(cell.key.clone());
    }

    /// Starts the server of a cell, if the plan starts it.
    fn start(&mut self, cell: &Cell) -> Result<Start, Failure> {
        let Some(server) = cell.server.and_then(|index| self.of.plan.servers.get(index)) else {
            return Ok(Start::Up(None));
        };
        let Some(kind) = &server.kind else { return Ok(Start::Up(None)) };
        let number = self.journal.starts_s.len() + 1;
        let log = self.logs.join(format!("server-{}-{number}.log", server.name));
        let kind = Kind::named(kind)?;
        let ask = Ask {
            model: server.model.clone(),
            command: server.command.clone(),
            args: server.args.clone(),
            env: server.env.clone().into_iter().collect(),
            parameters: cell.parameters.iter().map(parameter).collect(),
            container: server.image.clone().map(|image| Container {
                image,
                program: server.runtime.clone(),
                args: server.container_args.clone(),
                port: server.container_port,
            }),
            folder: server.folder.clone().map(PathBuf::from),
            ready_within: Duration::from_secs_f64(server.ready_s.unwrap_or(READY_S)),
            api_key_env: server.api_key_env.clone(),
            stop: self.interrupts.stop(),
            ..Ask::new(kind, log.clone())
        };
        let words = ifm_plan::start_words(&self.of.plan, cell).unwrap_or_default();
        let label = ask.secrets()?.blot_words(&mask_words(&words)).join(" ");
        if cell.what == (CellLoad::StartUp { cold: true }) {
            // A start that is recorded as cold but is not would give a wrong number.
            if let Err(why) = server::cool(&ask) {
                return Ok(Start::Failed { reason: why, is_final: false });
            }
        }
        terminal::tell(&format!("starting {}: {label}", server.name));
        let begun = Instant::now();
        match server::start(&self.guard, &ask) {
            Ok(launched) => {
                let seconds = begun.elapsed().as_secs_f64();
                let log = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.note(Event::Started { server: label, seconds, log })?;
                Ok(Start::Up(Some(Box::new(launched))))
            }
            Err(failure) => Ok(Start::Failed {
                reason: failure.sentence().to_owned(),
                is_final: failure.code == Code::Usage || server::refuses_command(&failure),
            }),
        }
    }

    /// Records that the cells of a server that does not start cannot be measured.
    fn fail_all(&mut self, cells: &[Cell], reason: &str, is_final: bool) -> Result<(), Failure> {
        if self.interrupts.urge() > Urge::None {
            return Ok(());
        }
        terminal::warn(&format!("{}: {reason}", counted(cells.len() as u64, "cell")));
        for cell in cells {
            let Some(attempt) = self.journal.next_attempt(&cell.key, self.of.plan.head.retries)
            else {
                continue;
            };
            let (cell, reason) = (cell.key.clone(), reason.to_owned());
            self.note(Event::Failed { cell, attempt, reason, is_final })?;
        }
        Ok(())
    }

    /// Measures a cell.
    fn cell(&mut self, cell: &Cell, server: Option<&mut Launched>) -> Result<(), Failure> {
        let head = &self.of.plan.head;
        let Some(attempt) = self.journal.next_attempt(&cell.key, head.retries) else {
            return Ok(());
        };
        self.rest(head.pause_s);
        let configured = cell.server.and_then(|index| self.of.plan.servers.get(index));
        let is_fresh =
            server.as_ref().is_some_and(|server| matches!(server.reset_caches(), Reset::Done(_)));
        let url = server.as_ref().map(|server| server.url.clone());
        let url = url.or_else(|| configured.and_then(|server| server.url.clone()));
        let with = Words { url: url.as_deref().unwrap_or_default(), attempt, is_fresh };
        let place = PlanCell {
            plan: head.name.clone(),
            cell: cell.key.clone(),
            repeat: cell.repeat,
            attempt,
        };
        let mut flags = vec!["--plan-cell".to_owned(), place.to_string(), "--json".to_owned()];
        if let Some(facts) = server.as_ref().map(|server| self.facts(server)).transpose()? {
            flags.extend(["--facts".to_owned(), facts.display().to_string()]);
        }
        flags.extend(["--store".to_owned(), self.of.store.root().display().to_string()]);
        if cell.what != CellLoad::Exec {
            flags.push("--quiet".to_owned());
        }
        let mut line = words(&self.of.plan, cell, with);
        // After the command's name, so that the words of a measured command stay last.
        line.splice(1..1, flags);
        self.note(Event::Begun { cell: cell.key.clone(), attempt })?;
        let label = cell.label(&self.of.plan);
        let log = self.logs.join(format!("{}-{attempt}.log", cell.key));
        let begun = Instant::now();
        let shown = || self.show(&label, begun);
        let measured = measure(&line, &log, &self.guard, &self.interrupts, shown)?;
        let seconds = begun.elapsed().as_secs_f64();
        let cell = cell.key.clone();
        match measured {
            Measured::Done { run } => {
                terminal::tell(&format!("{label}: done in {seconds:.1} s, run {run}"));
                self.note(Event::Done { cell, run, seconds })
            }
            Measured::Failed { reason, is_worth_a_retry } => {
                terminal::warn(&format!("{label}: {reason}"));
                self.note(Event::Failed { cell, attempt, reason, is_final: !is_worth_a_retry })
            }
            Measured::Interrupted => Ok(()),
        }
    }

    /// Writes the facts of this machine and of a server that the plan started, for its runs.
    fn facts(&self, server: &Launched) -> Result<PathBuf, Failure> {
        let log = server.log();
        let log_file = log.strip_prefix(absolute(self.of.store.root())).unwrap_or(&log);
        let (mut facts, _) = facts::of_host();
        facts.server = Some(ServerProcess {
            kind: server.info.kind.clone(),
            version: server.info.version.clone(),
            pid: Some(server.pid),
            command: server.command.clone(),
            model: Some(server.model.clone()),
            log_file: Some(log_file.display().to_string()),
            start_up: Some(server.start_up),
            ..ServerProcess::default()
        });
        let path = self.logs.join(format!("facts-{}.json", self.journal.starts_s.len()));
        let text = serde_json::to_string_pretty(&FactsDocument::from(facts));
        let text = text.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        std::fs::write(&path, text)
            .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))?;
        Ok(path)
    }

    /// Waits before a cell, unless the plan should stop.
    fn rest(&self, seconds: Option<f64>) {
        let until = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(0.0));
        while Instant::now() < until && self.interrupts.urge() == Urge::None {
            std::thread::sleep(Duration::from_millis(50).min(until - Instant::now()));
        }
    }

    /// The current status line.
    fn show(&self, label: &str, begun: Instant) {
        let left = estimate(&self.of.plan, &self.of.cells, &self.journal);
        let is_done = |cell: &&Cell| matches!(self.journal.fate(&cell.key), Fate::Done { .. });
        let (done, all) = (self.of.cells.iter().filter(is_done).count(), self.of.cells.len());
        let line = super::text::progress(&left, done, all, label, begun.elapsed());
        terminal::show_progress(&line);
    }

    /// How the call ends.
    fn code(&self) -> Code {
        let is_done = |cell: &Cell| matches!(self.journal.fate(&cell.key), Fate::Done { .. });
        match interrupt::code(&self.interrupts) {
            Some(code) => code,
            None if self.in_scope().iter().all(is_done) => Code::Done,
            None => Code::Partly,
        }
    }
}

/// A parameter as a value: `true` and `false` are not texts.
fn parameter((name, value): &(String, String)) -> (String, serde_json::Value) {
    let value = value.parse::<bool>().map_or_else(|_| value.clone().into(), Into::into);
    (name.clone(), value)
}

/// The result of starting a server.
enum Start {
    /// It runs, or none had to be started.
    Up(Option<Box<Launched>>),
    /// It does not run.
    Failed {
        /// Why.
        reason: String,
        /// Whether another try would end the same way.
        is_final: bool,
    },
}
