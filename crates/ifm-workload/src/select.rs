//! From rows to items: counting tokens, filtering by length, until there are enough.
//!
//! Rows are looked at in order, in batches that are counted on all processors, so that
//! no more is counted than is needed.
//!
//! Not here: reading rows (`source`), their order (`dataset`).

use ifm_core::{Message, Prompt};
use ifm_made::{Rng, Stream};
use ifm_tokenizer::{Tokenizer, TokenizerError};

use crate::{
    count::map_parallel,
    error::WorkloadError,
    facts::{DropReason, RowCounts},
    item::{Turn, WorkItem},
    lengths::Lengths,
    list::{PROMPT_BYTES_MAX, Stored},
    opening::Opening,
};

/// Rows that are counted together.
pub(crate) const BATCH_ROWS: usize = 512;

/// A row that may become an item.
pub(crate) struct Candidate {
    pub prompt: Prompt,
    pub output: Output,
    pub at_ns: Option<u64>,
    pub fields: Option<std::sync::Arc<serde_json::Map<String, serde_json::Value>>>,
    /// Turns behind the first, as long to answer as it is; their lengths are counted later.
    pub later: Vec<Turn>,
}

impl Candidate {
    /// One turn, with nothing but its text and a length to ask for.
    pub(crate) fn new(prompt: Prompt, output: Output) -> Self {
        Self { prompt, output, at_ns: None, fields: None, later: Vec::new() }
    }
}

/// What a row says of the length to ask for.
pub(crate) enum Output {
    /// The tokens of this answer.
    Answer(Box<str>),
    /// So many.
    Tokens(u32),
    /// Nothing: the server decides.
    Open,
}

/// Which lengths a rule keeps, in tokens with those that the tokenizer adds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub prompt_min: u32,
    pub prompt_max: u32,
    pub output_min: u32,
    pub total_max: u64,
    /// Whether a length that the user gave has to be long enough too.
    pub output_min_always: bool,
    /// Tokens that the tokenizer adds to a text; they count here.
    pub special_tokens: u32,
}

impl Limits {
    /// Every length is kept.
    pub(crate) const NONE: Self = Self {
        prompt_min: 0,
        prompt_max: u32::MAX,
        output_min: 0,
        total_max: u64::MAX,
        output_min_always: false,
        special_tokens: 0,
    };

    /// Why a row is left out, if it is.
    fn refuse(&self, prompt: u32, output: u32, given: bool) -> Option<DropReason> {
        let check_output = !given || self.output_min_always;
        if prompt < self.prompt_min {
            Some(DropReason::PromptTooShort)
        } else if check_output && output < self.output_min {
            Some(DropReason::OutputTooShort)
        } else if prompt > self.prompt_max {
            Some(DropReason::PromptTooLong)
        } else if u64::from(prompt) + u64::from(output) > self.total_max {
            Some(DropReason::TotalTooLong)
        } else {
            None
        }
    }
}

/// Takes candidates until there are enough items.
pub(crate) struct Selector {
    tokenizer: Tokenizer,
    limits: Limits,
    /// Lengths that the user gave.
    given: Option<Lengths>,
    outputs: Stream,
    wanted: usize,
    bytes: u64,
    items: Vec<Stored>,
}

impl Selector {
    /// Takes what was asked for, with the limits of a rule.
    pub(crate) fn new(opening: &mut Opening<'_>, limits: Limits) -> Self {
        Self {
            tokenizer: opening.tokenizer.clone(),
            limits,
            given: opening.output_override(),
            outputs: Rng::new(opening.request.seed).stream("output_length"),
            wanted: opening.wanted(),
            bytes: 0,
            items: Vec::new(),
        }
    }

    /// Whether there are enough.
    pub(crate) fn is_done(&self) -> bool {
        self.items.len() >= self.wanted
    }

    /// Looks at candidates in order; those after the last one that is needed are left.
    ///
    /// # Errors
    /// What the tokenizer says, and [`WorkloadError::File`] when the prompts do not fit
    /// into memory.
    pub(crate) fn push(
        &mut self,
        batch: Vec<Candidate>,
        counts: &mut RowCounts,
    ) -> Result<(), WorkloadError> {
        let tokenizer = &self.tokenizer;
        let is_given = self.given.is_some();
        let counted = map_parallel(&batch, |candidate| {
            let output = match &candidate.output {
                // A length of its own is asked for in its place.
                Output::Answer(_) if is_given => None,
                Output::Answer(answer) => Some(tokenizer.encode(answer)?.len() as u32),
                Output::Tokens(tokens) => Some(*tokens),
                Output::Open => None,
            };
            let prompts = [&candidate.prompt].into_iter();
            let prompts = prompts.chain(candidate.later.iter().map(|turn| &turn.prompt));
            let counted = prompts.map(|prompt| prompt_tokens(tokenizer, prompt));
            Ok::<_, TokenizerError>((counted.collect::<Result<Vec<_>, _>>()?, output))
        });
        for (candidate, counted) in batch.into_iter().zip(counted) {
            if self.is_done() {
                break;
            }
            let (prompts, output) = counted?;
            self.take(candidate, &prompts, output, counts)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        candidate: Candidate,
        prompts: &[u32],
        output: Option<u32>,
        counts: &mut RowCounts,
    ) -> Result<(), WorkloadError> {
        let prompt_tokens = prompts.first().copied().unwrap_or(0);
        let special = self.limits.special_tokens;
        let id = self.items.len() as u64;
        let given = self.given.as_ref().map(|law| law.draw(&mut self.outputs.item(id)));
        let counted = match candidate.output {
            Output::Answer(_) => output.map(|tokens| tokens.saturating_add(special)),
            Output::Tokens(_) | Output::Open => output,
        };
        let output_tokens = given.or(counted);
        let prompt = prompt_tokens.saturating_add(special);
        let output = output_tokens.unwrap_or(self.limits.output_min);
        if let Some(reason) = self.limits.refuse(prompt, output, given.is_some()) {
            counts.drop_row(reason);
            return Ok(());
        }
        let prompts_of_all = candidate.later.iter().map(|turn| &turn.prompt);
        for prompt in prompts_of_all.chain([&candidate.prompt]) {
            self.bytes += prompt.canonical_bytes().len() as u64;
        }
        if self.bytes > PROMPT_BYTES_MAX {
            return Err(WorkloadError::File {
                file: "the data set".to_owned(),
                reason: format!(
                    "has prompts of more than {} GiB; take fewer items",
                    PROMPT_BYTES_MAX >> 30
                ),
            });
        }
        let output_tokens = output_tokens.map(|tokens| tokens.max(1));
        let item = WorkItem::single(0, candidate.prompt, Some(prompt_tokens), output_tokens);
        let mut turns = item.turns;
        let later = candidate.later.into_iter().zip(prompts.iter().skip(1));
        for ((turn, tokens), place) in later.zip(1_u64..) {
            // The length of each turn is drawn by itself, that of the first as if it were alone.
            let drawn = |law: &Lengths| law.draw(&mut self.outputs.item(place << 40 | id));
            let output_tokens = self.given.as_ref().map(drawn).or(output_tokens);
            turns.push(Turn { prompt_tokens: Some(*tokens), output_tokens, ..turn });
        }
        turns.iter_mut().for_each(|turn| turn.fields.clone_from(&candidate.fields));
        self.items.push(Stored { turns, at_ns: candidate.at_ns, agents: Vec::new() });
        Ok(())
    }

    /// What was taken.
    pub(crate) fn into_items(self) -> Vec<Stored> {
        self.items
    }
}

/// Tokens of a prompt, without those that a tokenizer or a template adds.
///
/// # Errors
/// What the tokenizer says.
pub(crate) fn prompt_tokens(tokenizer: &Tokenizer, prompt: &Prompt) -> Result<u32, TokenizerError> {
    match prompt {
        Prompt::Text(text) => Ok(tokenizer.encode(text)?.len() as u32),
        Prompt::Tokens(ids) => Ok(ids.len() as u32),
        Prompt::Messages(messages) => {
            messages.iter().map(|message| message_tokens(tokenizer, message)).sum()
        }
    }
}

/// Tokens of a message: its content, and names and arguments of its calls.
///
/// # Errors
/// What the tokenizer says.
pub(crate) fn message_tokens(
    tokenizer: &Tokenizer,
    message: &Message,
) -> Result<u32, TokenizerError> {
    let mut tokens = tokenizer.encode(&message.content)?.len();
    for call in &message.tool_calls {
        tokens += tokenizer.encode(&call.name)?.len() + tokenizer.encode(&call.arguments)?.len();
    }
    Ok(tokens as u32)
}
