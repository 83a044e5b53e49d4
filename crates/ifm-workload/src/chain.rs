//! From prompts as blocks to what each turn adds to which earlier one.
//!
//! A block's hash stands for all tokens up to its end, so equal hashes mean equal beginnings. A prompt
//! goes on from the latest earlier one of its agent with which it shares most blocks: from its answer
//! where it is longer than both, from within it where the agent went back, and anew where it shares
//! none.
//!
//! Not here: formats (`dataset`), text (`script`).

use std::collections::{HashMap, HashSet};

use crate::{item::Keep, playing::TURNS_MAX, script::ScriptTurn};

/// Blocks that are remembered at most.
const REMEMBERED_MAX: usize = 1 << 25;

/// Which hashes mean the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Hashes of one agent.
    Agent,
    /// Hashes of one session.
    Session,
    /// All.
    All,
}

/// What was sent before in the whole trace.
#[derive(Default)]
pub(crate) struct Seen {
    blocks: HashSet<u64>,
    /// The ones that the current session was the first to send.
    new: Vec<u64>,
}

impl Seen {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.new.clear();
    }

    /// Ends a session: what it alone sent is forgotten where it was not kept.
    pub(crate) fn end_session(&mut self, is_kept: bool) {
        for block in self.new.drain(..).filter(|_| !is_kept) {
            self.blocks.remove(&block);
        }
    }

    fn add(&mut self, block: u64) {
        if self.blocks.insert(block) {
            self.new.push(block);
        }
    }
}

/// A message of a conversation.
struct Node {
    parent: Option<usize>,
    depth: u32,
    /// Tokens up to its end.
    end: u32,
    /// The turn whose message it is; absent for an answer.
    turn: Option<u16>,
}

/// A prompt that was sent.
struct Prompt {
    blocks: usize,
    input: u32,
    output: u32,
    /// What its message repeats.
    again: Option<(u16, u32)>,
    /// Its last message, and its answer.
    tip: usize,
    answer: usize,
}

/// The prompts of one agent so far.
pub(crate) struct Chain {
    block_tokens: u32,
    /// Distinguishes the numbers of this chain from other chains.
    space: u64,
    /// The latest prompt that holds a block.
    owners: HashMap<u64, u16>,
    prompts: Vec<Prompt>,
    nodes: Vec<Node>,
}

impl Chain {
    /// A chain of blocks of this many tokens, whose hashes are valid within `space` only.
    pub(crate) fn new(block_tokens: u32, space: u64) -> Self {
        let (owners, prompts, nodes) = (HashMap::new(), Vec::new(), Vec::new());
        Self { block_tokens: block_tokens.max(1), space, owners, prompts, nodes }
    }

    /// The next prompt: `input` tokens of which the full blocks are these, answered by `output`. Keys
    /// of the blocks of a prompt that begins anew are added to `kept`. One that is context alone is not
    /// sent itself.
    ///
    /// # Errors
    /// More turns or blocks than can be kept.
    pub(crate) fn next(
        &mut self,
        hashes: &[u64],
        (input, output): (u32, u32),
        is_sent: bool,
        seen: &mut Seen,
        kept: &mut Vec<u64>,
    ) -> Result<ScriptTurn, String> {
        let turn = u16::try_from(self.prompts.len()).ok().filter(|it| usize::from(*it) < TURNS_MAX);
        let turn = turn.ok_or_else(|| format!("an agent with more than {TURNS_MAX} requests"))?;
        let space = self.space;
        let key = |hash: &u64| if space == 0 { *hash } else { mixed(space, *hash) };
        let before = hashes.iter().take_while(|hash| seen.blocks.contains(&key(hash))).count();
        hashes.iter().filter(|_| is_sent).for_each(|hash| seen.add(key(hash)));
        if seen.blocks.len() > REMEMBERED_MAX {
            return Err(format!("more than {REMEMBERED_MAX} different blocks"));
        }
        let known = (before as u64 * u64::from(self.block_tokens)).min(u64::from(input)) as u32;
        let shared = hashes.iter().take_while(|hash| self.owners.contains_key(hash)).count();
        let owner = shared.checked_sub(1).and_then(|last| self.owners.get(hashes.get(last)?));
        let from = owner.and_then(|owner| self.go_on(*owner, shared, input));
        let (base, mut made) = match from {
            Some((base, made)) => (Some(base), made),
            None => {
                let start = kept.len();
                kept.extend(hashes.iter().map(key));
                let anew = (turn > 0).then_some(Keep { turn: 0, messages: 0 });
                let made = ScriptTurn { keeps: anew, blocks: start..kept.len(), ..plain(input) };
                (None, made)
            }
        };
        made.output = output;
        made.known = Some(known);
        let tip = self.push(base, Some(turn), made.tokens);
        let answer = self.push(Some(tip), None, output);
        self.owners.extend(hashes.iter().map(|hash| (*hash, turn)));
        let (blocks, again) = (hashes.len(), made.again);
        self.prompts.push(Prompt { blocks, input, output, again, tip, answer });
        Ok(made)
    }

    /// What a prompt of so many tokens adds that shares so many blocks with an earlier one, and the
    /// message that it goes on from; nothing where it has to begin anew.
    fn go_on(&self, owner: u16, shared: usize, input: u32) -> Option<(usize, ScriptTurn)> {
        let former = self.prompts.get(usize::from(owner))?;
        if shared >= former.blocks && input > former.input {
            let with_answer = former.input.saturating_add(former.output);
            let is_last = usize::from(owner) + 1 == self.prompts.len();
            let (node, before) = match input > with_answer {
                true => (former.answer, with_answer),
                false => (former.tip, former.input),
            };
            let keep = Keep { turn: owner, messages: self.nodes.get(node)?.depth };
            let keeps = Some(keep).filter(|_| !is_last || node != former.answer);
            return Some((node, ScriptTurn { keeps, ..plain(input - before) }));
        }
        // It went back: whole messages stay, and the beginning of the one that is cut.
        let covered = (shared as u64 * u64::from(self.block_tokens)).min(u64::from(input)) as u32;
        let (mut node, mut cut) = (Some(former.tip), None);
        while let Some(at) = node
            && self.nodes.get(at)?.end > covered
        {
            cut = self.nodes.get(at)?.turn;
            node = self.nodes.get(at)?.parent;
        }
        let base = node?;
        let kept = self.nodes.get(base)?;
        let again = cut.map(|turn| (turn, covered - kept.end)).filter(|(_, tokens)| *tokens > 0);
        let again = again.map(|(turn, tokens)| (self.first_with(turn, tokens), tokens));
        let keeps = Some(Keep { turn: owner, messages: kept.depth });
        let tokens = input.saturating_sub(kept.end).max(1);
        Some((base, ScriptTurn { keeps, again, ..plain(tokens) }))
    }

    /// The turn that first said what the message of a turn begins with, for so many tokens.
    fn first_with(&self, mut turn: u16, tokens: u32) -> u16 {
        while let Some(prompt) = self.prompts.get(usize::from(turn))
            && let Some((earlier, _)) = prompt.again.filter(|(_, again)| *again >= tokens)
        {
            turn = earlier;
        }
        turn
    }

    fn push(&mut self, parent: Option<usize>, turn: Option<u16>, tokens: u32) -> usize {
        let former = parent.and_then(|parent| self.nodes.get(parent));
        let depth = former.map_or(0, |node| node.depth) + 1;
        let end = former.map_or(0, |node| node.end).saturating_add(tokens);
        self.nodes.push(Node { parent, depth, end, turn });
        self.nodes.len() - 1
    }
}

/// A turn that adds this many tokens.
fn plain(tokens: u32) -> ScriptTurn {
    ScriptTurn {
        tokens,
        output: 1,
        think_ns: 0,
        known: None,
        keeps: None,
        again: None,
        blocks: 0..0,
    }
}

/// A number that is the same for the same two and differs for others.
pub(crate) fn mixed(left: u64, right: u64) -> u64 {
    // SplitMix64's finisher (Steele, Lea and Flood, 2014), twice.
    let mix = |mut word: u64| {
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    mix(mix(left.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of prompts given as their blocks of 10 tokens, their tokens, and their answers' tokens.
    fn turns(prompts: &[(&[u64], u32, u32)]) -> Vec<ScriptTurn> {
        let (mut chain, mut seen, mut kept) = (Chain::new(10, 1), Seen::default(), Vec::new());
        let next = |(hashes, input, output): &(&[u64], u32, u32)| {
            chain.next(hashes, (*input, *output), true, &mut seen, &mut kept).unwrap()
        };
        prompts.iter().map(next).collect()
    }

    #[test]
    fn a_prompt_goes_on_from_the_one_it_shares_most_with() {
        let found = turns(&[
            (&[1, 2], 25, 5),
            // 25 and 5 before it, 12 new.
            (&[1, 2, 3, 4], 42, 6),
            // A side request that shares nothing.
            (&[90], 15, 1),
            // On from the second one, behind the side request.
            (&[1, 2, 3, 4, 5, 6], 60, 2),
            // Back into the first turn's message: anew, by its blocks.
            (&[1, 7], 24, 2),
            // Back into the second turn's: the first and its answer stay, and 10 tokens of the cut.
            (&[1, 2, 3, 4, 8], 55, 2),
            // The same prompt again with a little more, but less than its answer.
            (&[1, 2, 3, 4, 8], 56, 2),
        ]);
        let brief: Vec<_> = found
            .iter()
            .map(|turn| {
                let keeps = turn.keeps.map(|keep| (keep.turn, keep.messages));
                (turn.tokens, keeps, turn.again, turn.blocks.len(), turn.known)
            })
            .collect();
        assert_eq!(
            brief,
            [
                (25, None, None, 2, Some(0)),
                (12, None, None, 0, Some(20)),
                (15, Some((0, 0)), None, 1, Some(0)),
                (12, Some((1, 4)), None, 0, Some(40)),
                (24, Some((0, 0)), None, 2, Some(10)),
                (25, Some((3, 2)), Some((1, 10)), 0, Some(40)),
                (1, Some((5, 3)), None, 0, Some(50)),
            ]
        );
        let lengths: Vec<_> = found.iter().map(|turn| turn.output).collect();
        assert_eq!(lengths, [5, 6, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn what_other_agents_sent_is_known_where_hashes_mean_the_same() {
        let (mut seen, mut kept) = (Seen::default(), Vec::new());
        let known = |space: u64, seen: &mut Seen, kept: &mut Vec<u64>| {
            Chain::new(10, space).next(&[1, 2], (25, 5), true, seen, kept).unwrap().known
        };
        assert_eq!(known(1, &mut seen, &mut kept), Some(0));
        assert_eq!(known(2, &mut seen, &mut kept), Some(0));
        assert_eq!(known(1, &mut seen, &mut kept), Some(20));
        assert_eq!((kept[0], kept[1]), (kept[4], kept[5]));
        assert_ne!(kept[0], kept[2]);
    }
}
