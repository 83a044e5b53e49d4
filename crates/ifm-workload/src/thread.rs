//! What one agent has said and been told: a tree of messages, and the tokens of each branch.
//!
//! A conversation mostly grows at its end; where an agent goes back (it drops what a tool said, or
//! does something else between) it goes on from an earlier place. What was said once stays known to
//! a cache that forgets nothing, so the tokens up to that place are the known part of a prompt.
//!
//! Not here: texts and bytes of messages, which whoever sends them keeps under the same numbers.

use crate::item::Turn;

/// One message, by number.
struct Node {
    parent: Option<u32>,
    /// Messages from the beginning up to this one.
    depth: u32,
    /// Tokens likewise; absent where some were not counted.
    tokens: Option<u64>,
}

/// What one agent has said so far.
#[derive(Default)]
pub struct Thread {
    nodes: Vec<Node>,
    /// The last message of each turn's prompt, and its answer.
    turns: Vec<(Option<u32>, Option<u32>)>,
}

/// A turn that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// The last message that stays of what was said before; absent where the prompt is all new.
    pub base: Option<u32>,
    /// Number of the first message that it adds; the others follow.
    pub first: u32,
    /// The last message of its prompt.
    pub tip: Option<u32>,
    /// Tokens of the prompt that were said before; absent where nobody counted.
    pub known_tokens: Option<u32>,
    /// Tokens of the whole prompt, likewise.
    pub prompt_tokens: Option<u64>,
}

impl Thread {
    /// Begins the next turn, which adds so many messages. A prompt that begins anew shares
    /// `shared_tokens` with those of other conversations.
    pub fn begin(&mut self, turn: &Turn, messages: usize, shared_tokens: Option<u32>) -> Begun {
        let base = self.base_of(turn);
        let first = self.nodes.len() as u32;
        let before = match base {
            None => Some(0),
            Some(_) => self.tokens(base),
        };
        let prompt_tokens = before.zip(turn.prompt_tokens).map(|(a, b)| a + u64::from(b));
        let mut tip = base;
        for left in (0..messages).rev() {
            // The tokens of a turn are known as one number: a message in its midst counts as
            // nothing, so that what is told as known is never too much.
            let tokens = if left == 0 { prompt_tokens } else { before };
            tip = Some(self.push(tip, tokens));
        }
        self.turns.push((tip, None));
        let said = match base {
            None => shared_tokens.map(u64::from),
            Some(_) => before,
        };
        let said = said.map(|said| said.min(prompt_tokens.unwrap_or(u64::MAX)));
        let known = said.and_then(|said| u32::try_from(said).ok());
        let known_tokens = turn.known_tokens.or(known);
        Begun { base, first, tip, known_tokens, prompt_tokens }
    }

    /// Takes the answer to a turn; returns its number.
    pub fn answer(&mut self, turn: usize, tokens: Option<u32>) -> u32 {
        let (prompt, _) = self.turns.get(turn).copied().unwrap_or_default();
        let before = self.tokens(prompt);
        let node = self.push(prompt, before.zip(tokens).map(|(a, b)| a + u64::from(b)));
        if let Some((_, answer)) = self.turns.get_mut(turn) {
            *answer = Some(node);
        }
        node
    }

    /// The last message of a turn's prompt.
    pub fn prompt_of(&self, turn: usize) -> Option<u32> {
        self.turns.get(turn)?.0
    }

    /// The messages up to this one, oldest first.
    pub fn path(&self, tip: Option<u32>) -> Vec<u32> {
        let up = |node: &u32| self.nodes.get(*node as usize)?.parent;
        let mut path: Vec<u32> = std::iter::successors(tip, up).collect();
        path.reverse();
        path
    }

    fn push(&mut self, parent: Option<u32>, tokens: Option<u64>) -> u32 {
        let number = self.nodes.len() as u32;
        let depth = self.depth(parent) + 1;
        self.nodes.push(Node { parent, depth, tokens });
        number
    }

    fn depth(&self, node: Option<u32>) -> u32 {
        node.and_then(|node| self.nodes.get(node as usize)).map_or(0, |node| node.depth)
    }

    fn tokens(&self, node: Option<u32>) -> Option<u64> {
        self.nodes.get(node? as usize)?.tokens
    }

    /// What a turn goes on from.
    fn base_of(&self, turn: &Turn) -> Option<u32> {
        let last = |&(prompt, answer): &(Option<u32>, Option<u32>)| answer.or(prompt);
        let Some(keep) = turn.keeps else { return self.turns.last().and_then(last) };
        let mut node = self.turns.get(usize::from(keep.turn)).and_then(last);
        while self.depth(node) > keep.messages {
            node = self.nodes.get(node? as usize)?.parent;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use ifm_core::Prompt;

    use super::*;
    use crate::item::Keep;

    fn turn(tokens: u32, keeps: Option<Keep>) -> Turn {
        Turn { prompt_tokens: Some(tokens), keeps, ..Turn::new(Prompt::Text(String::new())) }
    }

    #[test]
    fn a_conversation_grows_and_goes_back() {
        let mut thread = Thread::default();
        let first = thread.begin(&turn(100, None), 2, Some(30));
        assert_eq!((first.known_tokens, first.prompt_tokens), (Some(30), Some(100)));
        assert_eq!((first.base, first.first, first.tip), (None, 0, Some(1)));
        thread.answer(0, Some(20));
        let second = thread.begin(&turn(5, None), 1, Some(30));
        assert_eq!((second.known_tokens, second.prompt_tokens), (Some(120), Some(125)));
        assert_eq!(thread.path(second.tip), [0, 1, 2, 3]);
        thread.answer(1, None);
        // Back to the prompt of the first turn, without its answer.
        let third = thread.begin(&turn(7, Some(Keep { turn: 0, messages: 2 })), 1, Some(30));
        assert_eq!((third.known_tokens, third.prompt_tokens), (Some(100), Some(107)));
        assert_eq!(thread.path(third.tip), [0, 1, 5]);
        // Anew: only what all share is known, and never more than there is.
        let fourth = thread.begin(&turn(9, Some(Keep { turn: 0, messages: 0 })), 1, Some(30));
        assert_eq!((fourth.known_tokens, fourth.prompt_tokens), (Some(9), Some(9)));
        // After an answer that nobody counted.
        let fifth = thread.begin(&turn(1, Some(Keep { turn: 1, messages: 9 })), 1, None);
        assert_eq!((fifth.known_tokens, fifth.prompt_tokens), (None, None));
        assert_eq!(thread.path(fifth.tip), [0, 1, 2, 3, 4, 7]);
    }
}
