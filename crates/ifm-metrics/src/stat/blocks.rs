//! Values that follow each other in time and depend on each other.
//!
//! Requests that are in flight together wait in the same queue and share the same steps of the
//! server: their latencies rise and fall together. Taken as independent, they would make every
//! interval too narrow and every difference look sure. Not here: what an interval makes of
//! the dependence, see [`effective`](super::effective).

/// Fewest values whose dependence can be judged.
const VALUES_MIN: usize = 8;
/// Share that values inherit from the one before, above which the sum over lags falls short: of 400 values it
/// finds nine tenths of the inflation at 0.5 and 0.8, and seven tenths at 0.95, with a wide spread.
const MEMORY_MIN: f64 = 0.7;
/// Largest share that a value is taken to inherit from the one before: near 1 the variance of a mean
/// has no estimate.
const MEMORY_MAX: f64 = 0.99;

/// The mean length of blocks of neighbors that are nearly independent of each other: 1 for independent
/// values, more the longer values depend on those before. It is that of the stationary bootstrap of a
/// mean.
///
/// `b = (2 G^2 / D)^(1/3) · n^(1/3)` with `D = 2 (sum lambda(k/M) R(k))^2` and
/// `G = sum lambda(k/M) |k| R(k)` over the autocovariances R up to lag M, twice the first lag from
/// which `max(5, log10 n)` autocorrelations in a row are below `2 sqrt(log10 n / n)`; lambda is 1 up to
/// one half and falls to 0 at 1. At least 1, at most `min(3 sqrt n, n/3)`. Source: Politis and
/// White (2004), corrected by Patton, Politis and White (2009). Assumes values in the order of time
/// whose law does not change. Departs from the source where values make up for those before, as
/// turns of two users do: the length is then 1, which overstates the spread. None for fewer than 8
/// values and if one is not a number; 1 for equal values.
pub fn block_length(values: &[f64]) -> Option<f64> {
    let dependence = Dependence::of(values)?;
    let size = values.len() as f64;
    let longest = (3.0 * size.sqrt()).min(size / 3.0).ceil();
    let long_run = dependence.long_run;
    if long_run <= dependence.variance {
        // The values make up for each other: single ones vary more than blocks would, and are safe.
        return Some(1.0);
    }
    let ratio = dependence.spread * dependence.spread / (long_run * long_run);
    Some((ratio * size).cbrt().clamp(1.0, longest))
}

/// How many times as large the variance of the mean is as it would be for independent values: at
/// least 1, and 1 for equal values.
///
/// Where values inherit more than `MEMORY_MIN` from the one before, they are first freed of that,
/// `e = x - r x before`, and what is left is [`plain_inflation`]'s sum, over `(1 - r)^2`. Elsewhere it is
/// [`plain_inflation`], which is less noisy. Source: prewhitening of Andrews and Monahan (1992), with r
/// corrected for its bias by Kendall (1954) and at most `MEMORY_MAX`. None as for [`block_length`].
pub fn variance_inflation(values: &[f64]) -> Option<f64> {
    let plain = plain_inflation(values)?;
    Some(strong_inflation(values).unwrap_or(plain))
}

/// The same for values that inherit more than `MEMORY_MIN` from the one before; absent for others.
pub fn strong_inflation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let covariance = autocovariances(values, 1);
    let (variance, next) = covariance.first().zip(covariance.get(1))?;
    let found = next / variance;
    let memory = (found + (1.0 + 3.0 * found) / n).min(MEMORY_MAX);
    // NaN if all values are equal.
    if values.len() < VALUES_MIN || found.is_nan() || found <= MEMORY_MIN {
        return None;
    }
    let centered: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let left: Vec<f64> =
        centered.iter().zip(centered.iter().skip(1)).map(|(a, b)| b - memory * a).collect();
    let long_run = Dependence::of(&left)?.long_run.max(0.0) / (1.0 - memory).powi(2);
    Some((long_run / variance).max(1.0))
}

/// The same for counts, such as whether each value is below a limit, and for means of groups, whose
/// neighbors do not inherit a share of each other: `(R(0) + 2 sum lambda(k/M) R(k)) / R(0)` over the
/// autocovariances R up to the lag M of [`block_length`], with its weights. Source: Politis and Romano
/// (1995). Below 1, where values make up for those before, 1 is taken. None as for [`block_length`].
pub fn plain_inflation(values: &[f64]) -> Option<f64> {
    let dependence = Dependence::of(values)?;
    let is_flat = dependence.variance <= 0.0;
    Some(if is_flat { 1.0 } else { (dependence.long_run / dependence.variance).max(1.0) })
}

/// What the autocovariances of values say together.
struct Dependence {
    /// R(0).
    variance: f64,
    /// The sum of all weighted autocovariances: n times the variance of the mean.
    long_run: f64,
    /// The same with each lag as a factor: G of the block length.
    spread: f64,
}

impl Dependence {
    fn of(values: &[f64]) -> Option<Dependence> {
        let n = values.len();
        if n < VALUES_MIN || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let size = n as f64;
        let quiet_lags = 5.max(size.log10() as usize);
        let lags = (size.sqrt().ceil() as usize + quiet_lags).min(n - 1);
        let covariance = autocovariances(values, lags);
        let variance = covariance.first().copied().unwrap_or(0.0);
        if variance <= 0.0 {
            return Some(Dependence { variance: 0.0, long_run: 0.0, spread: 0.0 });
        }
        let limit = 2.0 * (size.log10() / size).sqrt();
        let is_quiet = |value: &f64| (value / variance).abs() < limit;
        let after = covariance.get(1..).unwrap_or_default();
        let quiet_from = after
            .windows(quiet_lags.min(after.len().max(1)))
            .position(|run| run.iter().all(is_quiet));
        let bandwidth = quiet_from.map_or(lags, |lag| (2 * (lag + 1)).min(lags));
        let (mut spread, mut long_run) = (0.0, variance);
        for (lag, value) in covariance.iter().enumerate().take(bandwidth + 1).skip(1) {
            let place = lag as f64 / bandwidth as f64;
            let weight = if place <= 0.5 { 1.0 } else { 2.0 * (1.0 - place) };
            spread += 2.0 * weight * lag as f64 * value;
            long_run += 2.0 * weight * value;
        }
        Some(Dependence { variance, long_run, spread })
    }
}

/// Autocovariances from lag 0 to `lags`, each a sum divided by n.
fn autocovariances(values: &[f64], lags: usize) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let at = |lag: usize| {
        let later = centred.iter().skip(lag);
        centred.iter().zip(later).map(|(a, b)| a * b).sum::<f64>() / n
    };
    (0..=lags).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::random::RandomStream;

    /// Values that follow `x = memory · x before + noise`.
    fn series(n: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut stream = RandomStream::new(seed);
        let mut value = 0.0;
        (0..n)
            .map(|_| {
                value = memory * value + stream.normal();
                value
            })
            .collect()
    }

    #[test]
    fn values_that_depend_ask_for_longer_blocks() {
        let mean = |memory: f64| {
            (0..20).filter_map(|seed| block_length(&series(1_000, memory, seed))).sum::<f64>()
                / 20.0
        };
        let (independent, some, much) = (mean(0.0), mean(0.5), mean(0.9));
        assert!(independent < 3.0, "{independent}");
        assert!(some > 2.0 * independent && much > 2.0 * some, "{independent} {some} {much}");
        let turns: Vec<f64> = series(1_000, 0.0, 1)
            .iter()
            .enumerate()
            .map(|(place, noise)| if place % 2 == 0 { 5.0 + noise } else { -5.0 + noise })
            .collect();
        assert_eq!(block_length(&turns), Some(1.0), "two users in turn");
        assert_eq!(block_length(&[1.0; 20]), Some(1.0));
        assert_eq!(block_length(&[1.0; 7]), None);
    }

    // arch 8.0.0: bootstrap.optimal_block_length(x)["stationary"], for
    // x[i] = sum((i - j)**3 % 1009 / 1009 * memory**j for j in range(8)), i from 8 to 407.
    #[test]
    fn the_length_is_that_of_arch() {
        let noise = |i: i64| (i.pow(3) % 1009) as f64 / 1009.0;
        for (memory, expect) in [(0.5f64, 6.287_390_497_551_456), (0.8, 9.688_980_674_180_124)] {
            let values: Vec<f64> = (8..408)
                .map(|i| (0..8).map(|j| noise(i - j) * memory.powi(j as i32)).sum())
                .collect();
            let found = block_length(&values).expect("values");
            assert!((found / expect - 1.0).abs() < 1e-6, "{memory}: {found}");
        }
    }

    #[test]
    fn the_inflation_is_that_of_the_law() {
        // Of x = memory · x before + noise: (1 + memory) / (1 - memory).
        for (memory, expect) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mean = (0..20)
                .filter_map(|seed| variance_inflation(&series(2_000, memory, seed)))
                .sum::<f64>()
                / 20.0;
            assert!((mean / expect - 1.0).abs() < 0.2, "{memory}: {mean}");
        }
        assert_eq!(variance_inflation(&[3.0; 9]), Some(1.0));
        assert_eq!(variance_inflation(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
    }
}
