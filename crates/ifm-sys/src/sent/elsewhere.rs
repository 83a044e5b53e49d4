//! A system that stamps nothing that is sent, or none whose stamps we read.

use super::{SentStamp, Way};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// There are no such stamps.
///
/// # Errors
/// Always.
pub fn stamp_sends(_socket: impl AsFd) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nothing is marked, and nothing sent: [`stamp_sends`] has failed before.
///
/// # Errors
/// Always.
pub fn send_marked(_socket: impl AsFd, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// This system has no such stamps.
///
/// # Errors
/// Never.
pub fn next_stamp(_socket: impl AsFd) -> io::Result<Option<SentStamp>> {
    Ok(None)
}

/// Not reported on this system.
pub fn way(_socket: impl AsFd) -> Option<Way> {
    None
}
