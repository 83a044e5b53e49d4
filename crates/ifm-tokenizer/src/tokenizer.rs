//! The tokenizer: one handle over the embedded vocabulary and over files.
//!
//! Not here: incremental decoding (`stream`), the making of the embedded
//! vocabulary (`embedded`).

use std::{fmt, fs::File, io::Read as _, ops::Range, path::Path, sync::Arc};

use sha2::{Digest as _, Sha256};
use tokenizers::{DecoderWrapper, OffsetReferential, OffsetType, PreTokenizer as _};

use crate::{
    bytes::ByteTable,
    embedded,
    error::TokenizerError,
    special::{self, Bounds},
    stream::StreamDecoder,
};

/// The largest `tokenizer.json` that is read, in bytes. The largest in common
/// use, with 256 thousand tokens, are near 35 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// The largest `tokenizer_config.json` that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 8 << 20;
/// The largest vocabulary that is accepted, in ids: bounds the tables made of it.
const VOCAB_SIZE_MAX: u32 = 1 << 24;
/// The file that names the bounds of a text, beside `tokenizer.json`.
const CONFIG_FILE: &str = "tokenizer_config.json";

/// Turns text into token ids and back.
///
/// A handle: cloning is cheap and shares the vocabulary, and any number of
/// threads may use it at once.
#[derive(Clone)]
pub struct Tokenizer {
    shared: Arc<Shared>,
}

struct Shared {
    inner: tokenizers::Tokenizer,
    name: String,
    sha256: String,
    vocab_size: u32,
    bounds: Bounds,
    /// Sorted.
    special_ids: Vec<u32>,
    /// The bytes of each token, when the vocabulary is byte-level.
    bytes: Option<ByteTable>,
}

impl Tokenizer {
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
        Ok(Self {
            shared: Arc::new(Shared {
                inner,
                name: embedded::NAME.to_owned(),
                sha256: sha256_hex(embedded::MERGES.as_bytes()),
                vocab_size: embedded::VOCABULARY_SIZE as u32,
                bounds: Bounds { bos_id: Some(embedded::BOS_ID), eos_id: Some(embedded::EOS_ID) },
                special_ids: (0..embedded::SPECIAL_TOKENS.len() as u32).collect(),
                bytes: Some(bytes),
            }),
        })
    }

    /// Reads a Hugging Face `tokenizer.json`.
    ///
    /// A `tokenizer_config.json` beside it tells the bounds of a text. The name
    /// is the folder's when the file is called `tokenizer.json`, else the file's.
    ///
    /// # Errors
    /// [`TokenizerError::Read`], [`TokenizerError::TooLarge`] above 256 MiB, and
    /// [`TokenizerError::Parse`].
    pub fn from_file(path: &Path) -> Result<Self, TokenizerError> {
        let bytes = read_bounded(path, FILE_BYTES_MAX)?;
        // Only a help: a missing or unreadable one is as good as none.
        let config = read_bounded(&path.with_file_name(CONFIG_FILE), CONFIG_BYTES_MAX).ok();
        Self::build(&name_of(path), &bytes, config.as_deref())
    }

    /// Reads the content of a Hugging Face `tokenizer.json`.
    ///
    /// # Errors
    /// [`TokenizerError::Parse`].
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, TokenizerError> {
        Self::build(name, bytes, None)
    }

    fn build(name: &str, bytes: &[u8], config: Option<&[u8]>) -> Result<Self, TokenizerError> {
        let parse_error = |error: tokenizers::Error| TokenizerError::Parse {
            name: name.to_owned(),
            reason: error.to_string(),
        };
        let mut inner = tokenizers::Tokenizer::from_bytes(bytes).map_err(parse_error)?;
        // A saved file may carry the cutting and filling of somebody's training
        // run; here every token of a text counts, and no other.
        inner.with_truncation(None).map_err(parse_error)?;
        inner.with_padding(None);

        let vocab_size = inner.get_vocab(true).values().max().map_or(0, |&id| id.saturating_add(1));
        if vocab_size > VOCAB_SIZE_MAX {
            return Err(TokenizerError::Parse {
                name: name.to_owned(),
                reason: format!("its ids go up to {vocab_size}, beyond {VOCAB_SIZE_MAX}"),
            });
        }
        let mut special_ids = inner
            .get_added_tokens_decoder()
            .into_iter()
            .filter(|(_, token)| token.special)
            .map(|(id, _)| id)
            .collect::<Vec<_>>();
        special_ids.sort_unstable();
        let byte_table = matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)))
            .then(|| read_byte_table(&inner, vocab_size));
        Ok(Self {
            shared: Arc::new(Shared {
                name: name.to_owned(),
                sha256: sha256_hex(bytes),
                vocab_size,
                bounds: special::find_bounds(&inner, config),
                special_ids,
                bytes: byte_table,
                inner,
            }),
        })
    }

    /// Ids of a text. No token is added before or after it; the text of a special
    /// token, such as `<|user|>`, becomes that token.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`]; never with the embedded vocabulary.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        self.shared
            .inner
            .encode_fast(text, false)
            .map(|encoding| encoding.get_ids().to_vec())
            .map_err(|error| TokenizerError::Encode { reason: error.to_string() })
    }

    /// Text of ids, without that of special tokens, as servers return it.
    ///
    /// Ids outside the vocabulary have no text (a model's last layer is often
    /// wider than its vocabulary). Bytes that are no character become U+FFFD.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`]; never with a byte-level vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        if let Some(table) = &self.shared.bytes {
            let mut bytes = Vec::with_capacity(ids.len() * 4);
            for &id in ids.iter().filter(|&&id| !self.is_special(id)) {
                bytes.extend_from_slice(table.get(id));
            }
            return Ok(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            });
        }
        self.shared
            .inner
            .decode(ids, true)
            .map_err(|error| TokenizerError::Decode { reason: error.to_string() })
    }

    /// Starts to decode one sequence token by token.
    pub fn stream(&self) -> StreamDecoder {
        StreamDecoder::new(self.clone())
    }

    /// Byte ranges of the pieces that the model sees one by one.
    ///
    /// No token crosses the border between two pieces, so the tokens of a text
    /// are those of its pieces. A tokenizer that does not split has one piece.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`]; never with the embedded vocabulary.
    pub fn pieces(&self, text: &str) -> Result<Vec<Range<usize>>, TokenizerError> {
        let inner = &self.shared.inner;
        let mut split =
            inner.get_added_vocabulary().extract_and_normalize(inner.get_normalizer(), text);
        if let Some(pre_tokenizer) = inner.get_pre_tokenizer() {
            pre_tokenizer
                .pre_tokenize(&mut split)
                .map_err(|error| TokenizerError::Encode { reason: error.to_string() })?;
        }
        Ok(split
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .into_iter()
            .map(|(_, (start, end), _)| start..end)
            .collect())
    }

    /// The token of an id as the vocabulary writes it, such as `Ġthe`.
    pub fn token(&self, id: u32) -> Option<String> {
        self.shared.inner.id_to_token(id)
    }

    /// The id of a token as the vocabulary writes it, such as `<|user|>`.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.shared.inner.token_to_id(token)
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

    /// Ids of the special tokens, ascending.
    pub fn special_ids(&self) -> &[u32] {
        &self.shared.special_ids
    }

    /// Whether an id is a special token.
    pub fn is_special(&self, id: u32) -> bool {
        self.shared.special_ids.binary_search(&id).is_ok()
    }

    /// SHA-256 of what the tokenizer was read from, in hexadecimal.
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
        self.shared
            .inner
            .to_string(false)
            .map_err(|error| TokenizerError::Write { reason: error.to_string() })
    }

    pub(crate) fn byte_table(&self) -> Option<&ByteTable> {
        self.shared.bytes.as_ref()
    }
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

fn read_byte_table(inner: &tokenizers::Tokenizer, vocab_size: u32) -> ByteTable {
    let mut table = ByteTable::with_capacity(vocab_size as usize);
    for id in 0..vocab_size {
        table.push(&inner.id_to_token(id).unwrap_or_default());
    }
    table
}

fn read_bounded(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, TokenizerError> {
    let read_error = |source| TokenizerError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit_bytes + 1).read_to_end(&mut bytes))
        .map_err(read_error)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(TokenizerError::TooLarge { path: path.to_owned(), limit_bytes });
    }
    Ok(bytes)
}

/// The folder's name for a `tokenizer.json`, else the file's without its ending.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    match folder {
        Some(folder) if stem == "tokenizer" => folder.to_string_lossy().into_owned(),
        _ => stem.to_string_lossy().into_owned(),
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
