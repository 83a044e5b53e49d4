//! Opens files that someone else wrote or named: regular files only.
//!
//! A pipe would make a program wait forever, and a device could give it data without end.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
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

/// Reads a file that the user named, within a number of bytes. A pipe such as `<(command)` is waited for, and a device
/// gives no more than the bound.
///
/// # Errors
/// The file cannot be read, or has more bytes.
pub fn read_named(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_within(File::open(path)?, bytes_max)
}

/// The same of a text.
///
/// # Errors
/// As [`read_named`], or the file is not UTF-8.
pub fn read_named_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read_named(path, bytes_max)?)
}

/// Reads a text that the user did not name, such as a file of a fixed name in a folder: a regular file only.
///
/// # Errors
/// As [`open_regular`] and [`read_named_text`].
pub fn read_regular_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read_within(open_regular(path)?, bytes_max)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not UTF-8 text at byte {at}"))
    })
}

fn read_within(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => {
            let why = format!("it has more than {bytes_max} bytes");
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_named_file_within_its_bound() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let length = own.metadata().unwrap().len();
        assert!(read_named_text(&own, length).unwrap().contains("ifm-core"));
        for (path, read) in [
            (own.as_path(), read_named_text(&own, length - 1)),
            (Path::new("/dev/zero"), read_named_text(Path::new("/dev/zero"), 1000)),
        ] {
            let error = read.expect_err(&path.display().to_string()).to_string();
            assert!(error.starts_with("it has more than "), "{error}");
        }
        let error = read_regular_text(Path::new("/dev/zero"), 10).unwrap_err().to_string();
        assert_eq!(error, "it is not a regular file");
    }

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
