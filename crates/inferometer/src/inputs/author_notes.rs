//! The file with the author's own notes for a report.

use crate::exit::Failure;
use ifm_report::page::Notes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum size of notes. They accompany a report: a book is a mistake.
const BYTES_MAX: u64 = 256 << 10;

/// Reads notes.
///
/// # Errors
/// A file that cannot be read, is too large or empty, or is not text.
pub fn read(path: &Path) -> Result<Notes, Failure> {
    let name = path.display();
    let refused = |reason: String| {
        Failure::usage(format!("--notes {name}: {reason}"))
            .hint("give a text file with Markdown, such as notes.md")
    };
    if path.is_dir() {
        return Err(refused("this is a folder".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(refused(format!("larger than {} KiB", BYTES_MAX >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused("not UTF-8 text".to_owned()))?;
    if text.contains('\0') {
        return Err(refused("not text: it contains zero bytes".to_owned()));
    }
    // The byte order mark that some editors write is not part of the text.
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Err(refused("nothing is written in it".to_owned()));
    }
    let file = path.file_name().unwrap_or(path.as_os_str());
    Ok(Notes::new(&file.to_string_lossy(), text))
}
