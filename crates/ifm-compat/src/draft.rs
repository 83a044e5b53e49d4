//! An inferometer command under construction from another tool's command.

use serde_json::{Map, Value};

/// The command, and what its reader has to know of it.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Draft {
    /// `run`, `sweep` or `engine`.
    pub verb: String,
    /// The server.
    pub url: Option<String>,
    /// Our flags, in the order in which they were set; a switch has no value.
    flags: Vec<(String, Option<String>)>,
    /// Fields of the request body.
    pub body: Map<String, Value>,
    /// inferometer's own flags in the line: they come last, and take precedence.
    pub own: Vec<String>,
    /// Flags that have no effect here, with what that means.
    pub left_out: Vec<(String, String)>,
    /// What differs in definition.
    pub differences: Vec<String>,
    /// Files that the command reads and that are not there yet, with their text.
    pub writes: Vec<(String, String)>,
    /// Files and folders that the line reads, with their flags.
    pub reads: Vec<(String, String)>,
}

impl Draft {
    /// Sets a flag, replacing its previous value.
    pub fn set(&mut self, flag: &str, value: impl Into<String>) {
        self.unset(flag);
        self.add(flag, value);
    }

    /// Adds a flag that may be there already.
    pub fn add(&mut self, flag: &str, value: impl Into<String>) {
        self.flags.push((flag.to_owned(), Some(value.into())));
    }

    /// Sets a switch.
    pub fn switch(&mut self, flag: &str) {
        self.unset(flag);
        self.flags.push((flag.to_owned(), None));
    }

    /// Takes a flag away.
    pub fn unset(&mut self, flag: &str) {
        self.flags.retain(|(known, _)| known != flag);
    }

    /// Whether a flag is set, by the draft or by the user in our words.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|(known, _)| known == flag)
            || self.own.iter().any(|word| word.split('=').next() == Some(flag))
    }

    /// Sets a flag unless it is already set.
    pub fn assume(&mut self, flag: &str, value: impl Into<String>) {
        if !self.has(flag) {
            self.add(flag, value);
        }
    }

    /// The value of a flag.
    pub fn value(&self, flag: &str) -> Option<&str> {
        self.flags.iter().find(|(known, _)| known == flag).and_then(|(_, value)| value.as_deref())
    }

    /// Notes that a flag does nothing here.
    pub fn leave_out(&mut self, flag: &str, effect: impl Into<String>) {
        self.left_out.push((flag.to_owned(), effect.into()));
    }

    /// Notes a file that the line reads.
    pub fn reads(&mut self, flag: &str, path: &str) {
        self.reads.push((flag.to_owned(), path.to_owned()));
    }

    /// Notes what differs in definition.
    pub fn differs(&mut self, sentence: impl Into<String>) {
        self.differences.push(sentence.into());
    }

    /// The words of the command, program name first.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["inferometer".to_owned(), self.verb.clone()];
        words.extend(self.url.clone());
        for (flag, value) in &self.flags {
            match value {
                None => words.push(flag.clone()),
                // A value that looks like a flag, or the value of a flag that requires `=`.
                Some(value) if value.starts_with('-') || JOINED.contains(&flag.as_str()) => {
                    words.push(format!("{flag}={value}"));
                }
                Some(value) => words.extend([flag.clone(), value.clone()]),
            }
        }
        if !self.body.is_empty() {
            words.extend(["--extra-body".to_owned(), Value::from(self.body.clone()).to_string()]);
        }
        words.extend(self.own.iter().cloned());
        words
    }
}

/// Flags that accept a value only after an equals sign.
const JOINED: &[&str] = &["--ignore-eos", "--replay", "--json"];
