//! What one agent has said and been told: a tree of messages, and the tokens of each branch.
//!
//! A conversation mostly grows at its end; where an agent goes back (it drops what a tool said, or
//! does something else between) it goes on from an earlier place. What was said once stays known to
//! a cache that forgets nothing, so the tokens up to that place are the known part of a prompt.
//!
//! Not here: texts and bytes of messages, which whoever sends them keeps under the same numbers.

use ifm_core::Prompt;

use crate::item::{Keep, SubAgent, Turn, WorkItem};

/// One message, by number.
struct Node {
    parent: Option<u32>,
    /// Messages from the beginning up to this one.
    depth: u32,
    /// Tokens likewise; absent where some were not counted.
    tokens: Option<u64>,
    /// Whether the server has read or written it. It has not where another answer is to take the place
    /// of its own.
    is_known: bool,
}

/// The answer to a turn, as later turns carry it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    /// Its tokens.
    pub tokens: Option<u32>,
    /// Whether the server wrote it, rather than whoever recorded the conversation.
    pub is_of_server: bool,
    /// Tokens of the turn's whole prompt as its server counted, chat template included.
    pub prompt_tokens: Option<u32>,
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
        let read = self.read_before(base);
        let prompt_tokens = before.zip(turn.prompt_tokens).map(|(a, b)| a + u64::from(b));
        let mut tip = base;
        for left in (0..messages).rev() {
            // The tokens of a turn are known as one number: a message in its midst counts as
            // nothing, so that what is told as known is never too much.
            let tokens = if left == 0 { prompt_tokens } else { before };
            tip = Some(self.push(tip, tokens, true));
        }
        self.turns.push((tip, None));
        let said = match base {
            None => shared_tokens.map(u64::from),
            Some(_) => read,
        };
        let said = said.map(|said| said.min(prompt_tokens.unwrap_or(u64::MAX)));
        let known = said.and_then(|said| u32::try_from(said).ok());
        let known_tokens = turn.known_tokens.or(known);
        Begun { base, first, tip, known_tokens, prompt_tokens }
    }

    /// Takes the answer to a turn; returns its number.
    pub fn answer(&mut self, turn: usize, answer: Carried) -> u32 {
        let (prompt, _) = self.turns.get(turn).copied().unwrap_or_default();
        if let Some(node) = prompt.and_then(|node| self.nodes.get_mut(node as usize)) {
            node.tokens = answer.prompt_tokens.map(u64::from).or(node.tokens);
        }
        let tokens = self.tokens(prompt).zip(answer.tokens).map(|(a, b)| a + u64::from(b));
        let node = self.push(prompt, tokens, answer.is_of_server);
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

    fn push(&mut self, parent: Option<u32>, tokens: Option<u64>, is_known: bool) -> u32 {
        let number = self.nodes.len() as u32;
        let depth = self.depth(parent) + 1;
        self.nodes.push(Node { parent, depth, tokens, is_known });
        number
    }

    /// Tokens of the messages up to this one that the server has read or written, up to the first
    /// that it has not; from now on it has read all.
    fn read_before(&mut self, base: Option<u32>) -> Option<u64> {
        let mut known = base;
        for number in self.path(base) {
            let Some(node) = self.nodes.get_mut(number as usize) else { continue };
            if !std::mem::replace(&mut node.is_known, true) && known == base {
                known = node.parent;
            }
        }
        if base.is_some() && known.is_none() { Some(0) } else { self.tokens(known) }
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

/// What one turn adds to a conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub keeps: Option<Keep>,
    /// Messages that it adds.
    pub messages: u32,
    /// Their tokens.
    pub prompt_tokens: Option<u32>,
    /// Tokens that it asks for.
    pub output_tokens: Option<u32>,
    /// Tokens of the answer that later turns carry.
    pub carried_tokens: Option<u32>,
}

impl Size {
    /// That of a turn.
    fn of(turn: &Turn) -> Size {
        Size {
            keeps: turn.keeps,
            messages: match &turn.prompt {
                Prompt::Messages(messages) => messages.len() as u32,
                Prompt::Text(_) | Prompt::Tokens(_) => 1,
            },
            prompt_tokens: turn.prompt_tokens,
            output_tokens: turn.output_tokens,
            carried_tokens: turn.recorded_tokens.or(turn.output_tokens),
        }
    }
}

/// Tokens of the longest prompt of one agent and its answer together; absent where some were not
/// counted. Where a turn goes on from the midst of an earlier one, that counts as a whole: what is
/// told is never too little.
pub(crate) fn longest_tokens(turns: impl Iterator<Item = Size>) -> Option<u64> {
    struct Part {
        parent: Option<usize>,
        messages: u32,
        tokens: u64,
    }
    let mut parts: Vec<Part> = Vec::new();
    // The last part of each turn: its answer.
    let mut ends: Vec<usize> = Vec::new();
    let mut longest = None;
    for turn in turns {
        let mut base = match turn.keeps {
            None => ends.last().copied(),
            Some(keep) if keep.messages == 0 => None,
            Some(keep) => ends.get(usize::from(keep.turn)).copied(),
        };
        let least = turn.keeps.map_or(u32::MAX, |keep| keep.messages);
        while let Some(parent) = base.and_then(|place| parts.get(place)?.parent)
            && parts.get(parent).is_some_and(|part| part.messages >= least)
        {
            base = Some(parent);
        }
        let (messages, tokens) = base
            .and_then(|place| parts.get(place))
            .map_or((0, 0), |part| (part.messages, part.tokens));
        let prompt = Part {
            parent: base,
            messages: messages.saturating_add(turn.messages),
            tokens: tokens + u64::from(turn.prompt_tokens?),
        };
        longest = longest.max(Some(prompt.tokens + u64::from(turn.output_tokens?)));
        let answer = Part {
            parent: Some(parts.len()),
            messages: prompt.messages.saturating_add(1),
            tokens: prompt.tokens + u64::from(turn.carried_tokens?),
        };
        parts.extend([prompt, answer]);
        ends.push(parts.len() - 1);
    }
    longest
}

/// The same of all agents of a session.
pub(crate) fn longest_of_session(turns: &[Turn], agents: &[SubAgent]) -> Option<u64> {
    let threads = std::iter::once(turns).chain(agents.iter().map(|agent| agent.turns.as_slice()));
    let longest = threads.map(|turns| longest_tokens(turns.iter().map(Size::of)));
    longest.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Notes that a session is sent once more: of a prompt without an answer of the server all has been said
/// before. Of one with such an answer it is known what this session said, and no more.
pub(crate) fn said_again(item: &mut WorkItem) {
    let agents = item.agents.iter_mut().map(|agent| &mut agent.turns);
    for turns in std::iter::once(&mut item.turns).chain(agents) {
        let mut thread = Thread::default();
        // Turns whose prompt, and those whose answer, is the same each time.
        let mut is_same: Vec<(bool, bool)> = Vec::new();
        for (number, turn) in turns.iter_mut().enumerate() {
            let from = match turn.keeps {
                None => number.checked_sub(1),
                Some(keep) if keep.messages == 0 => None,
                Some(keep) => Some(usize::from(keep.turn)),
            };
            let begun = thread.begin(turn, Size::of(turn).messages as usize, None);
            let carries = from
                .map_or((true, true), |from| is_same.get(from).copied().unwrap_or((false, false)));
            // Without the answer where the turn goes on from the prompt alone.
            let on_prompt =
                begun.base.is_some() && begun.base == from.and_then(|it| thread.prompt_of(it));
            let is_known = carries.0 && (carries.1 || on_prompt);
            thread.answer(number, Carried { tokens: turn.recorded_tokens, ..Carried::default() });
            is_same.push((is_known, turn.recorded_answer.is_some()));
            let whole = begun.prompt_tokens.and_then(|tokens| u32::try_from(tokens).ok());
            turn.known_tokens = match is_known {
                true => whole,
                false => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use ifm_core::{Message, Role};

    use super::*;

    fn turn(tokens: u32, keeps: Option<Keep>) -> Turn {
        Turn { prompt_tokens: Some(tokens), keeps, ..Turn::new(Prompt::Text(String::new())) }
    }

    #[test]
    fn a_conversation_grows_and_goes_back() {
        let mut thread = Thread::default();
        let first = thread.begin(&turn(100, None), 2, Some(30));
        assert_eq!((first.known_tokens, first.prompt_tokens), (Some(30), Some(100)));
        assert_eq!((first.base, first.first, first.tip), (None, 0, Some(1)));
        let answer = |tokens| Carried { tokens, is_of_server: true, prompt_tokens: None };
        thread.answer(0, answer(Some(20)));
        let second = thread.begin(&turn(5, None), 1, Some(30));
        assert_eq!((second.known_tokens, second.prompt_tokens), (Some(120), Some(125)));
        assert_eq!(thread.path(second.tip), [0, 1, 2, 3]);
        thread.answer(1, answer(None));
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

    /// The server reads a recorded answer in the turn after it, and not before: its own was another.
    #[test]
    fn a_recorded_answer_is_known_once_it_was_sent() {
        let mut thread = Thread::default();
        let recorded = Carried { tokens: Some(20), ..Carried::default() };
        thread.begin(&turn(100, None), 1, None);
        thread.answer(0, recorded);
        let second = thread.begin(&turn(5, None), 1, None);
        assert_eq!((second.known_tokens, second.prompt_tokens), (Some(100), Some(125)));
        // This server counts 7 tokens of its template too.
        thread.answer(1, Carried { prompt_tokens: Some(132), ..recorded });
        let third = thread.begin(&turn(5, None), 1, None);
        assert_eq!((third.known_tokens, third.prompt_tokens), (Some(132), Some(157)));
        // Back behind the first answer, which was read by now.
        let fourth = thread.begin(&turn(5, Some(Keep { turn: 0, messages: 2 })), 1, None);
        assert_eq!((fourth.known_tokens, fourth.prompt_tokens), (Some(120), Some(125)));
    }

    #[test]
    fn the_longest_prompt_is_that_of_the_longest_branch() {
        let keep = |turn, messages| Some(Keep { turn, messages });
        let size = |tokens: u32, keeps| Turn { output_tokens: Some(10), ..turn(tokens, keeps) };
        let longest = |turns: &[Turn]| longest_of_session(turns, &[]);
        assert_eq!(longest(&[size(100, None), size(5, None)]), Some(125));
        // Without the answer, back to the first prompt, and anew.
        let back = [size(100, None), size(50, None), size(30, keep(1, 1)), size(7, keep(0, 0))];
        assert_eq!(longest(&back), Some(170));
        assert_eq!(longest(&[size(100, None), size(20, keep(0, 1))]), Some(130));
        assert_eq!(longest(&[size(100, None), turn(20, None)]), None);
        let agents = [SubAgent {
            parent: 0,
            after_turn: 0,
            before_turn: None,
            delay_ns: 0,
            turns: vec![size(300, None)],
        }];
        assert_eq!(longest_of_session(&[size(100, None)], &agents), Some(310));
    }

    #[test]
    fn what_is_sent_once_more_was_said_before_but_for_answers_of_the_server() {
        let recorded = |tokens, keeps| Turn {
            recorded_answer: Some(Message::text(Role::Assistant, "yes")),
            recorded_tokens: Some(10),
            known_tokens: Some(1),
            ..turn(tokens, keeps)
        };
        let known = |turns: Vec<Turn>| {
            let mut item = WorkItem::new(0, turns);
            said_again(&mut item);
            item.turns.iter().map(|turn| turn.known_tokens).collect::<Vec<_>>()
        };
        let whole = known(vec![recorded(100, None), recorded(5, None), recorded(7, None)]);
        assert_eq!(whole, [Some(100), Some(115), Some(132)]);
        // The server's own answer to the first turn is another each time, and the prompt is not.
        let back = Some(Keep { turn: 0, messages: 1 });
        let live = known(vec![turn(100, None), recorded(5, None), recorded(7, back)]);
        assert_eq!(live, [Some(100), None, Some(107)]);
    }
}
