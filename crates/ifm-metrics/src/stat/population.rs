//! Exact order statistics of a population that is visited, not stored.
//!
//! The gaps between the tokens of a million requests are hundreds of millions of values. Sorting
//! them would double the memory of the run. Instead the population is visited a few times: the
//! first visit counts values in buckets of rising width (11 leading bits each), the next ones
//! divide only the buckets that hold a wanted rank, until each bucket is one value wide.
//!
//! Not here: percentiles. See [`Distribution`](super::Distribution).

/// Leading bits, below the first set one, that tell buckets apart.
const BITS: u32 = 11;
/// Buckets per doubling of the value.
const PER_OCTAVE: u64 = 1 << BITS;
/// Number of buckets for all of `u64`.
const BUCKETS: usize = ((64 - BITS as usize) + 1) << BITS;

/// A population of integers that gives the same values at each visit.
pub trait Population {
    /// Calls `each` with every value, in any order.
    fn visit(&self, each: impl FnMut(u64));
}

/// What the first visit finds.
pub struct Moments {
    /// Number of values.
    pub n: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// The value that the two sums are taken from, against rounding.
    origin: u64,
    /// Sum of the differences from the origin.
    sum: i128,
    /// Sum of their squares; at most 2^126 for values below 2^49 and 2^28 of them.
    sum_of_squares: u128,
    /// Values in each bucket.
    counts: Vec<u64>,
}

impl Moments {
    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.origin as f64 + self.sum as f64 / self.n as f64
    }

    /// Sample standard deviation; absent for one value.
    pub fn std(&self) -> Option<f64> {
        let sum = self.sum as f64;
        let squares = self.sum_of_squares as f64 - sum * (sum / self.n as f64);
        (self.n > 1).then(|| (squares.max(0.0) / (self.n - 1) as f64).sqrt())
    }
}

/// The bucket of a value.
fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    (u64::from(shift + 1) * PER_OCTAVE + ((value >> shift) & (PER_OCTAVE - 1))) as usize
}

/// The smallest value of a bucket, and the number of bits by which its values differ.
fn bucket_range(bucket: usize) -> (u64, u32) {
    let bucket = bucket as u64;
    if bucket < PER_OCTAVE {
        return (bucket, 0);
    }
    let shift = (bucket / PER_OCTAVE - 1) as u32;
    ((PER_OCTAVE + bucket % PER_OCTAVE) << shift, shift)
}

/// Visits once and counts; absent for no values.
pub fn moments(values: &impl Population) -> Option<Moments> {
    let mut origin = None;
    let (mut n, mut min, mut max) = (0u64, u64::MAX, 0u64);
    let (mut sum, mut sum_of_squares) = (0i128, 0u128);
    let mut counts = vec![0u64; BUCKETS];
    values.visit(|value| {
        let origin = *origin.get_or_insert(value);
        n += 1;
        min = min.min(value);
        max = max.max(value);
        sum += i128::from(value) - i128::from(origin);
        let distance = u128::from(value.abs_diff(origin));
        sum_of_squares = sum_of_squares.saturating_add(distance * distance);
        if let Some(count) = counts.get_mut(bucket(value)) {
            *count += 1;
        }
    });
    origin.map(|origin| Moments { n, min, max, origin, sum, sum_of_squares, counts })
}

/// A range of values that holds a wanted rank, while it is being narrowed.
#[derive(Clone, Copy)]
struct Target {
    /// Smallest value of the range.
    low: u64,
    /// The range holds 2^bits values.
    bits: u32,
    /// Rank of the wanted value within the range.
    rank: u64,
}

/// A range being divided, with the counts of its parts.
struct Division {
    low: u64,
    bits: u32,
    /// Each part holds 2^part_bits values.
    part_bits: u32,
    counts: Vec<u64>,
}

/// The values at `ranks` (rising, from 0, below n), in that order.
pub fn order_statistics(values: &impl Population, moments: &Moments, ranks: &[u64]) -> Vec<u64> {
    let mut targets = locate(&moments.counts, ranks);
    while targets.iter().any(|target| target.bits > 0) {
        let divisions = divide(values, &targets);
        for target in targets.iter_mut().filter(|target| target.bits > 0) {
            narrow(target, &divisions);
        }
    }
    targets.iter().map(|target| target.low).collect()
}

/// The buckets of the first visit that hold the ranks.
fn locate(counts: &[u64], ranks: &[u64]) -> Vec<Target> {
    let mut targets = Vec::with_capacity(ranks.len());
    let mut ranks = ranks.iter().peekable();
    let mut before = 0u64;
    for (index, &count) in counts.iter().enumerate() {
        while let Some(&&rank) = ranks.peek() {
            if rank >= before + count {
                break;
            }
            let (low, bits) = bucket_range(index);
            targets.push(Target { low, bits, rank: rank - before });
            ranks.next();
        }
        before += count;
    }
    targets
}

/// Visits once and counts the parts of each range that is still wider than one value.
fn divide(values: &impl Population, targets: &[Target]) -> Vec<Division> {
    let mut divisions: Vec<Division> = Vec::new();
    // For each bucket of the first visit: 1 + the first division inside it, or 0 for none.
    let mut first = vec![0u32; BUCKETS];
    for target in targets.iter().filter(|target| target.bits > 0) {
        if divisions.last().is_some_and(|last| last.low == target.low) {
            continue;
        }
        let part_bits = target.bits.saturating_sub(BITS);
        let counts = vec![0; 1 << (target.bits - part_bits)];
        divisions.push(Division { low: target.low, bits: target.bits, part_bits, counts });
        if let Some(entry) = first.get_mut(bucket(target.low))
            && *entry == 0
        {
            *entry = divisions.len() as u32;
        }
    }
    values.visit(|value| {
        let Some(start) = first.get(bucket(value)).and_then(|entry| entry.checked_sub(1)) else {
            return;
        };
        for division in divisions.iter_mut().skip(start as usize) {
            if value < division.low {
                return;
            }
            let offset = value - division.low;
            if offset >> division.bits == 0 {
                if let Some(count) =
                    division.counts.get_mut((offset >> division.part_bits) as usize)
                {
                    *count += 1;
                }
                return;
            }
        }
    });
    divisions
}

/// Moves a target into the part that holds its rank.
fn narrow(target: &mut Target, divisions: &[Division]) {
    let Some(division) = divisions.iter().find(|division| division.low == target.low) else {
        return;
    };
    for (part, &count) in division.counts.iter().enumerate() {
        if target.rank < count {
            target.low += (part as u64) << division.part_bits;
            break;
        }
        target.rank -= count;
    }
    target.bits = division.part_bits;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_own_values_and_rise() {
        let mut last = 0;
        for value in [0, 1, 2047, 2048, 2049, 4095, 4096, 20_000_000, u64::MAX / 2, u64::MAX] {
            let index = bucket(value);
            assert!(index >= last && index < BUCKETS, "{value}");
            last = index;
            let (low, bits) = bucket_range(index);
            assert!(low <= value && (value - low) >> bits == 0, "{value}: {low} {bits}");
        }
    }
}
