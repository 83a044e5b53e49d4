//! The text of an answer, token by token, and where it stops.
//!
//! Text that could be the start of a stop string is held back until it is clear that
//! it is not: a client never sees half a stop string.
//!
//! Not here: end tokens and lengths (`sequence`).

use ifm_tokenizer::{StreamDecoder, Tokenizer, TokenizerError};

/// Makes text of tokens and finds stop strings in it.
#[derive(Debug)]
pub(crate) struct AnswerText {
    decoder: StreamDecoder,
    stops: Vec<String>,
    /// Text that may be the start of a stop string.
    held: String,
}

/// What a token adds to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// A stop string is complete; `text` ends before it.
    pub(crate) stopped: bool,
}

impl AnswerText {
    pub(crate) fn new(tokenizer: &Tokenizer, stops: Vec<String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self { decoder: tokenizer.stream(), stops, held: String::new() }
    }

    /// Takes a token; gives the text that is safe to show. Stop strings count only
    /// when `may_stop`.
    pub(crate) fn push(&mut self, id: u32, may_stop: bool) -> Result<Piece, TokenizerError> {
        if let Some(text) = self.decoder.push(id)? {
            self.held.push_str(&text);
        }
        Ok(self.release(may_stop))
    }

    /// Ends the answer; gives all that was held back.
    pub(crate) fn finish(&mut self) -> Result<String, TokenizerError> {
        if let Some(text) = self.decoder.finish()? {
            self.held.push_str(&text);
        }
        Ok(std::mem::take(&mut self.held))
    }

    fn release(&mut self, may_stop: bool) -> Piece {
        if !may_stop {
            return Piece { text: std::mem::take(&mut self.held), stopped: false };
        }
        if let Some(at) = self.stops.iter().filter_map(|stop| self.held.find(stop)).min() {
            self.held.truncate(at);
            return Piece { text: std::mem::take(&mut self.held), stopped: true };
        }
        let safe = self.held.len() - self.stop_start_length();
        let rest = self.held.split_off(safe);
        Piece { text: std::mem::replace(&mut self.held, rest), stopped: false }
    }

    /// The length of the longest end of the text with which a stop string starts.
    fn stop_start_length(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = self.held.len().saturating_sub(longest);
        self.held
            .char_indices()
            .map(|(at, _)| at)
            .filter(|at| *at >= from)
            .find(|at| self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..])))
            .map_or(0, |at| self.held.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, stops: &[&str], may_stop: bool) -> (Vec<String>, bool) {
        let tokenizer = Tokenizer::embedded().expect("embedded");
        let stops = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut answer = AnswerText::new(&tokenizer, stops);
        let mut texts = Vec::new();
        for id in tokenizer.encode(text).expect("ids") {
            let piece = answer.push(id, may_stop).expect("text");
            texts.push(piece.text);
            if piece.stopped {
                return (texts, true);
            }
        }
        texts.push(answer.finish().expect("text"));
        (texts, false)
    }

    #[test]
    fn text_without_stops_passes_at_once() {
        let (texts, stopped) = pieces("some words, some €", &[], true);
        assert_eq!((texts.concat().as_str(), stopped), ("some words, some €", false));
        assert!(texts.iter().filter(|text| !text.is_empty()).count() > 3);
    }

    #[test]
    fn a_stop_over_several_tokens_never_shows() {
        let (texts, stopped) = pieces("one two END OF IT three", &["END OF IT"], true);
        assert_eq!((texts.concat().as_str(), stopped), ("one two ", true));
        assert_eq!(texts.last().map(String::as_str), Some(""), "the stop itself adds nothing");
    }

    #[test]
    fn what_only_looked_like_a_stop_is_shown() {
        let (texts, stopped) = pieces("one END OF the line", &["END OF IT"], true);
        assert_eq!((texts.concat().as_str(), stopped), ("one END OF the line", false));
        let (texts, _) = pieces("it ends with END O", &["END OF IT"], true);
        assert_eq!(texts.concat(), "it ends with END O");
    }

    #[test]
    fn the_first_of_several_stops_counts() {
        let (texts, stopped) = pieces("a, b; c, d", &["; c", ", b"], true);
        assert_eq!((texts.concat().as_str(), stopped), ("a", true));
        let (texts, stopped) = pieces("été: là", &["té: "], true);
        assert_eq!((texts.concat().as_str(), stopped), ("é", true));
    }

    #[test]
    fn stops_can_be_put_off() {
        let (texts, stopped) = pieces("a, b; c", &[", b"], false);
        assert_eq!((texts.concat().as_str(), stopped), ("a, b; c", false));
    }
}
