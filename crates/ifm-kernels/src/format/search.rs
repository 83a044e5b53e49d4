//! The scales that lose least: a few steps are tried around the obvious one, for each the
//! values are rounded, and the best line through them is found by least squares.
//!
//! Not here: where scales are stored (`superblocks`).

use super::rounding::{inverse, nearest};

/// Steps are tried that make the range of a group this many levels more than there are.
const TRIALS: [f32; 7] = [0.0, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6];

/// Values as `scale * q - below`, with `q` from 0 up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    /// What a level is worth; not negative.
    pub(super) scale: f32,
    /// What is taken off; not negative.
    pub(super) below: f32,
}

/// The line that loses least for levels 0 to `most`.
pub(super) fn line(values: &[f32], most: f32) -> Line {
    let least = values.iter().copied().fold(0.0, f32::min);
    let range = values.iter().copied().fold(f32::NEG_INFINITY, f32::max) - least;
    if range <= 0.0 {
        return Line { scale: 0.0, below: -least };
    }
    let mut best = (f32::INFINITY, Line::default());
    for trial in TRIALS {
        let factor = (most + trial) / range;
        let count = values.len() as f32;
        let (mut q_sum, mut qq_sum, mut x_sum, mut xq_sum) = (0.0, 0.0, 0.0, 0.0);
        for &x in values {
            let q = nearest(((x - least) * factor).clamp(0.0, most)) as f32;
            q_sum += q;
            qq_sum += q * q;
            x_sum += x;
            xq_sum += x * q;
        }
        let determinant = count * qq_sum - q_sum * q_sum;
        if determinant <= 0.0 {
            continue;
        }
        let mut scale = (count * xq_sum - q_sum * x_sum) / determinant;
        let mut start = (qq_sum * x_sum - q_sum * xq_sum) / determinant;
        if start > 0.0 {
            // Nothing can be added: the best line through the origin.
            (scale, start) = (xq_sum / qq_sum, 0.0);
        }
        // The sum of (scale q + start - x)^2, without that of x^2, which is always the same.
        let loss = scale * (scale * qq_sum + 2.0 * start * q_sum - 2.0 * xq_sum)
            + start * (count * start - 2.0 * x_sum);
        if loss < best.0 && scale >= 0.0 {
            best = (loss, Line { scale, below: -start });
        }
    }
    best.1
}

/// The scale that loses least for levels from `-levels` to `levels - 1`. It is negative
/// where the value of the largest size is positive, since there is one level more below.
pub(super) fn scale(values: &[f32], levels: f32) -> f32 {
    let extreme = values.iter().fold(0.0_f32, |a, &b| if b.abs() > a.abs() { b } else { a });
    let mut best = (0.0, 0.0);
    for trial in TRIALS {
        let factor = -(levels + trial) * inverse(extreme);
        let (mut qq_sum, mut xq_sum) = (0.0, 0.0);
        for &x in values {
            let q = nearest((x * factor).clamp(-levels, levels - 1.0)) as f32;
            qq_sum += q * q;
            xq_sum += x * q;
        }
        // Least squares: the best scale is xq / qq, and it takes xq^2 / qq off the loss.
        let gain = xq_sum * xq_sum * inverse(qq_sum);
        if gain > best.0 {
            best = (gain, xq_sum / qq_sum);
        }
    }
    best.1
}

/// The level from 0 to `most` that is nearest to a value.
pub(super) fn level(value: f32, step: f32, most: f32) -> u8 {
    nearest((value * inverse(step)).clamp(0.0, most)) as u8
}

/// The level from `-most - 1` to `most` that is nearest to a value.
pub(super) fn signed_level(value: f32, step: f32, most: f32) -> i8 {
    nearest((value * inverse(step)).clamp(-most - 1.0, most)) as i8
}
