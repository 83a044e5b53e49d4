//! What an event, or a whole answer, says by the places of a file.
//!
//! Not here: how a place is found (`pointer`).

use super::super::error::{error_message, small_value};
use super::super::generated::Generated;
use super::super::json::{self, Raw};
use super::super::list::ENTRIES_MAX;
use super::super::text::Text;
use super::super::{ChoiceFacts, ChunkFacts, Memory, ServerTimes, Usage, calls};
use super::pointer::{Condition, Pointer, Source, entries, field, meaning};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most choices of one event that are read.
const CHOICES_MAX: usize = 1024;

/// The locations of values.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) choices: Option<Pointer>,
    pub(super) index: Vec<Source>,
    pub(super) text: Vec<Source>,
    pub(super) reasoning: Vec<Source>,
    pub(super) refusal: Vec<Source>,
    pub(super) tool_calls: Vec<Source>,
    pub(super) finish_reason: Vec<Source>,
    pub(super) opening: Vec<Source>,
    pub(super) token: Vec<Source>,
    pub(super) counts: Counts,
    pub(super) times: [Vec<Source>; 3],
    pub(super) end: Vec<Condition>,
    pub(super) error: Vec<Source>,
    /// The API's finish reasons in the words that are known here.
    pub(super) finish_words: BTreeMap<String, String>,
    pub(super) empty_text_may_be_token: bool,
    pub(super) call: CallNames,
}

/// Counts of tokens: alternatives, each a sum.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) prompt: Vec<Vec<Source>>,
    pub(super) output: Vec<Vec<Source>>,
    pub(super) cached: Vec<Vec<Source>>,
    pub(super) reasoning: Vec<Vec<Source>>,
}

/// The field names of a call, where they differ from chat completions.
#[derive(Debug, Default)]
pub(super) struct CallNames {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
}

impl Reading {
    /// Reads a payload. Generated text is appended to `text`, if given.
    ///
    /// # Errors
    /// Why it is not JSON, or neither an object nor a list.
    pub(super) fn read<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        mut text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let Raw(event) = json::parse(data)?;
        if !event.starts_with(['{', '[']) {
            let start: String = event.chars().take(80).collect();
            return Err(format!("the server sent no JSON object: {start}"));
        }
        if let Some(error) = self.error(event) {
            return Ok(ChunkFacts { error: Some(error), ..ChunkFacts::default() });
        }
        let is_end = self.end.iter().any(|condition| condition.holds(event, event, event));
        let mut facts = ChunkFacts { is_end, usage: self.usage(event), ..ChunkFacts::default() };
        match &self.choices {
            None => {
                if let Some(choice) = self.choice(event, event, 0, text.as_deref_mut()) {
                    facts.choices.push(choice);
                }
            }
            Some(pointer) => {
                let mut position = 0;
                pointer.each(event, &mut |entry, _| {
                    if position < CHOICES_MAX {
                        let choice = self.choice(event, entry, position, text.as_deref_mut());
                        facts.choices.push(choice.unwrap_or_else(|| ChoiceFacts {
                            index: self.index(event, entry, position),
                            ..ChoiceFacts::default()
                        }));
                    }
                    position += 1;
                });
            }
        }
        self.count_token(event, memory, &mut facts);
        Ok(facts)
    }

    /// What the server says that went wrong, if it does.
    fn error(&self, event: &str) -> Option<String> {
        let value = self.error.iter().find_map(|source| source.first(event, event))?;
        Some(match small_value(value) {
            Some(value) => error_message(&value),
            None => "the server reports an error that cannot be read".to_owned(),
        })
    }

    /// What one choice says; absent where it says nothing.
    fn choice<'input>(
        &self,
        event: &'input str,
        choice: &'input str,
        position: usize,
        text: Option<&mut Generated>,
    ) -> Option<ChoiceFacts<'input>> {
        let texts = |sources: &[Source]| texts(sources, event, choice);
        let (said, thought, refused) =
            (texts(&self.text), texts(&self.reasoning), texts(&self.refusal));
        let calls = first_that_is_there(&self.tool_calls, event, choice);
        let has_calls = calls.iter().any(|value| Raw(value).holds());
        let reason = self.finish_reason.iter().find_map(|source| source.first(event, choice));
        let reason = reason.and_then(|value| self.reason(value));
        let is_opening = self.opening.iter().any(|it| it.first(event, choice).is_some());
        let all = [&said, &thought, &refused];
        if all.iter().all(|texts| texts.is_empty()) && !has_calls && reason.is_none() && !is_opening
        {
            return None;
        }
        let index = self.index(event, choice, position);
        if let Some(kept) = text {
            let keep = |kept: &mut Generated| {
                thought.iter().for_each(|text| kept.add_reasoning(*text));
                said.iter().for_each(|text| text.append_to(&mut kept.text));
                calls.iter().for_each(|value| self.call.keep(value, kept));
            };
            // A conversation goes on with the first choice.
            if index > 0 { kept.add_other_choice(keep) } else { keep(kept) }
        }
        let full = |texts: &[Text<'_>]| texts.iter().any(|text| !text.is_empty());
        let mut facts = ChoiceFacts {
            index,
            has_answer: full(&said) || full(&refused) || has_calls,
            has_reasoning: full(&thought),
            text_bytes: all
                .into_iter()
                .flatten()
                .map(|text| text.bytes())
                .chain(calls.iter().map(|value| self.call.text_bytes(value)))
                .fold(0, u32::saturating_add),
            has_refusal: full(&refused),
            finish_reason: reason,
            ..ChoiceFacts::default()
        };
        let carries = facts.has_answer || facts.has_reasoning;
        let has_text = !said.is_empty() || !thought.is_empty();
        facts.has_empty_text = self.empty_text_may_be_token && has_text && !carries && !is_opening;
        Some(facts)
    }

    fn index(&self, event: &str, choice: &str, position: usize) -> u16 {
        let told = self.index.iter().find_map(|source| source.first(event, choice));
        let told = told.and_then(count).and_then(|index| u16::try_from(index).ok());
        told.unwrap_or(position.try_into().unwrap_or(u16::MAX))
    }

    /// Why the answer ended, as a known finish reason. An empty text is not a reason.
    fn reason<'input>(&self, value: &'input str) -> Option<Cow<'input, str>> {
        let word = match meaning(value) {
            Some(text) => text,
            None if value.starts_with(['{', '[']) || value == "false" => return None,
            None => value.to_owned(),
        };
        let known = self.finish_words.get(&word).cloned();
        Some(known.unwrap_or(word)).filter(|word| !word.is_empty()).map(Cow::Owned)
    }

    /// What the server counted and measured.
    fn usage(&self, event: &str) -> Option<Usage> {
        let sum = |alternatives: &[Vec<Source>]| {
            alternatives.iter().find_map(|parts| {
                let counts =
                    parts.iter().filter_map(|part| part.first(event, event).and_then(count));
                counts.reduce(u32::saturating_add)
            })
        };
        let ns = |sources: &[Source]| {
            let value = sources.iter().find_map(|source| source.first(event, event))?;
            json::ns(&mut serde_json::Deserializer::from_str(value)).ok().flatten()
        };
        let [queue, first_token, decode] = &self.times;
        let usage = Usage {
            prompt_tokens: sum(&self.counts.prompt),
            completion_tokens: sum(&self.counts.output),
            cached_tokens: sum(&self.counts.cached),
            reasoning_tokens: sum(&self.counts.reasoning),
            times: ServerTimes {
                queue_ns: ns(queue),
                first_token_ns: ns(first_token),
                decode_ns: ns(decode),
            },
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
    }

    /// Counts the token that the event is, where the file says so. The server's own count wins.
    fn count_token(&self, event: &str, memory: &mut Memory, facts: &mut ChunkFacts<'_>) {
        if !self.token.iter().any(|source| source.first(event, event).is_some()) {
            return;
        }
        let sequence = memory.sequence(0);
        sequence.tokens = sequence.tokens.saturating_add(1);
        let usage = facts.usage.get_or_insert_default();
        usage.completion_tokens.get_or_insert(sequence.tokens);
        let carries = facts.choices.iter().any(|choice| choice.has_answer || choice.has_reasoning);
        if !carries {
            let former = std::mem::take(&mut facts.choices);
            let mut choice = former.iter().next().cloned().unwrap_or_default();
            choice.has_empty_text = true;
            facts.choices.push(choice);
        }
    }

    /// The keys of JSON strings that carry output, for the quick way through events that are alike in
    /// all else. None, where such a string could mean something else too.
    pub(super) fn output_keys(&self) -> Vec<String> {
        let carry = self.text.iter().chain(&self.reasoning).chain(&self.refusal);
        let mut keys: Vec<String> =
            carry.clone().filter_map(|it| it.pointer.last_name().map(str::to_owned)).collect();
        keys.sort_unstable();
        keys.dedup();
        let lists =
            [&self.index, &self.tool_calls, &self.finish_reason, &self.opening, &self.token];
        let counts = &self.counts;
        let sums = [&counts.prompt, &counts.output, &counts.cached, &counts.reasoning];
        let others = lists.into_iter().flatten().chain(sums.into_iter().flatten().flatten());
        let others = others.chain(self.times.iter().flatten()).chain(&self.error);
        let looked_at = |condition: &Condition| condition.last_name().map(str::to_owned);
        let mut names: Vec<String> = others
            .clone()
            .filter_map(|source| source.pointer.last_name().map(str::to_owned))
            .chain(others.chain(carry).flat_map(|it| &it.conditions).filter_map(looked_at))
            .chain(self.end.iter().filter_map(looked_at))
            .collect();
        names.retain(|name| keys.contains(name));
        if names.is_empty() { keys } else { Vec::new() }
    }
}

impl Condition {
    /// The last name of the place that is looked at.
    fn last_name(&self) -> Option<&str> {
        match &self.at {
            super::pointer::Whence::Beside(name) => Some(name),
            super::pointer::Whence::Event(pointer) | super::pointer::Whence::Choice(pointer) => {
                pointer.last_name()
            }
        }
    }
}

impl CallNames {
    /// Keeps a call, or the calls of a list.
    fn keep(&self, value: &str, kept: &mut Generated) {
        if value.starts_with('[') {
            return match self.is_usual() {
                true => calls::keep(Raw(value), kept),
                false => entries(value, &mut |entry| self.keep_one(entry, kept)),
            };
        }
        self.keep_one(value, kept);
    }

    fn is_usual(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.arguments.is_none()
    }

    /// Bytes of the text of a call, or of the calls of a list; under names of its own, bytes as
    /// written.
    fn text_bytes(&self, value: &str) -> u32 {
        match (self.is_usual(), value.starts_with('[')) {
            (true, true) => calls::text_bytes(Raw(value)),
            (true, false) => calls::text_bytes(Raw(&format!("[{value}]"))),
            (false, _) => Raw(value).text_bytes(),
        }
    }

    fn keep_one(&self, call: &str, kept: &mut Generated) {
        if self.is_usual() {
            return calls::keep(Raw(&format!("[{call}]")), kept);
        }
        let of = |name: &Option<String>| {
            name.as_deref().and_then(|name| field(call, name)).unwrap_or("null").to_owned()
        };
        let (id, name, arguments) = (of(&self.id), of(&self.name), of(&self.arguments));
        let usual =
            format!("[{{\"id\":{id},\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}]");
        calls::keep(Raw(&usual), kept);
    }
}

/// The texts at the first of the places that has any.
fn texts<'input>(sources: &[Source], event: &'input str, choice: &'input str) -> Vec<Text<'input>> {
    for source in sources {
        let mut found = Vec::new();
        source.each(event, choice, &mut |value| {
            found.extend(Text::of_raw(value).filter(|_| found.len() < ENTRIES_MAX));
        });
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn first_that_is_there<'input>(
    sources: &[Source],
    event: &'input str,
    choice: &'input str,
) -> Vec<&'input str> {
    for source in sources {
        let mut found = Vec::new();
        source.each(event, choice, &mut |value| {
            found.extend((found.len() < ENTRIES_MAX).then_some(value));
        });
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// A count, however it is written.
fn count(value: &str) -> Option<u32> {
    json::count(&mut serde_json::Deserializer::from_str(value)).ok().flatten()
}
