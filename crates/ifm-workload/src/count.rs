//! Counting tokens of many texts, on all processors.
//!
//! Not here: tokenizers.

use std::thread;

use ifm_tokenizer::{Tokenizer, TokenizerError};
use serde::Deserialize;

/// Threads that count at most.
const THREADS_MAX: usize = 16;

/// Does something with each element, on several threads; results in order.
pub(crate) fn map_parallel<T: Sync, R: Send>(list: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let share = list.len().div_ceil(threads).max(1);
    if threads == 1 || list.len() < 2 {
        return list.iter().map(work).collect();
    }
    thread::scope(|scope| {
        let work = &work;
        let parts = list
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()));
        let parts = parts.collect::<Vec<_>>();
        let done = parts.into_iter().map(|part| match part.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.flatten().collect()
    })
}

/// What Hugging Face's `transformers` would say of a tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HuggingFace {
    /// `num_special_tokens_to_add()`: tokens that are added to every text, such as a
    /// begin token.
    pub special_tokens: u32,
    /// `vocab_size`: tokens of the model, without those that were added to it.
    pub vocab_size: u32,
}

impl HuggingFace {
    /// Reads it from the tokenizer's own file.
    ///
    /// # Errors
    /// What the tokenizer says; a file without these parts gives its plain counts.
    pub(crate) fn of(tokenizer: &Tokenizer) -> Result<Self, TokenizerError> {
        let json = tokenizer.to_json()?;
        let parts = serde_json::from_str::<Parts>(&json).unwrap_or_default();
        let vocab_size = match parts.model.vocab {
            Vocabulary(0) => tokenizer.vocab_size(),
            Vocabulary(count) => count,
        };
        Ok(Self { special_tokens: parts.post_processor.map_or(0, |part| part.count()), vocab_size })
    }
}

/// What is needed of a `tokenizer.json`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    post_processor: Option<PostProcessor>,
    model: Model,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Model {
    vocab: Vocabulary,
}

/// A vocabulary as its size: nothing else of it is kept.
#[derive(Default)]
struct Vocabulary(u32);

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> serde::de::Visitor<'de> for CountVisitor {
    type Value = Vocabulary;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a vocabulary")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
        use serde::de::IgnoredAny;
        let mut count = 0;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Vocabulary(count))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Vocabulary, A::Error> {
        let mut count = 0;
        while list.next_element::<serde::de::IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Vocabulary(count))
    }
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum PostProcessor {
    TemplateProcessing {
        single: Vec<serde_json::Map<String, serde_json::Value>>,
    },
    BertProcessing,
    RobertaProcessing,
    Sequence {
        processors: Vec<PostProcessor>,
    },
    #[serde(other)]
    Other,
}

impl PostProcessor {
    /// Tokens that it adds to one text.
    fn count(&self) -> u32 {
        match self {
            Self::TemplateProcessing { single } => {
                single.iter().filter(|piece| piece.contains_key("SpecialToken")).count() as u32
            }
            // [CLS] and [SEP]; <s> and </s>.
            Self::BertProcessing | Self::RobertaProcessing => 2,
            Self::Sequence { processors } => processors.iter().map(Self::count).sum(),
            Self::Other => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let list = (0..1000).collect::<Vec<u32>>();
        assert_eq!(
            map_parallel(&list, |number| number * 2),
            (0..2000).step_by(2).collect::<Vec<_>>()
        );
        assert!(map_parallel(&[] as &[u32], |number| *number).is_empty());
    }

    #[test]
    fn special_tokens_are_read_from_the_file() {
        let read = |post: &str| {
            let json = format!(
                r#"{{"version":"1.0","truncation":null,"padding":null,"normalizer":null,
                "added_tokens":[{{"id":2,"content":"<s>","single_word":false,"lstrip":false,
                "rstrip":false,"normalized":false,"special":true}}],
                "pre_tokenizer":{{"type":"Whitespace"}},"decoder":null,"post_processor":{post},
                "model":{{"type":"WordLevel","vocab":{{"[UNK]":0,"a":1}},"unk_token":"[UNK]"}}}}"#
            );
            let tokenizer = Tokenizer::from_bytes("test", json.as_bytes()).unwrap();
            let found = HuggingFace::of(&tokenizer).unwrap();
            (found.special_tokens, found.vocab_size)
        };
        let template = r#"{"type":"TemplateProcessing",
            "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
            "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],
            "special_tokens":{"<s>":{"id":"<s>","ids":[2],"tokens":["<s>"]}}}"#;
        let byte_level =
            r#"{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true}"#;
        let both = format!(r#"{{"type":"Sequence","processors":[{byte_level},{template}]}}"#);
        let bert = r#"{"type":"BertProcessing","sep":["<s>",2],"cls":["<s>",2]}"#;
        assert_eq!(read("null"), (0, 2));
        assert_eq!(read(byte_level), (0, 2));
        assert_eq!(read(template), (1, 2));
        assert_eq!(read(&both), (1, 2));
        assert_eq!(read(bert), (2, 2));
        let embedded = Tokenizer::embedded().unwrap();
        assert_eq!(HuggingFace::of(&embedded).unwrap().special_tokens, 0);
    }
}
