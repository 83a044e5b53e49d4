//! Where JSON is damaged, and how.

use thiserror::Error;

/// A place that is not JSON.
#[derive(Debug, Error)]
#[error("{kind}")]
pub(crate) struct Fault {
    /// Line, from 1.
    pub line: u32,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// What is wrong.
#[derive(Debug, Error)]
pub(crate) enum FaultKind {
    /// The file ends inside a value.
    #[error("the file ends inside a value")]
    Ends,
    /// No value begins here.
    #[error("no value where one should stand")]
    NoValue,
    /// A name or text is missing.
    #[error("no text in quotes where one should stand")]
    NoText,
    /// A text goes past the end of its line.
    #[error("a text without its closing quote")]
    OpenText,
    /// An expected character is missing.
    #[error("`{0}` is missing")]
    Expected(char),
    /// An object ends without its closing bracket, and the next one begins.
    #[error("an object breaks off and the next one begins")]
    BreaksOff,
    /// Values lie too deep in each other.
    #[error("values lie too deep in each other")]
    Deep,
    /// A value is larger than is held at once.
    #[error("one value of more than {0} MB")]
    Large(usize),
    /// A list has more values than are kept.
    #[error("more than {0} values of a list")]
    Many(usize),
    /// The file could not be read from.
    #[error("{0}")]
    Unreadable(std::io::Error),
}
