//! What a workload turned out to be: what is stored with a run, so that two results
//! can be compared.
//!
//! Not here: the realised lengths (`LengthCounts`), which only sending makes.

use std::{collections::BTreeMap, fmt};

use ifm_core::spec::TrafficClass;
use serde::{Deserialize, Serialize};

use crate::{known::MediaFacts, request::AfterLast};

/// Bad rows that are told one by one.
const BAD_ROWS_TOLD: usize = 20;

/// What a workload is. Everything that decides which prompts are sent stands here or in
/// the request that made it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadFacts {
    /// The data set's kind, such as `random` or `sharegpt`.
    pub kind: String,
    /// The workload's name in its shortest form: a preset's, the lengths, or the kind
    /// with the file's name.
    pub name: String,
    /// The classes of mixed traffic, by the index that requests have; empty for one workload alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// The preset that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Files that were read, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SourceFile>,
    /// Rows of these files; absent where nothing was read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowCounts>,
    /// The rules that made the workload, such as `vLLM 0.33 ShareGPT filter`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Whose meaning a range ratio had, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_ratio: Option<String>,
    /// The law of the prompts' lengths, where they are made up; of a mix those of its classes, with
    /// semicolons between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<String>,
    /// The law of the lengths to ask for, where it does not come from the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<String>,
    /// Longest prompt in tokens, of the first turn; absent where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_max: Option<u32>,
    /// Largest number of tokens asked for in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
    /// Longest conversation in tokens, prompts and outputs of all turns together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens_max: Option<u64>,
    /// Turns of the longest conversation.
    pub turns_max: u32,
    /// Images, recordings and videos; absent where there are none. Counts of tokens are those of the
    /// text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaFacts>,
    /// Items that there are; absent for an endless workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// What follows the last item; without meaning for an endless workload.
    pub after_last: AfterLast,
    /// Whether items say when they are to be sent.
    pub timed: bool,
    /// Whether the server should be asked to go on until the length is reached, as this
    /// workload wants it.
    pub ignore_eos: bool,
    /// Seed of what is made up.
    pub seed: u64,
    /// Seed of what was chosen from a file, where something was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection_seed: Option<u64>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceFile {
    /// Its name, without the folder.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// What became of the rows of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowCounts {
    /// Rows that were looked at.
    pub read: u64,
    /// Rows that became items.
    pub kept: u64,
    /// Rows that a rule left out, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<DropReason, u64>,
    /// Rows that were malformed.
    pub bad: u64,
    /// The first malformed rows, as `file:line: reason`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad_rows: Vec<String>,
    /// Rows that were read and not needed: enough had been found.
    pub unused: u64,
    /// Whether the files were read to their end.
    pub whole: bool,
}

impl RowCounts {
    pub(crate) fn drop_row(&mut self, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    pub(crate) fn tell_bad(&mut self, file: &str, line: u64, reason: &str) {
        self.bad += 1;
        if self.bad_rows.len() < BAD_ROWS_TOLD {
            self.bad_rows.push(format!("{file}:{line}: {reason}"));
        }
    }

    /// Why rows are missing, in words.
    pub(crate) fn reasons(&self) -> String {
        let mut reasons = self.dropped.iter().map(|(reason, count)| format!("{count} {reason}"));
        let mut text = reasons.by_ref().collect::<Vec<_>>().join(", ");
        if self.bad > 0 {
            let comma = if text.is_empty() { "" } else { ", " };
            text += &format!("{comma}{} malformed ({})", self.bad, self.bad_rows.join("; "));
        }
        if text.is_empty() { "there are none".to_owned() } else { text }
    }
}

/// Why a rule left a row out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The conversation has fewer than two turns.
    TooFewTurns,
    /// The prompt has too few tokens.
    PromptTooShort,
    /// The prompt has too many tokens.
    PromptTooLong,
    /// The answer has too few tokens.
    OutputTooShort,
    /// Prompt and answer together have too many tokens.
    TotalTooLong,
    /// The edit is smaller or larger than asked for.
    DistanceOutside,
    /// The trace's request had failed, or answered nothing.
    Failed,
    /// The trace's request went to another model.
    OtherModel,
    /// The rule drew other rows.
    NotDrawn,
    /// It asks for something that is not text generation.
    NotText,
    /// It belongs to a session of which another row is malformed.
    Incomplete,
}

impl fmt::Display for DropReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooFewTurns => "with too few turns",
            Self::PromptTooShort => "with a prompt that is too short",
            Self::PromptTooLong => "with a prompt that is too long",
            Self::OutputTooShort => "with an answer that is too short",
            Self::TotalTooLong => "too long altogether",
            Self::DistanceOutside => "with an edit outside the distances asked for",
            Self::Failed => "that had failed",
            Self::OtherModel => "of another model",
            Self::NotDrawn => "not drawn",
            Self::NotText => "that are not text generation",
            Self::Incomplete => "of sessions with a malformed row",
        })
    }
}
