//! SentencePiece model files: the messages of `sentencepiece_model.proto`.
//!
//! Not here: what is done with the pieces.

use super::{
    Algorithm, Definition, Kind, Piece,
    normalizer::Rules,
    protobuf::{Fields, Value},
};
use crate::error::Problem;

/// The byte that model files begin with: the tag of the first piece.
pub(crate) const FIRST_BYTE: u8 = 0x0A;

/// Numbers of fields in `ModelProto`.
const PIECES: u64 = 1;
const TRAINER: u64 = 2;
const NORMALIZER: u64 = 3;
const DENORMALIZER: u64 = 5;
/// Numbers of fields in `TrainerSpec`.
const MODEL_TYPE: u64 = 3;
const SPACE_AS_SUFFIX: u64 = 24;
const BYTE_FALLBACK: u64 = 35;
/// Numbers of fields in `NormalizerSpec`.
const CHARACTER_MAP: u64 = 2;
const ADD_PREFIX: u64 = 3;
const REMOVE_EXTRA_SPACES: u64 = 4;
const ESCAPE_SPACES: u64 = 5;

/// Reads a model file.
pub(crate) fn read(bytes: &[u8]) -> Result<Definition, Problem> {
    let mut pieces = Vec::new();
    let mut trainer = Trainer { model_type: 1, space_as_suffix: false, byte_fallback: false };
    let mut rules = Rules {
        characters: None,
        add_prefix: true,
        remove_extra_spaces: true,
        escape_spaces: true,
        space_as_suffix: false,
    };
    for field in Fields::new(bytes) {
        match field? {
            (PIECES, Value::Bytes(message)) => pieces.push(read_piece(message, pieces.len())?),
            (TRAINER, Value::Bytes(message)) => trainer.read(message)?,
            (NORMALIZER, Value::Bytes(message)) => read_rules(message, &mut rules)?,
            (DENORMALIZER, Value::Bytes(message)) => refuse_denormalizer(message)?,
            _ => {}
        }
    }
    rules.space_as_suffix = trainer.space_as_suffix;
    let algorithm = match trainer.model_type {
        1 => Algorithm::Unigram,
        2 => Algorithm::Bpe,
        other => {
            let kind = match other {
                3 => "word",
                4 => "char",
                _ => "unknown",
            };
            return Err(Problem::unsupported(format!(
                "a SentencePiece model of the type {kind} ({other}); unigram and BPE are, and the \
                 model's tokenizer.json is"
            )));
        }
    };
    if pieces.is_empty() {
        return Err(Problem::damaged("a SentencePiece model without pieces"));
    }
    Ok(Definition { pieces, algorithm, rules, byte_fallback: trainer.byte_fallback })
}

fn read_piece(message: &[u8], id: usize) -> Result<Piece, Problem> {
    let mut piece = Piece { text: String::new(), score: 0.0, kind: Kind::Normal };
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(text)) => {
                let text = std::str::from_utf8(text);
                piece.text = text
                    .map_err(|_| Problem::damaged(format!("the text of piece {id} is not UTF-8")))?
                    .to_owned();
            }
            (2, Value::Bits(bits)) => piece.score = f32::from_bits(bits),
            (3, Value::Number(number)) => {
                piece.kind = Kind::from_number(number).ok_or_else(|| {
                    Problem::damaged(format!("piece {id} is of the unknown type {number}"))
                })?;
            }
            _ => {}
        }
    }
    if piece.text.is_empty() {
        return Err(Problem::damaged(format!("piece {id} has no text")));
    }
    Ok(piece)
}

/// What is used of `TrainerSpec`.
struct Trainer {
    model_type: u64,
    space_as_suffix: bool,
    byte_fallback: bool,
}

impl Trainer {
    fn read(&mut self, message: &[u8]) -> Result<(), Problem> {
        for field in Fields::new(message) {
            match field? {
                (MODEL_TYPE, Value::Number(number)) => self.model_type = number,
                (SPACE_AS_SUFFIX, Value::Number(number)) => self.space_as_suffix = number != 0,
                (BYTE_FALLBACK, Value::Number(number)) => self.byte_fallback = number != 0,
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_rules(message: &[u8], rules: &mut Rules) -> Result<(), Problem> {
    for field in Fields::new(message) {
        match field? {
            (CHARACTER_MAP, Value::Bytes(map)) => {
                rules.characters = (!map.is_empty()).then(|| map.to_vec());
            }
            (ADD_PREFIX, Value::Number(number)) => rules.add_prefix = number != 0,
            (REMOVE_EXTRA_SPACES, Value::Number(number)) => {
                rules.remove_extra_spaces = number != 0;
            }
            (ESCAPE_SPACES, Value::Number(number)) => rules.escape_spaces = number != 0,
            _ => {}
        }
    }
    Ok(())
}

/// No published model rewrites its output; one that does would be decoded wrongly.
fn refuse_denormalizer(message: &[u8]) -> Result<(), Problem> {
    for field in Fields::new(message) {
        if let (CHARACTER_MAP, Value::Bytes([_, ..])) = field? {
            return Err(Problem::unsupported(
                "a SentencePiece model that rewrites its output (denormalizer_spec)",
            ));
        }
    }
    Ok(())
}
