//! Following a journal while another process writes it: what was added since the last look.
//!
//! Takes no lock and writes nothing, so the writer does not notice. A frame that is not whole yet
//! is waited for; a whole one that is damaged is skipped as soon as something follows it. The file
//! stays open, so that its last requests can be read although the run was sealed meanwhile and its
//! journal removed.

use super::decode::{Payload, payload};
use super::reader::check_header;
use super::{FRAME_HEAD_BYTES, HEADER_BYTES, PAYLOAD_BYTES_MAX};
use crate::JOURNAL_FILE;
use crate::disk::{COPY_BYTES, open_file};
use crate::error::StoreError;
use crate::run_entry::RunEntry;
use ifm_core::RequestRecord;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Reads the finished requests of a run that is still written.
pub struct RunFollower {
    file: File,
    path: PathBuf,
    /// Where the next frame begins; 0 while the header has not been seen.
    offset: u64,
    payload: Vec<u8>,
}

impl RunFollower {
    /// Follows a run from its first request.
    ///
    /// # Errors
    /// The journal cannot be opened: a sealed run has none.
    pub fn open(run: &RunEntry) -> Result<RunFollower, StoreError> {
        let path = run.path.join(JOURNAL_FILE);
        let file = open_file(&path).map_err(|source| StoreError::io("open", &path, source))?;
        Ok(RunFollower { file, path, offset: 0, payload: Vec::new() })
    }

    /// Requests that were added since the last call, in the order in which they finished, at most
    /// `most`: when that many come, there may be more. An empty list means that nothing whole was
    /// added.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or [`StoreError::Version`] for what is not an inferometer journal, or the
    /// disk's.
    pub fn next_requests(&mut self, most: usize) -> Result<Vec<RequestRecord>, StoreError> {
        let unreadable = |source| StoreError::io("read", &self.path, source);
        let end = self.file.metadata().map_err(unreadable)?.len();
        self.file.seek(SeekFrom::Start(self.offset)).map_err(unreadable)?;
        let mut source = BufReader::with_capacity(COPY_BYTES, &self.file);
        if self.offset == 0 {
            if end < HEADER_BYTES as u64 {
                return Ok(Vec::new());
            }
            let mut head = [0; HEADER_BYTES];
            source.read_exact(&mut head).map_err(unreadable)?;
            check_header(&head, &self.path)?;
            self.offset = HEADER_BYTES as u64;
        }
        let mut found = Vec::new();
        while found.len() < most && self.offset + (FRAME_HEAD_BYTES as u64) <= end {
            let mut head = [0; FRAME_HEAD_BYTES];
            source.read_exact(&mut head).map_err(unreadable)?;
            let [l0, l1, l2, l3, s0, s1, s2, s3] = head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
            let frame_end = self.offset + (FRAME_HEAD_BYTES + length) as u64;
            if length == 0 || length > PAYLOAD_BYTES_MAX || frame_end > end {
                break;
            }
            self.payload.resize(length, 0);
            source.read_exact(&mut self.payload).map_err(unreadable)?;
            let is_sound = crc32fast::hash(&self.payload) == u32::from_le_bytes([s0, s1, s2, s3]);
            match is_sound.then(|| payload(&self.payload)).flatten() {
                Some(Payload::Request(record)) => found.push(*record),
                Some(Payload::Samples(_)) => {}
                // The last frame may be incomplete; damage before other frames is real.
                None if frame_end == end => break,
                None => {}
            }
            self.offset = frame_end;
        }
        Ok(found)
    }
}
