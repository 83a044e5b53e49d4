//! The text of an answer as it is kept, and which of it is reasoning.

use super::text::Text;
use crate::sse::BUFFER_BYTES_KEPT;
use ifm_core::ToolCall;
use std::ops::{Deref, Range};

/// Most calls of one answer that are kept: what a hostile stream may make us hold.
const CALLS_MAX: usize = 1024;

/// What a text is that is no part of the answer proper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Apart {
    Reasoning,
    /// Of another choice than the first: a conversation goes on with that one.
    OtherChoice,
}

/// Generated text. Reasoning stays in the order of arrival but is marked, because later turns of a
/// conversation send back the answer without the reasoning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generated {
    /// All of it. What is appended here is part of the answer proper.
    pub(super) text: String,
    /// The bytes of it that are no part of the answer proper, rising: whether they are reasoning, or
    /// belong to another choice than the first. Reasoning does not adjoin reasoning.
    apart: Vec<(Range<usize>, Apart)>,
    /// Calls of tools, as they began.
    calls: Vec<ToolCall>,
    /// The index of each call as reported by the server; absent if not reported.
    places: Vec<Option<u32>>,
}

impl Generated {
    /// Forgets the text; buffers are kept.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(BUFFER_BYTES_KEPT);
        self.apart.clear();
        self.calls.clear();
        self.places.clear();
    }

    /// Memory that it takes, bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let calls = self.calls.iter().map(|it| it.id.len() + it.name.len() + it.arguments.len());
        let apart = self.apart.len() * size_of::<(Range<usize>, Apart)>();
        self.text.len() + apart + calls.sum::<usize>()
    }

    /// The most recent call with this index; without an index, the most recent call of all.
    pub(super) fn last_call(&mut self, place: Option<u32>) -> Option<&mut ToolCall> {
        let is_it = |it: &Option<u32>| place.is_none() || *it == place;
        let number = self.places.iter().rposition(is_it)?;
        self.calls.get_mut(number)
    }

    /// Begins a call at this place; absent where there are too many.
    pub(super) fn begin_call(&mut self, place: Option<u32>) -> Option<&mut ToolCall> {
        if self.calls.len() == CALLS_MAX {
            return None;
        }
        let (id, name, arguments) = (String::new(), String::new(), String::new());
        self.places.push(place);
        self.calls.push(ToolCall { id, name, arguments });
        self.calls.last_mut()
    }

    /// Calls of tools, as they began, with the ids that the server gave.
    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Appends what the text means, as reasoning.
    pub(super) fn add_reasoning(&mut self, text: Text<'_>) {
        let start = self.text.len();
        text.append_to(&mut self.text);
        let end = self.text.len();
        match self.apart.last_mut() {
            Some((last, Apart::Reasoning)) if last.end == start => last.end = end,
            _ if end > start => self.apart.push((start..end, Apart::Reasoning)),
            _ => {}
        }
    }

    /// Adds text of another choice than the first, as `add` appends it.
    pub(super) fn add_other_choice(&mut self, add: impl FnOnce(&mut Generated)) {
        let mut other = Generated::default();
        add(&mut other);
        let start = self.text.len();
        self.text.push_str(&other.text);
        if self.text.len() > start {
            self.apart.push((start..self.text.len(), Apart::OtherChoice));
        }
    }

    /// The reasoning, if the server marks it separately.
    pub fn reasoning(&self) -> String {
        let thought = self.apart.iter().filter(|(_, what)| *what == Apart::Reasoning);
        thought.filter_map(|(range, _)| self.text.get(range.clone())).collect()
    }

    /// The answer proper: the text of the first choice without its reasoning.
    pub fn answer(&self) -> String {
        let mut answer = String::new();
        let mut start = 0;
        for (range, _) in &self.apart {
            answer.push_str(&self.text[start..range.start]);
            start = range.end;
        }
        answer.push_str(&self.text[start..]);
        answer
    }
}

impl Deref for Generated {
    type Target = str;

    /// All of it, reasoning included.
    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<Generated> for String {
    fn from(generated: Generated) -> String {
        generated.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_text_without_its_reasoning() {
        let mut kept = Generated::default();
        let text = |json: &'static str| serde_json::from_str::<Text<'_>>(json).unwrap();
        kept.add_reasoning(text("\"Hm,\\n\""));
        kept.add_reasoning(text("\"\""));
        kept.add_reasoning(text("\"é\""));
        kept.text.push_str("So.");
        kept.add_reasoning(text("\" Or?\""));
        kept.text.push_str(" Yes.");
        assert_eq!((&*kept, kept.answer().as_str()), ("Hm,\néSo. Or? Yes.", "So. Yes."));
        assert_eq!(kept.reasoning(), "Hm,\né Or?");
        assert_eq!(kept.apart.len(), 2);
        kept.clear();
        assert_eq!((&*kept, kept.answer().as_str()), ("", ""));
    }

    #[test]
    fn calls_are_found_by_their_place_and_bounded() {
        let mut kept = Generated::default();
        assert!(kept.last_call(None).is_none());
        for place in 0..2000 {
            let call = kept.begin_call(Some(place));
            call.into_iter().for_each(|call| call.id = place.to_string());
        }
        assert_eq!(kept.tool_calls().len(), CALLS_MAX);
        assert_eq!(kept.last_call(Some(7)).unwrap().id, "7");
        assert_eq!(kept.last_call(None).unwrap().id, "1023");
        assert!(kept.last_call(Some(1500)).is_none());
        kept.clear();
        assert!(kept.tool_calls().is_empty() && kept.last_call(None).is_none());
    }
}
