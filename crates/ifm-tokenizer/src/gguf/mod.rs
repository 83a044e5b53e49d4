//! GGUF files: the header before the tensors, and the vocabulary in it.
//!
//! Two kinds are followed, both as llama.cpp follows them: `gpt2`, which is byte-level
//! BPE with the split that `tokenizer.ggml.pre` names, and `llama`, which is
//! SentencePiece's BPE by scores. Other kinds are refused by name.
//!
//! Not here: weights (`ifm-engine` reads them).

mod reader;

use std::{collections::HashMap, io::Read};

use sha2::{Digest as _, Sha256};

pub(crate) use self::reader::MAGIC;
pub use self::reader::{Head, Value, read as read_head};
use crate::{
    byte_level::{self, check_merges},
    bytes::ByteTable,
    error::Problem,
    hex,
    sentencepiece::{Algorithm, Definition, Kind, Piece, Rules, SentencePiece, Tables},
    special::Bounds,
    split,
};

/// What all keys of a tokenizer begin with.
const PREFIX: &str = "tokenizer.ggml.";
/// The keys that are read, after [`PREFIX`].
const KEYS: [&str; 14] = [
    "model",
    "pre",
    "tokens",
    "scores",
    "token_type",
    "merges",
    "bos_token_id",
    "eos_token_id",
    "eot_token_id",
    "eom_token_id",
    "unknown_token_id",
    "add_bos_token",
    "add_eos_token",
    "add_space_prefix",
];
/// The name of the model; some special tokens of Phi 3 are known by it alone.
const NAME: &str = "general.name";

/// Tokens that end an answer. Their text says it: llama.cpp treats them as special
/// whatever type the file gives them.
const ENDS: [&str; 22] = [
    "</s>",
    "<eos>",
    "[EOS]",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<turn|>",
    "<end_of_utterance>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];

/// A vocabulary, ready for use.
pub(crate) struct Loaded {
    pub(crate) model: Model,
    pub(crate) bytes: ByteTable,
    /// Ids without text, ascending.
    pub(crate) special_ids: Vec<u32>,
    pub(crate) bounds: Bounds,
    /// Tokens that a server adds to a text.
    pub(crate) special_tokens_added: u32,
    /// Digest of what the tokens follow from.
    pub(crate) sha256: String,
    /// Tokens in all.
    pub(crate) tokens: u32,
}

/// The two kinds.
pub(crate) enum Model {
    ByteLevel(Box<tokenizers::Tokenizer>),
    SentencePiece(Box<SentencePiece>),
}

/// Reads the vocabulary of a file; nothing after its keys is read.
pub(crate) fn read(source: impl Read) -> Result<Loaded, Problem> {
    let is_wanted = |key: &str| {
        key == NAME || key.strip_prefix(PREFIX).is_some_and(|rest| KEYS.contains(&rest))
    };
    Metadata { pairs: reader::read(source, is_wanted)?.pairs }.load()
}

struct Metadata {
    pairs: HashMap<String, Value>,
}

impl Metadata {
    fn value(&self, key: &str) -> Option<&Value> {
        self.pairs.get(&format!("{PREFIX}{key}"))
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// An id that the vocabulary has.
    fn id(&self, key: &str, tokens: usize) -> Option<u32> {
        match self.value(key)? {
            Value::Number(number) => {
                u32::try_from(*number).ok().filter(|&id| (id as usize) < tokens)
            }
            _ => None,
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, Problem> {
        let Some(Value::Texts(texts)) = self.value(key) else {
            return Err(Problem::damaged(format!("it holds no list of texts under {PREFIX}{key}")));
        };
        let texts = texts.iter().enumerate().map(|(index, text)| {
            String::from_utf8(text.clone()).map_err(|_| {
                Problem::damaged(format!("entry {index} of {PREFIX}{key} is not UTF-8"))
            })
        });
        texts.collect()
    }

    fn load(&self) -> Result<Loaded, Problem> {
        let Some(model) = self.text("model") else {
            return Err(Problem::damaged(format!(
                "it holds no vocabulary: there is no {PREFIX}model"
            )));
        };
        let is_llama = match model {
            "gpt2" => false,
            "llama" => true,
            other => {
                return Err(Problem::unsupported(format!(
                    "the kind of vocabulary '{other}' in a GGUF file; 'gpt2' and 'llama' are, and \
                     the model's tokenizer.json is"
                )));
            }
        };
        let tokens = self.texts("tokens")?;
        let kinds = self.kinds(&tokens)?;
        let bounds = Bounds {
            bos_id: self.id("bos_token_id", tokens.len()),
            eos_id: self.id("eos_token_id", tokens.len()),
        };
        if is_llama {
            self.sentencepiece(tokens, &kinds, bounds)
        } else {
            self.byte_level(tokens, &kinds, bounds)
        }
    }

    /// The kind of each token; all are normal where the file does not say.
    fn kinds(&self, tokens: &[String]) -> Result<Vec<Kind>, Problem> {
        let mut kinds = match self.value("token_type") {
            None => vec![Kind::Normal; tokens.len()],
            Some(Value::Numbers(numbers)) if numbers.len() >= tokens.len() => {
                let kind = |&number: &i128| u64::try_from(number).ok().and_then(Kind::from_number);
                let kinds = numbers.iter().map(|number| kind(number).unwrap_or(Kind::Normal));
                kinds.take(tokens.len()).collect()
            }
            Some(_) => {
                return Err(Problem::damaged(format!(
                    "{PREFIX}token_type is not a list of numbers with one for each of the {} tokens",
                    tokens.len()
                )));
            }
        };
        let ids = ["bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id"]
            .map(|key| self.id(key, tokens.len()));
        for ((kind, token), id) in kinds.iter_mut().zip(tokens).zip(0..) {
            if ENDS.contains(&token.as_str()) || ids.contains(&Some(id)) {
                *kind = Kind::Control;
            }
        }
        Ok(kinds)
    }

    fn added(&self, bounds: Bounds, adds_bos: bool) -> u32 {
        let adds = |key: &str, otherwise: bool, id: Option<u32>| {
            self.flag(key).unwrap_or(otherwise) && id.is_some()
        };
        u32::from(adds("add_bos_token", adds_bos, bounds.bos_id))
            + u32::from(adds("add_eos_token", false, bounds.eos_id))
    }

    fn byte_level(
        &self,
        tokens: Vec<String>,
        kinds: &[Kind],
        bounds: Bounds,
    ) -> Result<Loaded, Problem> {
        let pre = self.text("pre").unwrap_or("default");
        let rule = split::find(pre).ok_or_else(|| {
            Problem::unsupported(format!(
                "the split '{pre}' ({PREFIX}pre) in a GGUF file; give the model's tokenizer.json; \
                 the splits {} are supported",
                split::names()
            ))
        })?;
        let merges = self.merges()?;
        check_merges(&tokens, &merges)?;
        let mut bytes = ByteTable::with_capacity(tokens.len());
        let (mut special_ids, mut added) = (Vec::new(), Vec::new());
        for ((token, kind), id) in tokens.iter().zip(kinds).zip(0..) {
            match kind {
                Kind::Control | Kind::Unknown => {
                    special_ids.push(id);
                    added.push((token.clone(), true));
                }
                Kind::UserDefined => added.push((token.clone(), false)),
                _ => {
                    bytes.push(token);
                    continue;
                }
            }
            bytes.push_bytes(token.as_bytes());
        }
        let sha256 = self.digest(&["model", "pre", "tokens", "token_type", "merges"], false);
        let count = tokens.len() as u32;
        let inner = byte_level::build(byte_level::Definition {
            tokens,
            merges,
            added,
            split: rule.split,
            whole_parts: rule.whole_parts,
        })?;
        Ok(Loaded {
            model: Model::ByteLevel(Box::new(inner)),
            bytes,
            special_ids,
            bounds,
            special_tokens_added: self.added(bounds, rule.adds_bos),
            sha256,
            tokens: count,
        })
    }

    fn merges(&self) -> Result<Vec<(String, String)>, Problem> {
        let merges = self.texts("merges")?.into_iter().enumerate().map(|(rank, merge)| {
            // The first part may itself be a space in old files.
            let mut spaces = merge.match_indices(' ').map(|(at, _)| at).filter(|&at| at > 0);
            let parts = spaces.next().and_then(|at| Some((merge.get(..at)?, merge.get(at + 1..)?)));
            let (left, right) = parts.ok_or_else(|| {
                Problem::damaged(format!("merge {rank}, '{merge}', is not of two parts"))
            })?;
            Ok((left.to_owned(), right.to_owned()))
        });
        merges.collect()
    }

    fn sentencepiece(
        &self,
        tokens: Vec<String>,
        kinds: &[Kind],
        bounds: Bounds,
    ) -> Result<Loaded, Problem> {
        let scores: Vec<f32> = match self.value("scores") {
            Some(Value::Floats(scores)) => scores.iter().map(|&score| score as f32).collect(),
            Some(Value::Numbers(scores)) => scores.iter().map(|&score| score as f32).collect(),
            _ => {
                return Err(Problem::damaged(format!(
                    "it holds no list of numbers under {PREFIX}scores"
                )));
            }
        };
        if scores.len() < tokens.len() {
            return Err(Problem::damaged(format!(
                "{PREFIX}scores has {} entries for {} tokens",
                scores.len(),
                tokens.len()
            )));
        }
        let pieces = tokens.into_iter().zip(kinds).zip(scores);
        let mut pieces =
            pieces.map(|((text, &kind), score)| Piece { text, score, kind }).collect::<Vec<_>>();
        if let Some(piece) =
            self.id("unknown_token_id", pieces.len()).and_then(|id| pieces.get_mut(id as usize))
        {
            piece.kind = Kind::Unknown;
        }
        let count = pieces.len() as u32;
        let swallowing = self.swallowing(&pieces);
        let rules = Rules {
            characters: None,
            add_prefix: self.flag("add_space_prefix").unwrap_or(true),
            remove_extra_spaces: false,
            escape_spaces: true,
            space_as_suffix: false,
        };
        let keys =
            ["model", "tokens", "token_type", "scores", "unknown_token_id", "add_space_prefix"];
        let sha256 = self.digest(&keys, !swallowing.is_empty());
        let definition =
            Definition { pieces, algorithm: Algorithm::LlamaBpe, rules, byte_fallback: true };
        let (mut inner, Tables { bytes, special_ids }) = SentencePiece::new(definition, &[])?;
        inner.swallow_space_after(swallowing);
        Ok(Loaded {
            model: Model::SentencePiece(Box::new(inner)),
            bytes,
            special_ids,
            bounds,
            special_tokens_added: self.added(bounds, true),
            sha256,
            tokens: count,
        })
    }

    /// Tokens that swallow the white space after them: GGUF files do not say it, so
    /// llama.cpp knows by the name that it is so for Phi 3.
    fn swallowing(&self, pieces: &[Piece]) -> Vec<u32> {
        let name = match self.pairs.get(NAME) {
            Some(Value::Text(name)) => String::from_utf8_lossy(name).to_lowercase(),
            _ => return Vec::new(),
        };
        if !(name.contains("phi-3") || name.contains("phi3")) {
            return Vec::new();
        }
        let keeps = |text: &str| matches!(text, "<unk>" | "<s>" | "<|endoftext|>");
        let cuts = |kind| matches!(kind, Kind::Control | Kind::Unknown | Kind::UserDefined);
        let listed =
            pieces.iter().zip(0..).filter(|(piece, _)| cuts(piece.kind) && !keeps(&piece.text));
        listed.map(|(_, id)| id).collect()
    }

    /// Digest of the values that the tokens of a text follow from. The same for all
    /// files with the same vocabulary, whatever their weights.
    fn digest(&self, keys: &[&str], swallows: bool) -> String {
        let ids = ["bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id"];
        let mut hasher = Sha256::new();
        for key in keys.iter().chain(&ids) {
            hasher.update(key.as_bytes());
            match self.value(key) {
                Some(value) => value.digest(&mut hasher),
                None => hasher.update([u8::MAX]),
            }
        }
        hasher.update([u8::from(swallows)]);
        hex(&hasher.finalize())
    }
}
