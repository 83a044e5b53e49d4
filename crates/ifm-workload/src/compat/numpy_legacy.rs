//! numpy's older generator: `numpy.random.seed`, `RandomState`, and what draws from them.
//!
//! Not here: `default_rng` (`numpy`).

use super::mt19937::Mt19937;

/// numpy's `RandomState(seed)`, which `numpy.random.seed(seed)` also sets.
#[derive(Clone)]
pub struct NumpyLegacy {
    generator: Mt19937,
}

impl NumpyLegacy {
    /// As `numpy.random.RandomState(seed)`.
    pub fn new(seed: u32) -> Self {
        Self { generator: Mt19937::from_word(seed) }
    }

    /// A number in `0..=max`: draws of as many bits as `max` has, until one fits.
    fn up_to(&mut self, max: u32) -> u32 {
        let mask = u32::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
        if max == 0 {
            return 0;
        }
        loop {
            let number = self.generator.next_u32() & mask;
            if number <= max {
                return number;
            }
        }
    }

    /// As one draw of `randint(low, high)`: `high` is excluded; `low` when the
    /// bounds are upside down. For bounds less than 2^32 apart.
    pub fn randint(&mut self, low: u32, high: u32) -> u32 {
        match high.checked_sub(low) {
            None | Some(0) => low,
            Some(width) => low + self.up_to(width - 1),
        }
    }

    /// As `randint(low, high, size=count)`.
    pub fn randints(&mut self, low: u32, high: u32, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.randint(low, high)).collect()
    }

    /// As `permutation(count)`.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut list = (0..count).collect::<Vec<_>>();
        for last in (1..count).rev() {
            let other = self.up_to(last) as usize;
            list.swap(last as usize, other);
        }
        list
    }

    /// As `DataFrame.sample(n=count, random_state=seed)` on `rows` rows: the
    /// numbers of the rows, with replacement when there are too few.
    pub fn sample_rows(&mut self, rows: u32, count: u32) -> Vec<u32> {
        if count > rows {
            return self.randints(0, rows, count as usize);
        }
        let mut order = self.permutation(rows);
        order.truncate(count as usize);
        order
    }
}
