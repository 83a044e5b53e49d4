//! Destination of finished requests: the journal, memory for the analysis, and lines if requested.

use crate::secrets::Secrets;
use crate::terminal;
use ifm_core::manifest::request_id;
use ifm_core::{LevelEnd, RequestRecord, Validity};
use ifm_drive::Sink;
use ifm_form::Checker;
use ifm_live::Board;
use ifm_metrics::Settling;
use ifm_session::background_probe::{self, Finished};
use ifm_session::media_token_estimate::Pairs;
use ifm_store::RunWriter;
use std::sync::Arc;

/// Stores every finished request.
pub struct RunSink {
    /// The journal of the run.
    pub writer: RunWriter,
    /// All requests so far.
    pub records: Vec<RequestRecord>,
    lines: bool,
    keep_text: bool,
    /// What to redact in the server's text.
    secrets: Arc<Secrets>,
    /// The run's ID, if requests carry IDs that contain it.
    ids_of: Option<String>,
    /// Judges answers that should have a form.
    checker: Option<Checker>,
    /// Detects when the level has enough evidence.
    judge: Option<Settling>,
    /// When the level is cut off, nanoseconds on the monotonic clock.
    deadline_ns: Option<u64>,
    /// Origin of the run on the monotonic clock where time is virtual: then the requests tell it.
    virtual_origin_ns: Option<u64>,
    /// Why the level ended early.
    ended_by: Option<LevelEnd>,
    /// Fills in the tokens of media that the server does not report.
    pub pairs: Arc<Pairs>,
    /// Input of the progress display; absent without one.
    board: Option<Arc<Board>>,
    /// Source of a probe's requests.
    beside: Option<Finished>,
}

impl RunSink {
    /// A sink that also prints a line of JSON per request and keeps generated texts, if requested.
    /// `ids_of` is the run's ID, if requests carry IDs.
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
            virtual_origin_ns: None,
            ended_by: None,
            pairs: Arc::default(),
            board,
            beside: None,
        }
    }

    /// Judges answers with a form.
    pub fn with_checker(mut self, checker: Option<Checker>) -> RunSink {
        self.checker = checker;
        self
    }

    /// Reads the time from the requests, for a run in virtual time that began then.
    pub fn with_virtual_time(mut self, origin_ns: Option<u64>) -> RunSink {
        self.virtual_origin_ns = origin_ns;
        self
    }

    /// Also stores what a background probe finishes.
    pub fn with_beside(self, beside: Option<Finished>) -> RunSink {
        RunSink { beside, ..self }
    }

    /// Stores what a probe has finished so far.
    ///
    /// # Errors
    /// Why it cannot be stored.
    pub fn take_beside(&mut self) -> Result<(), String> {
        let finished = self.beside.as_ref().map(background_probe::take).unwrap_or_default();
        finished.into_iter().try_for_each(|record| self.record(record))
    }

    /// Starts a level that may end early.
    pub fn begin_level(&mut self, judge: Option<Settling>, deadline_ns: Option<u64>) {
        self.pairs.begin_level();
        (self.judge, self.deadline_ns, self.ended_by) = (judge, deadline_ns, None);
    }

    fn end_at_deadline(&mut self, now_ns: u64) {
        if self.ended_by.is_none() && self.deadline_ns.is_some_and(|deadline| now_ns >= deadline) {
            self.ended_by = Some(LevelEnd::Budget);
        }
    }

    /// Why the level ended early, if it did.
    pub fn ended_by(&self) -> Option<LevelEnd> {
        self.ended_by
    }
}

impl Sink for RunSink {
    fn record(&mut self, mut record: RequestRecord) -> Result<(), String> {
        if !self.keep_text {
            // A conversation needed it; the user did not ask for it.
            record.text = None;
        }
        self.pairs.fill(&mut record);
        self.secrets.blot_record(&mut record);
        self.writer.append(&record).map_err(|error| error.to_string())?;
        if self.lines {
            // If the reader has exited, no more lines are printed; the run continues.
            let id = self.ids_of.as_deref().map(|run_id| request_id(run_id, record.seq));
            let line = ifm_report::request_line(&record, id.as_deref());
            self.lines = terminal::print(&format!("{line}\n"));
        }
        if self.ended_by.is_none() {
            self.ended_by = self.judge.as_mut().and_then(|judge| judge.add(&record));
        }
        if let Some(origin_ns) = self.virtual_origin_ns {
            self.end_at_deadline(origin_ns + record.end_ns);
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
        if self.virtual_origin_ns.is_none() {
            self.end_at_deadline(now_ns);
        }
        self.take_beside()?;
        self.writer.tick(now_ns).map_err(|error| error.to_string())
    }

    fn has_enough(&self) -> bool {
        self.ended_by.is_some()
    }
}
