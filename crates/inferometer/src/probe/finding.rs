//! One thing that a probe found out: what, how, and what it means for a measurement.

use serde::Serialize;
use serde_json::Value;

/// Where in the report it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What the server is.
    Server,
    /// How answers come.
    Answers,
    /// Which wishes are honoured.
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
            Section::Wishes => "wishes",
            Section::Prompts => "prompts",
            Section::Line => "line",
        }
    }
}

/// What it means for a measurement, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// As a measurement wants it.
    Good,
    /// Worth knowing.
    Note,
    /// Some measurements are not possible, or mislead.
    Caution,
    /// Could not be found out.
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

/// One thing that was found out, or could not be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable id.
    pub id: &'static str,
    /// Where it stands.
    pub section: Section,
    /// What it means, in one word.
    pub grade: Grade,
    /// The value for programs; null where it is not known.
    pub value: Value,
    /// The value in words.
    pub text: String,
    /// How it was found, in one sentence without an end mark.
    pub how: String,
    /// What it means for a measurement; empty where nothing follows.
    pub means: String,
}

impl Finding {
    /// Something that is known.
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

    /// Something that could not be found out, and why.
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

    /// Says how it was found.
    pub fn how(mut self, how: impl Into<String>) -> Finding {
        self.how = how.into();
        self
    }

    /// Says what it means for a measurement.
    pub fn means(mut self, means: impl Into<String>) -> Finding {
        self.means = means.into();
        self
    }
}
