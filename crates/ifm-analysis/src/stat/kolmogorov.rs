//! Whether values follow the exponential law, as the gaps of Poisson arrivals do.
//!
//! What is not here: other laws.

use super::random::RandomStream;

/// Up to this number of values, p is counted out.
const EXACT_N_MAX: usize = 1_000;
/// Terms of the limiting series at most; it converges after a few.
const TERMS_MAX: u32 = 100;

/// The result of a test of fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Largest distance between the share of values up to some point and the law's.
    pub d: f64,
    /// Chance of such a distance, or a larger one, under the law.
    pub p: f64,
}

/// The test of Kolmogorov and Smirnov against the exponential law whose mean is known beforehand,
/// as that of a schedule is: `D = sup |F_n(x) - (1 - exp(-x / mean))|`.
///
/// p is exact up to 1 000 values, by the matrix power of Marsaglia, Tsang and Wang, "Evaluating
/// Kolmogorov's distribution" (2003), but for their tail formula, which is within 1 % of p below
/// about 0.001; for more values, Kolmogorov's limit with the correction of Stephens (1970), within
/// 1 % of p. Assumes independent
/// values. None for no values, a negative one, one that is no number, and a mean that is not above
/// 0.
pub fn exponential_fit(values: &[f64], mean: f64) -> Option<Fit> {
    let d = distance(values, mean)?;
    Some(Fit { d, p: kolmogorov_above(values.len(), d) })
}

/// The same where the mean is taken from the values themselves: they then fit better, and the p of
/// [`exponential_fit`] would be too large.
///
/// p is the share of `resamples` samples of the law, each with its own mean, that are at least as
/// far: `(1 + farther) / (1 + resamples)`. The law of D does not depend on the mean. Source:
/// Lilliefors (1969). Assumptions and None as there, and None without resamples.
pub fn exponential_fit_of_own_mean(values: &[f64], resamples: u32, seed: u64) -> Option<Fit> {
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let d = distance(values, mean_of(values))?;
    let mut stream = RandomStream::named(seed, "exponential fit");
    let mut sample = vec![0.0; values.len()];
    let mut farther = 0u32;
    for _ in 0..resamples {
        sample.iter_mut().for_each(|value| *value = stream.exponential());
        farther += u32::from(distance(&sample, mean_of(&sample)).is_some_and(|other| other >= d));
    }
    (resamples > 0).then(|| Fit { d, p: f64::from(1 + farther) / f64::from(1 + resamples) })
}

/// The largest distance between the values' shares and the exponential law.
fn distance(values: &[f64], mean: f64) -> Option<f64> {
    let is_sound = |value: &f64| value.is_finite() && *value >= 0.0;
    if values.is_empty() || !values.iter().all(is_sound) || !(mean > 0.0 && mean.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distances = sorted.iter().enumerate().map(|(index, value)| {
        let law = -(-value / mean).exp_m1();
        (law - index as f64 / n).max((index + 1) as f64 / n - law)
    });
    distances.reduce(f64::max)
}

/// Chance that the distance of `n` values is above `d`.
fn kolmogorov_above(n: usize, d: f64) -> f64 {
    let size = n as f64;
    if d <= 0.5 / size {
        return 1.0;
    }
    if d >= 1.0 {
        return 0.0;
    }
    let square = d * d * size;
    if square > 7.24 || (square > 3.76 && n > 99) {
        return 2.0 * (-(2.000_071 + 0.331 / size.sqrt() + 1.409 / size) * square).exp();
    }
    if n <= EXACT_N_MAX {
        return (1.0 - exact_below(n, d)).clamp(0.0, 1.0);
    }
    let lambda = (size.sqrt() + 0.12 + 0.11 / size.sqrt()) * d;
    let mut sum = 0.0;
    for k in 1..TERMS_MAX {
        let term = (-2.0 * (f64::from(k) * lambda).powi(2)).exp();
        sum += if k % 2 == 1 { term } else { -term };
        if term < 1e-16 {
            break;
        }
    }
    (2.0 * sum).clamp(0.0, 1.0)
}

/// Chance that the distance of `n` values is below `d`: `n!/n^n` times the middle entry of the
/// n-th power of a matrix made of `k - n d`.
fn exact_below(n: usize, d: f64) -> f64 {
    let size = n as f64;
    let k = (size * d).floor() as usize + 1;
    let width = 2 * k - 1;
    let h = k as f64 - size * d;
    let mut matrix = Square::step(width, h);
    // Divided by the factorials: entry (i, j) by (i - j + 1)!.
    for row in 0..width {
        for column in 0..width {
            let factorial: f64 = (1..=(row + 1).saturating_sub(column)).map(|g| g as f64).product();
            matrix.change(row, column, |value| value / factorial);
        }
    }
    let (power, mut exponent) = matrix.power(n);
    let mut chance = power.at(k - 1, k - 1);
    for i in 1..=n {
        chance = chance * i as f64 / size;
        if chance < 1e-140 {
            chance *= 1e140;
            exponent -= 140;
        }
    }
    chance * 10f64.powi(exponent)
}

/// A square matrix, row by row.
#[derive(Clone)]
struct Square {
    width: usize,
    entries: Vec<f64>,
}

impl Square {
    /// Marsaglia, Tsang and Wang's matrix before the division by factorials.
    fn step(width: usize, h: f64) -> Square {
        let mut matrix = Square { width, entries: vec![0.0; width * width] };
        for row in 0..width {
            for column in 0..width.min(row + 2) {
                matrix.change(row, column, |_| 1.0);
            }
        }
        for index in 0..width {
            matrix.change(index, 0, |value| value - h.powi(index as i32 + 1));
            matrix.change(width - 1, index, |value| value - h.powi((width - index) as i32));
        }
        let corner = (2.0 * h - 1.0).max(0.0).powi(width as i32);
        matrix.change(width - 1, 0, |value| value + corner);
        matrix
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.entries.get(row * self.width + column).copied().unwrap_or(0.0)
    }

    fn change(&mut self, row: usize, column: usize, change: impl Fn(f64) -> f64) {
        if let Some(entry) = self.entries.get_mut(row * self.width + column) {
            *entry = change(*entry);
        }
    }

    fn times(&self, other: &Square) -> Square {
        let mut product = Square { width: self.width, entries: vec![0.0; self.entries.len()] };
        let rows = self.entries.chunks(self.width).zip(product.entries.chunks_mut(self.width));
        for (row, out) in rows {
            for (factor, line) in row.iter().zip(other.entries.chunks(self.width)) {
                for (slot, value) in out.iter_mut().zip(line) {
                    *slot += factor * value;
                }
            }
        }
        product
    }

    /// The n-th power, and the power of ten that it has to be multiplied with, against overflow.
    fn power(&self, n: usize) -> (Square, i32) {
        if n <= 1 {
            return (self.clone(), 0);
        }
        let (half, exponent) = self.power(n / 2);
        let mut power = half.times(&half);
        let mut exponent = 2 * exponent;
        if n % 2 == 1 {
            power = power.times(self);
        }
        if power.at(self.width / 2, self.width / 2) > 1e140 {
            power.entries.iter_mut().for_each(|entry| *entry *= 1e-140);
            exponent += 140;
        }
        (power, exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose shares are near those of the law: quantiles at uneven places, times `stretch`.
    fn quantiles(n: u32, stretch: f64) -> Vec<f64> {
        let place = |i: u32| (f64::from(i * 7 % n) + 0.3) / f64::from(n);
        (0..n).map(|i| -(-place(i)).ln_1p() * stretch).collect()
    }

    // scipy 1.17.1: stats.kstest(values, stats.expon(scale=1.0).cdf), method "exact", for
    // values = [-log1p(-((i * 7 % n) + 0.3) / n) * stretch for i in range(n)].
    #[test]
    fn the_test_is_that_of_scipy() {
        for (n, stretch, d, p, within) in [
            (5, 0.3, 0.554_419_390_032_556_2, 0.056_296_596_816_225_605, 1e-9),
            (10, 1.6, 0.201_216_525_908_446_63, 0.742_454_545_173_595_3, 1e-9),
            (60, 1.15, 0.056_373_491_035_001, 0.985_490_242_699_578_1, 1e-9),
            (60, 1.4, 0.128_196_508_955_235_93, 0.254_990_666_443_773_9, 1e-9),
            (1000, 1.05, 0.018_247_115_850_084_317, 0.886_955_435_816_848_5, 1e-6),
            (1000, 1.2, 0.067_279_587_489_025_96, 0.000_222_193_335_186_803_4, 0.003),
            (3000, 1.03, 0.010_973_679_421_235_838, 0.858_859_842_068_796_3, 0.01),
        ] {
            let found = exponential_fit(&quantiles(n, stretch), 1.0).expect("values");
            assert!((found.d - d).abs() < 1e-12, "n = {n}: {found:?}");
            assert!((found.p / p - 1.0).abs() < within, "n = {n}: {found:?} and {p}");
        }
    }

    #[test]
    fn one_value_by_hand() {
        // One value at the median: both steps are 1/2, the smallest distance there is.
        let found = exponential_fit(&[2f64.ln()], 1.0).expect("a value");
        assert!((found.d - 0.5).abs() < 1e-12 && found.p > 0.999_999, "{found:?}");
        // For one value D is uniform from 1/2 to 1.
        let found = exponential_fit(&[-0.2f64.ln()], 1.0).expect("a value");
        assert!((found.d - 0.8).abs() < 1e-12 && (found.p - 0.4).abs() < 1e-12, "{found:?}");
        assert_eq!(exponential_fit(&[], 1.0), None);
        assert_eq!(exponential_fit(&[-1.0], 1.0), None);
        assert_eq!(exponential_fit(&[1.0], 0.0), None);
    }

    #[test]
    fn an_own_mean_needs_a_smaller_distance() {
        // Stephens (1974): with an own mean, the 5 % point of (D - 0.2/n)(sqrt n + 0.26 + 0.5/sqrt n)
        // is 1.094. Values shifted until they stand there must get about that chance.
        let n = 100u32;
        let root = f64::from(n).sqrt();
        let wanted = 1.094 / (root + 0.26 + 0.5 / root) + 0.2 / f64::from(n);
        let at = |shape: f64| -> Vec<f64> {
            quantiles(n, 1.0).iter().map(|value| value.powf(shape)).collect()
        };
        let (mut low, mut high) = (1.0, 2.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            let values = at(middle);
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let is_near = distance(&values, mean).expect("values") < wanted;
            if is_near { low = middle } else { high = middle }
        }
        let found = exponential_fit_of_own_mean(&at(low), 4_000, 1).expect("values");
        assert!((0.038..0.062).contains(&found.p), "{found:?}");
        assert_eq!(exponential_fit_of_own_mean(&[1.0], 0, 1), None);
    }
}
