//! Opens files that someone else wrote or named: regular files only.
//!
//! A pipe would make a program wait forever, and a device could give it data without end.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file to read it. A pipe, a socket or a device in its place is an error at once: nothing waits
/// for it, and nothing is read from it.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_regular_files_only() {
        assert!(
            open_regular(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path())
                .is_ok()
        );
        for other in ["/dev/zero", env!("CARGO_MANIFEST_DIR")] {
            let error = open_regular(Path::new(other)).expect_err(other);
            assert_eq!(error.to_string(), "it is not a regular file");
        }
    }
}
