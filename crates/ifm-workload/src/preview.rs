//! What a workload would send, before anything is sent.
//!
//! Not here: printing it.

use std::collections::HashSet;

use ifm_core::Prompt;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    error::WorkloadError,
    item::{Dataset, WorkItem},
    known::{Known, MediaPreview},
    lengths::LengthCounts,
    thread::{Carried, Thread},
};

/// Samples that are shown at most.
const SAMPLES_MAX: u32 = 5;
/// Characters of a sample that are shown.
const SAMPLE_CHARACTERS: usize = 400;
/// Bytes of a beginning that are compared together: about the tokens of a block in a
/// server's prefix cache (16 tokens of four bytes).
const BLOCK_BYTES: usize = 64;
/// Beginnings that are remembered at most, so that memory stays bounded.
const BEGINNINGS_MAX: usize = 1 << 23;

/// The first items of a workload, looked at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preview {
    /// Items that were made.
    pub items: u32,
    /// The first ones.
    pub samples: Vec<Sample>,
    /// Tokens that each turn adds, those of sub-agents included; empty where nobody counted.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub prompt_lengths: LengthCounts,
    /// Tokens that each turn asks for.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub output_lengths: LengthCounts,
    /// Turns of each item.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub turns: LengthCounts,
    /// Different first prompts among the items; equal to `items` when no prompt comes
    /// twice.
    pub distinct_prompts: u32,
    /// Share of the bytes of first prompts that stand at the beginning of an earlier one
    /// too, in whole blocks of 64 bytes: what a prefix cache that forgets nothing would
    /// find. Absent when there are more beginnings than are remembered.
    pub shared_prefix_share: Option<f64>,
    /// What the conversations among them are; absent where no item has several turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// Images, recordings and videos of the items; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPreview>,
    /// Items that the workload has; absent when it does not end.
    pub items_all: Option<u32>,
    /// Nanoseconds from the first item's time to the last one's; absent without times.
    pub span_ns: Option<u64>,
}

/// Sessions of several turns, looked at without a server.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sessions {
    /// Sessions.
    pub sessions: u32,
    /// Agents that they start beside themselves.
    pub sub_agents: u32,
    /// Requests of all agents.
    pub requests: u64,
    /// Requests that one session can have in flight at once at most.
    pub parallel: u32,
    /// Turns of each sub-agent.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub agent_turns: LengthCounts,
    /// Tokens of each whole prompt, what was said before included; of those whose parts were all
    /// counted.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub context_lengths: LengthCounts,
    /// Pauses before turns, and before agents start, in whole milliseconds.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(u32, u64)>"))]
    pub pauses_ms: LengthCounts,
    /// Tokens of prompts that were said before, in the session or by what all share, over all tokens
    /// of prompts: what a cache that forgets nothing would find, were the sessions sent one after
    /// another. Answers are as long as asked for. Absent where nobody counted.
    pub ideal_hit_share: Option<f64>,
}

/// Adds up sessions.
#[derive(Default)]
struct SessionCounts {
    sessions: Sessions,
    known_tokens: u64,
    prompt_tokens: u64,
    /// Whether some prompt's tokens, or what of them was known, nobody told.
    is_partial: bool,
    has_said: bool,
}

impl SessionCounts {
    fn add(&mut self, item: &WorkItem, shared_tokens: Option<u32>) {
        self.sessions.sessions += 1;
        self.sessions.sub_agents += item.agents.len() as u32;
        self.sessions.parallel = self.sessions.parallel.max(item.width());
        for agent in &item.agents {
            self.sessions.agent_turns.add(agent.turns.len() as u32);
            self.sessions.pauses_ms.add(milliseconds(agent.delay_ns));
        }
        for agent in 0..=item.agents.len() as u16 {
            let mut thread = Thread::default();
            for (number, turn) in item.turns_of(agent).iter().enumerate() {
                let messages = match &turn.prompt {
                    Prompt::Messages(messages) => messages.len(),
                    Prompt::Text(_) | Prompt::Tokens(_) => 1,
                };
                let shared = shared_tokens.map(|tokens| if self.has_said { tokens } else { 0 });
                let begun = thread.begin(turn, messages, shared);
                self.has_said = true;
                let carried = Carried {
                    tokens: turn.recorded_tokens.or(turn.output_tokens),
                    is_of_server: turn.recorded_answer.is_none(),
                    prompt_tokens: None,
                };
                thread.answer(number, carried);
                self.sessions.requests += 1;
                if number > 0 {
                    self.sessions.pauses_ms.add(milliseconds(turn.think_ns));
                }
                let whole = begun.prompt_tokens.and_then(|tokens| u32::try_from(tokens).ok());
                whole.into_iter().for_each(|tokens| self.sessions.context_lengths.add(tokens));
                match (begun.known_tokens, whole) {
                    (Some(known), Some(whole)) => {
                        self.known_tokens += u64::from(known.min(whole));
                        self.prompt_tokens += u64::from(whole);
                    }
                    _ => self.is_partial = true,
                }
            }
        }
    }

    fn finish(mut self) -> Option<Sessions> {
        let is_told = !self.is_partial && self.prompt_tokens > 0;
        let share = is_told.then(|| self.known_tokens as f64 / self.prompt_tokens as f64);
        self.sessions.ideal_hit_share = share;
        (self.sessions.sessions > 0).then_some(self.sessions)
    }
}

fn milliseconds(ns: u64) -> u32 {
    u32::try_from(ns / 1_000_000).unwrap_or(u32::MAX)
}

/// One item, shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Its number.
    pub id: u32,
    /// Its turns.
    pub turns: u32,
    /// Tokens of its first prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens that its first turn asks for.
    pub output_tokens: Option<u32>,
    /// The first characters of its first prompt.
    pub text: String,
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// Makes the first `items` items of a workload, or all if there are fewer, and looks at
/// them.
///
/// # Errors
/// What the data set says.
pub fn preview(dataset: &dyn Dataset, items: u32) -> Result<Preview, WorkloadError> {
    let items_all = dataset.items();
    let items = items_all.map_or(items, |all| all.min(items));
    let mut preview = Preview {
        items,
        samples: Vec::new(),
        prompt_lengths: LengthCounts::default(),
        output_lengths: LengthCounts::default(),
        turns: LengthCounts::default(),
        distinct_prompts: 0,
        shared_prefix_share: None,
        sessions: None,
        media: None,
        items_all,
        span_ns: None,
    };
    let (mut prompts, mut beginnings) = (HashSet::new(), HashSet::new());
    let (mut bytes, mut shared, mut remembered) = (0, 0, true);
    let mut sessions = SessionCounts::default();
    let mut media = Known::new();
    for id in 0..items {
        let item = dataset.item(id)?;
        let agents = 0..=item.agents.len() as u16;
        for turn in agents.flat_map(|agent| item.turns_of(agent)) {
            turn.prompt_tokens.into_iter().for_each(|tokens| preview.prompt_lengths.add(tokens));
            turn.output_tokens.into_iter().for_each(|tokens| preview.output_lengths.add(tokens));
        }
        media.add(&item);
        preview.turns.add(item.turns.len() as u32);
        if dataset.has_conversations() {
            sessions.add(&item, dataset.shared_tokens());
        }
        preview.span_ns = preview.span_ns.max(item.at_ns);
        if id < SAMPLES_MAX {
            preview.samples.push(sample(&item));
        }
        let Some(first) = item.turns.first() else { continue };
        let prompt = first.prompt.canonical_bytes();
        let digest: [u8; 32] = Sha256::digest(&prompt).into();
        preview.distinct_prompts += u32::from(prompts.insert(digest));
        bytes += prompt.len();
        remembered &= beginnings.len() < BEGINNINGS_MAX;
        if remembered {
            shared += shared_bytes(&prompt, &mut beginnings);
        }
    }
    preview.sessions = sessions.finish();
    preview.media = media.finish();
    if remembered && bytes > 0 {
        preview.shared_prefix_share = Some(shared as f64 / bytes as f64);
    }
    Ok(preview)
}

/// Bytes at the start of a prompt that an earlier one begins with, in whole blocks; the
/// prompt's own beginnings are remembered.
fn shared_bytes(prompt: &[u8], beginnings: &mut HashSet<u64>) -> usize {
    let mut hasher = Sha256::new();
    let mut shared = 0;
    let mut broken = false;
    for block in prompt.chunks_exact(BLOCK_BYTES) {
        hasher.update(block);
        let digest: [u8; 32] = hasher.clone().finalize().into();
        let beginning = digest.iter().take(8).fold(0, |word, byte| word << 8 | u64::from(*byte));
        broken |= beginnings.insert(beginning);
        shared += if broken { 0 } else { BLOCK_BYTES };
    }
    shared
}

fn sample(item: &WorkItem) -> Sample {
    let first = item.turns.first();
    let text = match first.map(|turn| &turn.prompt) {
        Some(Prompt::Text(text)) => text.clone(),
        Some(Prompt::Tokens(ids)) => {
            let ids = ids.iter().take(SAMPLE_CHARACTERS / 2).map(u32::to_string);
            ids.collect::<Vec<_>>().join(" ")
        }
        Some(Prompt::Messages(messages)) => {
            let texts = messages.iter().map(|message| {
                let start = message.content.chars().take(SAMPLE_CHARACTERS + 1);
                format!("{}: {}", message.role.word(), start.collect::<String>())
            });
            texts.take(8).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    };
    let end = text.char_indices().nth(SAMPLE_CHARACTERS).map(|(place, _)| place);
    Sample {
        id: item.id,
        turns: item.turns.len() as u32,
        prompt_tokens: first.and_then(|turn| turn.prompt_tokens),
        output_tokens: first.and_then(|turn| turn.output_tokens),
        text: text.get(..end.unwrap_or(text.len())).unwrap_or_default().to_owned(),
        is_cut: end.is_some(),
    }
}
