//! A session: runs the levels of a job one after another, stores them as they run, and shows them
//! as they finish.

mod beginning;
mod failure_hint;
mod live_view;
mod media_pairs;
mod run_sink;
mod signals;

pub use beginning::{level_plan, request_template};

use crate::exit::{Code, Failure};
use crate::inputs::stored;
use crate::job::Job;
use crate::output;
use crate::output::Format;
use crate::terminal;
use beginning::{check_items, check_open_files, first_manifest, form_templates, probe_template};
use failure_hint::hint_for;
use ifm_core::order::Order as _;
use ifm_core::spec::{ArrivalLaw, LoadSpec};
use ifm_core::words::counted;
use ifm_core::{
    ClientHealth, LevelEnd, LevelInfo, Manifest, Outcome, Phase, RequestRecord, RunData, RunState,
    RunView,
};
use ifm_drive::{DriveError, Evidence, LevelPlan, LevelResult, Progress, Stop, StopLevel};
use ifm_form::Checker;
use ifm_live::{Board, Live, Manner, RunFacts};
use ifm_machine::telemetry::{self, Telemetry};
use ifm_metrics::definitions::{self, Definitions};
use ifm_metrics::failure::Failures;
use ifm_metrics::health::{self, HealthEvidence};
use ifm_metrics::{LevelSummary, RunSummary, Seen, Settling};
use ifm_predict::Simulated;
use ifm_report::{LevelTable, ReportModel, TerminalStyle};
use ifm_session::background_probe::{self, BackgroundProbe};
use ifm_session::capacity_answer;
use ifm_session::level_monitor::LevelMonitor;
use ifm_session::level_planner::{CapacityCourse, LevelCount, LevelPlanner, Step};
use ifm_session::media_token_estimate::Pairs;
use ifm_session::pacing::Pacing;
use ifm_session::remeasure::Remeasure;
use ifm_session::source::{Carrying, Source};
use ifm_store::{Store, StoreError};
use ifm_sys::ClockPair;
use ifm_sys::host::CpuTicks;
use live_view::StandardError;
use media_pairs::Paired;
use run_sink::RunSink;
use signals::Signals;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The message about a server that went away.
const SERVER_LOST: &str = "the server was lost";

/// Runs a job to its end, and reports the result.
///
/// # Errors
/// The reason why the run did not start, could not be stored, or is not valid.
pub fn execute(job: Job) -> Result<Code, Failure> {
    let style = terminal::style(job.no_color, job.ascii);
    check_open_files(&job)?;
    let clock = ClockPair::sample();
    let mut manifest = first_manifest(&job, clock);
    let ids_of = job.spec.target.request_ids.then(|| manifest.run_id.clone());
    let template = request_template(&job, &manifest.run_id)?;
    check_items(&job, &template)?;
    let Paired { pairs, told, had } = media_pairs::of_job(&job, &template)?;
    manifest.media_pairs = pairs;
    let templates = form_templates(&job, template)?;
    let probe = job.spec.workload.probe.as_ref();
    let probe = probe.map(|probe| probe_template(&job, &manifest.run_id, probe.ignore_eos));
    let beside = probe
        .transpose()?
        .zip(job.probe.clone())
        .and_then(|(template, prompts)| BackgroundProbe::new(&job.spec, prompts, template));
    let store = Store::at(store_root(job.store.as_ref()));
    // The only place that writes to the store: anything could repeat a secret, such as a page, a path
    // or the server's own messages.
    let mut manifest = job.secrets.blot_document(manifest);
    // A plan names its cells.
    if let (Some(name), None) = (&manifest.name, &manifest.plan) {
        manifest.name = Some(stored::free_name(&store, name, &manifest));
    }
    let writer = store.create(&manifest).map_err(|error| cannot_store(&error))?;
    let stop = Stop::default();
    let progress = Arc::new(Progress::default());
    let signals = Signals::watch(stop.clone(), progress.clone());
    let mut source = Source::new(job.dataset.clone(), templates, Carrying::of(&job.spec));
    let measured = Arc::new(Pairs::new(&manifest.media_pairs, &told));
    source.with_pairs(&measured, had.into_iter());
    let (facts, ended) = (run_facts(&job, &manifest), source.ended_conversations());
    let board = Arc::new(Board::new(facts, progress.clone(), ended, clock.mono_ns));
    // Findings are reported before a full screen starts.
    let reports = !job.quiet && job.format == Format::Text;
    let server = job.metered_server();
    let telemetry = Telemetry::start(&job.telemetry, Some(&server), reports, clock.mono_ns);
    // A simulation ends before a line could be read.
    let manner = if job.deployed.is_some() { Manner::Quiet } else { live_view::manner(&job) };
    let live = Live::start(&board, manner, &StandardError);
    let watched = live.is_watched().then(|| board.clone());
    let lines = job.format == Format::Requests;
    let mut session = Session {
        telemetry,
        monitor: LevelMonitor::new(clock.mono_ns),
        source,
        sink: RunSink::new(
            writer,
            lines,
            job.spec.keep_text,
            (job.secrets.clone(), ids_of),
            watched,
        )
        .with_checker(has_answers_to_check(&job).then(|| Checker::new(&job.forms)))
        .with_beside(beside.as_ref().map(BackgroundProbe::finished))
        .with_virtual_time(job.deployed.is_some().then_some(clock.mono_ns)),
        beside,
        live,
        board,
        evidence: Evidence::default(),
        stop,
        progress,
        style,
        origin: clock,
        kernel_stamps: manifest.host.kernel_stamps,
        simulated: job
            .deployed
            .as_ref()
            .map(|deployed| Box::new(Simulated::new(deployed, &job.spec.workload.forms))),
        shown: Vec::new(),
        job,
    };
    session.sink.pairs = measured;
    let ticks = CpuTicks::read();
    let ended = session.run_levels(&mut manifest);
    session.live.finish();
    let steal =
        ticks.zip(CpuTicks::read()).and_then(|(before, after)| after.steal_share_since(before));
    session.finish(manifest, ended, steal, &signals)
}

/// Folder of the run store.
pub fn store_root(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| Store::default_root(std::path::Path::new("")))
}

struct Session {
    job: Job,
    source: Source,
    sink: RunSink,
    monitor: LevelMonitor,
    live: Live,
    board: Arc<Board>,
    telemetry: Telemetry,
    evidence: Evidence,
    stop: Stop,
    progress: Arc<Progress>,
    style: TerminalStyle,
    origin: ClockPair,
    kernel_stamps: bool,
    /// The simulation, if there is one instead of a server.
    simulated: Option<Box<Simulated>>,
    /// The background probe, if there is one.
    beside: Option<BackgroundProbe>,
    /// Levels already shown as rows.
    shown: Vec<LevelSummary>,
}

/// How the levels ended.
enum Ended {
    /// As planned.
    Planned,
    /// Early, for this reason.
    Early(String),
    /// Early: the server answered at first and then stopped, with this last error.
    Lost(String),
    /// By an internal failure.
    Failed(DriveError),
}

/// Maximum time that a level waits for media to be created, nanoseconds.
const AHEAD_NS_MAX: u64 = 5_000_000_000;

impl Session {
    fn run_levels(&mut self, manifest: &mut Manifest) -> Ended {
        match self.probe_alone() {
            Ok(()) => self.follow(manifest),
            Err(error) => Ended::Failed(error),
        }
    }

    fn follow(&mut self, manifest: &mut Manifest) -> Ended {
        let mut index = 0;
        let mut again = Remeasure::new(self.job.measures_again);
        let mut pacing = Pacing::new(&self.job.spec, self.now_ns());
        pacing.deadline_ns().into_iter().for_each(|end_ns| self.board.ends_by(end_ns));
        while index < self.job.spec.levels.len() {
            if !pacing.has_room(&self.job.spec.levels[index], self.now_ns()) {
                return self.over_budget(manifest, &pacing, index);
            }
            if self.simulated.is_none() {
                pacing.cool_down(&self.stop);
            }
            let begun_ns = self.now_ns();
            let first = self.sink.records.len();
            let judge = Settling::new(&self.job.spec.levels[index], &self.job.spec.slo);
            self.sink.begin_level(judge, pacing.deadline_ns());
            let count = self.job.course.level_count(self.job.spec.levels.len());
            let result = match self.run_level(index, count) {
                Ok(result) => result,
                Err(error) => return Ended::Failed(error),
            };
            let took_s = (self.now_ns() - begun_ns) as f64 / 1e9;
            let ended = self.sink.records.len() - first;
            pacing.ran(&self.job.spec.levels[index], took_s, ended);
            // A replay ends with its trace.
            let is_replay = self.job.spec.levels[index]
                .arrivals
                .as_ref()
                .is_some_and(|arrivals| matches!(arrivals.law, ArrivalLaw::Replay(_)));
            let ran_out = result.workload_ended && self.source.is_exhausted() && !is_replay;
            self.evidence.merge(&result.evidence);
            if index == 0 && result.evidence.counts.readers_first == Some(false) {
                terminal::warn(
                    "--precise: the system does not grant this process real-time priority (root, \
                     CAP_SYS_NICE or a limit rtprio above 0 would); its processors are kept awake",
                );
            }
            manifest.levels.extend(result.info.map(|mut info| {
                let early = self.sink.ended_by();
                info.complete &= !ran_out && early.is_none_or(LevelEnd::is_complete);
                info.ended_by = match early {
                    _ if ran_out => Some(LevelEnd::Stopped),
                    Some(_) if info.ended_by == Some(LevelEnd::Planned) => early,
                    _ => info.ended_by,
                };
                info
            }));
            let is_whole = |info: &LevelInfo| usize::from(info.level) == index && info.complete;
            if manifest.levels.last().is_some_and(is_whole) {
                again.ended(index, &mut manifest.levels);
            }
            if let Err(error) = self.sink.writer.checkpoint_manifest(manifest) {
                return Ended::Failed(DriveError::Sink(error.to_string()));
            }
            let summary = self.show_level(manifest, index);
            if let Some(error) = result.gave_up {
                let error = self.job.secrets.blot(&error).into_owned();
                let has_answered = self.sink.records.iter().any(|record| record.outcome.is_ok());
                return match (has_answered, Failures::of(self.sink.records.iter())) {
                    (true, _) => Ended::Lost(error),
                    (false, Some(failures)) => {
                        Ended::Early(format!("{}: {error}", failures.of_every_request()))
                    }
                    (false, None) => Ended::Early(error),
                };
            }
            if self.stop.level() > StopLevel::Run {
                return Ended::Early("stopped by the user".to_owned());
            }
            if ran_out {
                let levels = self.job.spec.levels.iter().take(index + 1);
                let warmup: u32 = levels.map(|level| level.warmup_requests).sum();
                let taken = match warmup {
                    0 => String::new(),
                    some => format!(" (the warm-up took {some} of them; --warmup 0 takes none)"),
                };
                terminal::warn(&format!(
                    "the data set has no more prompts{taken}; --repeat-prompts begins again, and a \
                     server with a prefix cache will know them",
                ));
                return Ended::Early("the data set has no more prompts".to_owned());
            }
            if let Some(summary) = summary {
                self.board.add_row(&summary);
                self.shown.push(summary);
            }
            index += 1;
            // A measurement that was cut off says nothing about its load.
            let is_search = matches!(self.job.course, LevelPlanner::Capacity(_));
            if is_search && self.sink.ended_by() == Some(LevelEnd::Budget) {
                return self.over_budget(manifest, &pacing, index);
            }
            let step = match again.has_begun() {
                true => Step::GoOn,
                false => {
                    let (requests, ended) = (&self.sink.records, self.source.ended_early());
                    let seen = Seen { requests, ended };
                    self.job.course.after(&self.job.spec, &self.shown, seen)
                }
            };
            match step {
                Step::GoOn => {}
                Step::Append(loads) => self.append(loads, manifest),
                Step::End => {
                    // The omitted levels are no longer part of the request.
                    self.job.spec.levels.truncate(index);
                    manifest.spec.levels.truncate(index);
                }
            }
            if index == self.job.spec.levels.len() {
                let loads = again.after(&self.job.spec.levels, &self.shown);
                self.append(loads, manifest);
            }
        }
        match self.sink.ended_by() {
            Some(LevelEnd::Budget) => self.over_budget(manifest, &pacing, index),
            _ => Ended::Planned,
        }
    }

    fn append(&mut self, loads: Vec<LoadSpec>, manifest: &mut Manifest) {
        self.job.spec.levels.extend_from_slice(&loads);
        manifest.spec.levels.extend(loads);
    }

    /// Now, on the monotonic clock; in a simulation, its virtual time since the origin.
    fn now_ns(&self) -> u64 {
        let simulated = self.simulated.as_ref();
        simulated.map_or_else(ifm_sys::mono_ns, |server| self.origin.mono_ns + server.now_ns())
    }

    /// The budget is over: the levels from `index` on are omitted.
    fn over_budget(&mut self, manifest: &mut Manifest, pacing: &Pacing, index: usize) -> Ended {
        let left_out = self.job.spec.levels.get(index..).unwrap_or_default();
        let reason = match &self.job.course {
            // Only its confirmation is left out.
            LevelPlanner::Capacity(course) if course.bracket().is_some() => None,
            LevelPlanner::Capacity(_) => Some(pacing.over_in_search()),
            _ => Some(pacing.over(&left_out.iter().map(ifm_live::load_words).collect::<Vec<_>>())),
        };
        if matches!(self.job.course, LevelPlanner::Capacity(_)) {
            self.job.spec.levels.truncate(index);
            manifest.spec.levels.truncate(index);
        }
        let Some(reason) = reason else { return Ended::Planned };
        terminal::warn(&reason);
        Ended::Early(reason)
    }

    /// Sends a few requests of the probe without load.
    fn probe_alone(&mut self) -> Result<(), DriveError> {
        if self.beside.is_none() || self.job.spec.levels.is_empty() {
            return Ok(());
        }
        let plan = self.plan(0);
        let Some(beside) = &mut self.beside else { return Ok(()) };
        beside.alone(&plan, &self.stop)?;
        self.sink.take_beside().map_err(DriveError::Sink)
    }

    fn run_level(&mut self, index: usize, count: LevelCount) -> Result<LevelResult, DriveError> {
        let plan = self.plan(index);
        let load = &self.job.spec.levels[index];
        let sent = sent(&self.sink.records);
        if self.simulated.is_none() {
            let until_ns = ifm_sys::mono_ns() + AHEAD_NS_MAX;
            let goes_on = || self.stop.level() == StopLevel::Run && ifm_sys::mono_ns() < until_ns;
            self.source.make_ahead(sent, load, &goes_on);
        }
        self.source.begin_level(sent, load).map_err(DriveError::Source)?;
        self.board.begin_level(index, &self.job.spec.levels, count, ifm_sys::mono_ns());
        let over = AtomicBool::new(false);
        let first = self.sink.records.len();
        let (source, sink, monitor) = (&mut self.source, &mut self.sink, &mut self.monitor);
        let (stop, progress) = (&self.stop, &self.progress);
        progress.finished.store(0, Ordering::Relaxed);
        progress.failed.store(0, Ordering::Relaxed);
        // Counters are read before and after each level, whatever comes between.
        self.telemetry.sample();
        let counted = self.telemetry.counted();
        if let Some(simulated) = &mut self.simulated {
            let driven = simulated.drive(&plan, load, source, sink, (stop, progress));
            self.board.end_level(ifm_sys::mono_ns());
            return driven;
        }
        let beside = &mut self.beside;
        let (result, probed) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| monitor.watch(progress, &over));
            let probe = beside
                .as_mut()
                .map(|beside| scope.spawn(|| beside.accompany(&plan, (progress, &over), stop)));
            let result = ifm_drive::drive_level(&plan, source, sink, stop, progress);
            self.board.end_level(ifm_sys::mono_ns());
            over.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            // A panic in inferometer's own code is a bug and is propagated.
            let probed = probe
                .map(|probe| probe.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            (result, probed.unwrap_or(Ok(())))
        });
        self.telemetry.sample();
        self.sink.take_beside().map_err(DriveError::Sink)?;
        let ended = telemetry::ended(self.sink.records.get(first..).unwrap_or_default());
        self.telemetry.settle(counted, ended, || self.stop.level() == StopLevel::Run);
        probed.and(result)
    }

    fn plan(&self, index: usize) -> LevelPlan {
        let of_load =
            self.sink.records.iter().filter(|record| background_probe::is_of_load(record));
        let first_seq = of_load.count() as u32;
        LevelPlan {
            origin_ns: self.origin.mono_ns,
            kernel_stamps: self.kernel_stamps,
            ..level_plan(&self.job, index, first_seq, &self.source)
        }
    }

    /// Summarizes a level that has just ended, and prints its row if there are several.
    fn show_level(&self, manifest: &Manifest, index: usize) -> Option<LevelSummary> {
        let run = RunView { manifest, requests: &self.sink.records, series: &[] };
        let ended = self.source.ended_early();
        let summary = ifm_metrics::summarize_ended_level(run, ended, index as u16)?;
        let has_rows =
            self.job.spec.levels.len() > 1 || matches!(self.job.course, LevelPlanner::Capacity(_));
        if self.job.format == Format::Text && has_rows && !self.job.quiet && !self.job.is_a_part {
            let table = LevelTable {
                gap: summary.latencies.gap_label,
                unit: ifm_report::load_unit(&summary),
                has_probe: self.job.spec.workload.probe.is_some(),
            };
            if self.shown.is_empty() {
                let opening = ifm_report::opening(manifest, &self.style);
                let header = ifm_report::level_header(&table, &self.style);
                terminal::print(&format!("{opening}\n{header}\n"));
            }
            let line = ifm_report::level_line(&summary, &table, &self.style, false);
            terminal::print(&format!("{line}\n"));
        }
        Some(summary)
    }

    fn finish(
        self,
        mut manifest: Manifest,
        ended: Ended,
        steal: Option<f64>,
        signals: &Signals,
    ) -> Result<Code, Failure> {
        let Session {
            job,
            mut source,
            sink,
            monitor,
            telemetry,
            evidence,
            style,
            origin,
            simulated,
            shown,
            ..
        } = self;
        let RunSink { writer, mut records, .. } = sink;
        records.order_by_key(|record| record.seq);
        manifest.state = match &ended {
            Ended::Planned if signals.code().is_none() => RunState::Complete,
            _ => RunState::Partial,
        };
        manifest.stop_reason = match &ended {
            Ended::Planned => None,
            Ended::Early(reason) => Some(reason.clone()),
            Ended::Lost(error) => Some(format!("{SERVER_LOST}: {error}")),
            Ended::Failed(error) => Some(error.to_string()),
        };
        let sent = sent(&records);
        manifest.workload = Some(source.sent_workload(sent, job.spec.target.api, &job.facts));
        manifest.prompts_blake3 = Some(source.prompts_blake3());
        manifest.clock.offset_ns = evidence
            .clock
            .iter()
            .map(|&(at, offset)| (at.saturating_sub(origin.mono_ns), offset - origin.offset_ns))
            .collect();
        manifest.capacity = match &job.course {
            LevelPlanner::Capacity(course) => Some(capacity_answer::found(course, &manifest)),
            LevelPlanner::Planned | LevelPlanner::UntilPlateau | LevelPlanner::Between { .. } => {
                None
            }
        };
        manifest.health = match &simulated {
            None => Some(judge(&job, &records, &evidence, steal)),
            Some(_) => None,
        };
        if let (Some(simulated), Some(predicted)) = (simulated, &mut manifest.predicted) {
            simulated.warnings().iter().for_each(|warning| terminal::warn(warning));
            predicted.levels = simulated.into_levels();
        }
        let mut series = monitor.into_series();
        series.extend(telemetry.finish());
        let manifest = job.secrets.blot_document(manifest);
        let folder = writer.path().to_owned();
        let run = RunData { manifest: manifest.clone(), requests: records, series: series.clone() };
        let sealed = writer.seal(manifest, &series);
        let summary = ifm_metrics::summarize_with(&run, &shown);
        let model = ReportModel::new(&run, summary);
        let model = match &job.vllm_lines {
            Some(lines) => model.with_vllm_lines(lines.clone(), &run),
            None => model,
        };
        match &job.course {
            _ if job.is_a_part => {}
            LevelPlanner::Capacity(course) => show_capacity(course, &job, &model, &style),
            LevelPlanner::Planned | LevelPlanner::UntilPlateau | LevelPlanner::Between { .. } => {
                show(&job, &model, &style, &shown)
            }
        }
        for path in &job.out {
            output::write_file(&model, path)?;
        }
        if job.format == Format::Sglang && !job.is_a_part {
            let sheet = definitions::sheet(&run, Definitions::Sglang);
            terminal::print(&ifm_report::sglang(&model, &sheet));
        }
        for ask in &job.exports {
            for path in ask.write(&run)?.iter().filter(|_| !job.quiet) {
                terminal::say(&format!("wrote {}", path.display()));
            }
        }
        if matches!(
            job.format,
            Format::Json | Format::Requests | Format::Sessions | Format::Vllm | Format::Sglang
        ) && !job.quiet
            && !job.is_a_part
        {
            ifm_report::findings(&model).iter().for_each(|finding| terminal::warn(finding));
        }
        if let Ended::Failed(error) = &ended {
            let unsealed = sealed.is_err().then_some(run.manifest.run_id.as_str());
            return Err(drive_failure(error, &folder, unsealed));
        }
        let sealed = sealed.map_err(|error| cannot_seal(&error, &run.manifest.run_id))?;
        if job.format == Format::Text && !job.quiet {
            let size = sealed.bytes as f64 / 1e3;
            let saved = format!(
                "run {} saved: {}, {size:.0} kB in {}",
                run.manifest.run_id,
                counted(run.requests.len() as u64, "request"),
                folder.display()
            );
            terminal::say(format!("\n{}", terminal::wrapped("", &saved)).trim_end_matches('\n'));
        }
        verdict(&run, &model.summary, &ended, signals)
    }
}

/// Whether answers should have a form: simulated answers have the requested length, and no
/// text.
fn has_answers_to_check(job: &Job) -> bool {
    !job.forms.is_empty() && job.deployed.is_none()
}

/// What the live views show of a run from start to end.
fn run_facts(job: &Job, manifest: &Manifest) -> RunFacts {
    let target = &job.spec.target;
    RunFacts {
        name: job.name.clone().unwrap_or_else(|| manifest.run_id.clone()),
        server: target.address().into_owned(),
        model: target.model.clone(),
        workload: job.spec.workload.text.clone().unwrap_or_else(|| job.spec.workload.kind.clone()),
    }
}

/// Sent requests only: an open loop may have had no time for some.
fn sent(records: &[RequestRecord]) -> u32 {
    let is_sent = |record: &&RequestRecord| record.outcome != Outcome::Dropped;
    let of_load = records.iter().filter(|record| background_probe::is_of_load(record));
    of_load.filter(is_sent).count() as u32
}

/// Shows the result; rows of levels that are already on the screen are not repeated.
fn show(job: &Job, model: &ReportModel, style: &TerminalStyle, shown: &[LevelSummary]) {
    if job.format == Format::Text && job.spec.levels.len() > 1 && !shown.is_empty() && !job.quiet {
        let table = ifm_report::level_table(model);
        if let Some(note) = ifm_report::level_footnote(&model.summary.levels, &table, style) {
            terminal::print(&format!("{note}\n"));
        }
        terminal::print(&ifm_report::terminal_tables(model, style));
        terminal::print(&format!("\n{}", ifm_report::terminal_answers(model, style)));
    } else {
        terminal::print(&output::text(model, job.format, style));
    }
}

/// Shows the answer of a search for the capacity.
fn show_capacity(course: &CapacityCourse, job: &Job, model: &ReportModel, style: &TerminalStyle) {
    let answered = (&job.spec, model);
    terminal::print(&match job.format {
        Format::Json => format!("{:#}\n", capacity_answer::document(course, answered)),
        Format::Text => capacity_answer::text(course, answered, style),
        other => output::text(model, other, style),
    });
}

fn verdict(
    run: &RunData,
    summary: &RunSummary,
    ended: &Ended,
    signals: &Signals,
) -> Result<Code, Failure> {
    if let Some(code) = signals.code() {
        return Ok(code);
    }
    if let Ended::Lost(error) = ended {
        return Err(Failure::server(format!("{SERVER_LOST}: {error}")).hint(format!(
            "finished requests are stored in run {}; check the server's log",
            run.manifest.run_id
        )));
    }
    let is_answered =
        |record: &RequestRecord| record.phase == Phase::Measure && record.outcome.is_ok();
    if run.requests.iter().any(is_answered) {
        return match ifm_metrics::warning::load_missed(run, summary) {
            None => Ok(Code::Done),
            Some(why) => Err(Failure::new(Code::Invalid, format!("the run is invalid: {why}"))
                .hint("use a less busy host, a lower load, or --readers; the run is stored")),
        };
    }
    let failed = summary.levels.iter().map(|level| level.counts.sent).sum::<u64>();
    let failures = Failures::of(run.requests.iter());
    let first = failures.as_ref().and_then(|failures| failures.sentence.clone());
    let why = first.unwrap_or_else(|| {
        run.requests.first().map_or("nothing was sent".to_owned(), |r| r.outcome.word().to_owned())
    });
    let mut text = format!("none of {} got a complete answer", counted(failed, "request"));
    // An error that all of them had is named.
    if let Some(failures) = failures.as_ref().filter(|failures| failures.kinds.len() == 1) {
        text = format!("{text}, {}", failures.of_every_request());
    }
    text = format!("{text}: {why}");
    if let Some(moment) = failures.as_ref().and_then(Failures::moment_words) {
        text = format!("{text}; {moment}");
    }
    Err(Failure::new(Code::Invalid, text).hint(hint_for(run, &why, failures.as_ref())))
}

fn judge(
    job: &Job,
    records: &[RequestRecord],
    evidence: &Evidence,
    steal_share: Option<f64>,
) -> ClientHealth {
    let seen = ClientHealth {
        reader_lag: evidence.reader_lag.quantiles(),
        stamp_error: evidence.late_stamps.quantiles(),
        send_lateness: evidence.send_lateness.quantiles(),
        steal_share,
        ..evidence.counts.clone()
    };
    health::judge(HealthEvidence {
        seen,
        e2e_ns_p50: health::e2e_ns_p50(records),
        streams_max: job.spec.levels.iter().map(|level| level.concurrency).max().unwrap_or(0),
        requests: records.len() as u64,
        gap_ns_p5: health::gap_ns_p5(records),
    })
}

fn cannot_store(error: &StoreError) -> Failure {
    Failure::files(format!("the run cannot be stored: {error}"))
        .hint("--store DIR stores it elsewhere")
}

fn cannot_seal(error: &StoreError, run_id: &str) -> Failure {
    Failure::files(format!("the run cannot be sealed: {error}")).hint(format!(
        "every finished request is in its journal; later: inferometer runs seal {run_id}"
    ))
}

/// An internal failure during the load. `unsealed` is the run whose files could not be finished.
fn drive_failure(error: &DriveError, folder: &std::path::Path, unsealed: Option<&str>) -> Failure {
    let failure = match error {
        DriveError::Sink(_) => Failure::files(error.to_string()),
        _ => Failure::new(Code::Internal, error.to_string()),
    };
    let folder = folder.display();
    failure.hint(match unsealed {
        None => format!("finished requests are in {folder}"),
        Some(run_id) => format!(
            "finished requests are in {folder}; fix the cause, then: inferometer runs seal \
             {run_id}"
        ),
    })
}

#[cfg(test)]
mod tests;
