//! The tokenizer: one handle over all kinds of vocabularies.
//!
//! Not here: incremental decoding (`stream`), finding and reading files (`open`).

use std::{fmt, ops::Range, sync::Arc};

use ifm_core::contained::contained;
use tokenizers::{OffsetReferential, OffsetType, PreTokenizer as _};

use crate::{
    bytes::ByteTable, embedded, error::TokenizerError, sentencepiece::SentencePiece, sha256_hex,
    special::Bounds,
};

/// Turns text into token ids and back.
///
/// A handle: cloning is cheap and shares the vocabulary, and any number of
/// threads may use it at once.
#[derive(Clone)]
pub struct Tokenizer {
    shared: Arc<Shared>,
}

/// What a tokenizer is made of.
pub(crate) struct Shared {
    pub(crate) inner: Inner,
    pub(crate) name: String,
    pub(crate) sha256: String,
    pub(crate) vocab_size: u32,
    pub(crate) bounds: Bounds,
    /// Sorted.
    pub(crate) special_ids: Vec<u32>,
    pub(crate) special_tokens_added: u32,
    /// The bytes of each token, when they do not depend on its neighbours.
    pub(crate) bytes: Option<ByteTable>,
    /// Whether the bytes of a whole text start with a space that it does not have.
    pub(crate) takes_off_space: bool,
}

/// What does the work.
pub(crate) enum Inner {
    /// All kinds of `tokenizer.json`, and byte-level BPE from anywhere.
    Words(Box<tokenizers::Tokenizer>),
    /// SentencePiece.
    Pieces(Box<SentencePiece>),
}

impl Tokenizer {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// The vocabulary in the binary: 8192 tokens, no file needed.
    ///
    /// Special tokens: `<|bos|>`, `<|eos|>`, `<|user|>`, `<|assistant|>`,
    /// `<|system|>`, `<|end|>`, with the ids 0 to 5. Takes a few milliseconds:
    /// build one and share it.
    ///
    /// # Errors
    /// [`TokenizerError::Parse`] when the binary's vocabulary is damaged.
    pub fn embedded() -> Result<Self, TokenizerError> {
        let embedded::Embedded { inner, bytes } = embedded::load()?;
        Ok(Self::new(Shared {
            inner: Inner::Words(Box::new(inner)),
            name: embedded::NAME.to_owned(),
            sha256: sha256_hex(embedded::MERGES.as_bytes()),
            vocab_size: embedded::VOCABULARY_SIZE as u32,
            bounds: Bounds { bos_id: Some(embedded::BOS_ID), eos_id: Some(embedded::EOS_ID) },
            special_ids: (0..embedded::SPECIAL_TOKENS.len() as u32).collect(),
            special_tokens_added: 0,
            bytes: Some(bytes),
            takes_off_space: false,
        }))
    }

    /// Ids of a text. No token is added before or after it; the text of a special
    /// token, such as `<|user|>`, becomes that token.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`]; never with the embedded vocabulary.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        match &self.shared.inner {
            Inner::Words(inner) => encoding(|| {
                inner.encode_fast(text, false).map(|encoding| encoding.get_ids().to_vec())
            }),
            Inner::Pieces(inner) => {
                inner.encode(text).map_err(|reason| TokenizerError::Encode { reason })
            }
        }
    }

    /// Text of ids, without that of special tokens, as servers return it.
    ///
    /// Ids outside the vocabulary have no text (a model's last layer is often
    /// wider than its vocabulary). Bytes that are not characters become U+FFFD.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`]; never with a byte-level vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        if let Some(table) = &self.shared.bytes {
            let mut bytes = Vec::with_capacity(ids.len() * 4);
            for &id in ids.iter().filter(|&&id| !self.is_special(id)) {
                bytes.extend_from_slice(table.get(id));
            }
            if self.shared.takes_off_space && bytes.first() == Some(&b' ') {
                bytes.remove(0);
            }
            return Ok(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            });
        }
        match &self.shared.inner {
            Inner::Words(inner) => contained(|| inner.decode(ids, true))
                .map_err(|panicked| panicked.to_string())
                .and_then(|decoded| decoded.map_err(|error| error.to_string()))
                .map_err(|reason| TokenizerError::Decode { reason }),
            // Their bytes are always known.
            Inner::Pieces(_) => Ok(String::new()),
        }
    }

    /// Byte ranges of the pieces that the model sees one by one.
    ///
    /// No token crosses the border between two pieces, so the tokens of a text
    /// are the tokens of its pieces. A tokenizer that does not split has one piece.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`]; never with the embedded vocabulary.
    pub fn pieces(&self, text: &str) -> Result<Vec<Range<usize>>, TokenizerError> {
        let inner = match &self.shared.inner {
            Inner::Words(inner) => inner,
            Inner::Pieces(inner) => {
                return Ok(inner.stretches(text).into_iter().map(|(range, _)| range).collect());
            }
        };
        encoding(|| {
            let mut split =
                inner.get_added_vocabulary().extract_and_normalize(inner.get_normalizer(), text);
            if let Some(pre_tokenizer) = inner.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut split)?;
            }
            let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
            Ok(splits.into_iter().map(|(_, (start, end), _)| start..end).collect())
        })
    }

    /// The token of an id as the vocabulary writes it, such as `Ġthe`.
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.shared.inner {
            Inner::Words(inner) => inner.id_to_token(id),
            Inner::Pieces(inner) => inner.token(id).map(str::to_owned),
        }
    }

    /// The id of a token as the vocabulary writes it, such as `<|user|>`.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.shared.inner {
            Inner::Words(inner) => inner.token_to_id(token),
            Inner::Pieces(inner) => inner.id(token),
        }
    }

    /// The highest id plus one: the width that a model's logits need.
    pub fn vocab_size(&self) -> u32 {
        self.shared.vocab_size
    }

    /// The token before a text, if the tokenizer is known to have one.
    pub fn bos_id(&self) -> Option<u32> {
        self.shared.bounds.bos_id
    }

    /// The token that ends a text, if the tokenizer is known to have one.
    pub fn eos_id(&self) -> Option<u32> {
        self.shared.bounds.eos_id
    }

    /// Bytes of the longest token, as the vocabulary writes it or as text, whichever is longer: a text
    /// has at least its length over this many tokens. Goes through the whole vocabulary.
    pub fn longest_token_bytes(&self) -> usize {
        let written = (0..self.vocab_size()).filter_map(|id| self.token(id)).map(|text| text.len());
        let longest = self.shared.bytes.as_ref().map_or(0, ByteTable::longest);
        written.max().unwrap_or(0).max(longest).max(1)
    }

    /// Ids of the special tokens, ascending.
    pub fn special_ids(&self) -> &[u32] {
        &self.shared.special_ids
    }

    /// Whether an id is a special token.
    pub fn is_special(&self, id: u32) -> bool {
        self.shared.special_ids.binary_search(&id).is_ok()
    }

    /// How many special tokens the tokenizer's own template adds to a text: what
    /// Hugging Face calls `num_special_tokens_to_add`. [`Tokenizer::encode`] adds none.
    pub fn special_tokens_added(&self) -> u32 {
        self.shared.special_tokens_added
    }

    /// SHA-256 of what the tokens of a text follow from, in hexadecimal.
    ///
    /// For a `tokenizer.json`, a SentencePiece model and a rank file of an encoding it is
    /// the hash of the file; for a GGUF file it is that of the vocabulary's keys, so
    /// that files with other weights and the same vocabulary agree.
    pub fn sha256(&self) -> &str {
        &self.shared.sha256
    }

    /// Name of the tokenizer, for records.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The tokenizer as a `tokenizer.json`, for other tools to count the same way.
    ///
    /// # Errors
    /// [`TokenizerError::Write`].
    pub fn to_json(&self) -> Result<String, TokenizerError> {
        match &self.shared.inner {
            Inner::Words(inner) => inner
                .to_string(false)
                .map_err(|error| TokenizerError::Write { reason: error.to_string() }),
            Inner::Pieces(_) => Err(TokenizerError::Write {
                reason: "a SentencePiece vocabulary has no exact form as json; give its own file"
                    .to_owned(),
            }),
        }
    }

    /// Whether a decoded text starts with a space that is not part of it.
    pub(crate) fn takes_off_space(&self) -> bool {
        self.shared.takes_off_space
    }

    pub(crate) fn byte_table(&self) -> Option<&ByteTable> {
        self.shared.bytes.as_ref()
    }
}

/// Runs the crate `tokenizers` on a text. It panics where the search for a pattern takes too many steps, as it
/// does on millions of spaces.
fn encoding<T>(encode: impl FnOnce() -> Result<T, tokenizers::Error>) -> Result<T, TokenizerError> {
    let encoded = contained(encode).map_err(|panicked| panicked.to_string());
    encoded
        .and_then(|encoded| encoded.map_err(|error| error.to_string()))
        .map_err(|reason| TokenizerError::Encode { reason })
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tokenizer")
            .field("name", &self.shared.name)
            .field("vocab_size", &self.shared.vocab_size)
            .field("sha256", &self.shared.sha256)
            .finish_non_exhaustive()
    }
}
