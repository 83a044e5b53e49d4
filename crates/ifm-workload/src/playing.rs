//! How a recorded or made-up session is played: which pauses are kept, where it begins, whose answers
//! it carries, and what keeps it apart from other sessions.
//!
//! Not here: reading sessions (`dataset`), text for those that have none (`script`).

use ifm_core::{Message, Prompt, Role};
use ifm_made::Rng;

use crate::{
    error::WorkloadError,
    item::{Keep, SubAgent, Turn, WorkItem},
    marks::Marks,
    opening::Opening,
    request::Answers,
    think::Think,
};

/// The longest pause that a trace may hold, in seconds: a month.
const PAUSE_S_MAX: f64 = 2_678_400.0;
/// Turns of one agent at most.
pub(crate) const TURNS_MAX: usize = u16::MAX as usize;
/// Agents of one session at most.
pub(crate) const AGENTS_MAX: usize = 4096;

/// How sessions are played.
#[derive(Debug, Clone)]
pub(crate) struct Playing {
    /// The longest pause, nanoseconds.
    idle_cap_ns: Option<u64>,
    /// Turns that are only context: the session begins behind them.
    skipped: usize,
    /// What keeps sessions apart, if something does.
    marks: Option<Marks>,
    /// Whose answers later turns carry.
    answers: Answers,
}

impl Playing {
    /// Reads the options `idle_cap`, `start`, `marker` and `answers`, and notes what they say.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn take(opening: &mut Opening<'_>, answers: Answers) -> Result<Self, WorkloadError> {
        let cap = opening.options.text("idle_cap");
        let idle_cap_ns = cap.as_deref().map(Think::fixed_ns).transpose()?;
        let start = opening.options.value::<usize>("start", "the number of a turn, from 1")?;
        let marker = opening.options.word("marker", &["no", "yes"])? == "yes";
        let answers = opening.take_answers(answers)?;
        let start = start.unwrap_or(1).max(1);
        if let Some(cap) = cap {
            opening.rule(format!("pauses of at most {cap}"));
        }
        if start > 1 {
            opening.rule(format!(
                "sessions begin with turn {start}; the turns before it are context, and shorter \
                 sessions are left out"
            ));
        }
        if marker {
            opening.rule("a mark of its own at the start of every prompt of a session");
        }
        opening.tell_answers(answers);
        let numbers = Rng::new(opening.request.seed).stream("session_mark");
        let marks = marker.then(|| Marks::new(numbers, opening.tokenizer.clone()));
        Ok(Self { idle_cap_ns, skipped: start - 1, marks, answers })
    }

    /// Whether recorded answers are sent at all.
    pub(crate) fn needs_answers(&self) -> bool {
        self.answers == Answers::Recorded || self.skipped > 0
    }

    /// Whether sessions are kept apart by marks.
    pub(crate) fn has_marks(&self) -> bool {
        self.marks.is_some()
    }

    /// Whether a session with so many turns is long enough.
    pub(crate) fn is_enough(&self, turns: usize) -> bool {
        turns > self.skipped
    }

    /// Whether a turn of a session's first agent is context alone, and not sent.
    pub(crate) fn is_context(&self, turn: usize) -> bool {
        turn < self.skipped
    }

    /// A pause of so many seconds, as it is played; one below 0 is none.
    ///
    /// # Errors
    /// A pause that no trace holds.
    pub(crate) fn pause_ns(&self, seconds: f64) -> Result<u64, String> {
        if seconds.is_nan() || seconds >= PAUSE_S_MAX {
            return Err(format!("a pause of {seconds} s is longer than a month"));
        }
        let ns = (seconds.max(0.0) * 1e9).round() as u64;
        Ok(ns.min(self.idle_cap_ns.unwrap_or(u64::MAX)))
    }

    /// Takes the marks away, for items that are marked each time they are sent.
    pub(crate) fn take_marks(&mut self) -> Option<Marks> {
        self.marks.take()
    }

    /// Whether a sub-agent is over before the session begins, by the agent and the turn that start it.
    pub(crate) fn is_over(&self, (parent, is_parent_over): (usize, bool), after: usize) -> bool {
        is_parent_over || parent == 0 && self.is_context(after)
    }

    /// The session as it is sent. Every answer is still there when it comes in.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn finish(&self, item: WorkItem) -> Result<WorkItem, WorkloadError> {
        let mut item = if self.skipped > 0 { begin_at(item, self.skipped) } else { item };
        if let Some(marks) = &self.marks {
            marks.put(&mut item)?;
        }
        let carry = |turns: Vec<Turn>| {
            turns.into_iter().map(|turn| turn.with_answers_of(self.answers)).collect::<Vec<_>>()
        };
        item.turns = carry(item.turns);
        for agent in &mut item.agents {
            agent.turns = carry(std::mem::take(&mut agent.turns));
        }
        Ok(item)
    }
}

/// The session from a later turn on: what was said before stands in its first prompt, and agents that
/// had started before are over.
fn begin_at(mut item: WorkItem, skipped: usize) -> WorkItem {
    // What each turn's prompt holds, where turns go back to it.
    let mut contexts: Vec<(Vec<Message>, Option<u32>)> = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    for (number, turn) in item.turns.into_iter().enumerate() {
        let before = match turn.keeps {
            Some(keep) => contexts.get(usize::from(keep.turn)).map(|(messages, tokens)| {
                let kept = messages.iter().take(keep.messages as usize).cloned().collect();
                let whole = tokens.filter(|_| keep.messages as usize == messages.len());
                (kept, if keep.messages == 0 { Some(0) } else { whole })
            }),
            None => contexts.last().cloned(),
        };
        let (mut messages, before_tokens) = before.unwrap_or((Vec::new(), Some(0)));
        let goes_on = turn.keeps.is_none_or(|keep| usize::from(keep.turn) >= skipped);
        messages.extend(messages_of(&turn.prompt));
        let tokens = before_tokens.zip(turn.prompt_tokens).map(|(a, b)| a.saturating_add(b));
        let whole = (messages.clone(), tokens);
        messages.extend(turn.recorded_answer.clone());
        let answer = turn.recorded_tokens.or(turn.recorded_answer.is_none().then_some(0));
        contexts.push((messages, tokens.zip(answer).map(|(a, b)| a.saturating_add(b))));
        if number < skipped {
            continue;
        }
        let first = number == skipped;
        turns.push(match first || !goes_on {
            true => Turn {
                prompt: Prompt::Messages(whole.0),
                prompt_tokens: whole.1,
                keeps: (!first).then_some(Keep { turn: 0, messages: 0 }),
                think_ns: if first { 0 } else { turn.think_ns },
                ..turn
            },
            false => {
                let place = |keep: Keep| Keep { turn: keep.turn - skipped as u16, ..keep };
                Turn { keeps: turn.keeps.map(place), ..turn }
            }
        });
    }
    item.turns = turns;
    item.agents = agents_from(item.agents, skipped as u16);
    item
}

/// The agents that start at this turn or later, and theirs, under new numbers.
fn agents_from(agents: Vec<SubAgent>, skipped: u16) -> Vec<SubAgent> {
    let mut numbers: Vec<Option<u16>> = vec![Some(0)];
    let mut kept = Vec::new();
    for mut agent in agents {
        let parent = numbers.get(usize::from(agent.parent)).copied().flatten();
        let is_kept = parent.filter(|_| agent.parent != 0 || agent.after_turn >= skipped);
        numbers.push(is_kept.map(|_| kept.len() as u16 + 1));
        let Some(parent) = is_kept else { continue };
        if agent.parent == 0 {
            agent.after_turn -= skipped;
            agent.before_turn = agent.before_turn.map(|turn| turn.saturating_sub(skipped));
        }
        agent.parent = parent;
        kept.push(agent);
    }
    kept
}

fn messages_of(prompt: &Prompt) -> Vec<Message> {
    match prompt {
        Prompt::Text(text) => vec![Message::text(Role::User, text.clone())],
        Prompt::Messages(messages) => messages.clone(),
        Prompt::Tokens(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str, keeps: Option<Keep>) -> Turn {
        let answer = Message::text(Role::Assistant, format!("to {text}"));
        Turn {
            prompt_tokens: Some(10),
            think_ns: 5,
            recorded_answer: Some(answer),
            recorded_tokens: Some(3),
            keeps,
            ..Turn::new(Prompt::Messages(vec![Message::text(Role::User, text)]))
        }
    }

    fn texts(turn: &Turn) -> Vec<String> {
        messages_of(&turn.prompt).into_iter().map(|message| message.content).collect()
    }

    #[test]
    fn a_session_may_begin_in_its_midst() {
        let child = |parent, after_turn, before_turn| SubAgent {
            parent,
            after_turn,
            before_turn,
            delay_ns: 0,
            turns: vec![turn("x", None)],
        };
        let turns = vec![
            turn("a", None),
            turn("b", None),
            turn("c", None),
            turn("d", Some(Keep { turn: 0, messages: 1 })),
            turn("e", Some(Keep { turn: 2, messages: 5 })),
        ];
        let agents =
            vec![child(0, 0, Some(1)), child(1, 0, None), child(0, 2, Some(3)), child(3, 0, None)];
        let item = WorkItem { agents, ..WorkItem::new(0, turns) };
        let item = begin_at(item, 2);
        assert_eq!(item.turns.len(), 3);
        let first = &item.turns[0];
        assert_eq!(texts(first), ["a", "to a", "b", "to b", "c"]);
        assert_eq!((first.prompt_tokens, first.think_ns, first.keeps), (Some(36), 0, None));
        // Back to what is context now: the whole prompt again.
        let anew = Some(Keep { turn: 0, messages: 0 });
        assert_eq!(
            (texts(&item.turns[1]), item.turns[1].keeps),
            (vec!["a".into(), "d".into()], anew)
        );
        assert_eq!(item.turns[2].keeps, Some(Keep { turn: 0, messages: 5 }));
        let places: Vec<_> =
            item.agents.iter().map(|it| (it.parent, it.after_turn, it.before_turn)).collect();
        assert_eq!(places, [(0, 0, Some(1)), (1, 0, None)]);
        // What begins anew is as long as it says.
        let anew = turn("b", Some(Keep { turn: 0, messages: 0 }));
        let item = begin_at(WorkItem::new(0, vec![turn("a", None), anew]), 1);
        assert_eq!(
            (texts(&item.turns[0]), item.turns[0].prompt_tokens),
            (vec!["b".into()], Some(10))
        );
    }
}
