//! One session: the turns of its agents, when each is due, and how it ends.
//!
//! The agent that begins it is number 0. A turn is due when the answer to the one before has come and
//! the pause is over; one that waits for other agents counts its pause from the last end of them all.
//! An agent starts when its parent's turn has been answered and its delay is over. The session is over
//! when no agent has anything left, or when one of them cannot go on: what is in flight then finishes.
//!
//! Not here: bytes of requests, users and levels (`conversations`).

use ifm_core::{Message, Prompt, Reply, SessionEnd, ToolCall};
use ifm_workload::{Carried, SubAgent, Turn, WorkItem};

/// A turn that waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// Nanoseconds on the monotonic clock.
    pub at_ns: u64,
    /// The agent.
    pub agent: u16,
    /// Its turn.
    pub turn: u16,
}

/// Where an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its parent has not come so far.
    Unborn,
    /// A request is in flight or waits for its time.
    Busy,
    /// The turn before has been answered at that time, and the next one waits for other agents.
    Waits { since_ns: u64, turn: u16 },
    /// Everything has been answered, at that time.
    Done { at_ns: u64 },
}

/// A session under way.
pub struct Session {
    /// What it is made of. Prompts are taken out as they are sent.
    pub item: WorkItem,
    stages: Vec<Stage>,
    in_flight: u32,
    /// How it ended before its last turn.
    ended: Option<SessionEnd>,
}

/// What a reply means for the conversation.
pub enum Heard {
    /// It goes on with this message.
    Said(Message, Carried),
    /// The session has ended.
    Over,
}

impl Session {
    /// A session that has not begun.
    pub fn new(item: WorkItem) -> Session {
        let agents = item.agents.len() + 1;
        let mut stages = vec![Stage::Unborn; agents];
        if let Some(first) = stages.first_mut() {
            *first = Stage::Busy;
        }
        Session { item, stages, in_flight: 0, ended: None }
    }

    /// Takes out a turn that is to be sent now.
    pub fn take_turn(&mut self, agent: u16, turn: u16) -> Option<Turn> {
        let slot = self.asked(agent, turn)?;
        // What the answer is to be, and how it is carried, is still needed.
        let rest = Turn {
            recorded_answer: slot.recorded_answer.take(),
            recorded_tokens: slot.recorded_tokens,
            recorded_calls: std::mem::take(&mut slot.recorded_calls),
            output_tokens: slot.output_tokens,
            ..Turn::new(Prompt::Messages(Vec::new()))
        };
        Some(std::mem::replace(slot, rest))
    }

    /// Calls of the recorded answer to a turn whose own answer is carried.
    pub fn take_calls(&mut self, agent: u16, turn: u16) -> Vec<ToolCall> {
        self.asked(agent, turn).map(|it| std::mem::take(&mut it.recorded_calls)).unwrap_or_default()
    }

    /// The turn whose answer has come.
    fn asked(&mut self, agent: u16, turn: u16) -> Option<&mut Turn> {
        let turns = match agent.checked_sub(1) {
            None => &mut self.item.turns,
            Some(place) => &mut self.item.agents.get_mut(usize::from(place))?.turns,
        };
        turns.get_mut(usize::from(turn))
    }

    /// Notes a request that was made.
    pub fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// Ends the session before its last turn; what is in flight finishes.
    pub fn end(&mut self, end: SessionEnd) {
        self.ended.get_or_insert(end);
    }

    /// How it ended before its last turn; absent while it goes on.
    pub fn ended(&self) -> Option<SessionEnd> {
        self.ended
    }

    /// Whether nothing is left to send or to wait for.
    pub fn is_over(&self) -> bool {
        let is_open = |stage: &Stage| matches!(stage, Stage::Busy | Stage::Waits { .. });
        self.in_flight == 0 && (self.ended.is_some() || !self.stages.iter().any(is_open))
    }

    /// Takes the reply to a turn: what the conversation carries on of it.
    pub fn hear(
        &mut self,
        (agent, turn): (u16, u16),
        reply: Option<Reply>,
        is_overflow: bool,
        echo_reasoning: bool,
    ) -> Heard {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(reply) = reply else {
            self.end(if is_overflow { SessionEnd::Overflow } else { SessionEnd::Failed });
            return Heard::Over;
        };
        if self.ended.is_some() {
            return Heard::Over;
        }
        let is_last = usize::from(turn) + 1 >= self.item.turns_of(agent).len();
        let (recorded, recorded_tokens, length) = match self.asked(agent, turn) {
            Some(asked) => {
                (asked.recorded_answer.take(), asked.recorded_tokens, asked.output_tokens)
            }
            None => (None, None, None),
        };
        if let Some(recorded) = recorded {
            let tokens = recorded_tokens;
            let prompt_tokens = reply.prompt_tokens;
            return Heard::Said(recorded, Carried { tokens, is_of_server: false, prompt_tokens });
        }
        let echoes = echo_reasoning && !reply.reasoning.is_empty();
        // An answer of the requested length is complete.
        let is_half = reply.is_cut && length.is_none();
        if (is_half || reply.is_empty() && !echoes) && !is_last {
            self.end(SessionEnd::EmptyAnswer);
            return Heard::Over;
        }
        let carried = Carried {
            tokens: carried_tokens(&reply, echo_reasoning),
            is_of_server: true,
            prompt_tokens: reply.prompt_tokens,
        };
        Heard::Said(reply.into_message(echo_reasoning), carried)
    }

    /// What is due after the answer to a turn, which came at that time.
    pub fn follow(&mut self, (agent, turn): (u16, u16), end_ns: u64) -> Vec<Due> {
        let mut due = Vec::new();
        for number in self.children(agent, |child| child.after_turn == turn) {
            let Some(child) = self.agent(number) else { continue };
            due.push(Due { at_ns: end_ns.saturating_add(child.delay_ns), agent: number, turn: 0 });
            self.set(number, Stage::Busy);
        }
        let next = turn.saturating_add(1);
        if usize::from(next) < self.item.turns_of(agent).len() && next > turn {
            self.set(agent, Stage::Waits { since_ns: end_ns, turn: next });
            due.extend(self.wake(agent));
        } else {
            self.set(agent, Stage::Done { at_ns: end_ns });
            let parent = self.agent(agent).map(|it| it.parent);
            due.extend(parent.and_then(|parent| self.wake(parent)));
        }
        due
    }

    /// The next turn of an agent, once all that it waits for have ended.
    fn wake(&mut self, agent: u16) -> Option<Due> {
        let Some(&Stage::Waits { since_ns, turn }) = self.stages.get(usize::from(agent)) else {
            return None;
        };
        let mut from_ns = since_ns;
        for number in self.children(agent, |child| child.before_turn == Some(turn)) {
            match self.stages.get(usize::from(number)) {
                Some(Stage::Done { at_ns }) => from_ns = from_ns.max(*at_ns),
                // An agent that should start after the turn that waits for it never does.
                Some(Stage::Unborn) | None => {}
                Some(Stage::Busy | Stage::Waits { .. }) => return None,
            }
        }
        let think_ns = self.item.turns_of(agent).get(usize::from(turn))?.think_ns;
        self.set(agent, Stage::Busy);
        Some(Due { at_ns: from_ns.saturating_add(think_ns), agent, turn })
    }

    fn children(&self, parent: u16, is_one: impl Fn(&SubAgent) -> bool) -> Vec<u16> {
        let numbered = self.item.agents.iter().zip(1_u16..);
        let ours = numbered.filter(|(child, _)| child.parent == parent && is_one(child));
        ours.map(|(_, number)| number).collect()
    }

    fn agent(&self, number: u16) -> Option<&SubAgent> {
        self.item.agents.get(usize::from(number.checked_sub(1)?))
    }

    fn set(&mut self, agent: u16, stage: Stage) {
        if let Some(slot) = self.stages.get_mut(usize::from(agent)) {
            *slot = stage;
        }
    }
}

/// Tokens of what the conversation carries on, by the server's count: all of the answer, or all but
/// the reasoning. Absent where there was some and the server did not say how much.
fn carried_tokens(reply: &Reply, echo_reasoning: bool) -> Option<u32> {
    let all = reply.output_tokens?;
    match (echo_reasoning, reply.reasoning_tokens, reply.reasoning.is_empty()) {
        (true, ..) | (false, None, true) => Some(all),
        (false, Some(reasoning), _) => Some(all.saturating_sub(reasoning)),
        (false, None, false) => None,
    }
}
