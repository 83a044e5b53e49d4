//! Text of an exact number of tokens.
//!
//! Where each word is one token, words are counted. Where not, a text is put
//! together from estimates, encoded, and mended at its end until it fits: the
//! result is as exact, only slower.
//!
//! Not here: choosing the words (`words`), lengths and items (`dataset`).

use ifm_made::{Draws, Rng, Stream};
use ifm_tokenizer::Tokenizer;
use std::cmp::Ordering;

use crate::{error::WorkloadError, scale::LengthScale, words::Words};

/// Texts that are encoded for one prompt at most.
const ATTEMPTS_MAX: u32 = 64;
/// Words at the start of a prompt that follow from its number, so that no two
/// prompts begin alike. The others are drawn.
const HEAD_WORDS: usize = 3;
/// What fills a gap that is too small for any word.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Makes the prompts of one workload.
pub(crate) struct PromptMaker {
    tokenizer: Tokenizer,
    words: Words,
    /// Words that can stand first, in this workload's order.
    openers: Vec<u32>,
    /// All words, in this workload's order.
    order: Vec<u32>,
    /// Where the numbering of heads starts.
    offset: u64,
    draws: Stream,
    blocks: Stream,
    scale: LengthScale,
}

/// A text that several prompts begin with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    text: String,
    tokens: u32,
}

/// A piece of a text that is being fitted: where it starts, and about how many
/// tokens it has.
struct Part {
    start: usize,
    tokens: u32,
}

impl Prefix {
    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Its tokens.
    pub(crate) fn tokens(&self) -> u32 {
        self.tokens
    }
}

impl PromptMaker {
    /// Finds words for the tokenizer and orders them by the seed. Lengths are asked for
    /// as `scale` counts them.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn new(
        tokenizer: &Tokenizer,
        rng: &Rng,
        scale: LengthScale,
    ) -> Result<Self, WorkloadError> {
        let words = Words::find(tokenizer)?;
        let mut draws = rng.stream("word_order").item(0);
        let mut openers = words.openers().to_vec();
        let mut order = (0..words.list.count()).collect::<Vec<_>>();
        draws.shuffle(&mut openers);
        draws.shuffle(&mut order);
        let offset = u64::from(draws.below(u32::MAX));
        Ok(Self {
            tokenizer: tokenizer.clone(),
            words,
            openers,
            order,
            offset,
            draws: rng.stream("prompt"),
            blocks: rng.stream("block"),
            scale,
        })
    }

    /// A text for several prompts to begin with.
    ///
    /// # Errors
    /// [`WorkloadError::Unreachable`] when no text fits.
    pub(crate) fn prefix(&self, tokens: u32, draws: Draws) -> Result<Prefix, WorkloadError> {
        let tokens = self.scale.inner_tokens(tokens);
        match tokens {
            0 => Ok(Prefix::default()),
            _ => Ok(Prefix { text: self.text(&Prefix::default(), &[], tokens, draws)?, tokens }),
        }
    }

    /// Whether words are counted instead of encoded.
    pub(crate) fn counts_words(&self) -> bool {
        self.words.single()
    }

    /// The prompt with a number, of exactly `tokens` tokens as the scale has them, the
    /// prefix at least. Linear in `tokens`.
    ///
    /// # Errors
    /// [`WorkloadError::Unreachable`] when no text fits; never where words are
    /// counted.
    pub(crate) fn prompt(
        &self,
        prefix: &Prefix,
        id: u32,
        tokens: u32,
    ) -> Result<String, WorkloadError> {
        let head = self.head(prefix, id);
        let tokens = self.text_tokens(prefix, tokens);
        self.text(prefix, &head, tokens, self.draws.item(u64::from(id)))
    }

    /// Tokens of text to make for a prompt of so many.
    fn text_tokens(&self, prefix: &Prefix, asked: u32) -> u32 {
        self.scale.text_tokens(asked).max(prefix.tokens)
    }

    /// A text of exactly `tokens` tokens from draws of the caller's, without a number.
    ///
    /// # Errors
    /// As [`PromptMaker::prompt`].
    pub(crate) fn passage(&self, tokens: u32, draws: Draws) -> Result<String, WorkloadError> {
        let tokens = self.scale.inner_tokens(tokens).max(1);
        self.text(&Prefix::default(), &[], tokens, draws)
    }

    /// Adds to a text that grows piece by piece, until it has `tokens` tokens of text: words of the
    /// caller's draws. A shorter piece from the same draws is the beginning of a longer one.
    ///
    /// # Errors
    /// As [`PromptMaker::prompt`].
    pub(crate) fn grow(
        &self,
        text: &mut Prefix,
        tokens: u32,
        draws: Draws,
    ) -> Result<(), WorkloadError> {
        if tokens > text.tokens {
            text.text = self.text(text, &[], tokens, draws)?;
            text.tokens = tokens;
        }
        Ok(())
    }

    /// The same by blocks of so many tokens each: equal numbers give equal texts at equal places.
    ///
    /// # Errors
    /// As [`PromptMaker::prompt`].
    pub(crate) fn grow_by_blocks(
        &self,
        text: &mut Prefix,
        tokens: u32,
        blocks: &[u64],
        block_tokens: u32,
    ) -> Result<(), WorkloadError> {
        let block_tokens = self.scale.inner_tokens(block_tokens).max(2);
        let mut ends = Vec::new();
        for &block in blocks {
            let until = text.tokens.saturating_add(block_tokens);
            if text.tokens >= tokens || until > tokens && !self.words.single() {
                break;
            }
            let draws = self.blocks.item(block);
            if self.words.single() {
                self.grow(text, until.min(tokens), draws)?;
                continue;
            }
            // A block on its own, and the line's end: what it is does not depend on what stands
            // before it.
            ends.push(text.text.len());
            text.text += &self.text(&Prefix::default(), &[], block_tokens - 1, draws)?;
            text.text.push('\n');
            text.tokens = until;
        }
        while !ends.is_empty() {
            text.tokens = self.count(&text.text)?;
            match ends.pop().filter(|_| text.tokens > tokens) {
                Some(end) => text.text.truncate(end),
                None => break,
            }
        }
        Ok(())
    }

    /// Tokens of text to make for a part of so many, and for a whole prompt.
    pub(crate) fn scaled(&self, tokens: u32, is_whole: bool) -> u32 {
        match is_whole {
            true => self.scale.text_tokens(tokens),
            false => self.scale.inner_tokens(tokens).max(1),
        }
    }

    /// Tokens of a text.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn count(&self, text: &str) -> Result<u32, WorkloadError> {
        Ok(self.tokenizer.encode(text)?.len() as u32)
    }

    /// A prompt of blocks: equal numbers give equal texts at equal places, so that a
    /// prefix cache finds what it would have found in the trace. What the blocks leave
    /// of `tokens` is filled with words of the prompt's own.
    ///
    /// # Errors
    /// As [`PromptMaker::prompt`].
    pub(crate) fn prompt_of_blocks(
        &self,
        id: u32,
        tokens: u32,
        blocks: &[u64],
        block_tokens: u32,
    ) -> Result<String, WorkloadError> {
        let asked = tokens;
        let mut prefix = Prefix::default();
        let tokens = self.text_tokens(&prefix, asked);
        let block_tokens = self.scale.inner_tokens(block_tokens).max(1);
        for &block in blocks {
            let left = tokens.saturating_sub(prefix.tokens);
            if left < block_tokens && !self.words.single() || left == 0 {
                break;
            }
            let mut draws = self.blocks.item(block);
            if self.words.single() {
                let first = pick(&self.openers, &mut draws);
                self.push_word(&mut prefix.text, first);
                let words = left.min(block_tokens);
                let more = words.saturating_sub(1) as usize;
                self.words.list.put_drawn(more, &mut draws, &mut prefix.text);
                prefix.tokens += words;
            } else {
                if !prefix.text.is_empty() {
                    prefix.text.push('\n');
                }
                prefix.text += &self.text(&Prefix::default(), &[], block_tokens, draws)?;
                let have = self.tokenizer.encode(&prefix.text)?.len() as u32;
                prefix.tokens = have.min(tokens);
            }
        }
        if prefix.tokens == tokens && self.words.single() {
            return Ok(prefix.text);
        }
        self.prompt(&prefix, id, asked)
    }

    /// How many prompts of a length there are before a head comes back.
    pub(crate) fn distinct_prompts(&self, prefix: &Prefix, tokens: u32) -> u64 {
        let tokens = self.text_tokens(prefix, tokens);
        let free = (tokens.saturating_sub(prefix.tokens) as usize).min(HEAD_WORDS);
        self.head_sizes(prefix).iter().take(free).product()
    }

    /// How many words there are to choose from at each place of the head.
    fn head_sizes(&self, prefix: &Prefix) -> [u64; HEAD_WORDS] {
        let words = self.order.len() as u64;
        let first = if prefix.text.is_empty() { self.openers.len() as u64 } else { words };
        [first.max(1), words.max(1), words.max(1)]
    }

    /// The words at the start of a prompt: its number written with words for
    /// digits, the fastest digit first, so that neighbours differ at once. Each
    /// digit is turned by the one before, which keeps the numbers apart and does
    /// not leave the later words the same for long.
    fn head(&self, prefix: &Prefix, id: u32) -> [u32; HEAD_WORDS] {
        let first = if prefix.text.is_empty() { &self.openers } else { &self.order };
        let mut number = self.offset + u64::from(id);
        let mut turn = 0;
        let mut head = [0; HEAD_WORDS];
        let places = head.iter_mut().zip([first, &self.order, &self.order]);
        for ((place, list), size) in places.zip(self.head_sizes(prefix)) {
            turn = (number + turn) % size;
            number /= size;
            *place = list.get(turn as usize).copied().unwrap_or(0);
        }
        head
    }

    fn text(
        &self,
        prefix: &Prefix,
        head: &[u32],
        tokens: u32,
        draws: Draws,
    ) -> Result<String, WorkloadError> {
        if self.words.single() {
            Ok(self.count_out(prefix, head, tokens, draws))
        } else {
            self.fit(prefix, head, tokens, draws)
        }
    }

    /// One word for each token.
    fn count_out(&self, prefix: &Prefix, head: &[u32], tokens: u32, mut draws: Draws) -> String {
        let words = tokens.saturating_sub(prefix.tokens) as usize;
        let bytes = prefix.text.len() + (words + 1) * self.words.list.mean_bytes();
        let mut text = String::with_capacity(bytes + bytes / 8);
        text.push_str(&prefix.text);
        let head = head.get(..head.len().min(words)).unwrap_or(&[]);
        for &word in head {
            self.push_word(&mut text, word);
        }
        let mut left = words - head.len();
        if text.is_empty() && left > 0 {
            let opener = pick(&self.openers, &mut draws);
            self.push_word(&mut text, opener);
            left -= 1;
        }
        self.words.list.put_drawn(left, &mut draws, &mut text);
        text
    }

    /// Encodes, and mends the end, until the text has the tokens asked for.
    fn fit(
        &self,
        prefix: &Prefix,
        head: &[u32],
        tokens: u32,
        mut draws: Draws,
    ) -> Result<String, WorkloadError> {
        let prefix_ids = self.tokenizer.encode(&prefix.text)?;
        let mut text = prefix.text.clone();
        let mut parts = Vec::new();
        for &word in head {
            self.append(&mut text, &mut parts, word);
        }
        let estimate = parts.iter().map(|part| part.tokens).sum::<u32>();
        let used = prefix.tokens.saturating_add(estimate);
        self.fill(&mut text, &mut parts, tokens.saturating_sub(used), &mut draws);
        for _ in 0..ATTEMPTS_MAX {
            let ids = self.tokenizer.encode(&text)?;
            let have = ids.len() as u32;
            if have == tokens && ids.starts_with(&prefix_ids) {
                return Ok(text);
            }
            let gap = match have.cmp(&tokens) {
                Ordering::Less => tokens - have,
                Ordering::Greater => shorten(&mut text, &mut parts, have - tokens),
                // The prefix has merged with what follows it: begin again after it.
                Ordering::Equal => {
                    parts.clear();
                    text.truncate(prefix.text.len());
                    tokens - prefix.tokens.min(tokens)
                }
            };
            self.fill(&mut text, &mut parts, gap, &mut draws);
        }
        Err(WorkloadError::Unreachable {
            prompt_tokens: tokens,
            tokenizer: self.tokenizer.name().to_owned(),
            attempts: ATTEMPTS_MAX,
        })
    }

    /// Appends about `gap` tokens: words while they fit, then letters.
    fn fill(&self, text: &mut String, parts: &mut Vec<Part>, mut gap: u32, draws: &mut Draws) {
        /// Words that are drawn before a gap is left to letters.
        const DRAWS_MAX: u32 = 16;
        while gap > 0 {
            let mut drawn = (0..DRAWS_MAX).map(|_| draws.below(self.words.list.count()));
            match drawn.find(|&word| self.words.tokens(word) <= gap) {
                Some(word) => {
                    self.append(text, parts, word);
                    gap -= self.words.tokens(word).min(gap);
                }
                None => {
                    let start = draws.below(LETTERS.len() as u32) as usize;
                    let letter = LETTERS.get(start..=start).unwrap_or("x");
                    parts.push(Part { start: text.len(), tokens: 1 });
                    text.push_str(letter);
                    gap -= 1;
                }
            }
        }
    }

    fn append(&self, text: &mut String, parts: &mut Vec<Part>, word: u32) {
        parts.push(Part { start: text.len(), tokens: self.words.tokens(word) });
        self.push_word(text, word);
    }

    /// Appends a word, without its space at the start of a text: chat templates
    /// trim what they are given.
    fn push_word(&self, text: &mut String, word: u32) {
        let word = self.words.list.get(word);
        text.push_str(if text.is_empty() { word.trim_start() } else { word });
    }
}

/// Takes parts off the end until about `excess` tokens are gone; returns about how
/// many too many went with them.
fn shorten(text: &mut String, parts: &mut Vec<Part>, excess: u32) -> u32 {
    let mut cut = 0_u32;
    while cut < excess
        && let Some(part) = parts.pop()
    {
        cut = cut.saturating_add(part.tokens);
        text.truncate(part.start);
    }
    cut.saturating_sub(excess)
}

/// One of a list; 0 when it is empty.
fn pick(list: &[u32], draws: &mut Draws) -> u32 {
    list.get(draws.below(list.len() as u32) as usize).copied().unwrap_or(0)
}
