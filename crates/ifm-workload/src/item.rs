//! What a workload is made of: items, their turns, and the sources that make them.
//!
//! Not here: the sources themselves (`dataset`).

use std::sync::Arc;

use ifm_core::{Message, Prompt, ToolCall};

use crate::{error::WorkloadError, request::Answers};

/// Items from this number on are for questions in addition to a run, which never comes so far: whoever counts
/// what earlier items carried does not count up to them.
pub const FAR_ITEM: u32 = 3_000_000_000;

/// One unit of work: a conversation of one turn or of several.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    /// Its number in the workload, from 0.
    pub id: u32,
    /// What is sent, in this order; each turn waits for the answer to the one before. Never empty.
    pub turns: Vec<Turn>,
    /// When a trace sent it, nanoseconds since the trace's first request.
    pub at_ns: Option<u64>,
    /// Agents that the conversation starts in addition to itself: number 1 and on, the conversation itself is
    /// agent 0. Empty where it has none.
    pub agents: Vec<SubAgent>,
    /// Its class in mixed traffic, an index; absent where all items are of one kind.
    pub class: Option<u16>,
}

/// A conversation that an agent of a session starts, with a context of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct SubAgent {
    /// The agent that starts it: 0 for the conversation itself. Always below its own number.
    pub parent: u16,
    /// The turn of the parent after whose answer it starts.
    pub after_turn: u16,
    /// The turn of the parent that waits for its end; absent where no turn waits.
    pub before_turn: Option<u16>,
    /// Pause between the parent's answer and its first turn, nanoseconds.
    pub delay_ns: u64,
    /// What it sends, likewise. Never empty.
    pub turns: Vec<Turn>,
}

/// One request of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// What this turn adds to the conversation: the whole prompt in the first turn, the messages
    /// after the previous answer in later ones (then `Prompt::Messages`).
    pub prompt: Prompt,
    /// Tokens that this turn adds, without any that a server's template adds; absent where nobody
    /// counted.
    pub prompt_tokens: Option<u32>,
    /// Tokens to ask for; absent leaves the length to the server.
    pub output_tokens: Option<u32>,
    /// Pause between the previous answer and this turn, nanoseconds.
    pub think_ns: u64,
    /// The answer that later turns carry as the model's, where it was recorded. Absent: what the
    /// server answers.
    pub recorded_answer: Option<Message>,
    /// Tokens of that answer; absent where they were not counted.
    pub recorded_tokens: Option<u32>,
    /// Calls of tools in the recorded answer where the server's own is carried in its place: the
    /// results in the next turn bear their ids.
    pub recorded_calls: Vec<ToolCall>,
    /// The part of the conversation that it continues. Absent: all of it, and the answer to the turn
    /// before.
    pub keeps: Option<Keep>,
    /// Tokens of the whole prompt that a cache that forgets nothing would know when this turn is
    /// sent, by the trace's own arithmetic; absent where the trace does not tell.
    pub known_tokens: Option<u32>,
    /// Fields of the request's body that this turn alone has, such as `tools`.
    pub fields: Option<Arc<serde_json::Map<String, serde_json::Value>>>,
}

/// How much of what was said before a turn goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// An earlier turn of the same agent.
    pub turn: u16,
    /// So many messages of that turn's whole prompt, oldest first; the answer to it counts as one
    /// more. 0 begins anew.
    pub messages: u32,
}

impl Turn {
    /// A turn of which nothing but the prompt is known.
    pub fn new(prompt: Prompt) -> Turn {
        Turn {
            prompt,
            prompt_tokens: None,
            output_tokens: None,
            think_ns: 0,
            recorded_answer: None,
            recorded_tokens: None,
            recorded_calls: Vec::new(),
            keeps: None,
            known_tokens: None,
            fields: None,
        }
    }

    /// The same, of which later turns carry these answers: a recorded one that the server's own
    /// takes the place of leaves the ids of its calls behind.
    pub(crate) fn with_answers_of(mut self, answers: Answers) -> Turn {
        if answers == Answers::Server
            && let Some(recorded) = self.recorded_answer.take()
        {
            self.recorded_tokens = None;
            self.recorded_calls = recorded.tool_calls;
        }
        self
    }
}

impl WorkItem {
    /// A conversation of these turns, without further agents, class or time.
    pub fn new(id: u32, turns: Vec<Turn>) -> WorkItem {
        WorkItem { id, turns, at_ns: None, agents: Vec::new(), class: None }
    }

    /// The turns of an agent, 0 the conversation itself; none for an agent that there is not.
    pub fn turns_of(&self, agent: u16) -> &[Turn] {
        match agent.checked_sub(1) {
            None => &self.turns,
            Some(place) => self.agents.get(usize::from(place)).map_or(&[], |agent| &agent.turns),
        }
    }

    /// Memory that its text and its media hold, bytes; media that others hold too are left out.
    pub fn held_bytes(&self) -> u64 {
        let turns = self.agents.iter().flat_map(|agent| &agent.turns).chain(&self.turns);
        let of_turn = |turn: &Turn| {
            let recorded = turn.recorded_answer.as_ref().map_or(0, Message::held_bytes);
            let calls = turn.recorded_calls.iter().map(|call| call.arguments.len() as u64);
            turn.prompt.held_bytes() + recorded + calls.sum::<u64>()
        };
        turns.map(of_turn).sum()
    }

    /// Requests that it can have in flight at once at most.
    pub fn width(&self) -> u32 {
        width(&self.agents, self.turns.len())
    }

    /// One request and no more.
    pub fn single(
        id: u32,
        prompt: Prompt,
        prompt_tokens: Option<u32>,
        output_tokens: Option<u32>,
    ) -> WorkItem {
        let turn = Turn { prompt_tokens, output_tokens, ..Turn::new(prompt) };
        WorkItem::new(id, vec![turn])
    }
}

/// Requests that a session of these agents can have in flight at once at most, one whose own
/// conversation has so many turns. Agents come behind their parents, so that they are looked at
/// from the last one on.
pub(crate) fn width(agents: &[SubAgent], turns: usize) -> u32 {
    let mut widths = vec![1_u32; agents.len() + 1];
    for number in (0..=agents.len()).rev() {
        let turns = match number.checked_sub(1) {
            None => turns,
            Some(place) => agents.get(place).map_or(0, |agent| agent.turns.len()),
        };
        // What children add while a turn is in flight, and while the next one waits.
        let (mut during, mut between) = (vec![1_u32; turns], vec![0_u32; turns]);
        for (child, width) in agents.iter().zip(widths.iter().skip(1)) {
            if usize::from(child.parent) != number {
                continue;
            }
            let last = child.before_turn.map_or(turns, usize::from).min(turns);
            let first = usize::from(child.after_turn);
            let both = during.iter_mut().zip(between.iter_mut()).enumerate();
            for (turn, (during, between)) in both.take(last).skip(first) {
                *between = between.saturating_add(*width);
                if turn > first {
                    *during = during.saturating_add(*width);
                }
            }
        }
        let most = during.into_iter().chain(between).max().unwrap_or(1);
        if let Some(width) = widths.get_mut(number) {
            *width = most.max(1);
        }
    }
    widths.first().copied().unwrap_or(1)
}

/// A source of items, any of which can be made at any time, by any thread.
pub trait Dataset: Send + Sync {
    /// Makes the item with a number; the same each time.
    ///
    /// # Errors
    /// [`WorkloadError`] when there is no such item.
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError>;

    /// Makes the items from a number on before they are asked for, where making one takes long: until
    /// those that are needed at once are begun, or as many as memory allows, or until it is to wait no
    /// longer.
    fn make_ahead(&self, _from: u32, _needed: u32, _go_on: &dyn Fn() -> bool) {}

    /// How many items there are before one begins like an earlier one, so that a
    /// prefix cache could help. A shared prefix that was asked for is left out of
    /// the comparison; of a data set from files it is the first prompt that is the same
    /// as an earlier one.
    fn distinct_items(&self) -> u64;

    /// How many items there are; nothing where they do not end.
    fn items(&self) -> Option<u32> {
        None
    }

    /// Whether all items are text made up by one rule: an API that takes the first takes all of them.
    fn are_items_alike(&self) -> bool {
        false
    }

    /// Whether items have several turns.
    fn has_conversations(&self) -> bool {
        false
    }

    /// Requests that one item can have in flight at once at most: more than one where it has
    /// agents that work in parallel.
    fn parallel(&self) -> u32 {
        1
    }

    /// Tokens at the start of every first prompt that are the same in all; absent where nobody
    /// knows.
    fn shared_tokens(&self) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::Role;

    #[test]
    fn an_item_holds_its_text_its_answers_and_what_its_agents_say() {
        let text = |bytes: usize| Turn::new(Prompt::Text("x".repeat(bytes)));
        let answered =
            Turn { recorded_answer: Some(Message::text(Role::Assistant, "12345")), ..text(100) };
        let agent = SubAgent {
            parent: 0,
            after_turn: 0,
            before_turn: None,
            delay_ns: 0,
            turns: vec![text(1000), Turn::new(Prompt::Tokens(vec![1, 2]))],
        };
        let item = WorkItem { agents: vec![agent], ..WorkItem::new(0, vec![answered, text(10)]) };
        assert_eq!(item.held_bytes(), 100 + 5 + 10 + 1000 + 8);
    }

    #[test]
    fn the_width_of_a_session_is_that_of_its_busiest_moment() {
        let turn = || Turn::new(Prompt::Text(String::new()));
        let agent = |parent, after_turn, before_turn, turns| SubAgent {
            parent,
            after_turn,
            before_turn,
            delay_ns: 0,
            turns: vec![turn(); turns],
        };
        let item = |agents| WorkItem { agents, ..WorkItem::new(0, vec![turn(); 4]) };
        assert_eq!(item(vec![]).width(), 1);
        // The parent waits: one at a time.
        assert_eq!(item(vec![agent(0, 0, Some(1), 2)]).width(), 1);
        assert_eq!(item(vec![agent(0, 0, Some(1), 2), agent(0, 0, Some(1), 1)]).width(), 2);
        // Agents without a waiting turn go on in parallel to the parent.
        assert_eq!(item(vec![agent(0, 0, None, 2), agent(0, 2, None, 2)]).width(), 3);
        assert_eq!(item(vec![agent(0, 0, Some(2), 2)]).width(), 2);
        // A child of a child.
        let nested = vec![agent(0, 0, Some(1), 3), agent(1, 0, None, 1), agent(1, 1, None, 1)];
        assert_eq!(item(nested).width(), 3);
    }
}
