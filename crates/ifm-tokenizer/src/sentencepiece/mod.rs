//! SentencePiece vocabularies: from model files, and the same kind inside GGUF files.
//!
//! Both models of SentencePiece (unigram and BPE) with its preparation of texts, and
//! the variant of BPE that llama.cpp runs over the same vocabularies. A text is first
//! cut at the special tokens in it; each stretch between is prepared and divided into
//! pieces on its own.
//!
//! Not here: finding and naming files (`open`), decoding streams (`stream`).

mod bpe;
mod character_map;
pub(crate) mod model_file;
mod normalizer;
mod protobuf;
mod unigram;

use std::{collections::HashMap, ops::Range};

pub(crate) use self::normalizer::{Rules, SPACE};
use self::{bpe::Bpe, normalizer::Normalizer, unigram::Unigram};
use crate::{bytes::ByteTable, config::AddedToken, error::Problem, trie::Trie};

/// Ids that tokens added by a configuration may lie beyond the pieces.
const ADDED_BEYOND_MAX: usize = 1 << 16;

/// What a piece is, in the numbers of the model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

impl Kind {
    /// The kind of a number in a model file, and in `tokenizer.ggml.token_type`.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }
}

/// One piece; its id is its place in the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// What it is worth; more is better.
    pub(crate) score: f32,
    pub(crate) kind: Kind,
}

/// How a text is divided into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// The most probable division.
    Unigram,
    /// Joining neighbours, as SentencePiece does it.
    Bpe,
    /// Joining neighbours, as llama.cpp does it.
    LlamaBpe,
}

/// A vocabulary and the rules around it, as read from a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) algorithm: Algorithm,
    pub(crate) rules: Rules,
    /// Whether what has no piece becomes bytes.
    pub(crate) byte_fallback: bool,
}

/// A stretch of a prepared text, and its piece if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    start: usize,
    end: usize,
    piece: Option<u32>,
}

/// A vocabulary at work.
#[derive(Debug)]
pub(crate) struct SentencePiece {
    model: Model,
    normalizer: Normalizer,
    /// Tokens at which a text is cut.
    cuts: Trie,
    /// Tokens that swallow the white space after them.
    swallowing: Vec<u32>,
    texts: Vec<String>,
    ids: HashMap<String, u32>,
    unknown: Option<u32>,
    /// The piece of each byte, where what has no piece becomes bytes.
    bytes: Option<Vec<Option<u32>>>,
    /// Whether neighbours without a piece become one unknown token.
    joins_unknown: bool,
}

#[derive(Debug)]
enum Model {
    Unigram(Unigram),
    Bpe(Bpe),
}

/// Tables about the ids, in addition to the vocabulary itself.
pub(crate) struct Tables {
    /// The bytes that each id is decoded to.
    pub(crate) bytes: ByteTable,
    /// Ids without text, ascending.
    pub(crate) special_ids: Vec<u32>,
}

impl SentencePiece {
    /// Builds a vocabulary; `added` are tokens that a configuration adds to it.
    pub(crate) fn new(
        definition: Definition,
        added: &[AddedToken],
    ) -> Result<(Self, Tables), Problem> {
        let Definition { pieces, algorithm, rules, byte_fallback } = definition;
        let is_llama = algorithm == Algorithm::LlamaBpe;
        let mut ids = HashMap::with_capacity(pieces.len());
        for (piece, id) in pieces.iter().zip(0..) {
            if ids.insert(piece.text.clone(), id).is_some() && !is_llama {
                let text = &piece.text;
                return Err(Problem::damaged(format!("the piece '{text}' is there twice")));
            }
        }
        let unknown = pieces.iter().position(|piece| piece.kind == Kind::Unknown);
        let unknown = unknown.map(|id| id as u32);
        let bytes = byte_fallback
            .then(|| (0..=255).map(|byte| byte_piece(&ids, &pieces, byte)).collect::<Vec<_>>());
        if !is_llama && bytes.as_ref().map_or(unknown.is_none(), |bytes| bytes.contains(&None)) {
            return Err(Problem::damaged(
                "it lacks a piece for what is unknown, or for some bytes",
            ));
        }
        let model = match algorithm {
            Algorithm::Unigram => Model::Unigram(Unigram::new(&pieces)),
            Algorithm::Bpe => Model::Bpe(Bpe::sentencepiece(&pieces)),
            Algorithm::LlamaBpe => Model::Bpe(Bpe::llama(&pieces)),
        };
        let untouched: &[Kind] = if is_llama { &[] } else { &[Kind::UserDefined] };
        let normalizer = Normalizer::new(rules, Trie::new(of_kinds(&pieces, untouched)))?;
        let mut vocabulary = Self {
            model,
            normalizer,
            cuts: Trie::default(),
            swallowing: Vec::new(),
            texts: Vec::new(),
            ids,
            unknown,
            bytes,
            joins_unknown: !is_llama,
        };
        let tables = vocabulary.add_tokens(pieces, added, is_llama)?;
        Ok((vocabulary, tables))
    }

    /// Fills what depends on the tokens of a configuration too.
    fn add_tokens(
        &mut self,
        pieces: Vec<Piece>,
        added: &[AddedToken],
        is_llama: bool,
    ) -> Result<Tables, Problem> {
        let mut tables =
            Tables { bytes: ByteTable::with_capacity(pieces.len()), special_ids: Vec::new() };
        let count = pieces.len();
        let most = added.iter().map(|token| token.id as usize + 1).max().unwrap_or(0).max(count);
        if most > count + ADDED_BEYOND_MAX {
            return Err(Problem::damaged(format!(
                "an added token has the id {}, far beyond its {count} pieces",
                most - 1
            )));
        }
        // llama.cpp cuts at every token that is not plain text; SentencePiece looks for
        // user-defined ones itself, and never for control tokens.
        let cutting: &[Kind] = if is_llama {
            &[Kind::Control, Kind::Unknown, Kind::UserDefined]
        } else {
            &[Kind::Control, Kind::Unknown]
        };
        let mut cuts =
            of_kinds(&pieces, cutting).map(|(text, id)| (text.to_vec(), id)).collect::<Vec<_>>();
        let mut texts = Vec::with_capacity(most);
        for (piece, id) in pieces.into_iter().zip(0..) {
            match piece.kind {
                Kind::Control | Kind::Unknown => {
                    tables.special_ids.push(id);
                    tables.bytes.push_bytes(piece.text.as_bytes());
                }
                Kind::Byte => {
                    tables.bytes.push_bytes(byte_of(&piece.text).as_slice());
                }
                _ => tables.bytes.push_bytes(piece.text.replace(SPACE, " ").as_bytes()),
            }
            texts.push(piece.text);
        }
        let mut beyond = vec![""; most - count];
        for token in added {
            let id = token.id as usize;
            match id.checked_sub(count).and_then(|index| beyond.get_mut(index)) {
                Some(text) => *text = &token.content,
                // A configuration also repeats tokens of the vocabulary.
                None if texts.get(id) == Some(&token.content) => {}
                None => continue,
            }
            cuts.push((token.content.as_bytes().to_vec(), token.id));
            if token.special {
                tables.special_ids.push(token.id);
            }
            self.ids.insert(token.content.clone(), token.id);
        }
        tables.special_ids.sort_unstable();
        tables.special_ids.dedup();
        for text in beyond {
            tables.bytes.push_bytes(text.as_bytes());
            texts.push(text.to_owned());
        }
        self.cuts = Trie::new(cuts.iter().map(|(text, id)| (text.as_slice(), *id)));
        self.texts = texts;
        Ok(tables)
    }

    /// Makes tokens swallow the white space after them, as Phi 3's do.
    pub(crate) fn swallow_space_after(&mut self, ids: Vec<u32>) {
        self.swallowing = ids;
    }

    /// Ids of a text, or what in it has none.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let mut ids = Vec::with_capacity(text.len() / 3);
        for (range, token) in self.stretches(text) {
            match token {
                Some(id) => ids.push(id),
                None => self.encode_stretch(text.get(range).unwrap_or(""), &mut ids)?,
            }
        }
        Ok(ids)
    }

    /// The stretches of a text between special tokens, and these tokens themselves.
    pub(crate) fn stretches(&self, text: &str) -> Vec<(Range<usize>, Option<u32>)> {
        let mut stretches = Vec::new();
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0, 0);
        while let Some(rest @ [_, ..]) = bytes.get(at..) {
            let Some((length, id)) = self.cuts.longest_prefix(rest) else {
                at += 1;
                continue;
            };
            if start < at {
                stretches.push((start..at, None));
            }
            let token = at;
            at += length;
            if self.swallowing.contains(&id) {
                let space = bytes.get(at..).unwrap_or(&[]).iter();
                at += space.take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
            }
            stretches.push((token..at, Some(id)));
            start = at;
        }
        if start < bytes.len() {
            stretches.push((start..bytes.len(), None));
        }
        stretches
    }

    fn encode_stretch(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), String> {
        let text = self.normalizer.normalize(text);
        let found = match &self.model {
            Model::Unigram(model) => model.divide(&text),
            Model::Bpe(model) => model.divide(&text),
        };
        let mut after_unknown = false;
        for Found { start, end, piece } in found {
            let piece = piece.filter(|&id| !self.joins_unknown || Some(id) != self.unknown);
            if let Some(id) = piece {
                ids.push(id);
                after_unknown = false;
                continue;
            }
            let stretch = text.get(start..end).unwrap_or(&[]);
            match &self.bytes {
                Some(bytes) => {
                    for &byte in stretch {
                        let id = bytes.get(usize::from(byte)).copied().flatten().or(self.unknown);
                        ids.push(id.ok_or_else(|| {
                            format!("the vocabulary has no token for the byte {byte:#04x}")
                        })?);
                    }
                }
                None if after_unknown && self.joins_unknown => {}
                None => ids.push(self.unknown.ok_or_else(|| {
                    let stretch = String::from_utf8_lossy(stretch);
                    format!("the vocabulary has no token for '{stretch}'")
                })?),
            }
            after_unknown = true;
        }
        Ok(())
    }

    /// The text of a piece.
    pub(crate) fn token(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The id of a piece.
    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// The highest id plus one.
    pub(crate) fn size(&self) -> u32 {
        self.texts.len() as u32
    }

    /// Whether a space is put before each text, to be taken off when decoding.
    pub(crate) fn adds_prefix(&self) -> bool {
        self.normalizer.adds_prefix()
    }
}

fn of_kinds<'pieces>(
    pieces: &'pieces [Piece],
    kinds: &'pieces [Kind],
) -> impl Iterator<Item = (&'pieces [u8], u32)> {
    let listed = pieces.iter().zip(0..).filter(|(piece, _)| kinds.contains(&piece.kind));
    listed.map(|(piece, id)| (piece.text.as_bytes(), id))
}

/// The byte of a piece such as `<0x0A>`.
fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// The piece of a byte: `<0x0A>`, or in vocabularies without it the character itself.
fn byte_piece(ids: &HashMap<String, u32>, pieces: &[Piece], byte: u8) -> Option<u32> {
    let named = ids.get(&format!("<0x{byte:02X}>")).copied();
    let named =
        named.filter(|&id| pieces.get(id as usize).is_some_and(|piece| !piece.text.is_empty()));
    let itself = || ids.get(std::str::from_utf8(&[byte]).ok()?).copied();
    named.or_else(itself)
}
