//! A data set that ends: items in memory, and what follows the last one.
//!
//! Not here: reading the items (`dataset`).

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use crate::{
    compat::PythonRandom,
    error::WorkloadError,
    facts::WorkloadFacts,
    item::{Dataset, SubAgent, Turn, WorkItem, width},
    known::MediaFacts,
    marks::Marks,
    request::AfterLast,
    thread::{longest_of_session, said_again},
};

/// Bytes of prompts that are kept in memory at most.
pub(crate) const PROMPT_BYTES_MAX: u64 = 8 << 30;

/// One item, without its number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    pub turns: Vec<Turn>,
    pub at_ns: Option<u64>,
    pub agents: Vec<SubAgent>,
}

/// Items in memory.
pub(crate) struct ItemList {
    items: Vec<Stored>,
    /// Items of vLLM's drawing that follow the last one.
    drawn: Vec<u32>,
    after_last: AfterLast,
    distinct: u64,
    parallel: u32,
    /// What keeps items apart, if something does: a later pass has marks of its own.
    marks: Option<Marks>,
}

impl ItemList {
    /// A list that is not empty.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] when vLLM's drawing is asked for without a number of items.
    pub(crate) fn new(
        items: Vec<Stored>,
        after_last: AfterLast,
        items_max: Option<u32>,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let mut drawn = Vec::new();
        if after_last == AfterLast::VllmOversample {
            let Some(wanted) = items_max else {
                return Err(WorkloadError::Shape {
                    text: "oversampling".to_owned(),
                    reason: "vLLM's way needs the number of requests".to_owned(),
                });
            };
            let mut python = PythonRandom::new(seed);
            let missing = (wanted as usize).saturating_sub(items.len());
            drawn = (0..missing).map(|_| python.below(items.len() as u64) as u32).collect();
        }
        let distinct = count_distinct(&items);
        let widths = items.iter().map(|item| width(&item.agents, item.turns.len()));
        let parallel = widths.max().unwrap_or(1);
        Ok(Self { items, drawn, after_last, distinct, parallel, marks: None })
    }

    /// The same with a mark of its own at the start of every item.
    pub(crate) fn marked(self, marks: Option<Marks>) -> Self {
        Self { marks, ..self }
    }

    fn place(&self, id: u32) -> Option<usize> {
        let (place, count) = (id as usize, self.items.len());
        match self.after_last {
            _ if place < count => Some(place),
            AfterLast::Stop => None,
            AfterLast::Repeat => place.checked_rem(count),
            AfterLast::VllmOversample => self.drawn.get(place - count).map(|&drawn| drawn as usize),
        }
    }

    /// Writes down what the list is.
    pub(crate) fn describe(&self, facts: &mut WorkloadFacts) {
        let count = self.items.len() + self.drawn.len();
        facts.items = (self.after_last != AfterLast::Repeat).then_some(count as u32);
        facts.after_last = self.after_last;
        facts.timed = self.items.iter().all(|item| item.at_ns.is_some());
        let turns = self.items.iter().flat_map(|item| &item.turns);
        facts.media = MediaFacts::of_files(turns.flat_map(|turn| turn.prompt.media()));
        for (id, item) in (0..).zip(&self.items) {
            // A mark makes a prompt longer.
            let marked = self.marks.as_ref().and_then(|_| self.item(id).ok());
            let marked =
                marked.map(|it| Stored { turns: it.turns, at_ns: it.at_ns, agents: it.agents });
            let item = marked.as_ref().unwrap_or(item);
            facts.turns_max = facts.turns_max.max(item.turns.len() as u32);
            let first = item.turns.first().and_then(|turn| turn.prompt_tokens);
            facts.prompt_tokens_max = facts.prompt_tokens_max.max(first);
            let outputs = item.turns.iter().map(|turn| turn.output_tokens);
            facts.output_tokens_max = facts.output_tokens_max.max(outputs.max().flatten());
            let longest = longest_of_session(&item.turns, &item.agents);
            facts.total_tokens_max = facts.total_tokens_max.max(longest);
        }
    }
}

/// How many items there are before one begins with a prompt that was there already.
fn count_distinct(items: &[Stored]) -> u64 {
    let mut seen = HashSet::new();
    let digests = items.iter().map(|item| -> [u8; 32] {
        let first = item.turns.first().map(|turn| turn.prompt.canonical_bytes());
        Sha256::digest(first.unwrap_or_default()).into()
    });
    digests.take_while(|digest| seen.insert(*digest)).count() as u64
}

impl Dataset for ItemList {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let item = self.place(id).and_then(|place| self.items.get(place));
        let items = (self.items.len() + self.drawn.len()) as u64;
        let Stored { turns, at_ns, agents } = item.ok_or(WorkloadError::Exhausted { items })?;
        // A trace that begins again has no more times to tell.
        let at_ns = at_ns.filter(|_| (id as usize) < self.items.len());
        let mut item =
            WorkItem { at_ns, agents: agents.clone(), ..WorkItem::new(id, turns.clone()) };
        match &self.marks {
            Some(marks) => marks.put(&mut item)?,
            None if id as usize >= self.items.len() => said_again(&mut item),
            None => {}
        }
        Ok(item)
    }

    fn distinct_items(&self) -> u64 {
        match (&self.marks, self.items()) {
            (None, _) => self.distinct,
            (Some(_), items) => u64::from(items.unwrap_or(u32::MAX)),
        }
    }

    fn items(&self) -> Option<u32> {
        let count = (self.items.len() + self.drawn.len()) as u32;
        (self.after_last != AfterLast::Repeat).then_some(count)
    }

    fn has_conversations(&self) -> bool {
        self.items.iter().any(|item| item.turns.len() > 1 || !item.agents.is_empty())
    }

    fn parallel(&self) -> u32 {
        self.parallel
    }
}

#[cfg(test)]
mod tests {
    use ifm_core::Prompt;

    use super::*;

    fn list(texts: &[&str], after_last: AfterLast, wanted: Option<u32>) -> ItemList {
        let items = texts.iter().map(|text| {
            let prompt = Prompt::Text((*text).to_owned());
            Stored {
                turns: WorkItem::single(0, prompt, Some(1), Some(2)).turns,
                at_ns: Some(5),
                agents: vec![],
            }
        });
        ItemList::new(items.collect(), after_last, wanted, 0).unwrap()
    }

    fn text(list: &ItemList, id: u32) -> Option<String> {
        let item = list.item(id).ok()?;
        assert_eq!(item.id, id);
        item.turns[0].prompt.as_text().map(str::to_owned)
    }

    #[test]
    fn what_follows_the_last_item_is_as_asked() {
        let stop = list(&["a", "b"], AfterLast::Stop, None);
        assert_eq!((text(&stop, 1).as_deref(), text(&stop, 2)), (Some("b"), None));
        assert_eq!(stop.items(), Some(2));
        let error = stop.item(2).unwrap_err().to_string();
        assert!(error.contains("exhausted after 2 items"), "{error}");
        let repeat = list(&["a", "b"], AfterLast::Repeat, None);
        assert_eq!((text(&repeat, 5).as_deref(), repeat.items()), (Some("b"), None));
        assert_eq!((repeat.item(1).unwrap().at_ns, repeat.item(2).unwrap().at_ns), (Some(5), None));
    }

    #[test]
    fn a_later_pass_knows_what_was_said_in_the_first() {
        let known = |list: &ItemList, id| list.item(id).unwrap().turns[0].known_tokens;
        let repeat = list(&["a", "b"], AfterLast::Repeat, None);
        assert_eq!([0, 1, 2, 5].map(|id| known(&repeat, id)), [None, None, Some(1), Some(1)]);
        let drawn = list(&["a", "b"], AfterLast::VllmOversample, Some(3));
        assert_eq!((known(&drawn, 1), known(&drawn, 2)), (None, Some(1)));
    }

    /// Python 3.11.7: `random.seed(0); [random.choice("abcde") for _ in range(6)]`.
    #[test]
    fn vllm_draws_more() {
        let more = list(&["a", "b", "c", "d", "e"], AfterLast::VllmOversample, Some(11));
        let drawn = (5..11).map(|id| text(&more, id).unwrap()).collect::<String>();
        assert_eq!(drawn, "ddaced");
        assert_eq!((more.items(), text(&more, 11)), (Some(11), None));
        let none = ItemList::new(Vec::new(), AfterLast::VllmOversample, None, 0);
        assert!(none.is_err());
    }

    #[test]
    fn equal_prompts_are_seen() {
        assert_eq!(list(&["a", "b", "a", "c"], AfterLast::Stop, None).distinct_items(), 2);
        let mut facts = WorkloadFacts::default();
        list(&["a", "b"], AfterLast::Stop, None).describe(&mut facts);
        assert_eq!((facts.items, facts.turns_max, facts.timed), (Some(2), 1, true));
        assert_eq!((facts.prompt_tokens_max, facts.total_tokens_max), (Some(1), Some(3)));
    }
}
