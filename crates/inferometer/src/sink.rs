//! Where finished requests go: the journal, memory for the analysis, and lines if asked for.

use crate::terminal;
use ifm_core::RequestRecord;
use ifm_drive::Sink;
use ifm_store::RunWriter;

/// Keeps every finished request.
pub struct RunSink {
    /// The journal of the run.
    pub writer: RunWriter,
    /// All requests so far.
    pub records: Vec<RequestRecord>,
    lines: bool,
    keep_text: bool,
}

impl RunSink {
    /// A sink that also prints a line of JSON per request, and keeps generated texts, if asked to.
    pub fn new(writer: RunWriter, lines: bool, keep_text: bool) -> RunSink {
        RunSink { writer, records: Vec::new(), lines, keep_text }
    }
}

impl Sink for RunSink {
    fn record(&mut self, mut record: RequestRecord) -> Result<(), String> {
        if !self.keep_text {
            // A conversation needed it; nobody asked for it.
            record.text = None;
        }
        self.writer.append(&record).map_err(|error| error.to_string())?;
        if self.lines {
            // A reader that has gone wants no more lines; the run goes on.
            self.lines = terminal::print(&format!("{}\n", ifm_report::request_line(&record)));
        }
        self.records.push(record);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        self.writer.tick(ifm_sys::mono_ns()).map_err(|error| error.to_string())
    }
}
