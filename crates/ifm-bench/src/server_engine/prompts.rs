//! Prompts of a given number of tokens that no server has seen: token ids where the server accepts
//! and reports them, words elsewhere.
//!
//! Not here: how many tokens the server counted (`repeat`).

use super::Asker;
use ifm_core::Prompt;
use ifm_probe::preflight::Preflight;
use ifm_probe::prompt_calibration::{CalibrationAsk, Fault, calibrate};
use ifm_probe::server_tokenizer::ServerTokenizer;
use ifm_probe::traced_client::Caller;
use ifm_tokenizer::Tokenizer;
use ifm_workload::{Generator, LengthRange, LengthScale, RandomSpec, Rng, word_texts};
use std::collections::BTreeSet;
use std::time::Duration;

/// Longest that the server's tokenizer may take for the words.
const TOKENIZER_TIME: Duration = Duration::from_secs(10);
/// Tokens of words whose ids are asked for: enough for a few hundred different ids.
const WORDS_TOKENS: u32 = 2_000;
/// Minimum number of different ids that prompts are made from.
const IDS_MIN: usize = 64;
/// Tokens of the prompts that calibrate the server's count.
const CALIBRATED_TOKENS: u32 = 512;

/// How prompts are made.
pub enum Prompts {
    /// Of ids that the server reported.
    Ids(Vec<u32>),
    /// Of words, as many as make the server count the requested tokens.
    Words {
        /// Counts the words.
        tokenizer: Box<Tokenizer>,
        /// What the server counts for them.
        scale: LengthScale,
    },
}

impl Prompts {
    /// Of the ids that the server's own tokenizer reports; absent if it reports none.
    pub fn of_ids(caller: &mut Caller, server: &ServerTokenizer) -> Option<Prompts> {
        let tokenizer = Tokenizer::embedded().ok()?;
        let [(text, _), _] = word_texts(&tokenizer, WORDS_TOKENS).ok()?;
        let told = server.ids(caller, &text, TOKENIZER_TIME)?;
        // Without the first and the last, which a tokenizer may put around every text.
        let inner = told.get(1..told.len().checked_sub(1)?)?;
        let ids: BTreeSet<u32> = inner.iter().copied().collect();
        (ids.len() >= IDS_MIN).then(|| Prompts::Ids(ids.into_iter().collect()))
    }

    /// Of words as they are; [`Prompts::calibrated`] makes the lengths right.
    ///
    /// # Errors
    /// The embedded vocabulary cannot be read.
    pub fn of_words() -> Result<Prompts, String> {
        let tokenizer = Tokenizer::embedded().map_err(|error| error.to_string())?;
        Ok(Prompts::Words { tokenizer: Box::new(tokenizer), scale: LengthScale::EXACT })
    }

    /// With lengths by the server's count, as far as it can be determined.
    ///
    /// # Errors
    /// The server counts so that no prompts of the lengths asked for can be made.
    pub fn calibrated(
        self,
        preflight: &mut Preflight,
        asker: &Asker,
        context: Option<u32>,
        seed: u64,
    ) -> Result<Prompts, String> {
        let Prompts::Words { tokenizer, .. } = self else { return Ok(self) };
        let tokens = context.map_or(CALIBRATED_TOKENS, |all| CALIBRATED_TOKENS.min(all / 2)).max(1);
        let found = calibrate(
            preflight,
            &CalibrationAsk {
                tokenizer: &tokenizer,
                prompt_tokens: LengthRange::fixed(tokens).map_err(|error| error.to_string())?,
                seed,
                context_tokens: context,
                server: asker.tokenizer(),
            },
        );
        let scale = match found {
            Ok(found) => found.scale,
            // What the server counts of each prompt is looked at with every repeat.
            Err(Fault::Unknown(_) | Fault::Template(..)) => LengthScale::EXACT,
            Err(Fault::Far(why, _)) => return Err(why),
            Err(Fault::Stop(failure)) => return Err(failure.sentence().to_owned()),
        };
        Ok(Prompts::Words { tokenizer, scale })
    }

    /// A prompt of this many tokens, the server's template included.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn whole(&self, seed: u64, tokens: u32) -> Result<Prompt, String> {
        match self {
            Prompts::Ids(ids) => Ok(drawn(ids, seed, tokens)),
            Prompts::Words { tokenizer, scale } => {
                words(tokenizer, seed, scale.text_tokens(tokens))
            }
        }
    }

    /// The front, followed by this many more tokens.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn behind(&self, front: &Prompt, seed: u64, tokens: u32) -> Result<Prompt, String> {
        let more = match self {
            Prompts::Ids(ids) => drawn(ids, seed, tokens),
            Prompts::Words { tokenizer, scale } => {
                words(tokenizer, seed, scale.inner_tokens(tokens).max(1))?
            }
        };
        match (front, more) {
            (Prompt::Tokens(front), Prompt::Tokens(more)) => {
                Ok(Prompt::Tokens(front.iter().copied().chain(more).collect()))
            }
            (Prompt::Text(front), Prompt::Text(more)) => {
                Ok(Prompt::Text(format!("{front} {more}")))
            }
            _ => Err("a prompt of ids and one of words cannot be joined".to_owned()),
        }
    }
}

fn drawn(ids: &[u32], seed: u64, tokens: u32) -> Prompt {
    let mut draws = Rng::new(seed).stream("engine").item(0);
    let id = |_| ids.get(draws.below(ids.len() as u32) as usize).copied().unwrap_or_default();
    Prompt::Tokens((0..tokens).map(id).collect())
}

fn words(tokenizer: &Tokenizer, seed: u64, tokens: u32) -> Result<Prompt, String> {
    let why = |error: ifm_workload::WorkloadError| error.to_string();
    let spec = RandomSpec::fixed(tokens, 1, seed).map_err(why)?;
    let mut item = Generator::random(&spec, tokenizer).map_err(why)?.next_item().map_err(why)?;
    item.turns.pop().map(|turn| turn.prompt).ok_or_else(|| "no prompt was made".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_have_their_length_and_are_new() {
        let ids = Prompts::Ids((5..500).collect());
        let of = |prompt: Result<Prompt, String>| match prompt {
            Ok(Prompt::Tokens(ids)) => ids,
            other => panic!("{other:?}"),
        };
        let (one, other) = (of(ids.whole(1, 40)), of(ids.whole(2, 40)));
        assert_eq!((one.len(), other.len()), (40, 40));
        assert_ne!(one[..4], other[..4]);
        assert_eq!(one, of(ids.whole(1, 40)));
        let both = of(ids.behind(&Prompt::Tokens(one.clone()), 3, 8));
        assert_eq!((both.len(), &both[..40]), (48, &one[..]));
        let words = Prompts::of_words().unwrap();
        let front = words.whole(1, 40).unwrap();
        let both = words.behind(&front, 3, 8).unwrap();
        let count = |prompt: &Prompt| {
            Tokenizer::embedded().unwrap().encode(prompt.as_text().unwrap()).unwrap().len()
        };
        assert_eq!((count(&front), count(&both)), (40, 48));
    }
}
