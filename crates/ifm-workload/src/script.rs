//! Sessions as numbers: what each turn adds, asks for and goes on from, and the text made of it when
//! it is sent.
//!
//! A trace holds no text, and a made-up session none before it is sent. Equal blocks of a trace give
//! equal text, a turn that goes back repeats what it keeps, and the rest is words of its own; lengths
//! are exact by the tokenizer.
//!
//! Not here: where the numbers come from (`dataset`, `chain`).

use std::ops::Range;

use ifm_core::{Message, Prompt, Role};
use ifm_made::{Rng, Stream};

use crate::{
    error::WorkloadError,
    facts::{RowCounts, WorkloadFacts},
    item::{Dataset, Keep, SubAgent, Turn, WorkItem},
    opening::Opening,
    playing::Playing,
    prompt::{Prefix, PromptMaker},
    request::AfterLast,
    thread::{Size, longest_tokens, said_again},
};

/// Turns of all sessions of a file at most, some 60 bytes each.
const TURNS_MAX: usize = 1 << 22;
/// Blocks that are kept of all sessions of a file at most, 8 bytes each.
const BLOCKS_MAX: usize = 1 << 25;

/// What one turn is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptTurn {
    /// Tokens that it adds.
    pub tokens: u32,
    /// Tokens to ask for.
    pub output: u32,
    pub think_ns: u64,
    pub known: Option<u32>,
    pub keeps: Option<Keep>,
    /// Its message begins like that of an earlier turn, for so many tokens.
    pub again: Option<(u16, u32)>,
    /// Where the blocks stand that its message begins with.
    pub blocks: Range<usize>,
}

/// One agent of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptAgent {
    pub parent: u16,
    pub after_turn: u16,
    pub before_turn: Option<u16>,
    pub delay_ns: u64,
    pub turns: Vec<ScriptTurn>,
}

/// One session: the agent that begins it first. Never empty.
pub(crate) type Script = Vec<ScriptAgent>;

/// The sessions of a file.
#[derive(Default)]
pub(crate) struct Scripts {
    pub sessions: Vec<Script>,
    /// Blocks of all turns.
    pub blocks: Vec<u64>,
    turns: usize,
}

impl Scripts {
    /// Adds a session.
    ///
    /// # Errors
    /// More than is kept in memory.
    pub(crate) fn push(&mut self, script: Script) -> Result<(), String> {
        self.turns += script.iter().map(|agent| agent.turns.len()).sum::<usize>();
        if self.turns > TURNS_MAX {
            return Err(format!(
                "more than {TURNS_MAX} turns; ask for fewer sessions with items=N"
            ));
        }
        if self.blocks.len() > BLOCKS_MAX {
            return Err(format!(
                "prompts of more than {BLOCKS_MAX} blocks; ask for fewer sessions with items=N"
            ));
        }
        self.sessions.push(script);
        Ok(())
    }
}

/// Makes the text of sessions.
pub(crate) struct Writer {
    prompts: PromptMaker,
    playing: Playing,
    block_tokens: u32,
    /// What every first prompt begins with.
    prefix: Prefix,
    texts: Stream,
    answers: Stream,
}

impl Writer {
    /// A writer for blocks of so many tokens. All first prompts begin with the same `shared_tokens`.
    ///
    /// # Errors
    /// [`WorkloadError::Unreachable`] for a tokenizer without such a text.
    pub(crate) fn new(
        opening: &Opening<'_>,
        playing: Playing,
        block_tokens: u32,
        shared_tokens: u32,
    ) -> Result<Self, WorkloadError> {
        let rng = Rng::new(opening.request.seed);
        let prompts = opening.prompts(&rng)?;
        let prefix = prompts.prefix(shared_tokens, rng.stream("prefix").item(0))?;
        Ok(Self {
            prompts,
            playing,
            block_tokens,
            prefix,
            texts: rng.stream("session_text"),
            answers: rng.stream("session_answer"),
        })
    }

    /// The session with a number, with the text of another one or of its own.
    ///
    /// # Errors
    /// [`WorkloadError::Unreachable`] when no text fits.
    pub(crate) fn write(
        &self,
        (id, text): (u32, u32),
        script: &[ScriptAgent],
        blocks: &[u64],
    ) -> Result<WorkItem, WorkloadError> {
        let mut item = WorkItem::new(id, Vec::new());
        for (number, agent) in script.iter().enumerate() {
            let one = One { writer: self, text, number, agent, blocks };
            let turns = (0..agent.turns.len()).map(|turn| one.turn(turn));
            let turns = turns.collect::<Result<Vec<Turn>, _>>()?;
            if number == 0 {
                item.turns = turns;
                continue;
            }
            item.agents.push(SubAgent {
                parent: agent.parent,
                after_turn: agent.after_turn,
                before_turn: agent.before_turn,
                delay_ns: agent.delay_ns,
                turns,
            });
        }
        self.playing.finish(item)
    }
}

/// One agent that is being written.
struct One<'script> {
    writer: &'script Writer,
    text: u32,
    number: usize,
    agent: &'script ScriptAgent,
    blocks: &'script [u64],
}

impl One<'_> {
    fn turn(&self, number: usize) -> Result<Turn, WorkloadError> {
        let Some(turn) = self.agent.turns.get(number) else {
            return Ok(Turn::new(Prompt::Messages(Vec::new())));
        };
        let prompts = &self.writer.prompts;
        let mut text = Prefix::default();
        let tokens = prompts.scaled(turn.tokens, number == 0);
        // What all share stays, however much a server's template adds.
        let least = if number == 0 { self.writer.prefix.tokens() } else { 0 };
        self.message(number, tokens.max(least.min(turn.tokens)), &mut text)?;
        let answer = match self.writer.playing.needs_answers() {
            true => {
                let draws = self.writer.answers.item(self.place(number));
                let text = prompts.passage(turn.output, draws)?;
                Some(Message::text(Role::Assistant, text))
            }
            false => None,
        };
        let message = Message::text(Role::User, text.into_text());
        Ok(Turn {
            prompt_tokens: Some(turn.tokens),
            output_tokens: Some(turn.output),
            think_ns: turn.think_ns,
            recorded_tokens: answer.is_some().then_some(turn.output),
            recorded_answer: answer,
            keeps: turn.keeps,
            known_tokens: turn.known,
            ..Turn::new(Prompt::Messages(vec![message]))
        })
    }

    /// The first `tokens` tokens of a turn's message.
    fn message(&self, number: usize, tokens: u32, text: &mut Prefix) -> Result<(), WorkloadError> {
        let prompts = &self.writer.prompts;
        // The turns that it repeats, and how much of each: a trace may go back any number of times.
        let mut parts = Vec::new();
        let mut next = Some((number, tokens));
        while let Some((number, tokens)) = next.take() {
            let Some(turn) = self.agent.turns.get(number) else { break };
            if number == 0 && self.writer.prefix.tokens() <= tokens {
                *text = self.writer.prefix.clone();
            }
            let blocks = self.blocks.get(turn.blocks.clone()).unwrap_or_default();
            prompts.grow_by_blocks(text, tokens, blocks, self.writer.block_tokens)?;
            parts.push((number, tokens));
            let again = turn.again.map(|(earlier, again)| (usize::from(earlier), again));
            next = again
                .filter(|(earlier, _)| *earlier < number)
                .map(|(earlier, again)| (earlier, tokens.min(prompts.scaled(again, false))));
        }
        for (number, tokens) in parts.into_iter().rev() {
            prompts.grow(text, tokens, self.writer.texts.item(self.place(number)))?;
        }
        Ok(())
    }

    /// The number of a turn's own words: session, agent and turn.
    fn place(&self, turn: usize) -> u64 {
        u64::from(self.text) << 32 | (self.number as u64) << 16 | turn as u64
    }
}

/// The data set: sessions of a file with made-up text.
struct ScriptSet {
    scripts: Scripts,
    writer: Writer,
    after_last: AfterLast,
    parallel: u32,
}

/// Makes the data set, and writes down what it is.
///
/// # Errors
/// [`WorkloadError::NoRows`] when it holds no session.
pub(crate) fn dataset(
    opening: &mut Opening<'_>,
    scripts: Scripts,
    writer: Writer,
    mut counts: RowCounts,
) -> Result<Box<dyn Dataset>, WorkloadError> {
    let Some(sessions) = u32::try_from(scripts.sessions.len()).ok().filter(|count| *count > 0)
    else {
        return Err(WorkloadError::NoRows {
            file: opening.facts.files.first().map(|file| file.name.clone()).unwrap_or_default(),
            read: counts.read,
            reasons: counts.reasons(),
        });
    };
    opening.tell_bound(scripts.sessions.len());
    counts.kept = counts.kept.max(u64::from(sessions));
    let told = counts.dropped.values().sum::<u64>() + counts.bad + counts.kept;
    counts.unused = counts.read.saturating_sub(told);
    let after_last = opening.request.after_last;
    let facts = &mut opening.facts;
    facts.items = (after_last != AfterLast::Repeat).then_some(sessions);
    facts.after_last = after_last;
    facts.rows = Some(counts);
    scripts.sessions.iter().for_each(|script| describe(facts, script));
    let parallel = scripts.sessions.iter().map(|script| parallel(script)).max().unwrap_or(1);
    Ok(Box::new(ScriptSet { scripts, writer, after_last, parallel }))
}

/// Writes down the lengths of a session.
fn describe(facts: &mut WorkloadFacts, script: &[ScriptAgent]) {
    for agent in script {
        facts.turns_max = facts.turns_max.max(agent.turns.len() as u32);
        let first = agent.turns.first().map(|turn| turn.tokens);
        facts.prompt_tokens_max = facts.prompt_tokens_max.max(first);
        let output = agent.turns.iter().map(|turn| turn.output).max();
        facts.output_tokens_max = facts.output_tokens_max.max(output);
        let sizes = agent.turns.iter().map(|turn| Size {
            keeps: turn.keeps,
            messages: 1,
            prompt_tokens: Some(turn.tokens),
            output_tokens: Some(turn.output),
            carried_tokens: Some(turn.output),
        });
        facts.total_tokens_max = facts.total_tokens_max.max(longest_tokens(sizes));
    }
}

/// Requests that a session can have in flight at once.
pub(crate) fn parallel(script: &[ScriptAgent]) -> u32 {
    if script.len() == 1 {
        return 1;
    }
    let turns =
        |agent: &ScriptAgent| vec![Turn::new(Prompt::Text(String::new())); agent.turns.len()];
    let agents = script.iter().skip(1).map(|agent| SubAgent {
        parent: agent.parent,
        after_turn: agent.after_turn,
        before_turn: agent.before_turn,
        delay_ns: 0,
        turns: turns(agent),
    });
    let agents = agents.collect();
    let turns = script.first().map(turns).unwrap_or_default();
    WorkItem { agents, ..WorkItem::new(0, turns) }.width()
}

impl Dataset for ScriptSet {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let items = self.scripts.sessions.len();
        let place = match self.after_last {
            AfterLast::Repeat => (id as usize).checked_rem(items).unwrap_or(0),
            AfterLast::Stop | AfterLast::VllmOversample => id as usize,
        };
        let script = self.scripts.sessions.get(place);
        let script = script.ok_or(WorkloadError::Exhausted { items: items as u64 })?;
        let mut item = self.writer.write((id, place as u32), script, &self.scripts.blocks)?;
        if id as usize >= items && !self.writer.playing.has_marks() {
            said_again(&mut item);
        }
        Ok(item)
    }

    fn distinct_items(&self) -> u64 {
        self.scripts.sessions.len() as u64
    }

    fn items(&self) -> Option<u32> {
        let items = self.scripts.sessions.len() as u32;
        (self.after_last != AfterLast::Repeat).then_some(items)
    }

    fn has_conversations(&self) -> bool {
        true
    }

    fn parallel(&self) -> u32 {
        self.parallel
    }

    fn shared_tokens(&self) -> Option<u32> {
        Some(0)
    }
}
