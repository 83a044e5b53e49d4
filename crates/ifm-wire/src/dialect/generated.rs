//! The text of an answer as it is kept, and which of it is reasoning.

use super::text::Text;
use std::ops::{Deref, Range};

/// Generated text. Reasoning stands in it where it came, and is known apart: a conversation that
/// goes on sends back what was said, not what was thought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generated {
    /// All of it. What is appended here is part of the answer proper.
    pub(super) text: String,
    /// The bytes of it that are reasoning: rising, not adjoining.
    reasoning: Vec<Range<usize>>,
}

impl Generated {
    /// Forgets the text; buffers are kept.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.reasoning.clear();
    }

    /// Appends what the text means, as reasoning.
    pub(super) fn add_reasoning(&mut self, text: Text<'_>) {
        let start = self.text.len();
        text.append_to(&mut self.text);
        match self.reasoning.last_mut() {
            Some(last) if last.end == start => last.end = self.text.len(),
            _ if self.text.len() > start => self.reasoning.push(start..self.text.len()),
            _ => {}
        }
    }

    /// The answer proper: the text without its reasoning.
    pub fn answer(&self) -> String {
        let mut answer = String::new();
        let mut start = 0;
        for range in &self.reasoning {
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
        assert_eq!(kept.reasoning.len(), 2);
        kept.clear();
        assert_eq!((&*kept, kept.answer().as_str()), ("", ""));
    }
}
