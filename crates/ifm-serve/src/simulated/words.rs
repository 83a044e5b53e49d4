//! The tokens of a simulated answer, and the names of blocks of tokens.
//!
//! An answer is made of tokens that are whole words with a space before them: whoever cuts the
//! text into tokens again gets the same ones, so that a client which counts by tokenizer counts
//! what the server does, and an answer that comes back in the next prompt is recognised.
//!
//! Not here: when they are sent (`driver`).

use ifm_engine::{GenerateRequest, Tokenizer};
use ifm_kernels::RandomStream;

/// Tokens of one block of keys and values.
const BLOCK_TOKENS: usize = ifm_sim::BLOCK_TOKENS as usize;

/// Tokens that answers are made of, by id and text.
#[derive(Debug)]
pub(super) struct Words {
    words: Vec<(u32, String)>,
}

impl Words {
    /// The words of a vocabulary; there are none in one that does not write a space into its
    /// tokens.
    pub(super) fn of(tokenizer: &Tokenizer) -> Self {
        let is_word = |text: &str| {
            text.len() > 2
                && text
                    .strip_prefix(' ')
                    .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        };
        let word = |id: u32| {
            let text = tokenizer.decode(&[id]).ok()?;
            let is_whole = is_word(&text) && tokenizer.encode(&text).is_ok_and(|ids| ids == [id]);
            is_whole.then_some((id, text))
        };
        Self { words: (0..tokenizer.vocab_size()).filter_map(word).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Where a stop string ends an answer: its tokens, the last part of the stop string among them, and
    /// the bytes of text before it.
    pub(super) fn end(
        &self,
        answer: &RandomStream,
        request: &GenerateRequest,
    ) -> Option<(usize, usize)> {
        let longest = request.stop.iter().map(String::len).max()?;
        let (mut answer, mut text) = (answer.clone(), String::new());
        for tokens in 1..=request.max_tokens {
            // A stop string that ends in this word begins at most that many bytes before.
            let from = (text.len() + 1).saturating_sub(longest);
            text.push_str(self.draw(&mut answer).1);
            if tokens < request.min_tokens {
                continue;
            }
            let rest = text.get(from..).unwrap_or_default();
            let found = request.stop.iter().filter_map(|stop| rest.find(stop.as_str())).min();
            if let Some(place) = found {
                return Some((tokens, from + place));
            }
        }
        None
    }

    /// The next word of an answer.
    pub(super) fn draw(&self, answer: &mut RandomStream) -> (u32, &str) {
        // The high half of a product: any number of words is drawn evenly enough.
        let place = (u128::from(answer.next_word()) * self.words.len() as u128) >> 64;
        self.words.get(place as usize).map_or((0, ""), |(id, text)| (*id, text.as_str()))
    }
}

/// The answer to a prompt: with the same seed the same prompt is answered alike.
pub(super) fn answer(seed: u64, prompt: &[u32]) -> RandomStream {
    RandomStream::new(seed ^ prompt.iter().fold(0, |name, id| extend(name, *id)), "answer")
}

/// A name for each full block of tokens, which follows from all tokens up to its end.
pub(super) fn block_names(tokens: impl Iterator<Item = u32>) -> Vec<u64> {
    let mut name = 0;
    let mut names = Vec::with_capacity(tokens.size_hint().0 / BLOCK_TOKENS);
    for (place, id) in (1_usize..).zip(tokens) {
        name = extend(name, id);
        if place % BLOCK_TOKENS == 0 {
            names.push(name);
        }
    }
    names
}

/// The name of a list of tokens with one more: a round of `SplitMix64`.
fn extend(name: u64, id: u32) -> u64 {
    let mut word =
        name.rotate_left(5).wrapping_add(u64::from(id)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_answer_has_its_tokens() {
        let tokenizer = Tokenizer::embedded().expect("embedded");
        let words = Words::of(&tokenizer);
        assert!(words.words.len() > 1000, "{}", words.words.len());
        for seed in 0..20 {
            let mut answer = answer(seed, &[1, 2, 3]);
            let drawn: Vec<(u32, &str)> = (0..200).map(|_| words.draw(&mut answer)).collect();
            let ids: Vec<u32> = drawn.iter().map(|(id, _)| *id).collect();
            let text: String = drawn.iter().map(|(_, text)| *text).collect();
            assert_eq!(tokenizer.encode(&text).expect("ids"), ids);
            // Also behind the token that opens an answer, and before the one that closes it.
            let around = tokenizer.encode(&format!("<|assistant|>{text}<|end|>")).expect("ids");
            assert_eq!(around[1..=200], ids);
        }
    }

    #[test]
    fn names_follow_from_all_tokens_before() {
        let names = |ids: &[u32]| block_names(ids.iter().copied());
        let ids: Vec<u32> = (0..100).collect();
        assert_eq!(names(&ids).len(), 6);
        assert_eq!(names(&ids[..32]), names(&ids)[..2]);
        let mut other = ids.clone();
        other[17] += 1;
        assert_eq!(names(&ids)[0], names(&other)[0]);
        assert!((1..6).all(|block| names(&ids)[block] != names(&other)[block]));
        // The same tokens at another place are another block.
        assert_ne!(names(&[7; 32])[0], names(&[7; 32])[1]);
    }
}
