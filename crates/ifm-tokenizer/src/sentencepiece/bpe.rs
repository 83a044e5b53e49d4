//! Joining neighbours, best piece first.
//!
//! The text starts as characters; of all neighbours that make a piece together,
//! those with the best score are joined, leftmost first, until none are left. This
//! is what SentencePiece does (`bpe_model.cc`) and llama.cpp after it.
//!
//! Not here: byte-level BPE, which ranks pairs and not what they make.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap},
};

use super::{Found, Kind, Piece, normalizer::character_length};
use crate::trie::Trie;

/// Marks the end of the chain of symbols, and pieces that cannot be made.
const NONE: u32 = u32::MAX;

/// Pieces by text, and their scores.
#[derive(Debug)]
pub(crate) struct Bpe {
    entries: HashMap<Box<[u8]>, Entry>,
    scores: Vec<f32>,
    /// Texts that are one symbol from the start and are never joined.
    frozen: Trie,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The piece that joining may make, if any.
    makes: u32,
    /// The piece that the text means in the end.
    means: u32,
    /// Whether the piece is only a step towards others.
    unused: bool,
}

#[derive(Debug, Clone, Copy)]
struct Symbol {
    start: u32,
    /// Zero once it is part of the symbol before it.
    length: u32,
    previous: u32,
    next: u32,
    frozen: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    score: f32,
    left: u32,
    right: u32,
    length: u32,
}

/// A text made of two symbols, and where in it the second starts.
type Split<'text> = (&'text [u8], usize);

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (Reverse(one.left), one.right, one.length);
        self.score.total_cmp(&other.score).then_with(|| key(self).cmp(&key(other)))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Bpe {
    /// As SentencePiece: only normal, user-defined and unused pieces are made, and
    /// user-defined ones are symbols from the start.
    pub(crate) fn sentencepiece(pieces: &[Piece]) -> Self {
        let mut bpe = Self::empty(pieces);
        let is_made = |kind| matches!(kind, Kind::Normal | Kind::UserDefined | Kind::Unused);
        for (piece, id) in pieces.iter().zip(0..).filter(|(piece, _)| is_made(piece.kind)) {
            let entry = Entry { makes: id, means: id, unused: piece.kind == Kind::Unused };
            bpe.entries.entry(piece.text.as_bytes().into()).or_insert(entry);
        }
        for (piece, id) in pieces.iter().zip(0..).filter(|(piece, _)| !is_made(piece.kind)) {
            let entry = Entry { makes: NONE, means: id, unused: false };
            let entry = bpe.entries.entry(piece.text.as_bytes().into()).or_insert(entry);
            (entry.means, entry.unused) = (id, false);
        }
        let frozen = pieces.iter().zip(0..).filter(|(piece, _)| piece.kind == Kind::UserDefined);
        bpe.frozen = Trie::new(frozen.map(|(piece, id)| (piece.text.as_bytes(), id)));
        bpe
    }

    /// As llama.cpp: every piece may be made.
    pub(crate) fn llama(pieces: &[Piece]) -> Self {
        let mut bpe = Self::empty(pieces);
        for (piece, id) in pieces.iter().zip(0..).filter(|(piece, _)| !piece.text.is_empty()) {
            let entry = Entry { makes: id, means: id, unused: false };
            bpe.entries.insert(piece.text.as_bytes().into(), entry);
        }
        bpe
    }

    fn empty(pieces: &[Piece]) -> Self {
        // Adding zero makes one zero of two, which compare as different otherwise.
        let scores = pieces.iter().map(|piece| piece.score + 0.0).collect();
        Self { entries: HashMap::with_capacity(pieces.len()), scores, frozen: Trie::default() }
    }

    /// Divides a text into pieces, in order.
    pub(crate) fn divide(&self, text: &[u8]) -> Vec<Found> {
        let mut symbols = self.symbols(text);
        let mut candidates = BinaryHeap::new();
        // How unused pieces were made, to undo it: by text, as the original has it.
        let mut made = HashMap::new();
        let mut consider = |symbols: &[Symbol], left: u32, heap: &mut BinaryHeap<Candidate>| {
            if let Some((candidate, entry, split)) = self.candidate(text, symbols, left) {
                if entry.unused {
                    made.insert(split.0, split.1);
                }
                heap.push(candidate);
            }
        };
        for left in 0..symbols.len() as u32 {
            consider(&symbols, left, &mut candidates);
        }
        while let Some(Candidate { left, right, length, .. }) = candidates.pop() {
            let (Some(&first), Some(&second)) =
                (symbols.get(left as usize), symbols.get(right as usize))
            else {
                continue;
            };
            if first.length == 0 || second.length == 0 || first.length + second.length != length {
                continue;
            }
            if let Some(first) = symbols.get_mut(left as usize) {
                (first.length, first.next) = (length, second.next);
            }
            if let Some(second) = symbols.get_mut(right as usize) {
                second.length = 0;
            }
            if let Some(after) = symbols.get_mut(second.next as usize) {
                after.previous = left;
            }
            consider(&symbols, first.previous, &mut candidates);
            consider(&symbols, left, &mut candidates);
        }
        let mut found = Vec::new();
        for symbol in symbols.iter().filter(|symbol| symbol.length > 0) {
            let (start, end) = (symbol.start as usize, (symbol.start + symbol.length) as usize);
            self.resolve(text, start, end, &made, &mut found);
        }
        found
    }

    /// The characters, and the user-defined texts that are not split.
    fn symbols(&self, text: &[u8]) -> Vec<Symbol> {
        let mut symbols = Vec::with_capacity(text.len());
        let mut start = 0;
        while let Some(rest @ [first, ..]) = text.get(start..) {
            let frozen = self.frozen.longest_prefix(rest);
            let length =
                frozen.map_or(character_length(*first).min(rest.len()), |(length, _)| length);
            let index = symbols.len() as u32;
            symbols.push(Symbol {
                start: start as u32,
                length: length as u32,
                previous: index.checked_sub(1).unwrap_or(NONE),
                next: if length < rest.len() { index + 1 } else { NONE },
                frozen: frozen.is_some(),
            });
            start += length;
        }
        symbols
    }

    /// Whether a symbol and the next one make a piece.
    fn candidate<'text>(
        &self,
        text: &'text [u8],
        symbols: &[Symbol],
        left: u32,
    ) -> Option<(Candidate, Entry, Split<'text>)> {
        let first = symbols.get(left as usize)?;
        let second = symbols.get(first.next as usize)?;
        if first.frozen || second.frozen {
            return None;
        }
        let length = first.length + second.length;
        let both = text.get(first.start as usize..(first.start + length) as usize)?;
        let entry = *self.entries.get(both)?;
        let score = *self.scores.get(entry.makes as usize)?;
        let candidate = Candidate { score, left, right: first.next, length };
        Some((candidate, entry, (both, first.length as usize)))
    }

    /// The piece of a stretch; the pieces that it was made from if it is only a step.
    fn resolve(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        made: &HashMap<&[u8], usize>,
        found: &mut Vec<Found>,
    ) {
        let mut stack = vec![(start, end)];
        while let Some((start, end)) = stack.pop() {
            let stretch = text.get(start..end).unwrap_or(&[]);
            let entry = self.entries.get(stretch);
            let split = entry.filter(|entry| entry.unused).and_then(|_| made.get(stretch));
            match split {
                Some(&split) => stack.extend([(start + split, end), (start, start + split)]),
                None => {
                    found.push(Found { start, end, piece: entry.map(|entry| entry.means) });
                }
            }
        }
    }
}
