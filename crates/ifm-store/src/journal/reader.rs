//! Reading a journal back, as far as it is whole.
//!
//! A frame that ends too early is the mark of a crash: reading stops there. A frame whose checksum
//! does not fit is damage: it is stepped over if the next frame is sound, so that one bad sector
//! does not cost the rest of a run. Both are counted.

use super::decode::{Payload, payload};
use super::{FRAME_HEAD_BYTES, HEADER_BYTES, JournalLoss, MAGIC, PAYLOAD_BYTES_MAX, VERSION};
use crate::disk::{COPY_BYTES, open_file};
use crate::error::StoreError;
use ifm_core::{RequestRecord, Series};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Reads a journal from its start, one request at a time.
pub(crate) struct JournalReader {
    file: BufReader<File>,
    path: PathBuf,
    /// Bytes of the file, as of opening, that are not read yet. A live writer may add more.
    left: u64,
    payload: Vec<u8>,
    series: Vec<Series>,
    bytes_dropped: u64,
    damaged_frames: u32,
    /// Whether there is damage with a sound frame after it, which distinguishes it from a torn end.
    doubtful: bool,
}

/// One step through the frames.
enum Step {
    Sound(Payload),
    Damaged,
    End,
}

impl JournalReader {
    /// Opens a journal and checks its header.
    pub(crate) fn open(path: &Path) -> Result<JournalReader, StoreError> {
        let file = open_file(path).map_err(|source| StoreError::io("open", path, source))?;
        JournalReader::start(file, path)
    }

    /// Reads from an open file that is at its start.
    pub(crate) fn start(file: File, path: &Path) -> Result<JournalReader, StoreError> {
        let bytes =
            file.metadata().map_err(|source| StoreError::io("inspect", path, source))?.len();
        let mut file = BufReader::with_capacity(COPY_BYTES, file);
        if bytes < HEADER_BYTES as u64 {
            return Err(StoreError::damaged(path, "shorter than the header of a journal"));
        }
        let mut head = [0; HEADER_BYTES];
        file.read_exact(&mut head).map_err(|source| StoreError::io("read", path, source))?;
        check_header(&head, path)?;
        Ok(JournalReader {
            file,
            path: path.to_path_buf(),
            left: bytes - HEADER_BYTES as u64,
            payload: Vec::new(),
            series: Vec::new(),
            bytes_dropped: 0,
            damaged_frames: 0,
            doubtful: false,
        })
    }

    /// The next request, or `None` at the end of what is whole. Samples on the way are gathered.
    pub(crate) fn next_request(&mut self) -> Result<Option<RequestRecord>, StoreError> {
        loop {
            match self.step()? {
                Step::End => {
                    self.bytes_dropped += self.left;
                    self.left = 0;
                    return Ok(None);
                }
                Step::Damaged if self.doubtful => {
                    // Two in a row: the lengths themselves cannot be trusted any more.
                    self.bytes_dropped += self.left;
                    self.left = 0;
                    return Ok(None);
                }
                Step::Damaged => self.doubtful = true,
                Step::Sound(found) => {
                    self.damaged_frames += u32::from(self.doubtful);
                    self.doubtful = false;
                    match found {
                        Payload::Request(record) => return Ok(Some(*record)),
                        Payload::Samples(samples) => merge_series(&mut self.series, samples),
                    }
                }
            }
        }
    }

    /// What could not be used; complete once the last request was read.
    pub(crate) fn loss(&self) -> Option<JournalLoss> {
        let JournalReader { bytes_dropped, damaged_frames, .. } = *self;
        (bytes_dropped > 0).then_some(JournalLoss { bytes_dropped, damaged_frames })
    }

    /// The series gathered; complete once the last request was read.
    pub(crate) fn into_series(self) -> Vec<Series> {
        self.series
    }

    /// Reads one frame. Bytes of a damaged one are counted as dropped.
    fn step(&mut self) -> Result<Step, StoreError> {
        if self.left < FRAME_HEAD_BYTES as u64 {
            return Ok(Step::End);
        }
        let mut head = [0; FRAME_HEAD_BYTES];
        let unreadable = |source| StoreError::io("read", &self.path, source);
        self.file.read_exact(&mut head).map_err(unreadable)?;
        let [l0, l1, l2, l3, s0, s1, s2, s3] = head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let frame_bytes = (FRAME_HEAD_BYTES + length) as u64;
        if length == 0 || length > PAYLOAD_BYTES_MAX || frame_bytes > self.left {
            return Ok(Step::End);
        }
        self.payload.resize(length, 0);
        self.file.read_exact(&mut self.payload).map_err(unreadable)?;
        self.left -= frame_bytes;
        let sound = crc32fast::hash(&self.payload) == u32::from_le_bytes([s0, s1, s2, s3]);
        match sound.then(|| payload(&self.payload)).flatten() {
            Some(found) => Ok(Step::Sound(found)),
            None => {
                self.bytes_dropped += frame_bytes;
                Ok(Step::Damaged)
            }
        }
    }
}

pub(super) fn check_header(head: &[u8; HEADER_BYTES], path: &Path) -> Result<(), StoreError> {
    let [told @ .., s0, s1, s2, s3] = head;
    if !told.starts_with(&MAGIC) {
        return Err(StoreError::damaged(path, "does not start as a journal does"));
    }
    if crc32fast::hash(told) != u32::from_le_bytes([*s0, *s1, *s2, *s3]) {
        return Err(StoreError::damaged(path, "the checksum of its header does not fit"));
    }
    let [.., v0, v1, v2, v3] = told;
    let version = u32::from_le_bytes([*v0, *v1, *v2, *v3]);
    if version == 0 || version > VERSION {
        return Err(StoreError::Version {
            path: path.to_path_buf(),
            found: version.to_string(),
            supported: format!("1 to {VERSION}"),
        });
    }
    Ok(())
}

/// Adds samples to the series of the same name, unit and source, or as a new series.
pub(crate) fn merge_series(all: &mut Vec<Series>, samples: Series) {
    let same = |series: &&mut Series| {
        series.name == samples.name
            && series.unit == samples.unit
            && series.source == samples.source
    };
    match all.iter_mut().find(same) {
        Some(series) => {
            series.at_ns.extend_from_slice(&samples.at_ns);
            series.value.extend_from_slice(&samples.value);
        }
        None => all.push(samples),
    }
}
