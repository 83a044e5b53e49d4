//! Where finished requests go: the journal, memory for the analysis, and lines if asked for.

use crate::beside::{self, Finished};
use crate::form::Checker;
use crate::live::Board;
use crate::pairs::Pairs;
use crate::secrets::Secrets;
use crate::terminal;
use ifm_analysis::Settling;
use ifm_core::manifest::request_id;
use ifm_core::{LevelEnd, RequestRecord, Validity};
use ifm_drive::Sink;
use ifm_store::RunWriter;
use std::sync::Arc;

/// Keeps every finished request.
pub struct RunSink {
    /// The journal of the run.
    pub writer: RunWriter,
    /// All requests so far.
    pub records: Vec<RequestRecord>,
    lines: bool,
    keep_text: bool,
    /// What is blotted out in what the server says.
    secrets: Arc<Secrets>,
    /// The run's id, where requests carry ids that are made of it.
    ids_of: Option<String>,
    /// Judges answers that are to have a form.
    checker: Option<Checker>,
    /// Tells when the level has told enough.
    judge: Option<Settling>,
    /// When the level is cut off, nanoseconds on the monotonic clock.
    deadline_ns: Option<u64>,
    /// What ended the level before its planned end.
    ended_by: Option<LevelEnd>,
    /// Fills in the tokens of media that the server does not tell.
    pub pairs: Arc<Pairs>,
    /// Where progress is shown from; absent where nobody looks.
    board: Option<Arc<Board>>,
    /// Where the requests of a probe come from.
    beside: Option<Finished>,
}

impl RunSink {
    /// A sink that also prints a line of JSON per request, and keeps generated texts, if asked to.
    /// `ids_of` is the run's id, where requests carry ids.
    pub fn new(
        writer: RunWriter,
        lines: bool,
        keep_text: bool,
        (secrets, ids_of): (Arc<Secrets>, Option<String>),
        board: Option<Arc<Board>>,
    ) -> RunSink {
        RunSink {
            writer,
            records: Vec::new(),
            lines,
            keep_text,
            secrets,
            ids_of,
            checker: None,
            judge: None,
            deadline_ns: None,
            ended_by: None,
            pairs: Arc::default(),
            board,
            beside: None,
        }
    }

    /// Has answers with a form judged.
    pub fn with_checker(mut self, checker: Option<Checker>) -> RunSink {
        self.checker = checker;
        self
    }

    /// Keeps what a probe finishes beside the load too.
    pub fn with_beside(self, beside: Option<Finished>) -> RunSink {
        RunSink { beside, ..self }
    }

    /// Keeps what a probe has finished so far.
    ///
    /// # Errors
    /// Why it cannot be kept.
    pub fn take_beside(&mut self) -> Result<(), String> {
        let finished = self.beside.as_ref().map(beside::take).unwrap_or_default();
        finished.into_iter().try_for_each(|record| self.record(record))
    }

    /// Begins a level that may end before its planned end.
    pub fn begin_level(&mut self, judge: Option<Settling>, deadline_ns: Option<u64>) {
        self.pairs.begin_level();
        (self.judge, self.deadline_ns, self.ended_by) = (judge, deadline_ns, None);
    }

    /// What ended the level before its planned end, if anything did.
    pub fn ended_by(&self) -> Option<LevelEnd> {
        self.ended_by
    }
}

impl Sink for RunSink {
    fn record(&mut self, mut record: RequestRecord) -> Result<(), String> {
        if !self.keep_text {
            // A conversation needed it; nobody asked for it.
            record.text = None;
        }
        self.pairs.fill(&mut record);
        self.secrets.blot_record(&mut record);
        self.writer.append(&record).map_err(|error| error.to_string())?;
        if self.lines {
            // A reader that has gone wants no more lines; the run goes on.
            let id = self.ids_of.as_deref().map(|run_id| request_id(run_id, record.seq));
            let line = ifm_report::request_line(&record, id.as_deref());
            self.lines = terminal::print(&format!("{line}\n"));
        }
        if self.ended_by.is_none() {
            self.ended_by = self.judge.as_mut().and_then(|judge| judge.add(&record));
        }
        if let Some(board) = &self.board {
            board.add(&record);
        }
        self.records.push(record);
        Ok(())
    }

    fn validity(&mut self, record: &RequestRecord, answer: &str) -> Option<Validity> {
        self.checker.as_ref()?.judge(record, answer)
    }

    fn tick(&mut self) -> Result<(), String> {
        let now_ns = ifm_sys::mono_ns();
        if self.ended_by.is_none() && self.deadline_ns.is_some_and(|deadline| now_ns >= deadline) {
            self.ended_by = Some(LevelEnd::Budget);
        }
        self.take_beside()?;
        self.writer.tick(now_ns).map_err(|error| error.to_string())
    }

    fn has_enough(&self) -> bool {
        self.ended_by.is_some()
    }
}
