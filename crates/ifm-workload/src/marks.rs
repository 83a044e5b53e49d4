//! Marks that keep sessions apart from one another, so that a prefix cache finds nothing of one in another.
//!
//! Not here: whether sessions are marked (`playing`).

use ifm_core::Prompt;
use ifm_made::Stream;
use ifm_tokenizer::Tokenizer;

use crate::{
    error::WorkloadError,
    item::{Turn, WorkItem},
};

/// A mark of its own at the start of every prompt of a session.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    numbers: Stream,
    tokenizer: Tokenizer,
}

impl Marks {
    /// Marks of these numbers.
    pub(crate) fn new(numbers: Stream, tokenizer: Tokenizer) -> Self {
        Self { numbers, tokenizer }
    }

    /// Puts the mark of an item's number into its prompts.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn put(&self, item: &mut WorkItem) -> Result<(), WorkloadError> {
        let number = self.numbers.item(u64::from(item.id)).below_u64(u64::MAX);
        let mark = format!("session {number:016x}\n");
        let tokens = self.tokenizer.encode(&mark)?.len() as u32;
        let agents = item.agents.iter_mut().map(|agent| &mut agent.turns);
        for (agent, turns) in std::iter::once(&mut item.turns).chain(agents).enumerate() {
            for (number, turn) in turns.iter_mut().enumerate() {
                put_mark(turn, (agent, number), &mark, tokens);
            }
        }
        Ok(())
    }
}

/// Puts a mark at the start of a prompt that begins anew, and counts it as known in all but the very
/// first prompt of the session, which is the first to say it.
fn put_mark(turn: &mut Turn, (agent, number): (usize, usize), mark: &str, tokens: u32) {
    if number == 0 || turn.keeps.is_some_and(|keep| keep.messages == 0) {
        match &mut turn.prompt {
            Prompt::Text(text) => text.insert_str(0, mark),
            Prompt::Messages(messages) => {
                if let Some(first) = messages.first_mut() {
                    first.content.insert_str(0, mark);
                }
            }
            Prompt::Tokens(_) => return,
        }
        turn.prompt_tokens = turn.prompt_tokens.map(|asked| asked.saturating_add(tokens));
    }
    if (agent, number) != (0, 0) {
        turn.known_tokens = turn.known_tokens.map(|known| known.saturating_add(tokens));
    }
}
