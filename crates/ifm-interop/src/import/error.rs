//! Why a file could not be imported, and what would help.

use super::nature::Nature;
use thiserror::Error;

/// What came closest to a file that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// Name of the format.
    pub title: &'static str,
    /// Fields of it that the file has.
    pub found: Vec<&'static str>,
    /// Fields of it that the file lacks.
    pub lacking: Vec<&'static str>,
}

/// Why a file could not be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file could not be read from.
    #[error("{name}: {error}")]
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: std::io::Error,
    },
    /// Nothing in it is known.
    #[error("{name}: no known results in it{nature}")]
    NotKnown {
        /// The file.
        name: String,
        /// The kind of file, as far as it can be detected.
        nature: Nature,
        /// What came closest, nearest first.
        guesses: Box<[Guess]>,
        /// Its columns, where it looks like rows that a map could bring in.
        columns: Vec<String>,
        /// A map that fits those columns, as an example.
        example: Box<str>,
    },
    /// It is of a known format and broken.
    #[error("{name}: {title}: {reason}")]
    Broken {
        /// The file.
        name: String,
        /// Name of the format.
        title: &'static str,
        /// Line or field, and what is wrong there.
        reason: String,
    },
    /// The reader of its format panicked: the file is damaged in a way that the reader does not expect.
    #[error("{name}: cannot be read: {error}")]
    Panicked {
        /// The file.
        name: String,
        /// Message of the panic.
        error: ifm_core::contained::Panicked,
    },
    /// It is larger than is read at once.
    #[error("{name}: text of more than {max_mb} MB: split it")]
    TooLarge {
        /// The file.
        name: String,
        /// Limit, 10^6 bytes.
        max_mb: u64,
    },
    /// Something in it is larger than is kept in memory.
    #[error("{name}: too large to read: {limit}")]
    Exceeds {
        /// The file.
        name: String,
        /// What exceeds which limit.
        limit: String,
    },
}

impl ImportError {
    /// What came closest to a file that is not known, a line each, nearest first, and how its rows
    /// could be brought in.
    pub fn hints(&self) -> Vec<String> {
        let (guesses, columns, example) = match self {
            ImportError::NotKnown { guesses, columns, example, .. } => (guesses, columns, example),
            ImportError::Exceeds { .. } => {
                return vec!["split the file, or import the file that the tool wrote".to_owned()];
            }
            _ => return Vec::new(),
        };
        let line = |guess: &Guess| {
            let (found, lacking) = (guess.found.join(", "), guess.lacking.join(", "));
            format!("nearest: {}: it has {found}, and lacks {lacking}", guess.title)
        };
        let by_map = (!columns.is_empty()).then(|| {
            let all = columns.join(", ");
            format!("its columns: {all}; name them with a map, such as --map \"{example}\"")
        });
        guesses.iter().map(line).chain(by_map).collect()
    }
}
