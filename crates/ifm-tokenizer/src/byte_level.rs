//! Byte-level BPE from a list of tokens and a list of merges.
//!
//! The common ground of the embedded vocabulary, tiktoken's encodings and the `gpt2`
//! vocabularies of GGUF files: they differ in how a text is split before the merges.
//!
//! Not here: where the lists come from.

use std::collections::HashSet;

use tokenizers::{
    AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior,
    decoders::byte_level::ByteLevel as ByteLevelDecoder,
    models::bpe::{BPE, Vocab},
    pre_tokenizers::{
        byte_level::ByteLevel,
        sequence::Sequence,
        split::{Split, SplitPattern},
    },
};

use crate::{error::Problem, split::Splitting};

/// A vocabulary, ready to be built.
pub(crate) struct Definition {
    /// Tokens by id, as a byte-level vocabulary writes them; empty where an id has no token.
    pub(crate) tokens: Vec<String>,
    /// Pairs of tokens that are joined, first pair first.
    pub(crate) merges: Vec<(String, String)>,
    /// Tokens that are looked for in a text before it is split, and whether each is
    /// special, which means without text when decoded.
    pub(crate) added: Vec<(String, bool)>,
    /// How a text is split.
    pub(crate) split: Splitting,
    /// Whether a part that is itself a token becomes that token, merges or not.
    pub(crate) whole_parts: bool,
}

/// Builds the tokenizer. Merges that may be wrong go through [`check_merges`] first.
pub(crate) fn build(definition: Definition) -> Result<tokenizers::Tokenizer, Problem> {
    let Definition { tokens, merges, added, split, whole_parts } = definition;
    let present = tokens.into_iter().zip(0_u32..).filter(|(token, _)| !token.is_empty());
    let vocabulary = present.collect::<Vocab>();
    let model = BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .ignore_merges(whole_parts)
        .build()
        .map_err(|error| Problem::damaged(error.to_string()))?;
    let mut inner = tokenizers::Tokenizer::new(model);
    inner.with_pre_tokenizer(Some(pre_tokenizer(split)?));
    inner.with_decoder(Some(ByteLevelDecoder::new(false, false, true)));
    let (special, plain): (Vec<_>, Vec<_>) = added.into_iter().partition(|&(_, special)| special);
    let tokens = |list: Vec<(String, bool)>| {
        let tokens = list.into_iter().map(|(token, special)| AddedToken::from(token, special));
        tokens.map(|token| token.normalized(false)).collect::<Vec<_>>()
    };
    inner
        .add_special_tokens(tokens(special))
        .and_then(|_| inner.add_tokens(tokens(plain)))
        .map_err(|error| Problem::damaged(error.to_string()))?;
    Ok(inner)
}

/// Refuses merges that do not lead from tokens to a token, which [`build`] relies on.
pub(crate) fn check_merges(tokens: &[String], merges: &[(String, String)]) -> Result<(), Problem> {
    let tokens = tokens.iter().map(String::as_str).collect::<HashSet<_>>();
    let mut joined = String::new();
    for (rank, (left, right)) in merges.iter().enumerate() {
        joined.clear();
        joined.extend([left.as_str(), right]);
        let parts = [left, right, &joined];
        if let Some(missing) = parts.into_iter().find(|part| !tokens.contains(part.as_str())) {
            return Err(Problem::damaged(format!(
                "merge {rank} is of '{left}' and '{right}', but there is no token '{missing}'"
            )));
        }
    }
    Ok(())
}

fn pre_tokenizer(split: Splitting) -> Result<PreTokenizerWrapper, Problem> {
    let Splitting::Patterns(patterns) = split else {
        return Ok(ByteLevel::new(false, false, true).into());
    };
    let mut steps = Vec::with_capacity(patterns.len() + 1);
    for &pattern in patterns {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let step = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
            .map_err(|error| Problem::damaged(error.to_string()))?;
        steps.push(step.into());
    }
    steps.push(ByteLevel::new(false, false, false).into());
    Ok(Sequence::new(steps).into())
}
