//! The sizes of an attention.
//!
//! Not here: types, memory (`inputs`).

/// Sizes of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Sequences.
    pub batch: usize,
    /// Heads of the queries, a multiple of `kv_heads`.
    pub query_heads: usize,
    /// Heads of keys and values; each serves `query_heads / kv_heads` heads of queries in a row.
    pub kv_heads: usize,
    /// Queries of a sequence.
    pub queries: usize,
    /// Its keys.
    pub keys: usize,
    /// Width of a head, at most [`Shape::WIDEST`].
    pub width: usize,
}

/// Why a shape cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A size is 0.
    #[error("an attention has at least one of its {0}")]
    Zero(&'static str),
    /// Heads of queries cannot be shared out.
    #[error("{query_heads} heads of queries cannot share {kv_heads} heads of keys evenly")]
    Heads {
        /// Heads of queries.
        query_heads: usize,
        /// Heads of keys.
        kv_heads: usize,
    },
    /// A head is too wide.
    #[error("heads of width {0} are wider than {widest}", widest = Shape::WIDEST)]
    Wide(usize),
    /// The product of the sizes is beyond what memory can be counted in.
    #[error("the sizes are beyond any memory")]
    Large,
}

impl Shape {
    /// Greatest width of a head.
    pub const WIDEST: usize = 256;

    /// Whether it can be.
    ///
    /// # Errors
    /// When a size is 0, heads cannot be shared, or a head is too wide.
    pub fn check(&self) -> Result<(), ShapeError> {
        let sizes = [
            (self.batch, "sequences"),
            (self.query_heads, "heads of queries"),
            (self.kv_heads, "heads of keys"),
            (self.queries, "queries"),
            (self.keys, "keys"),
            (self.width, "numbers of a head"),
        ];
        if let Some((_, name)) = sizes.iter().find(|(size, _)| *size == 0) {
            return Err(ShapeError::Zero(name));
        }
        if !self.query_heads.is_multiple_of(self.kv_heads) {
            let (query_heads, kv_heads) = (self.query_heads, self.kv_heads);
            return Err(ShapeError::Heads { query_heads, kv_heads });
        }
        if self.width > Self::WIDEST {
            return Err(ShapeError::Wide(self.width));
        }
        let product = [self.query_heads, self.queries.max(self.keys), self.width, 64]
            .into_iter()
            .try_fold(self.batch, usize::checked_mul);
        product.filter(|bytes| isize::try_from(*bytes).is_ok()).map(|_| ()).ok_or(ShapeError::Large)
    }

    /// Heads of queries that share a head of keys.
    pub fn group(&self) -> usize {
        self.query_heads / self.kv_heads
    }

    /// Numbers of the queries, of the output and of their gradients.
    pub fn query_numbers(&self) -> usize {
        self.batch * self.query_heads * self.queries * self.width
    }

    /// Numbers of the keys, of the values and of their gradients.
    pub fn key_numbers(&self) -> usize {
        self.batch * self.kv_heads * self.keys * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_cannot_be_are_told() {
        let shape = Shape { batch: 2, query_heads: 6, kv_heads: 3, queries: 5, keys: 7, width: 40 };
        assert_eq!((shape.check(), shape.group()), (Ok(()), 2));
        let wrong = |shape: Shape| shape.check().expect_err("it cannot be").to_string();
        assert_eq!(wrong(Shape { keys: 0, ..shape }), "an attention has at least one of its keys");
        assert_eq!(
            wrong(Shape { kv_heads: 4, ..shape }),
            "6 heads of queries cannot share 4 heads of keys evenly"
        );
        assert_eq!(wrong(Shape { width: 257, ..shape }), "heads of width 257 are wider than 256");
        assert_eq!(
            wrong(Shape { queries: usize::MAX / 100, ..shape }),
            "the sizes are beyond any memory"
        );
    }
}
