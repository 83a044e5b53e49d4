//! Memory for keys and values: blocks of 16 tokens, shared by prompts that begin alike.
//!
//! As vLLM does it: a full block is known by the hash of everything up to its end; unused blocks
//! keep what they hold until they are needed, the longest unused first; a sequence
//! gives its blocks back from its end, so that what many share lives longest.
//!
//! Not here: which sequence gets a block (`replica`).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Tokens in a block.
pub const BLOCK_TOKENS: u32 = 16;

/// No block.
const NONE: u32 = u32::MAX;

/// Keys are hashes already.
#[derive(Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        // Spreads hashes that a caller counted up.
        self.0 = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Debug, Clone, Copy)]
struct Block {
    hash: Option<u64>,
    users: u32,
    before: u32,
    after: u32,
}

/// All blocks of one replica.
#[derive(Debug)]
pub struct Pool {
    total: u32,
    /// Those that were used at least once. The others go first, in order.
    blocks: Vec<Block>,
    /// Unused blocks, the longest unused first.
    first: u32,
    last: u32,
    unused: u32,
    known: HashMap<u64, u32, BuildHasherDefault<Taken>>,
    keeps: bool,
}

impl Pool {
    /// A pool of `blocks` blocks; `keeps` says whether they are found again by their contents.
    pub fn new(blocks: u32, keeps: bool) -> Pool {
        Pool {
            total: blocks,
            blocks: Vec::new(),
            first: NONE,
            last: NONE,
            unused: 0,
            known: HashMap::default(),
            keeps,
        }
    }

    /// Blocks in all.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Unused blocks.
    pub fn free(&self) -> u32 {
        self.total - self.blocks.len() as u32 + self.unused
    }

    /// Forgets what unused and used blocks hold.
    pub fn forget(&mut self) {
        self.known.clear();
        self.blocks.iter_mut().for_each(|block| block.hash = None);
    }

    /// How many of these blocks, from the first on, are here, and how many of those are unused.
    pub fn held(&self, hashes: &[u64]) -> (u32, u32) {
        let (mut held, mut unused) = (0, 0);
        for hash in hashes {
            let Some(block) = self.known.get(hash).and_then(|id| self.block(*id)) else { break };
            held += 1;
            unused += u32::from(block.users == 0);
        }
        (held, unused)
    }

    /// Uses a block that holds this, if one does.
    pub fn share(&mut self, hash: u64) -> Option<u32> {
        let id = *self.known.get(&hash)?;
        if self.block(id)?.users == 0 {
            self.unlink(id);
        }
        self.block_mut(id)?.users += 1;
        Some(id)
    }

    /// A block for one user, what it held being forgotten; none where all are used.
    pub fn take(&mut self) -> Option<u32> {
        let new = self.blocks.len() as u32;
        if new < self.total {
            self.blocks.push(Block { hash: None, users: 1, before: NONE, after: NONE });
            return Some(new);
        }
        let id = self.first;
        let hash = self.block(id)?.hash;
        self.unlink(id);
        if let Some(hash) = hash
            && self.known.get(&hash) == Some(&id)
        {
            self.known.remove(&hash);
        }
        let block = self.block_mut(id)?;
        (block.hash, block.users) = (None, 1);
        Some(id)
    }

    /// A block is full and holds this from now on.
    pub fn fill(&mut self, id: u32, hash: u64) {
        if !self.keeps {
            return;
        }
        // The first that holds something is the one that is found.
        if self.known.try_insert_absent(hash, id)
            && let Some(block) = self.block_mut(id)
        {
            block.hash = Some(hash);
        }
    }

    /// Gives blocks back, the last first.
    pub fn give_back(&mut self, blocks: &mut Vec<u32>) {
        while let Some(id) = blocks.pop() {
            let Some(block) = self.block_mut(id) else { continue };
            block.users = block.users.saturating_sub(1);
            if block.users == 0 {
                self.append(id);
            }
        }
    }

    fn block(&self, id: u32) -> Option<&Block> {
        self.blocks.get(id as usize)
    }

    fn block_mut(&mut self, id: u32) -> Option<&mut Block> {
        self.blocks.get_mut(id as usize)
    }

    fn append(&mut self, id: u32) {
        let last = self.last;
        if let Some(block) = self.block_mut(id) {
            (block.before, block.after) = (last, NONE);
        }
        match self.block_mut(last) {
            Some(former) => former.after = id,
            None => self.first = id,
        }
        self.last = id;
        self.unused += 1;
    }

    fn unlink(&mut self, id: u32) {
        let Some(&Block { before, after, .. }) = self.block(id) else { return };
        match self.block_mut(before) {
            Some(block) => block.after = after,
            None => self.first = after,
        }
        match self.block_mut(after) {
            Some(block) => block.before = before,
            None => self.last = before,
        }
        self.unused -= 1;
    }
}

/// Inserts where the key is absent.
trait InsertAbsent {
    fn try_insert_absent(&mut self, key: u64, value: u32) -> bool;
}

impl InsertAbsent for HashMap<u64, u32, BuildHasherDefault<Taken>> {
    fn try_insert_absent(&mut self, key: u64, value: u32) -> bool {
        let mut is_new = false;
        self.entry(key).or_insert_with(|| {
            is_new = true;
            value
        });
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_begins_alike_is_shared_and_the_longest_unused_goes_first() {
        let mut pool = Pool::new(4, true);
        let mut one: Vec<u32> = (0..3).map(|_| pool.take().expect("a block")).collect();
        for (id, hash) in one.iter().zip([11, 12, 13]) {
            pool.fill(*id, hash);
        }
        assert_eq!(pool.held(&[11, 12, 99]), (2, 0));
        let mut other = vec![pool.share(11).expect("held")];
        pool.give_back(&mut one);
        assert_eq!((pool.free(), pool.held(&[11, 12, 13])), (3, (3, 2)));
        // The fourth block was never used, then the end of what was given back goes.
        assert!(pool.take().is_some());
        assert_eq!(pool.held(&[11, 12, 13]).0, 3);
        assert!(pool.take().is_some());
        assert_eq!(pool.held(&[11, 12, 13]).0, 2);
        assert!(pool.take().is_some());
        assert_eq!(pool.held(&[11, 12, 13]).0, 1, "a block that is used is never taken");
        assert_eq!(pool.take(), None);
        pool.give_back(&mut other);
        pool.forget();
        assert_eq!(pool.held(&[11]).0, 0);
    }

    proptest! {
        /// No block has two owners who did not share it, and none is lost.
        #[test]
        fn blocks_are_conserved(orders in proptest::collection::vec((0_u8..4, 0_u64..12), 1..200)) {
            let mut pool = Pool::new(8, true);
            let mut users: Vec<Vec<u32>> = Vec::new();
            for (order, hash) in orders {
                match order {
                    0 => if let Some(id) = pool.take() {
                        prop_assert!(users.iter().flatten().all(|used| *used != id));
                        users.push(vec![id]);
                    },
                    1 => if let Some(id) = pool.share(hash) { users.push(vec![id]) },
                    2 => if let Some(id) = users.last().and_then(|blocks| blocks.first()) {
                        pool.fill(*id, hash);
                    },
                    _ => if !users.is_empty() {
                        let mut blocks = users.remove(hash as usize % users.len());
                        pool.give_back(&mut blocks);
                    },
                }
                let distinct: std::collections::BTreeSet<u32> = users.iter().flatten().copied().collect();
                prop_assert_eq!(pool.free() as usize + distinct.len(), 8);
            }
        }
    }
}
