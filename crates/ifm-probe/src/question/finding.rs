//! A finding of a probe: what, how, and what it means for a measurement.

use serde::Serialize;
use serde_json::Value;

/// Section of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Identity of the server.
    Server,
    /// How answers arrive.
    Answers,
    /// Which parameters are honored.
    Wishes,
    /// How prompts are counted and cached.
    Prompts,
    /// The connection.
    Line,
}

impl Section {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Server => "server",
            Section::Answers => "answers",
            Section::Wishes => "parameters",
            Section::Prompts => "prompts",
            Section::Line => "network",
        }
    }
}

/// What it means for a measurement, as a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// As a measurement needs it.
    Good,
    /// Worth knowing.
    Note,
    /// Some measurements are impossible, or mislead.
    Caution,
    /// Could not be determined.
    Unknown,
}

impl Grade {
    /// Its sign, one column wide.
    pub fn sign(self, is_ascii: bool) -> char {
        match (self, is_ascii) {
            (Grade::Good, false) => '✓',
            (Grade::Note, false) => '·',
            (Grade::Caution, false) => '⚠',
            (Grade::Good, true) => '+',
            (Grade::Note, true) => '-',
            (Grade::Caution, true) => '!',
            (Grade::Unknown, _) => '?',
        }
    }
}

/// A finding, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable id.
    pub id: &'static str,
    /// Its section.
    pub section: Section,
    /// What it means, as a state.
    pub grade: Grade,
    /// The value as JSON; null if unknown.
    pub value: Value,
    /// The value as text.
    pub text: String,
    /// How it was determined, in one sentence without an end mark.
    pub how: String,
    /// What it means for a measurement; empty if nothing follows.
    pub means: String,
}

impl Finding {
    /// A known value.
    pub fn known(
        (section, id): (Section, &'static str),
        grade: Grade,
        value: impl Into<Value>,
        text: impl Into<String>,
    ) -> Finding {
        Finding {
            id,
            section,
            grade,
            value: value.into(),
            text: text.into(),
            how: String::new(),
            means: String::new(),
        }
    }

    /// An unknown value, and why.
    pub fn unknown((section, id): (Section, &'static str), why: impl Into<String>) -> Finding {
        Finding {
            id,
            section,
            grade: Grade::Unknown,
            value: Value::Null,
            text: "not known".to_owned(),
            how: why.into(),
            means: String::new(),
        }
    }

    /// Sets how it was determined.
    pub fn how(mut self, how: impl Into<String>) -> Finding {
        self.how = how.into();
        self
    }

    /// Sets what it means for a measurement.
    pub fn means(mut self, means: impl Into<String>) -> Finding {
        self.means = means.into();
        self
    }
}
