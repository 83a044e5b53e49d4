//! The journal: where finished requests go while the run is open.
//!
//! Layout, all numbers little-endian: a header of 16 bytes (8 bytes of magic, `u32` version,
//! `u32` CRC-32 of those 12), then frames: `u32` length of the payload, `u32` CRC-32 of the
//! payload, payload. A payload is one request or some samples of one series; see `encode`.
//!
//! Frames are only added at the end. A frame that is not whole ends the journal: what a crash
//! tore off is cut, counted and reported.

mod bytes;
mod decode;
mod encode;
mod follow;
mod reader;
mod writer;

pub use follow::RunFollower;
pub(crate) use reader::{JournalReader, merge_series};
pub(crate) use writer::JournalWriter;

/// First bytes of a journal.
pub(crate) const MAGIC: [u8; 8] = *b"IFMJRNL\n";
/// Version of the layout that this build writes. It reads all up to it: a new version only adds
/// flags, and with them fields, to requests.
pub(crate) const VERSION: u32 = 4;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 16;
/// Bytes before each payload.
pub(crate) const FRAME_HEAD_BYTES: usize = 8;
/// Largest payload: about 13 million token events of one request.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// First byte of a payload that holds a request.
pub(crate) const KIND_REQUEST: u8 = 1;
/// First byte of a payload that holds samples of one series.
pub(crate) const KIND_SAMPLES: u8 = 2;

/// What a journal had lost when it was read: the unfinished frame that a crash leaves at the end,
/// and frames whose content had changed on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLoss {
    /// Bytes that could not be used.
    pub bytes_dropped: u64,
    /// Whole frames among them whose checksum did not fit, with sound frames after them: damage
    /// rather than a crash.
    pub damaged_frames: u32,
}

impl std::fmt::Display for JournalLoss {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JournalLoss { bytes_dropped, damaged_frames } = self;
        if *damaged_frames == 0 {
            write!(formatter, "the last {bytes_dropped} bytes of the journal were no whole record")
        } else {
            write!(
                formatter,
                "{bytes_dropped} bytes of the journal could not be used, \
                 {damaged_frames} damaged records among them"
            )
        }
    }
}

/// The header of a new journal.
pub(crate) fn header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let (told, sum) = header.split_at_mut(HEADER_BYTES - 4);
    let (magic, version) = told.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    version.copy_from_slice(&VERSION.to_le_bytes());
    sum.copy_from_slice(&crc32fast::hash(told).to_le_bytes());
    header
}
