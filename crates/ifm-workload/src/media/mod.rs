//! Images, recordings and videos in prompts: made from the seed, or read from files.
//!
//! A medium is a function of the seed and of its number alone, like every prompt, so that the same
//! seed sends the same bytes whichever thread makes them and in whatever order. Files are read,
//! looked into and put into base64 before the load begins.
//!
//! Not here: how an API writes media (`ifm-wire`), which columns of a data set hold them (`dataset`).

mod ahead;
mod column;
mod dress;
mod file;
mod look;
mod made;
mod parts;
mod pixels;
mod pool;
mod share;
mod sheet;
mod wanted;

pub(crate) use column::{Reader, with_media};
pub use sheet::{Thumbnail, thumbnail};
pub(crate) use wanted::Wanted;

/// The largest file of one medium in bytes. More than a server takes (vLLM: 25 MB of sound), and
/// little enough for all requests in flight to hold one.
pub(crate) const FILE_BYTES_MAX: u64 = 128 << 20;
/// Bytes of all media that are kept in memory at most.
pub(crate) const KEPT_BYTES_MAX: u64 = 4 << 30;
/// Media of one request at most.
pub(crate) const MEDIA_MAX: u32 = 1024;
