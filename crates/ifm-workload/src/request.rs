//! What is asked of a workload: its name and all that belongs to it.
//!
//! Not here: making it (`open`), what came out (`facts`).

use std::{collections::BTreeMap, path::PathBuf};

use ifm_core::ImageDetail;
use serde::{Deserialize, Serialize};

use crate::{hub::HubAccess, lengths::Lengths, scale::LengthScale};

/// What workload is wanted. Made by [`WorkloadRequest::new`]; all fields but the name
/// have a default.
#[derive(Debug, Clone)]
pub struct WorkloadRequest {
    /// The name as typed: a preset, `1500/250`, or `KIND:WHAT?option=value&...`.
    pub text: String,
    /// Lengths of prompts instead of those in the name; only for synthetic prompts.
    pub prompt_tokens: Option<Lengths>,
    /// Lengths to ask for instead of those in the name or in the data.
    pub output_tokens: Option<Lengths>,
    /// Tokens at the start of every synthetic prompt that are the same in all; part of
    /// the prompt's length.
    pub shared_prefix_tokens: u32,
    /// Who counts the lengths of made-up prompts: the tokenizer itself unless said
    /// otherwise.
    pub scale: LengthScale,
    /// Seed of everything that is made up here.
    pub seed: u64,
    /// Seed of what is chosen from a file. Absent: the default of the rule, such as 0
    /// for vLLM's and 42 for SGLang's.
    pub selection_seed: Option<u64>,
    /// Items that are wanted. Absent: as many as there are.
    pub items_max: Option<u32>,
    /// What follows the last item of a data set that ends.
    pub after_last: AfterLast,
    /// Which columns of a file mean what, by the names of [`COLUMNS`].
    pub columns: BTreeMap<String, String>,
    /// What a malformed row does.
    pub on_bad_row: OnBadRow,
    /// Where the answers come from that later turns carry. Absent: the data set's own
    /// way.
    pub answers: Option<Answers>,
    /// How media are to be carried: as the API takes them.
    pub carry: Carry,
    /// How closely the model is to look at images. Absent: as the rows of a data set say, else nothing
    /// is said.
    pub image_detail: Option<ImageDetail>,
    /// Whether and how data sets may be fetched.
    pub hub: HubAccess,
    /// Folder of presets that the user has added.
    pub preset_folder: Option<PathBuf>,
    /// Whether it is one class of a mix, which is none itself.
    pub(crate) is_class: bool,
}

impl WorkloadRequest {
    /// The workload of a name, with every default: bad rows stop, the data set ends with
    /// its last item, nothing is fetched.
    pub fn new(text: impl Into<String>, seed: u64) -> Self {
        Self {
            text: text.into(),
            prompt_tokens: None,
            output_tokens: None,
            shared_prefix_tokens: 0,
            scale: LengthScale::EXACT,
            seed,
            selection_seed: None,
            items_max: None,
            after_last: AfterLast::default(),
            columns: BTreeMap::new(),
            on_bad_row: OnBadRow::default(),
            answers: None,
            carry: Carry::default(),
            image_detail: None,
            hub: HubAccess::default(),
            preset_folder: None,
            is_class: false,
        }
    }
}

/// How images and recordings are carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carry {
    /// In base64, for APIs of JSON.
    #[default]
    Base64,
    /// As files, for forms.
    File,
}

/// What follows the last item of a data set that ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterLast {
    /// Nothing: asking for more is an error.
    #[default]
    Stop,
    /// The first item again, and so on in order. A server that keeps prefixes will find
    /// those prompts.
    Repeat,
    /// vLLM's way: items drawn with `random.choice` after `random.seed`, up to the
    /// number that was asked for.
    VllmOversample,
}

/// What a malformed row does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadRow {
    /// It is an error that names file, line and reason.
    #[default]
    Stop,
    /// It is left out, counted, and the first ones are told.
    Skip,
}

/// Where the answers come from that later turns of a conversation carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// From the data set: the same prompts each time.
    Recorded,
    /// From the server: a real conversation.
    Server,
}

/// A meaning that a column can have, with the names that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The name of the meaning, as a mapping says it.
    pub name: &'static str,
    /// Names of columns, tried in this order where nothing is mapped.
    pub defaults: &'static [&'static str],
    /// What it holds.
    pub summary: &'static str,
}

/// All meanings.
pub const COLUMNS: &[Column] = &[
    column(
        "prompt",
        &["prompt", "question", "instruction", "input", "text", "texts"],
        "the prompt's text",
    ),
    column("system", &["system", "system_prompt"], "a system message before the prompt"),
    column(
        "answer",
        &["answer", "completion", "response", "output"],
        "an answer, counted for the length",
    ),
    column(
        "output_tokens",
        &[
            "output_tokens",
            "output_length",
            "max_tokens",
            "max_completion_tokens",
            "Response tokens",
        ],
        "tokens to ask for",
    ),
    column("messages", &["messages", "conversations", "conversation"], "a conversation"),
    column("tools", &["tools"], "tools that the model may call"),
    column("timestamp", &["timestamp", "Timestamp"], "when it was sent"),
    column(
        "input_tokens",
        &["input_length", "prompt_tokens", "Request tokens"],
        "length of a prompt in a trace",
    ),
    column("hash_ids", &["hash_ids"], "blocks of a prompt in a trace"),
    column("session_id", &["session_id"], "the session of a request in a trace"),
    column("delay", &["delay"], "pause before a request of a session"),
    column("model", &["Model", "model"], "the model that a trace was recorded with"),
    column("code", &["code"], "a file to be edited"),
    column("change_request", &["change_request"], "what to change in it"),
    column("norm_distance", &["norm_distance"], "how far the edited file is from the first"),
    column("problem", &["problem"], "a problem to be solved"),
    column("solution", &["solution"], "its solution, counted for the length"),
    column("turns", &["turns"], "the turns of a question"),
    column("image", &["image", "images", "image_files", "image_path"], "images of a prompt"),
    column("image_uuids", &["image_uuids"], "names of a prompt's images, as vLLM knows them"),
    column(
        "audio",
        &["audio", "audios", "audio_files", "audio_filepath"],
        "recordings of a prompt",
    ),
    column("video", &["video", "videos", "video_files"], "videos of a prompt"),
    column("category", &["category"], "what a question is about"),
];

const fn column(
    name: &'static str,
    defaults: &'static [&'static str],
    summary: &'static str,
) -> Column {
    Column { name, defaults, summary }
}
