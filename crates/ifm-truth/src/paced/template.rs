//! The bytes of a stream, rendered once: events as vLLM writes them, one HTTP chunk each.
//!
//! All token events of a template are equally long, so that a stream of any length is a window
//! over one short block of bytes and nothing is rendered while the server runs.

use crate::script::one_chunk;
use crate::truth::Api;

/// Different tokens in a template; then the texts repeat.
const WORDS: usize = 64;

/// Letters that the words are made of.
const CONSONANTS: &[u8; 16] = b"bcdfghjklmnpqrst";
const VOWELS: &[u8; 4] = b"aeio";

/// Fields that open every event, in vLLM's spelling (no blanks).
const CHAT_FIELDS: &str = "\"id\":\"chatcmpl-6f0c2f9f0b6e4e53a0d5f7a1c9b3d8e2\",\
    \"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"truth-model\"";
const TEXT_FIELDS: &str = "\"id\":\"cmpl-6f0c2f9f0b6e4e53a0d5f7a1c9b3d8e2\",\
    \"object\":\"text_completion\",\"created\":1760000000,\"model\":\"truth-model\"";

/// Pre-rendered parts of a stream.
#[derive(Debug)]
pub struct Template {
    /// The response head.
    pub head: Vec<u8>,
    /// What precedes the first token: the role event of a chat, nothing for completions.
    pub opening: Vec<u8>,
    /// Token events, twice over: a window of up to half of it fits at any event.
    events: Vec<u8>,
    /// Bytes of one token event on the wire.
    pub event_bytes: usize,
    finish: Vec<u8>,
    fields: &'static str,
}

/// The text of a token: a blank and five letters.
fn word(number: usize) -> String {
    let letter = |set: &[u8], at: usize| char::from(set[at % set.len()]);
    [
        ' ',
        letter(CONSONANTS, number),
        letter(VOWELS, number / 16),
        letter(CONSONANTS, number / 4 + 5),
        letter(VOWELS, number),
        letter(CONSONANTS, number * 7 + 3),
    ]
    .into_iter()
    .collect()
}

fn event(payload: &str) -> Vec<u8> {
    one_chunk(format!("data: {payload}\n\n").as_bytes())
}

impl Template {
    /// Renders the parts for one endpoint.
    pub fn new(api: Api) -> Template {
        let fields = match api {
            Api::Chat => CHAT_FIELDS,
            Api::Completions => TEXT_FIELDS,
        };
        let choice = |inner: &str, finish: &str| {
            format!(
                "{{{fields},\"choices\":[{{\"index\":0,{inner},\"logprobs\":null,\
                 \"finish_reason\":{finish},\"token_ids\":null}}]}}"
            )
        };
        let token = |number: usize| match api {
            Api::Chat => choice(&format!("\"delta\":{{\"content\":\"{}\"}}", word(number)), "null"),
            Api::Completions => choice(&format!("\"text\":\"{}\"", word(number)), "null"),
        };
        let (opening, finish) = match api {
            Api::Chat => {
                let role = "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}";
                (event(&choice(role, "null")), choice("\"delta\":{}", "\"length\""))
            }
            Api::Completions => (Vec::new(), choice("\"text\":\"\"", "\"length\"")),
        };
        let round: Vec<u8> = (0..WORDS).flat_map(|number| event(&token(number))).collect();
        Template {
            head: crate::script::STREAM_HEAD.as_bytes().to_vec(),
            opening,
            event_bytes: round.len() / WORDS,
            events: round.repeat(2),
            finish: event(&finish),
            fields,
        }
    }

    /// Bytes `from..to` of an endless row of token events; shorter than asked for if it is longer
    /// than the block holds from there.
    pub fn events(&self, from: u64, to: u64) -> &[u8] {
        let round = self.events.len() / 2;
        let start = (from % round as u64) as usize;
        let length = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let end = start.saturating_add(length).min(self.events.len());
        self.events.get(start..end).unwrap_or_default()
    }

    /// Everything after the last token: finish, usage if wanted, end mark, last chunk.
    pub fn tail(&self, prompt_tokens: u64, tokens: u32, usage: bool) -> Vec<u8> {
        let mut tail = self.finish.clone();
        if usage {
            let fields = self.fields;
            let total = prompt_tokens + u64::from(tokens);
            tail.extend(event(&format!(
                "{{{fields},\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt_tokens},\
                 \"total_tokens\":{total},\"completion_tokens\":{tokens}}}}}"
            )));
        }
        tail.extend(event("[DONE]"));
        tail.extend(b"0\r\n\r\n");
        tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn events_are_of_the_field_s_size_equally_long_and_valid() {
        for api in [Api::Chat, Api::Completions] {
            let template = Template::new(api);
            let size = template.event_bytes;
            assert_eq!(template.events.len(), 2 * WORDS * size);
            let mut texts = BTreeSet::new();
            for framed in template.events[..WORDS * size].chunks(size) {
                let text = std::str::from_utf8(framed).unwrap();
                let (length, event) = text.split_once("\r\n").unwrap();
                let event = event.strip_suffix("\r\n").unwrap();
                assert_eq!(usize::from_str_radix(length, 16).unwrap(), event.len());
                let payload = event.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
                let chunk: serde_json::Value = serde_json::from_str(payload).unwrap();
                let choice = &chunk["choices"][0];
                let text = choice["delta"]["content"].as_str().or(choice["text"].as_str());
                texts.insert(text.unwrap().to_owned());
            }
            assert_eq!(texts.len(), WORDS);
            if api == Api::Chat {
                assert!((237..=249).contains(&size), "231 to 243 bytes and 6 of framing: {size}");
            }
        }
    }

    #[test]
    fn windows_follow_one_another_without_a_seam() {
        let template = Template::new(Api::Chat);
        let round = (WORDS * template.event_bytes) as u64;
        let mut from = 0;
        let mut seen = Vec::new();
        while from < 3 * round {
            let window = template.events(from, (from + 1_000).min(3 * round));
            seen.extend_from_slice(window);
            from += window.len() as u64;
        }
        assert_eq!(seen.len() as u64, 3 * round);
        assert!(seen == template.events[..round as usize].repeat(3));
        assert!(template.events(5, 5).is_empty());
    }
}
