//! Rotary position embedding (Su et al. 2021): the angles, and the turning.
//!
//! Halves of a head are paired (`x[i]` with `x[i + width/2]`), as in Hugging Face
//! checkpoints. Files with neighbours paired are put into this order on loading.
//!
//! Not here: how the frequencies of a model are scaled (`load`), which hands them
//! in as one factor for each pair.

/// Sine and cosine of every position and pair.
#[derive(Debug)]
pub(crate) struct Rotation {
    /// For each position: `half` cosines, then `half` sines.
    table: Vec<f32>,
    half: usize,
}

impl Rotation {
    /// Angles for `positions` positions of heads of `width`.
    ///
    /// Pair `i` turns by `base^(-2i/width) / divisors[i]` for each position; a
    /// missing divisor is 1.
    pub(crate) fn new(width: usize, base: f32, divisors: &[f32], positions: usize) -> Self {
        let half = width / 2;
        let frequencies: Vec<f64> = (0..half)
            .map(|pair| {
                let exponent = -2.0 * pair as f64 / width as f64;
                f64::from(base).powf(exponent) / f64::from(*divisors.get(pair).unwrap_or(&1.0))
            })
            .collect();
        let mut table = Vec::with_capacity(positions * width);
        for position in 0..positions {
            let angles = frequencies.iter().map(|frequency| frequency * position as f64);
            table.extend(angles.clone().map(|angle| angle.cos() as f32));
            table.extend(angles.map(|angle| angle.sin() as f32));
        }
        Self { table, half }
    }

    /// Turns each head in a row of heads.
    pub(crate) fn turn(&self, heads: &mut [f32], position: usize) {
        let (cosines, sines) =
            self.table[position * 2 * self.half..][..2 * self.half].split_at(self.half);
        for head in heads.chunks_exact_mut(2 * self.half) {
            let (low, high) = head.split_at_mut(self.half);
            let pairs = low.iter_mut().zip(high).zip(cosines.iter().zip(sines));
            for ((low, high), (cosine, sine)) in pairs {
                let (x, y) = (*low, *high);
                *low = x * cosine - y * sine;
                *high = y * cosine + x * sine;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_depend_on_the_distance_only() {
        let rotation = Rotation::new(8, 100.0, &[], 64);
        let product = |first: usize, second: usize| {
            let mut query = [1.0, 2.0, -0.5, 0.3, 0.7, -1.0, 0.2, 0.9];
            let mut key = [0.4, -0.6, 1.1, 0.8, -0.2, 0.5, 0.1, 1.3];
            rotation.turn(&mut query, first);
            rotation.turn(&mut key, second);
            query.iter().zip(&key).map(|(q, k)| q * k).sum::<f32>()
        };
        assert!((product(5, 2) - product(43, 40)).abs() < 1e-4);
        assert!((product(5, 2) - product(5, 3)).abs() > 1e-2);
    }

    #[test]
    fn divisors_slow_a_pair_down() {
        let plain = Rotation::new(4, 100.0, &[], 9);
        let slowed = Rotation::new(4, 100.0, &[1.0, 4.0], 9);
        let turned = |rotation: &Rotation, position| {
            let mut head = [1.0, 1.0, 0.0, 0.0];
            rotation.turn(&mut head, position);
            head
        };
        let (plain, slowed) = (turned(&plain, 2), turned(&slowed, 8));
        assert!((plain[1] - slowed[1]).abs() < 1e-6, "a quarter of the speed, four times as far");
    }
}
