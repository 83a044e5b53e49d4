//! How the program ends: the exit codes, and errors that say what to do.

use std::fmt;
use std::process::ExitCode;

/// Exit codes. They are part of the interface: a meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Done = 0,
    /// A threshold is violated, or a run is worse, with confidence; or a client got something wrong.
    Failed = 1,
    /// The command line or a configuration is invalid.
    Usage = 2,
    /// Part of the input could not be read; the rest was.
    Partly = 3,
    /// The data are inconclusive for a threshold.
    Inconclusive = 4,
    /// The server cannot be reached, or inferometer does not support it.
    Server = 5,
    /// The run is not valid: no request got a complete answer.
    Invalid = 6,
    /// Runs answer different questions and cannot be compared.
    Unlike = 7,
    /// An audit found something that is hard to explain innocently.
    Doubtful = 8,
    /// An audit found something that cannot be right.
    Proof = 9,
    /// A bug of this program.
    Internal = 70,
    /// Results cannot be written or read.
    Files = 74,
    /// Stopped by the user (SIGINT); finished results are kept.
    Interrupted = 130,
    /// Stopped by the system (SIGTERM); finished results are kept.
    Terminated = 143,
}

impl Code {
    /// Every code, with what it means in a sentence.
    pub const MEANINGS: [(Code, &str); 14] = [
        (Code::Done, "Done."),
        (
            Code::Failed,
            "A threshold is violated, or a result is worse, with confidence; or a client got \
            something wrong.",
        ),
        (Code::Usage, "The command line, or something that it names, cannot be understood."),
        (Code::Partly, "Part of the input could not be read; the rest was."),
        (Code::Inconclusive, "The data are inconclusive for a threshold."),
        (Code::Server, "The server cannot be reached or measured."),
        (
            Code::Invalid,
            "The run is not valid: no request got a complete answer, or the load was not the one \
            asked for.",
        ),
        (Code::Unlike, "Results answer different questions and cannot be compared."),
        (Code::Doubtful, "An audit found strong evidence of an error."),
        (Code::Proof, "An audit found something that cannot be right."),
        (Code::Internal, "A bug of this program."),
        (Code::Files, "Results cannot be written or read."),
        (Code::Interrupted, "Stopped by the user; finished results are kept."),
        (Code::Terminated, "Stopped by the system; finished results are kept."),
    ];

    /// The code with a given number, e.g. from a measurement in a separate process.
    pub fn of_number(number: i32) -> Option<Code> {
        Code::MEANINGS.iter().map(|(code, _)| *code).find(|code| *code as i32 == number)
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// An error to report to the user: what failed, and what to do.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: Code,
    sentence: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure with this exit code.
    pub fn new(code: Code, sentence: impl Into<String>) -> Failure {
        let sentence = sentence.into();
        // Errors of libraries contain their hint.
        match sentence.split_once("; hint: ") {
            Some((sentence, hint)) => {
                Failure { code, sentence: sentence.to_owned(), hint: Some(hint.to_owned()) }
            }
            None => Failure { code, sentence, hint: None },
        }
    }

    /// An error on the command line.
    pub fn usage(sentence: impl Into<String>) -> Failure {
        Failure::new(Code::Usage, sentence)
    }

    /// An error of the server.
    pub fn server(sentence: impl Into<String>) -> Failure {
        Failure::new(Code::Server, sentence)
    }

    /// Files that cannot be read or written.
    pub fn files(sentence: impl Into<String>) -> Failure {
        Failure::new(Code::Files, sentence)
    }

    /// The error, without the hint.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Prepends the earlier events to the sentence.
    pub fn also(mut self, sentence: &str) -> Failure {
        self.sentence.push_str("; ");
        self.sentence.push_str(sentence);
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error: {}", self.sentence)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
