//! The built program, asked for one JSON document at a time.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Why a claim could not be counted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The program cannot be started, or a file cannot be written.
    #[error("{what}: {source}")]
    Host {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The program wrote something else than the expected document.
    #[error("{command}: {what}; it wrote {text:?}")]
    Unexpected {
        /// The command line.
        command: String,
        /// What is missing.
        what: &'static str,
        /// The start of what the program wrote on both of its streams.
        text: String,
    },
}

/// Characters of an answer that an error quotes.
const QUOTED: usize = 600;

/// A built program, and a folder in which it runs.
#[derive(Debug, Clone)]
pub(super) struct Program<'a> {
    pub path: &'a Path,
    pub folder: PathBuf,
}

impl Program<'_> {
    /// Runs a command; its document, whatever its exit code is.
    pub fn json(&self, words: &[&str]) -> Result<Value, ClaimError> {
        let output = Command::new(self.path)
            .args(words)
            .arg("--json")
            .current_dir(&self.folder)
            .env("INFEROMETER_STORE", self.folder.join("runs"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ClaimError::Host { what: words.join(" "), source })?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let text = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            self.unexpected(words, "no JSON document", &text)
        })
    }

    /// That a document lacks something.
    pub fn unexpected(&self, words: &[&str], what: &'static str, text: &str) -> ClaimError {
        let text = text.chars().take(QUOTED).collect();
        ClaimError::Unexpected { command: words.join(" "), what, text }
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, document: &Value) -> Result<(), ClaimError> {
        let path = self.folder.join(name);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&path, document.to_string()))
            .map_err(|source| ClaimError::Host { what: path.display().to_string(), source })
    }
}
