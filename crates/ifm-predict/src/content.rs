//! The content of a request for a prefix cache: hashes of its blocks, and an answer that later
//! turns may repeat.
//!
//! Tokens are stretches of a fixed number of bytes, the same in all requests of a run, so prompts
//! that begin with the same bytes begin with the same blocks. The prefix found may be up to a block
//! shorter than with the model's own tokens.
//!
//! Not here: blocks in memory (`ifm-sim`).

use ifm_sim::BLOCK_TOKENS;
use serde_json::Value;
use std::hash::{DefaultHasher, Hasher as _};

/// Default bytes per token, until a request has shown a value.
const BYTES_PER_TOKEN: f64 = 4.5;

/// Converts requests to a cache's view of them.
#[derive(Debug, Default)]
pub struct Contents {
    /// Bytes per token, from the first prompt whose tokens were counted.
    bytes_per_token: Option<f64>,
}

impl Contents {
    /// The bytes of a prompt that a model reads: for a whole HTTP request, the text of its body.
    pub fn of_request(request: &[u8]) -> Vec<u8> {
        let head = memchr::memmem::find(request, b"\r\n\r\n").map_or(0, |at| at + 4);
        let body: Option<Value> =
            serde_json::from_slice(request.get(head..).unwrap_or_default()).ok();
        let mut said = Vec::new();
        match body.as_ref().map(|body| (body.get("messages"), body.get("prompt"))) {
            Some((Some(Value::Array(messages)), _)) => {
                for message in messages {
                    let text = |name: &str| match message.get(name) {
                        Some(Value::String(text)) => text.clone(),
                        Some(Value::Null) | None => String::new(),
                        Some(other) => other.to_string(),
                    };
                    say(&mut said, &text("role"), &text("content"));
                }
            }
            Some((_, Some(Value::String(prompt)))) => said.extend_from_slice(prompt.as_bytes()),
            Some((_, Some(other))) => said.extend_from_slice(other.to_string().as_bytes()),
            _ => {}
        }
        said
    }

    /// Tokens of a prompt: as counted, or estimated from its bytes.
    pub fn tokens(&mut self, said: &[u8], counted: Option<u32>) -> u32 {
        if let (None, Some(tokens @ 1..)) = (self.bytes_per_token, counted)
            && !said.is_empty()
        {
            self.bytes_per_token = Some((said.len() as f64 / f64::from(tokens)).max(0.5));
        }
        let reckoned = (said.len() as f64 / self.per_token()).round() as u32;
        counted.unwrap_or(reckoned).max(1)
    }

    /// A unique answer of the given number of tokens.
    pub fn answer(&self, number: u32, tokens: u32) -> String {
        let length = (f64::from(tokens) * self.per_token()).round() as usize;
        let mut text = String::with_capacity(length + 16);
        let mut word = u64::from(number);
        while text.len() < length {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            text.push_str(&format!("{:08x} ", mixed >> 32));
        }
        text.truncate(length);
        text
    }

    /// Hashes of the full blocks of a prompt and its answer, with the given number of tokens.
    pub fn blocks(
        &self,
        said: &[u8],
        prompt_tokens: u32,
        answer: &str,
        output_tokens: u32,
    ) -> Vec<u64> {
        let mut whole = said.to_vec();
        say(&mut whole, "assistant", answer);
        let stretch = f64::from(BLOCK_TOKENS) * self.per_token();
        let (mut hasher, mut read) = (DefaultHasher::new(), 0);
        let numbers = 1..=(prompt_tokens + output_tokens) / BLOCK_TOKENS;
        numbers
            .map(|number| {
                let end = ((f64::from(number) * stretch) as usize).min(whole.len());
                hasher.write(whole.get(read..end).unwrap_or_default());
                // If the text is shorter than its tokens, blocks differ only by their number.
                hasher.write_u32(number);
                read = end;
                hasher.finish()
            })
            .collect()
    }

    fn per_token(&self) -> f64 {
        self.bytes_per_token.unwrap_or(BYTES_PER_TOKEN)
    }
}

fn say(said: &mut Vec<u8>, role: &str, content: &str) {
    for part in [role, "\n", content, "\n"] {
        said.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(left: &[u64], right: &[u64]) -> usize {
        left.iter().zip(right).take_while(|(left, right)| left == right).count()
    }

    #[test]
    fn prompts_that_begin_alike_share_their_first_blocks() {
        let mut contents = Contents::default();
        let (shared, one, other) = ("s".repeat(1000), "a".repeat(600), "b".repeat(600));
        let prompt = |end: &str| format!("{shared}{end}").into_bytes();
        assert_eq!(contents.tokens(&prompt(&one), Some(400)), 400);
        let of = |end: &str| contents.blocks(&prompt(end), 400, "", 0);
        // 1 000 of 1 600 bytes are 250 of 400 tokens: 15 whole blocks.
        assert_eq!(common(&of(&one), &of(&other)), 15);
        assert_eq!(common(&of(&one), &of(&one)), 25);
    }

    #[test]
    fn a_later_turn_finds_what_was_said_and_answered() {
        let mut contents = Contents::default();
        let mut said = Vec::new();
        say(&mut said, "user", &"x".repeat(995));
        let prompt_tokens = contents.tokens(&said, Some(250));
        let answer = contents.answer(7, 100);
        let first = contents.blocks(&said, prompt_tokens, &answer, 100);
        let mut next = said.clone();
        say(&mut next, "assistant", &answer);
        say(&mut next, "user", "and then?");
        let next_tokens = contents.tokens(&next, None);
        let second = contents.blocks(&next, next_tokens, "", 0);
        assert!(common(&first, &second) >= first.len() - 1, "{} {}", first.len(), second.len());
    }

    #[test]
    fn a_body_is_read_as_text_or_as_messages() {
        let request = |body: &str| format!("POST / HTTP/1.1\r\nA: b\r\n\r\n{body}").into_bytes();
        let said = Contents::of_request(&request(r#"{"prompt":"how"}"#));
        assert_eq!(said, b"how");
        let said =
            Contents::of_request(&request(r#"{"messages":[{"role":"user","content":"how"}]}"#));
        assert_eq!(said, b"user\nhow\n");
    }
}
