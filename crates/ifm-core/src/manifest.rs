//! The head of a run: one JSON document next to the rows.
//!
//! This is a stable format: additive changes only within a major schema version.

use crate::facts::Facts;
use crate::health::ClientHealth;
use crate::prediction::Prediction;
use crate::session::EndedSession;
use crate::setting::Setting;
use crate::spec::RunSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the run format that this build writes. Major versions are not compatible.
pub const SCHEMA_VERSION: &str = "1.3";

/// Whether the run is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Being written, or cut off while it was: the rows are in the journal.
    Open,
    /// Sealed after all levels were done.
    Complete,
    /// Sealed, but stopped by the user, by an error or by a crash: what was finished is there.
    Partial,
}

/// The machine that the client ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostInfo {
    /// Operating system and kernel release.
    pub os: String,
    /// Processor name; absent if not reported.
    pub cpu: Option<String>,
    /// Logical processors that this process may use.
    pub cpus: u32,
    /// Memory, bytes; absent if not reported.
    pub memory_bytes: Option<u64>,
    /// One-minute load average at the start; absent if not reported.
    pub load_average: Option<f64>,
    /// Whether the kernel stamps received segments here (tested over loopback).
    pub kernel_stamps: bool,
}

/// What the server reported about itself. Every field is absent where it was not reported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerInfo {
    /// The `Server` header.
    pub server_header: Option<String>,
    /// Kind of server as recognised: `vllm`, `sglang`, `llama.cpp`, `inferometer`…
    pub kind: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Models it offers.
    pub models: Vec<String>,
    /// Longest context of the model, tokens.
    pub context_tokens: Option<u32>,
    /// Anything else worth keeping: engine facts of the embedded server among them.
    pub notes: BTreeMap<String, String>,
}

impl ServerInfo {
    /// Whether it says that it computes nothing: a simulated server of inferometer.
    pub fn is_simulated(&self) -> bool {
        self.notes.get("simulated").is_some_and(|told| told == "true")
    }
}

/// The id that a request carries: unique among all requests of all runs, and found in the log of a
/// server that keeps it.
pub fn request_id(run_id: &str, seq: u32) -> String {
    format!("{run_id}-{seq}")
}

impl Manifest {
    /// The id that the request of this position carried in the header `X-Request-Id`; absent where
    /// none was sent.
    pub fn request_id(&self, seq: u32) -> Option<String> {
        self.spec.target.request_ids.then(|| request_id(&self.run_id, seq))
    }
}

/// How the clocks of the run relate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockInfo {
    /// Name of the monotonic clock.
    pub source: String,
    /// UTC nanoseconds since the epoch at the run's origin.
    pub origin_unix_ns: u64,
    /// The run's origin on the monotonic clock itself, nanoseconds: what ties the run to stamps
    /// that other processes of the same host took. Absent in runs of earlier versions.
    #[serde(default)]
    pub origin_monotonic_ns: Option<u64>,
    /// Pairs of (nanoseconds since the origin, wall clock minus monotonic clock relative to the
    /// first pair, nanoseconds), about one a second: the drift between the clocks.
    pub offset_ns: Vec<(u64, i64)>,
}

crate::vocabulary! {
    /// What ended a level.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum LevelEnd {
        /// The number of requests, the duration, or the end of the workload or schedule.
        Planned = "planned",
        /// The intervals were as narrow as requested.
        Settled = "settled",
        /// The latency target was surely missed.
        TargetBroken = "target_broken",
        /// Too many requests failed for the level to meet any target.
        TooManyErrors = "too_many_errors",
        /// The time for all levels was over.
        Budget = "budget",
        /// The user, or a server that could not be used.
        Stopped = "stopped",
    }
}

impl LevelEnd {
    /// Whether the level was as long as it was meant to be.
    pub fn is_complete(self) -> bool {
        !matches!(self, LevelEnd::Budget | LevelEnd::Stopped)
    }
}

/// When one level ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelInfo {
    /// Index into the levels of the spec.
    pub level: u16,
    /// Start of the measured phase (after warm-up), nanoseconds since the origin.
    pub start_ns: u64,
    /// When the level stopped sending; what follows is the drain.
    pub send_end_ns: u64,
    /// End of the last request.
    pub end_ns: u64,
    /// Whether it ran to its planned end, or to one by evidence where that was asked for.
    pub complete: bool,
    /// What ended it; absent in runs before format 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<LevelEnd>,
    /// Index of the level that was measured instead of this one, because this one was worse than a
    /// larger load; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_again: Option<u16>,
}

/// A file of the run folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileInfo {
    /// Name within the folder.
    pub name: String,
    /// Rows in it.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Who turns messages into the text that the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TemplatePlace {
    /// The server, with the model's chat template: its tokens come on top of the prompt's.
    Server,
    /// No template: the prompt is what the model reads, except for a token at its start.
    #[serde(alias = "nobody")]
    None,
}

/// What was sent, as it turned out. Two results compare only if this is alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentWorkload {
    /// What the workload says of itself: its files with their SHA-256, rows kept and left out by
    /// reason, rules, laws of lengths, seeds. See the page on the run format.
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// Who applied the chat template.
    pub template_by: TemplatePlace,
    /// Prompts that were sent, warm-up included. A turn of a conversation counts as one.
    pub prompts: u64,
    /// How many of them were different.
    pub distinct_prompts: u64,
    /// Conversations that were begun; absent where requests are independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Sessions that ended early for a reason that no request shows; absent in runs before format
    /// 1.3, and where requests are independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_sessions: Vec<EndedSession>,
    /// Prompt lengths asked for, tokens, rising, each with how often it was sent. A later turn
    /// of a conversation counts what it adds.
    pub prompt_tokens: Vec<(u32, u64)>,
    /// Output lengths asked for, likewise.
    pub output_tokens: Vec<(u32, u64)>,
}

/// Name and version of the program that wrote the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolInfo {
    /// `inferometer`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The same prompt with a medium and without it, as a server counted it before a run. The difference
/// counts for media of this kind and size, or length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediaPair {
    /// `image`, `audio` or `video`.
    pub kind: String,
    /// Pixels across, of an image or of each frame; absent for sound.
    pub width: Option<u32>,
    /// Pixels down, likewise.
    pub height: Option<u32>,
    /// Frames of a video; absent for what has none.
    pub frames: Option<u32>,
    /// Length of a recording or a video, nanoseconds; absent for images.
    pub duration_ns: Option<u64>,
    /// SHA-256 of the medium that was sent, in hex.
    pub sha256: String,
    /// Prompt tokens with it.
    pub tokens_with: u32,
    /// Prompt tokens without it.
    pub tokens_without: u32,
}

impl MediaPair {
    /// Tokens of the medium; absent where the counts make no sense.
    pub fn tokens(&self) -> Option<u32> {
        self.tokens_with.checked_sub(self.tokens_without).filter(|tokens| *tokens > 0)
    }
}

/// A field of the request body that the server rejected before the load. The load was sent without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedField {
    /// Name of the field.
    pub field: String,
    /// Name of the field that was sent instead; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// HTTP status of the rejection.
    pub status: u16,
    /// The server's words, at most 300 characters.
    pub message: String,
}

/// What a search for the capacity ended with. Loads are users, or requests per second where levels
/// have arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityFound {
    /// The largest load that was shown to be inside the latency target; absent where none was.
    pub inside: Option<f64>,
    /// The smallest load that was shown to be outside; absent where none was.
    pub outside: Option<f64>,
    /// Levels that, taken together, showed that it is: its looks, except one after the search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_looks: Vec<u16>,
    /// The smallest and the largest load between the two that were looked at and not settled.
    pub unsettled: Option<(f64, f64)>,
    /// Ends of the search for which a look after it surely showed the contrary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicted: Vec<f64>,
    /// Whether the search came to its end.
    pub is_over: bool,
    /// Cost of an hour of the whole server, US dollars; absent if not specified.
    pub usd_per_hour: Option<f64>,
    /// GPUs of the server, if specified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<f64>,
}

/// The cell of a plan that a run measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanCell {
    /// Name of the plan.
    pub plan: String,
    /// Key of the cell: it follows from the cell's whole setting.
    pub cell: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Which try it was, from 1.
    pub attempt: u32,
}

impl std::str::FromStr for PlanCell {
    type Err = &'static str;

    /// Reads what [`PlanCell`]'s `Display` writes.
    fn from_str(text: &str) -> Result<PlanCell, Self::Err> {
        const FORM: &str = "expected PLAN/CELL/REPEAT/ATTEMPT";
        let parts: Vec<&str> = text.split('/').collect();
        let [plan, cell, repeat, attempt] = parts[..] else { return Err(FORM) };
        let number = |text: &str| text.parse().map_err(|_| FORM);
        let (plan, cell) = (plan.to_owned(), cell.to_owned());
        Ok(PlanCell { plan, cell, repeat: number(repeat)?, attempt: number(attempt)? })
    }
}

impl std::fmt::Display for PlanCell {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}/{}/{}", self.plan, self.cell, self.repeat, self.attempt)
    }
}

/// The head of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Version of the format, [`SCHEMA_VERSION`] when written by this build.
    pub schema_version: String,
    /// Identity of the run, unique in a store.
    pub run_id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Factors that the user set and this program cannot see: `cc` is `on`, `gpu` is `L40S`. Empty
    /// in runs before format 1.2.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Who wrote it.
    pub tool: ToolInfo,
    /// UTC time of the start, RFC 3339.
    pub created_utc: String,
    /// The command line, secrets masked, with what a project's file added to it.
    pub command: Vec<String>,
    /// What was set, and by whom. Empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Open, complete or partial.
    pub state: RunState,
    /// Why the run is partial, in one sentence.
    pub stop_reason: Option<String>,
    /// What was asked.
    pub spec: RunSpec,
    /// Where the client ran.
    pub host: HostInfo,
    /// What the server said about itself.
    pub server: ServerInfo,
    /// The machine of the server and its process; absent if not reported, and in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// How the clocks relate.
    pub clock: ClockInfo,
    /// When each level ran.
    pub levels: Vec<LevelInfo>,
    /// SHA-256 over all prompts that were sent, in order; in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_sha256: Option<String>,
    /// BLAKE3 over all prompts that were sent, in order, in hex; absent until sealed, and in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_blake3: Option<String>,
    /// What was sent, as it turned out; absent until sealed, and in runs of format 1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<SentWorkload>,
    /// What the server counts for media, where it does not tell and was asked; empty otherwise, and in
    /// runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_pairs: Vec<MediaPair>,
    /// Fields that the server rejected before the load, so that no request of the load has them. Empty
    /// where it rejected none, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_fields: Vec<RejectedField>,
    /// The client's own error; absent until sealed by the client that ran the load.
    pub health: Option<ClientHealth>,
    /// What its search for the capacity ended with; absent where it was none, and until sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityFound>,
    /// The cell of a plan that it measured; absent outside plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanCell>,
    /// From what the run was computed; absent in a run that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Prediction>,
    /// Files of the folder, once sealed.
    pub files: Vec<FileInfo>,
    /// Fields written by a newer version, kept when the manifest is written again.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_word_of_earlier_versions_for_no_template() {
        let read = |text: &str| serde_json::from_str::<TemplatePlace>(text).ok();
        assert_eq!(read("\"nobody\""), Some(TemplatePlace::None));
        assert_eq!(read("\"none\""), Some(TemplatePlace::None));
        assert_eq!(serde_json::to_string(&TemplatePlace::None).ok().as_deref(), Some("\"none\""));
    }
}
