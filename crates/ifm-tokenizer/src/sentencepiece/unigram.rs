//! The most probable division of a text into pieces.
//!
//! Each piece has a logarithm of its probability; the best division ending at each
//! place follows from the best ones ending before it (Viterbi). Ties and rounding
//! decide ids, so the order of steps and the widths of floats follow
//! SentencePiece 0.2.3. Releases up to 0.2.1 added in 64 bits: of two divisions that
//! are equally good and equally long, as of `000` into `00` and `0`, they take the
//! other one now and then.
//!
//! Not here: how text without a piece is handled.

use super::{Found, Kind, Piece, normalizer::character_length};
use crate::trie::Trie;

/// How much worse than the worst piece a character without one is.
const UNKNOWN_PENALTY: f32 = 10.0;
/// How much worse than the best a piece is that is taken wherever it occurs.
const ALWAYS_PENALTY: f32 = 0.1;

/// Pieces by text, with what each is worth.
#[derive(Debug)]
pub(crate) struct Unigram {
    trie: Trie,
    worth: Vec<Worth>,
    unknown_score: f32,
    score_max: f32,
}

#[derive(Debug, Clone, Copy)]
enum Worth {
    /// The logarithm of the probability.
    Score(f32),
    /// Defined by the model's user: taken wherever it occurs.
    Always,
}

/// The best division that ends at a place.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f32,
    /// Where its last piece starts; none as long as nothing ends here.
    start: Option<u32>,
    piece: Option<u32>,
}

impl Unigram {
    pub(crate) fn new(pieces: &[Piece]) -> Self {
        let normal = pieces.iter().filter(|piece| piece.kind == Kind::Normal);
        let (score_min, score_max) = normal
            .map(|piece| piece.score)
            .fold((f32::MAX, f32::MIN_POSITIVE), |(min, max), score| {
                (min.min(score), max.max(score))
            });
        let listed = pieces
            .iter()
            .zip(0_u32..)
            .filter(|(piece, _)| matches!(piece.kind, Kind::Normal | Kind::UserDefined));
        let worth = pieces.iter().map(|piece| match piece.kind {
            Kind::UserDefined => Worth::Always,
            _ => Worth::Score(piece.score),
        });
        Self {
            trie: Trie::new(listed.map(|(piece, id)| (piece.text.as_bytes(), id))),
            worth: worth.collect(),
            unknown_score: score_min - UNKNOWN_PENALTY,
            score_max,
        }
    }

    /// Divides a text into pieces, in order.
    pub(crate) fn divide(&self, text: &[u8]) -> Vec<Found> {
        let mut best = vec![Best { score: 0.0, start: None, piece: None }; text.len() + 1];
        let mut start = 0;
        while let Some(rest @ [first, ..]) = text.get(start..) {
            let before = best.get(start).map_or(0.0, |best| best.score);
            let character = character_length(*first).min(rest.len());
            let mut covered = false;
            for (length, id) in self.trie.prefixes(rest) {
                let score = match self.worth.get(id as usize) {
                    Some(&Worth::Score(score)) => score,
                    _ => length as f32 * self.score_max - ALWAYS_PENALTY,
                };
                improve(&mut best, start, length, before + score, Some(id));
                covered |= length == character;
            }
            if !covered {
                improve(&mut best, start, character, before + self.unknown_score, None);
            }
            start += character;
        }
        let mut found = Vec::new();
        let mut end = text.len();
        while let Some(&Best { start: Some(start), piece, .. }) = best.get(end) {
            found.push(Found { start: start as usize, end, piece });
            end = start as usize;
        }
        found.reverse();
        found
    }
}

fn improve(best: &mut [Best], start: usize, length: usize, score: f32, piece: Option<u32>) {
    if let Some(best) = best.get_mut(start + length)
        && (best.start.is_none() || score > best.score)
    {
        *best = Best { score, start: Some(start as u32), piece };
    }
}
