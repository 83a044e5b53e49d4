//! Counts of nanosecond values in buckets that are at most 1/16 of their value wide.

use crate::health::SpanQuantiles;

/// Buckets per doubling, as a power of two.
const SUB_BITS: u32 = 4;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = ((64 - SUB_BITS as usize) + 1) * SUB as usize;

/// A histogram of fixed size: recording never allocates. A quantile read from it is at most
/// 1/16 above the true one, and never below it.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Box<[u64]>,
    n: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), n: 0, max: 0 }
    }
}

impl Histogram {
    /// Counts one value, nanoseconds.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.n += 1;
        self.max = self.max.max(value);
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.n += other.n;
        self.max = self.max.max(other.max);
    }

    /// Median, 99th percentile and maximum; absent when nothing was counted.
    pub fn quantiles(&self) -> Option<SpanQuantiles> {
        (self.n > 0).then(|| SpanQuantiles {
            n: self.n,
            p50_ns: self.at(0.50),
            p99_ns: self.at(0.99),
            max_ns: self.max,
        })
    }

    /// The value that this share of the values, 0 to 1, does not exceed, nanoseconds; absent when
    /// nothing was counted.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (self.n > 0).then(|| self.at(share))
    }

    /// Smallest bucket bound that at least this share of the values does not exceed.
    fn at(&self, share: f64) -> u64 {
        let rank = ((self.n as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_bound(index).min(self.max);
            }
        }
        self.max
    }
}

fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros();
    let shift = exponent - SUB_BITS;
    ((u64::from(shift) + 1) * SUB + (value >> shift) - SUB) as usize
}

fn upper_bound(index: usize) -> u64 {
    let index = index as u64;
    if index < SUB {
        return index;
    }
    let shift = index / SUB - 1;
    let low = (index % SUB + SUB) << shift;
    low + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_at_most_a_sixteenth_wide() {
        for value in (0..64).map(|bit| 1u64 << bit).flat_map(|v| [v, v + v / 3, v - 1, u64::MAX]) {
            let bound = upper_bound(bucket(value));
            assert!(bound >= value && bound - value <= value / 16, "{value} {bound}");
        }
    }

    #[test]
    fn quantiles_of_a_known_population() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantiles(), histogram.quantile(0.5)), (None, None));
        (1..=100).for_each(|value| histogram.record(value * 1000));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        let quantiles = twice.quantiles().unwrap();
        assert_eq!((quantiles.n, quantiles.max_ns), (200, 100_000));
        assert!(twice.quantile(0.9).is_some_and(|p90| (90_000..=95_625).contains(&p90)));
        assert!((50_000..=53_125).contains(&quantiles.p50_ns));
        assert!((99_000..=100_000).contains(&quantiles.p99_ns));
    }
}
