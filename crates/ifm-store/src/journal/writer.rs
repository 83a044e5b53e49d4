//! Adding frames to a journal, and keeping it whole when the disk does not.
//!
//! Frames gather in memory and go to the kernel in one write: at 64 KiB, or as soon as a request
//! ended 50 ms after the last write, or when the caller asks. The clock is the records' own.
//! Nothing here waits for the disk but [`JournalWriter::sync`].

use super::encode::{put_request, put_samples};
use super::{FRAME_HEAD_BYTES, HEADER_BYTES, PAYLOAD_BYTES_MAX, header};
use crate::disk::StorageFile;
use crate::error::StoreError;
use ifm_core::{RequestRecord, Series};
use std::io;
use std::path::{Path, PathBuf};

/// Gathered bytes that go to the kernel at once.
const FLUSH_BYTES: usize = 64 << 10;
/// Longest time between the ends of requests that are gathered, nanoseconds.
const FLUSH_SPAN_NS: u64 = 50_000_000;
/// Gathered bytes above which no more records are taken while the disk refuses them.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Writes a journal. What a process had flushed survives its death; what was synced survives a
/// loss of power.
pub(crate) struct JournalWriter<F: StorageFile> {
    file: F,
    path: PathBuf,
    /// Frames on their way to the file.
    waiting: Vec<u8>,
    /// Length of the file up to the end of its last whole frame.
    whole_bytes: u64,
    /// Whether the file holds part of a frame after that, which could not be cut off yet.
    torn: bool,
    flushed_end_ns: u64,
    requests: u64,
    waiting_requests: u64,
    dirty: bool,
}

impl<F: StorageFile> JournalWriter<F> {
    /// Starts a journal in an empty file.
    pub(crate) fn start(mut file: F, path: &Path) -> Result<JournalWriter<F>, StoreError> {
        file.write_all(&header()).map_err(|source| {
            StoreError::from_io("write", path, source, || "the run was not started".to_string())
        })?;
        Ok(JournalWriter {
            file,
            path: path.to_path_buf(),
            waiting: Vec::with_capacity(2 * FLUSH_BYTES),
            whole_bytes: HEADER_BYTES as u64,
            torn: false,
            flushed_end_ns: 0,
            requests: 0,
            waiting_requests: 0,
            dirty: true,
        })
    }

    /// Requests taken so far, those that wait in memory included.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Takes a finished request. Where the disk refuses it, it waits in memory and every later
    /// call tries again, until too much waits.
    pub(crate) fn append(&mut self, record: &RequestRecord) -> Result<(), StoreError> {
        self.refuse_overflow()?;
        self.add_frame(|out| put_request(out, record))
            .map_err(|detail| StoreError::Unstorable { seq: record.seq, detail })?;
        self.requests += 1;
        self.waiting_requests += 1;
        let span_ns = record.end_ns.saturating_sub(self.flushed_end_ns);
        if self.waiting.len() < FLUSH_BYTES && span_ns < FLUSH_SPAN_NS {
            return Ok(());
        }
        self.flushed_end_ns = self.flushed_end_ns.max(record.end_ns);
        self.flush()
    }

    /// Takes samples of one series.
    pub(crate) fn append_samples(&mut self, series: &Series) -> Result<(), StoreError> {
        self.refuse_overflow()?;
        self.add_frame(|out| put_samples(out, series))
            .map_err(|detail| StoreError::UnstorableSeries { name: series.name.clone(), detail })?;
        if self.waiting.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands all that waits to the kernel. After an error the file ends with a whole frame, or is
    /// cut to one before anything else is written.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.torn {
            self.file.truncate(self.whole_bytes).map_err(|source| self.failure(source))?;
            self.torn = false;
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (written, outcome) = self.write_waiting();
        self.dirty |= written > 0;
        let whole = if outcome.is_ok() { written } else { whole_frames(&self.waiting, written) };
        self.whole_bytes += whole as u64;
        self.waiting.drain(..whole);
        match outcome {
            Ok(()) => {
                self.waiting_requests = 0;
                Ok(())
            }
            Err(source) => {
                self.waiting_requests = count_frames(&self.waiting);
                self.torn = written > whole && self.file.truncate(self.whole_bytes).is_err();
                Err(self.failure(source))
            }
        }
    }

    /// Hands all that waits to the kernel and waits until it is on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        if self.dirty {
            self.file.sync().map_err(|source| self.failure(source))?;
            self.dirty = false;
        }
        Ok(())
    }

    fn write_waiting(&mut self) -> (usize, io::Result<()>) {
        let mut written = 0;
        while let Some(rest) = self.waiting.get(written..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    fn refuse_overflow(&mut self) -> Result<(), StoreError> {
        if self.waiting.len() > WAITING_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Adds a frame to those that wait, or leaves them as they were.
    fn add_frame(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>) -> Result<(), &'static str>,
    ) -> Result<(), String> {
        let start = self.waiting.len();
        self.waiting.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
        let outcome = put(&mut self.waiting).map_err(str::to_string).and_then(|()| {
            let frame = self.waiting.get_mut(start..).unwrap_or_default();
            let (head, payload) = frame.split_at_mut(FRAME_HEAD_BYTES.min(frame.len()));
            if payload.len() > PAYLOAD_BYTES_MAX {
                return Err(format!("it takes {} bytes, at most 64 MiB are stored", payload.len()));
            }
            let (length, sum) = head.split_at_mut(4);
            length.copy_from_slice(&(payload.len() as u32).to_le_bytes());
            sum.copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
            Ok(())
        });
        if outcome.is_err() {
            self.waiting.truncate(start);
        }
        outcome
    }

    fn failure(&self, source: io::Error) -> StoreError {
        let (kept, waiting) = (self.requests - self.waiting_requests, self.waiting_requests);
        StoreError::from_io("write", &self.path, source, || {
            format!(
                "{kept} finished requests are safe in it, {waiting} are not in it yet: free space, \
                 then seal the run"
            )
        })
    }
}

impl<F: StorageFile> Drop for JournalWriter<F> {
    /// A writer that is dropped without sealing, as in a panic, still hands on what it holds.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Lengths of the frames in `bytes`, which holds whole frames only.
fn frame_lengths(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize + FRAME_HEAD_BYTES;
        rest = rest.get(length..)?;
        Some(length)
    })
}

/// The largest number of bytes, at most `written`, that ends with a frame.
fn whole_frames(bytes: &[u8], written: usize) -> usize {
    frame_lengths(bytes)
        .scan(0, |end, length| {
            *end += length;
            Some(*end)
        })
        .take_while(|end| *end <= written)
        .last()
        .unwrap_or(0)
}

fn count_frames(bytes: &[u8]) -> u64 {
    let mut start = 0;
    let mut requests = 0;
    for length in frame_lengths(bytes) {
        let kind = bytes.get(start + FRAME_HEAD_BYTES);
        requests += u64::from(kind == Some(&super::KIND_REQUEST));
        start += length;
    }
    requests
}
