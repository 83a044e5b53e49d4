//! Token by token to text, never half a character.
//!
//! What a server needs to send each token as it is made: the pieces, put
//! together, are the text that [`Tokenizer::decode`] gives for all ids at once.
//!
//! Not here: stop strings, framing.

use crate::{Tokenizer, error::TokenizerError};

/// Tokens that are held back at most while their text is not settled, for
/// vocabularies that are not byte-level. Four tokens make any character; more
/// means that the bytes are not text.
const HELD_TOKENS_MAX: usize = 8;

/// Decodes one sequence as its ids arrive. Made by [`Tokenizer::stream`].
#[derive(Debug, Clone)]
pub struct StreamDecoder {
    tokenizer: Tokenizer,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// Bytes of a character that is not complete: three at most; and whether no token
    /// with text has come yet.
    Bytes { pending: Vec<u8>, at_start: bool },
    /// A window of ids: `..settled` has been emitted and serves as context,
    /// because a token's text can depend on the one before it.
    Window { ids: Vec<u32>, settled: usize },
}

impl Tokenizer {
    /// Starts to decode one sequence token by token.
    pub fn stream(&self) -> StreamDecoder {
        StreamDecoder::new(self.clone())
    }
}

impl StreamDecoder {
    pub(crate) fn new(tokenizer: Tokenizer) -> Self {
        let state = if tokenizer.byte_table().is_some() {
            State::Bytes { pending: Vec::new(), at_start: true }
        } else {
            State::Window { ids: Vec::new(), settled: 0 }
        };
        Self { tokenizer, state }
    }

    /// Takes the next id; returns the text that it completes, if any.
    ///
    /// Special tokens and ids outside the vocabulary have no text. Bytes that
    /// cannot become a character give U+FFFD, as [`String::from_utf8_lossy`] does.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`] when the tokenizer refuses the ids; a byte-level
    /// one, such as the embedded, never does.
    pub fn push(&mut self, id: u32) -> Result<Option<String>, TokenizerError> {
        if self.tokenizer.is_special(id) {
            return Ok(None);
        }
        match &mut self.state {
            State::Bytes { pending, at_start } => {
                let mut bytes = self.tokenizer.byte_table().map_or(&[][..], |table| table.get(id));
                if let (true, [first, rest @ ..]) = (*at_start, bytes) {
                    *at_start = false;
                    if self.tokenizer.takes_off_space() && *first == b' ' {
                        bytes = rest;
                    }
                }
                pending.extend_from_slice(bytes);
                Ok(some_text(take_complete(pending)))
            }
            State::Window { ids, settled } => {
                ids.push(id);
                let held = ids.len() - *settled;
                let (text, open) = window_text(&self.tokenizer, ids, *settled)?;
                if text.is_empty() || (open && held < HELD_TOKENS_MAX) {
                    return Ok(None);
                }
                ids.drain(..*settled);
                *settled = ids.len();
                Ok(some_text(text))
            }
        }
    }

    /// Ends the sequence; returns what was held back, if anything.
    ///
    /// Afterwards the decoder is ready for another sequence.
    ///
    /// # Errors
    /// As [`StreamDecoder::push`].
    pub fn finish(&mut self) -> Result<Option<String>, TokenizerError> {
        match &mut self.state {
            State::Bytes { pending, at_start } => {
                let text = String::from_utf8_lossy(pending).into_owned();
                pending.clear();
                *at_start = true;
                Ok(some_text(text))
            }
            State::Window { ids, settled } => {
                let (text, _) = window_text(&self.tokenizer, ids, *settled)?;
                ids.clear();
                *settled = 0;
                Ok(some_text(text))
            }
        }
    }
}

fn some_text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Takes all that is text or can never be; leaves the start of a character.
fn take_complete(pending: &mut Vec<u8>) -> String {
    let mut text = String::new();
    let mut used = 0;
    for chunk in pending.utf8_chunks() {
        text.push_str(chunk.valid());
        used += chunk.valid().len();
        if chunk.invalid().is_empty() {
            continue;
        }
        let at_end = used + chunk.invalid().len() == pending.len();
        if at_end && is_open(chunk.invalid()) {
            break;
        }
        text.push(char::REPLACEMENT_CHARACTER);
        used += chunk.invalid().len();
    }
    pending.drain(..used);
    text
}

/// Whether bytes are the start of a character, to be completed by later ones.
fn is_open(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// The text of the ids from `settled` on, and whether it ends inside a character.
fn window_text(
    tokenizer: &Tokenizer,
    ids: &[u32],
    settled: usize,
) -> Result<(String, bool), TokenizerError> {
    let before = tokenizer.decode(ids.get(..settled).unwrap_or(&[]))?;
    let after = tokenizer.decode(ids)?;
    let open = after.ends_with(char::REPLACEMENT_CHARACTER);
    let text = after.get(before.len()..).unwrap_or("").to_owned();
    Ok((text, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_held_until_complete() {
        let mut pending = "€".as_bytes()[..2].to_vec();
        assert_eq!(take_complete(&mut pending), "");
        assert_eq!(pending.len(), 2);
        pending.extend_from_slice(&"€x".as_bytes()[2..]);
        assert_eq!(take_complete(&mut pending), "€x");
        assert!(pending.is_empty());
    }

    #[test]
    fn impossible_bytes_are_not_held() {
        let mut pending = vec![0xFF, b'a', 0xE2, 0x28, 0xF0, 0x9F];
        assert_eq!(take_complete(&mut pending), "\u{FFFD}a\u{FFFD}(");
        assert_eq!(pending, [0xF0, 0x9F]);
    }
}
