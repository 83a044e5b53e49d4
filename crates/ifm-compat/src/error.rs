//! Why a line of another tool is not translated.

use thiserror::Error;

/// Why a line is not translated.
#[derive(Debug, Error)]
pub enum CompatError {
    /// A built-in table cannot be read.
    #[error("{0}")]
    Table(#[from] toml::de::Error),
    /// A shell could not read the line either.
    #[error("{0}")]
    Line(String),
    /// The line has a flag or a value that is not known.
    #[error("{why}; hint: see {page} for its flags")]
    Flags {
        /// The flag or the value, in a sentence.
        why: String,
        /// Page of the tool that documents its flags.
        page: String,
    },
    /// The tool is known, and no command of ours measures what the line measures.
    #[error("{program} is not run as one of our commands: {why}")]
    OtherBenchmark {
        /// The program and its command.
        program: &'static str,
        /// What does the same, in a sentence.
        why: &'static str,
    },
    /// The line begins with a program that has no table.
    #[error("{first} is not a tool whose commands can be translated; hint: there are {known}")]
    UnknownTool {
        /// First word of the line.
        first: String,
        /// Names of the tools that have one.
        known: String,
    },
}
