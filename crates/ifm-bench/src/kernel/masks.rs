//! The masks of a measurement, each with its blocks for every size that it is asked for.

use super::protocol::{Attention, Mask as Wire, Score as WireScore};
use ifm_core::regular::read_named_text;
use ifm_kernels::mask::{Block, Blocks, Mask, PlacedMask, Score};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// Draws the lengths of documents: the same in every measurement, so that they compare.
pub const SEED: u64 = 0;
/// Maximum cells per side of a picture for the terminal, and for a page.
const DRAWN: usize = 20;
/// Largest list of blocks, bytes.
const BLOCKS_BYTES_MAX: u64 = 64 << 20;
const CELLS: usize = 64;

/// Statistics of the blocks of a mask.
#[derive(Debug)]
pub struct Told {
    /// Share of blocks without an allowed pair.
    pub sparsity: f64,
    /// Allowed pairs of query and key, of all sequences and heads of queries.
    pub pairs: u64,
    /// The blocks of the first head as text.
    pub drawing: String,
    /// The same finer: a row of `0` (no pair of the cell is allowed), `1` (some) and `2` (all).
    pub cells: Vec<String>,
}

/// What is asked of the blocks of one mask.
type Sizes = (String, u64, u64, u64, u64, u64);

/// Masks by name.
#[derive(Debug, Default)]
pub struct Masks {
    by_name: BTreeMap<String, Mask>,
    told: RefCell<BTreeMap<Sizes, Option<Rc<Told>>>>,
}

impl Masks {
    /// Adds a mask by its name: `blocks:FILE` is read, with blocks of this side; all other names are
    /// predefined.
    ///
    /// # Errors
    /// Why it is not a mask.
    pub fn add(&mut self, text: &str, side: u64) -> Result<Mask, String> {
        let mask = match text.strip_prefix("blocks:") {
            Some(path) => {
                let list = read_named_text(Path::new(path), BLOCKS_BYTES_MAX)
                    .map_err(|error| format!("cannot read {path}: {error}"))?;
                Mask::from_blocks(text, &list, side).map_err(|error| error.to_string())?
            }
            None => Mask::parse(text).map_err(|error| error.to_string())?,
        };
        self.by_name.insert(mask.name().to_owned(), mask.clone());
        Ok(mask)
    }

    /// The mask of a case, placed among its queries and keys; absent for an unknown name.
    pub fn placed(&self, of: &Attention) -> Option<PlacedMask> {
        let known = self.by_name.get(&of.mask.name).cloned();
        let mask = known.or_else(|| Mask::parse(&of.mask.name).ok())?;
        mask.place(of.queries, of.keys, SEED).ok()
    }

    /// Statistics of its blocks.
    pub fn blocks(&self, of: &Attention) -> Option<Rc<Told>> {
        let key = (of.mask.name.clone(), of.queries, of.keys, of.block, of.query_heads, of.batch);
        let mut told = self.told.borrow_mut();
        let make = || self.placed(of).map(|placed| Rc::new(tell(&placed, of)));
        told.entry(key).or_insert_with(make).clone()
    }
}

fn tell(placed: &PlacedMask, of: &Attention) -> Told {
    let blocks = Blocks::new(placed, of.block, 0);
    let heads = if placed.needs_heads() { of.query_heads } else { 1 };
    let of_head = |head| match head {
        0 => (blocks.allowed_pairs(), blocks.sparsity()),
        _ => {
            let other = Blocks::new(placed, of.block, head);
            (other.allowed_pairs(), other.sparsity())
        }
    };
    let (pairs, empty) = (0..heads)
        .map(of_head)
        .fold((0, 0.0), |(pairs, empty), one| (pairs + one.0, empty + one.1 / heads as f64));
    Told {
        sparsity: empty,
        pairs: pairs * of.batch * (of.query_heads / heads),
        drawing: blocks.draw(DRAWN),
        cells: cells(&blocks),
    }
}

fn cells(blocks: &Blocks) -> Vec<String> {
    let step = |count: usize| count.div_ceil(CELLS).max(1);
    let (down, across) = (step(blocks.rows()), step(blocks.columns()));
    let cell = |row: usize, column: usize| {
        let rows = row..(row + down).min(blocks.rows());
        let all: Vec<Block> = rows
            .flat_map(|row| {
                let columns = column..(column + across).min(blocks.columns());
                columns.map(move |column| blocks.kind(row, column))
            })
            .collect();
        match all.iter().all(|kind| *kind == Block::Full) {
            true => '2',
            false if all.iter().all(|kind| *kind == Block::Empty) => '0',
            false => '1',
        }
    };
    let rows = (0..blocks.rows()).step_by(down);
    rows.map(|row| (0..blocks.columns()).step_by(across).map(|column| cell(row, column)).collect())
        .collect()
}

/// A mask for the protocol.
///
/// # Errors
/// It does not fit these lengths.
pub fn wire(mask: &Mask, queries: u64, keys: u64) -> Result<Wire, String> {
    let placed = mask.place(queries, keys, SEED).map_err(|error| error.to_string())?;
    let (allows, tables) = placed.to_python();
    let score = match mask.score() {
        Score::Plain => WireScore::Plain,
        Score::Alibi => WireScore::Alibi,
        Score::Softcap(cap) => WireScore::Softcap { cap: cap.into() },
        Score::SoftcapApprox(cap) => WireScore::SoftcapApprox { cap: cap.into() },
    };
    Ok(Wire { name: mask.name().to_owned(), allows, tables, is_causal: mask.is_causal(), score })
}
