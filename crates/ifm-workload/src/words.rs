//! The words that prompts are made of, and what is known of their tokens.
//!
//! Most tokenizers split a text before each space and look at the parts one by
//! one. Then a word whose part is a single token is one token in any company,
//! and the tokens of a prompt are counted by counting its words. Whether a
//! tokenizer is of this kind is found out by trying, once.
//!
//! Not here: putting prompts together (`prompt`).

use ifm_made::{WORDS_MAX, WordList};
use ifm_tokenizer::{Tokenizer, TokenizerError};

/// First words that are used at most.
const OPENERS_MAX: usize = 256;
/// Words needed for prompts to differ; below that, made-up words are used.
const WORDS_MIN: usize = 16;
/// Words whose borders are checked. Tokenizers split by kinds of characters, and
/// all words are of the same kind, so a sample tells.
const BORDERS_CHECKED: usize = 64;
/// The longest word in bytes.
const WORD_BYTES_MAX: usize = 16;

/// Words, and what a tokenizer makes of them.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) list: WordList,
    /// Tokens of each word on its own, as a first guess.
    tokens: Vec<u32>,
    /// Words that can stand first, by index.
    openers: Vec<u32>,
    /// Whether each word is one token wherever it stands.
    single: bool,
}

/// A word that may be a token, and that token's id.
struct Candidate {
    word: String,
    id: u32,
}

impl Words {
    /// Finds words that suit a tokenizer.
    ///
    /// # Errors
    /// [`TokenizerError`] when the tokenizer refuses plain words.
    pub(crate) fn find(tokenizer: &Tokenizer) -> Result<Self, TokenizerError> {
        let candidates = single_words(tokenizer, find_candidates(tokenizer))?;
        if candidates.len() >= WORDS_MIN && splits_at_words(tokenizer, &candidates)? {
            let mut words = Self::from_words(candidates.iter().map(|found| found.word.as_str()));
            words.openers = find_openers(tokenizer, &candidates)?;
            words.single = !words.openers.is_empty();
            if words.single {
                return Ok(words);
            }
        }
        let words = if candidates.len() >= WORDS_MIN {
            candidates.into_iter().map(|found| found.word).collect()
        } else {
            made_up_words()
        };
        let mut words = Self::from_words(words.iter().map(String::as_str));
        words.openers = (0..words.list.count()).collect();
        for (index, tokens) in (0..).zip(&mut words.tokens) {
            *tokens = (tokenizer.encode(words.list.get(index))?.len() as u32).max(1);
        }
        Ok(words)
    }

    fn from_words<'words>(list: impl Iterator<Item = &'words str>) -> Self {
        let list = WordList::new(list);
        let tokens = vec![1; list.count() as usize];
        Self { list, tokens, openers: Vec::new(), single: false }
    }

    /// Whether each word is one token wherever it stands.
    pub(crate) fn single(&self) -> bool {
        self.single
    }

    /// The words that can stand first.
    pub(crate) fn openers(&self) -> &[u32] {
        &self.openers
    }

    /// About how many tokens a word has.
    pub(crate) fn tokens(&self, index: u32) -> u32 {
        self.tokens.get(index as usize).copied().unwrap_or(1)
    }
}

/// Reads a word out of a token, if the token is of the kind wanted.
type Rule = fn(&str) -> Option<&str>;

/// Kinds of tokens, most useful first: words marked as following a space, bare
/// words, and anything of letters and digits.
const RULES: [Rule; 3] = [
    |token| token.strip_prefix(['Ġ', '▁']).filter(|word| is_plain(word)),
    |token| Some(token).filter(|word| is_plain(word)),
    |token| {
        let word = token.strip_prefix(['Ġ', '▁']).unwrap_or(token);
        (!word.is_empty() && word.chars().all(char::is_alphanumeric)).then_some(word)
    },
];

/// Tokens that look like words, in order of id, of the first kind that has enough.
fn find_candidates(tokenizer: &Tokenizer) -> Vec<Candidate> {
    let mut best = Vec::new();
    for rule in RULES {
        let found = (0..tokenizer.vocab_size())
            .filter(|&id| !tokenizer.is_special(id))
            .filter_map(|id| {
                let token = tokenizer.token(id)?;
                let word = rule(&token).filter(|word| word.len() <= WORD_BYTES_MAX)?;
                Some(Candidate { word: word.to_owned(), id })
            })
            .take(WORDS_MAX)
            .collect::<Vec<_>>();
        if found.len() > best.len() {
            best = found;
        }
        if best.len() >= WORDS_MIN {
            break;
        }
    }
    best
}

/// Whether a word is lower-case letters, two or more.
fn is_plain(word: &str) -> bool {
    word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Keeps the words that become their own token after another word.
fn single_words(
    tokenizer: &Tokenizer,
    mut candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>, TokenizerError> {
    let Some(first) = candidates.first() else {
        return Ok(candidates);
    };
    let expected = candidates.iter().map(|found| found.id);
    let ids = tokenizer.encode(&join(&candidates))?;
    if ids.len() == candidates.len() && ids.iter().copied().skip(1).eq(expected.skip(1)) {
        return Ok(candidates);
    }
    let first = first.word.clone();
    let before = tokenizer.encode(&first)?;
    let mut kept = Vec::with_capacity(candidates.len());
    for found in candidates.drain(..) {
        let ids = tokenizer.encode(&[&first, " ", &found.word].concat())?;
        if ids.strip_prefix(before.as_slice()) == Some(&[found.id]) {
            kept.push(found);
        }
    }
    Ok(kept)
}

/// Whether the tokenizer takes a text apart at its words.
fn splits_at_words(
    tokenizer: &Tokenizer,
    candidates: &[Candidate],
) -> Result<bool, TokenizerError> {
    let sample = candidates.get(..BORDERS_CHECKED).unwrap_or(candidates);
    let pieces = tokenizer.pieces(&join(sample))?;
    let mut start = 0;
    Ok(pieces.len() == sample.len()
        && pieces.iter().zip(sample).all(|(piece, found)| {
            let word = start..start + found.word.len();
            start = word.end + 1;
            piece.start <= word.start
                && piece.start + 1 >= word.start
                && piece.end >= word.end
                && piece.end <= word.end + 1
        }))
}

/// Words that are one token at the start of a text, by index.
fn find_openers(
    tokenizer: &Tokenizer,
    candidates: &[Candidate],
) -> Result<Vec<u32>, TokenizerError> {
    let mut openers = Vec::new();
    for (index, found) in (0..).zip(candidates) {
        if tokenizer.encode(&found.word)?.len() == 1 {
            openers.push(index);
        }
        if openers.len() == OPENERS_MAX {
            break;
        }
    }
    Ok(openers)
}

fn join(candidates: &[Candidate]) -> String {
    candidates.iter().map(|found| found.word.as_str()).collect::<Vec<_>>().join(" ")
}

/// Pronounceable words, for tokenizers that have none of their own.
fn made_up_words() -> Vec<String> {
    const CONSONANTS: [char; 16] =
        ['b', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'z'];
    const VOWELS: [char; 4] = ['a', 'e', 'i', 'o'];
    let syllables = CONSONANTS
        .iter()
        .flat_map(|consonant| VOWELS.iter().map(move |vowel| [*consonant, *vowel]))
        .collect::<Vec<_>>();
    syllables
        .iter()
        .flat_map(|one| syllables.iter().map(move |two| one.iter().chain(two).collect()))
        .step_by(4)
        .take(WORDS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What `find` checks on a sample holds for each word and each pair of kinds.
    #[test]
    fn words_of_the_embedded_vocabulary_are_single_everywhere() {
        let tokenizer = Tokenizer::embedded().unwrap();
        let words = Words::find(&tokenizer).unwrap();
        assert!(words.single());
        assert_eq!(words.list.count(), WORDS_MAX as u32);
        assert_eq!(words.openers().len(), OPENERS_MAX);
        for index in 0..words.list.count() {
            let word = words.list.get(index);
            assert_eq!(tokenizer.encode(word).unwrap().len(), 1, "{word}");
            let opener = words.openers()[index as usize % OPENERS_MAX];
            let other = words.list.get(words.list.count() - 1 - index);
            let text = format!("{}{word}{other}{word}", words.list.get(opener).trim_start());
            assert_eq!(tokenizer.encode(&text).unwrap().len(), 4, "{text}");
        }
    }

    #[test]
    fn made_up_words_differ() {
        let words = made_up_words();
        assert_eq!(words.len(), WORDS_MAX);
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }
}
