//! Lengths as somebody else counts them.
//!
//! Without the model's tokenizer a prompt is made of words whose tokens are counted by another
//! vocabulary. What the server then counts is, on the whole, a multiple of that plus what its chat
//! template adds. With both known, a prompt is made so long that the server counts what was asked.
//!
//! Not here: finding the two out, which takes requests.

use ifm_tokenizer::Tokenizer;

use crate::{error::WorkloadError, words::Words};

/// How lengths that are asked for become lengths of text by the tokenizer at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthScale {
    template_tokens: u32,
    counted: u32,
    made: u32,
}

impl Default for LengthScale {
    fn default() -> Self {
        Self::EXACT
    }
}

impl LengthScale {
    /// The tokenizer at hand counts, and nothing is added.
    pub const EXACT: Self = Self { template_tokens: 0, counted: 1, made: 1 };

    /// `template_tokens` are added to each prompt; for `made` tokens of text by the tokenizer at
    /// hand, `counted` are counted. Absent where either is 0.
    pub fn new(template_tokens: u32, counted: u32, made: u32) -> Option<Self> {
        (counted > 0 && made > 0).then_some(Self { template_tokens, counted, made })
    }

    /// Tokens that are added to each prompt.
    pub fn template_tokens(&self) -> u32 {
        self.template_tokens
    }

    /// Tokens counted for one token by the tokenizer at hand.
    pub fn ratio(&self) -> f64 {
        f64::from(self.counted) / f64::from(self.made)
    }

    /// Tokens of text to make for a prompt of `asked` tokens; at least 1.
    pub fn text_tokens(&self, asked: u32) -> u32 {
        self.inner_tokens(asked.saturating_sub(self.template_tokens)).max(1)
    }

    /// Tokens of text to make for a part of a prompt, to which nothing is added.
    pub fn inner_tokens(&self, asked: u32) -> u32 {
        rounded(asked, self.made, self.counted)
    }
}

/// `value * numerator / denominator`, to the nearest.
fn rounded(value: u32, numerator: u32, denominator: u32) -> u32 {
    let denominator = u64::from(denominator.max(1));
    let scaled = (u64::from(value) * u64::from(numerator) + denominator / 2) / denominator;
    u32::try_from(scaled).unwrap_or(u32::MAX)
}

/// Two texts that together hold every word of synthetic prompts once, in an order without a rule,
/// or as many of them as make `tokens_max` tokens: counting them tells what the words of prompts
/// have on average, without the chance of a sample. Each with its tokens by the tokenizer.
///
/// # Errors
/// What the tokenizer says.
pub fn word_texts(
    tokenizer: &Tokenizer,
    tokens_max: u32,
) -> Result<[(String, u32); 2], WorkloadError> {
    /// Words apart that stand side by side: a prime, so that all come in turn.
    const STRIDE: u64 = 389;
    let words = Words::find(tokenizer)?;
    let count = words.list.count().max(1);
    let mut texts = [(String::new(), 0_u32), (String::new(), 0_u32)];
    let mut tokens = 0_u32;
    for step in 0..words.list.count() {
        let index = (u64::from(step) * STRIDE % u64::from(count)) as u32;
        tokens = tokens.saturating_add(words.tokens(index));
        if tokens > tokens_max {
            break;
        }
        let [first, second] = &mut texts;
        let text = if step % 2 == 0 { &mut first.0 } else { &mut second.0 };
        let word = words.list.get(index);
        text.push_str(if text.is_empty() { word.trim_start() } else { word });
    }
    for (text, tokens) in &mut texts {
        *tokens = tokenizer.encode(text)?.len() as u32;
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_scaled_to_the_nearest_token() {
        let scale = LengthScale::new(10, 1300, 1000).unwrap();
        assert_eq!(scale.text_tokens(140), 100);
        assert_eq!((scale.inner_tokens(13), scale.inner_tokens(14)), (10, 11));
        assert_eq!((scale.text_tokens(3), scale.text_tokens(0)), (1, 1));
        assert_eq!(LengthScale::EXACT.text_tokens(77), 77);
        assert_eq!((LengthScale::new(0, 0, 1), LengthScale::new(0, 1, 0)), (None, None));
    }

    #[test]
    fn every_word_is_there_once() {
        let tokenizer = Tokenizer::embedded().unwrap();
        let [(first, first_tokens), (second, second_tokens)] =
            word_texts(&tokenizer, u32::MAX).unwrap();
        let mut words: Vec<&str> = first.split(' ').chain(second.split(' ')).collect();
        let all = words.len();
        assert_eq!(all as u32, first_tokens + second_tokens);
        words.sort_unstable();
        words.dedup();
        assert_eq!(
            (words.len(), words.len() as u32),
            (all, Words::find(&tokenizer).unwrap().list.count())
        );
        let [(_, few), (_, others)] = word_texts(&tokenizer, 101).unwrap();
        assert_eq!((few, others), (51, 50));
    }
}
