//! Distribution functions of the normal, Student's t and binomial-like laws.
//!
//! Accurate to about 1e-13 relative over the range that tests of measurements use; the tests below
//! hold them against scipy. Not here: any test or interval.

use std::f64::consts::{PI, SQRT_2};

/// Coefficients of Lanczos's approximation of the gamma function, g = 7, nine terms.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
const LANCZOS_G: f64 = 7.0;
/// Continued fractions and series end when a step changes less than this.
const PRECISION: f64 = 1e-16;
/// Steps of a continued fraction or series at most; each needs about the square root of its
/// largest argument.
const STEPS_MAX: u32 = 100_000;
/// Replaces zero in a continued fraction, where a division by it would follow.
const TINY: f64 = 1e-300;

/// Logarithm of the gamma function for x > 0. Source: Lanczos (1964).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        // Reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let terms = LANCZOS.iter().enumerate().skip(1);
    let first = LANCZOS.first().copied().unwrap_or(1.0);
    let sum = terms.fold(first, |sum, (index, term)| sum + term / (x + index as f64));
    let t = x + LANCZOS_G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Logarithm of the number of ways to choose `k` of `n`.
pub(crate) fn ln_choose(n: u64, k: u64) -> f64 {
    ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0)
}

/// Regularized incomplete beta function I_x(a, b) for a, b > 0 and x within 0 to 1. Source:
/// continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated by
/// Lentz's method.
pub(crate) fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly below the mean; above it the mirrored one does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln_front =
        ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p() - a.ln();
    let keep = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / keep(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..STEPS_MAX {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / keep(1.0 + even * d);
        c = keep(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / keep(1.0 + odd * d);
        c = keep(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < PRECISION {
            break;
        }
    }
    (ln_front.exp() * fraction).min(1.0)
}

/// Chance that a standard normal value is above `z`.
pub(crate) fn normal_above(z: f64) -> f64 {
    if z < 0.0 { 1.0 - 0.5 * erfc(-z / SQRT_2) } else { 0.5 * erfc(z / SQRT_2) }
}

/// Chance that a standard normal value is below `z`.
pub fn normal_below(z: f64) -> f64 {
    normal_above(-z)
}

/// Complementary error function for x >= 0, as the upper incomplete gamma function
/// Q(1/2, x^2). Source: series 8.7.1 and continued fraction 8.9.2 of the NIST DLMF.
fn erfc(x: f64) -> f64 {
    const SHAPE: f64 = 0.5;
    let square = x * x;
    if square == 0.0 {
        return 1.0;
    }
    let front = (-square + SHAPE * square.ln() - ln_gamma(SHAPE)).exp();
    if square < SHAPE + 1.0 {
        let (mut term, mut sum) = (1.0 / SHAPE, 1.0 / SHAPE);
        for step in 1..STEPS_MAX {
            term *= square / (SHAPE + f64::from(step));
            sum += term;
            if term < sum * PRECISION {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let mut b = square + 1.0 - SHAPE;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut fraction = d;
    for step in 1..STEPS_MAX {
        let step = f64::from(step);
        let a = -step * (step - SHAPE);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < PRECISION {
            break;
        }
    }
    front * fraction
}

/// The value that a standard normal value exceeds with chance `tail`; infinite at the ends. Source:
/// Abramowitz and Stegun (1964), formula 26.2.23, refined by Halley's method.
pub fn normal_upper_quantile(tail: f64) -> f64 {
    if tail > 0.5 {
        return -normal_upper_quantile(1.0 - tail);
    }
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    let t = (-2.0 * tail.ln()).sqrt();
    let mut z = t
        - (2.515517 + 0.802853 * t + 0.010328 * t * t)
            / (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
    for _ in 0..4 {
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let step = (normal_above(z) - tail) / density;
        if !step.is_finite() {
            break;
        }
        z += step / (1.0 - 0.5 * z * step);
    }
    z
}

/// Chance that Student's t with `freedom` degrees of freedom (any number above 0) is as far from 0
/// as `t`, on either side.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return (2.0 * normal_above(t.abs())).min(1.0);
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The value that Student's t exceeds with chance `tail` (above 0, at most one half). By
/// bisection.
pub fn student_upper_quantile(tail: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return normal_upper_quantile(tail);
    }
    let two_sided = 2.0 * tail;
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, freedom) > two_sided && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    // Each step halves the range; a range of two neighboring numbers ends it.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if student_two_sided(middle, freedom) > two_sided {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expect: f64, what: &str) {
        let error = (got - expect).abs() / expect.abs().max(1e-300);
        assert!(error < 1e-11, "{what}: {got} is not {expect}");
    }

    // scipy 1.17.1: special.gammaln, special.betainc, stats.norm.sf, stats.norm.isf, 2*stats.t.sf,
    // stats.t.isf with the arguments given.
    #[test]
    fn gamma_and_beta_are_those_of_scipy() {
        near(ln_gamma(0.1), 2.252_712_651_734_206, "0.1");
        near(ln_gamma(5.0), 24f64.ln(), "5");
        near(ln_gamma(1234.5), 7_550.550_901_077_894, "1234.5");
        near(ln_choose(52, 5), 2_598_960f64.ln(), "52 choose 5");
        near(incomplete_beta(0.3, 2.0, 5.0), 0.579_825_000_000_000_3, "2, 5");
        near(incomplete_beta(0.9, 0.5, 0.5), 0.795_167_235_300_866_5, "halves");
        near(incomplete_beta(0.02, 300.0, 12_000.0), 4.120_566_419_776_449e-4, "large");
        assert_eq!((incomplete_beta(0.0, 1.0, 2.0), incomplete_beta(1.0, 1.0, 2.0)), (0.0, 1.0));
    }

    #[test]
    fn the_normal_law_is_that_of_scipy() {
        near(normal_above(0.0), 0.5, "0");
        near(normal_above(1.0), 0.158_655_253_931_457_07, "1");
        near(normal_above(-2.5), 0.993_790_334_674_223_8, "-2.5");
        near(normal_above(8.0), 6.220_960_574_271_786e-16, "8");
        near(normal_below(-8.0), 6.220_960_574_271_786e-16, "below -8");
        near(normal_upper_quantile(0.025), 1.959_963_984_540_054, "0.025");
        near(normal_upper_quantile(0.9), -1.281_551_565_544_600_4, "0.9");
        near(normal_upper_quantile(1e-12), 7.034_483_825_301_132, "1e-12");
        assert_eq!(normal_upper_quantile(0.0), f64::INFINITY);
    }

    #[test]
    fn students_law_is_that_of_scipy() {
        near(student_two_sided(2.0, 5.0), 0.101_939_478_829_858_35, "2, 5");
        near(student_two_sided(-30.0, 3.7), 1.485_704_125_235_202e-5, "30, 3.7");
        near(student_two_sided(1.0, f64::INFINITY), 0.317_310_507_862_914_15, "normal");
        near(student_upper_quantile(0.025, 2.0), 4.302_652_729_749_464, "2");
        near(student_upper_quantile(0.025, 9.0), 2.262_157_162_798_205_3, "9");
        near(student_upper_quantile(0.0005, 1.0), 636.619_248_768_719_6, "1");
    }
}
