//! Least squares of a function that is only known by its values, with a prior around 0.
//!
//! Not here: what the numbers mean (`fit`).

/// Most steps.
const STEPS_MAX: usize = 24;
/// Most times that one step is made shorter.
const SHORTER_MAX: usize = 8;
/// A step that moves nothing by more than this share of its own standard error ends the search.
const STILL: f64 = 0.03;
/// Half of the distance over which a slope is taken: at least and at most, in standard deviations
/// of the prior. A simulation is not smooth, so that a slope is taken over about as much as is
/// uncertain, not over as little as can be computed.
const REACH: (f64, f64) = (0.05, 0.5);

/// A square matrix, row by row.
pub(super) type Matrix = Vec<Vec<f64>>;

/// What was found.
#[derive(Debug, Clone)]
pub(super) struct Optimum {
    /// Where, in standard deviations of the prior.
    pub point: Vec<f64>,
    /// Residuals there.
    pub residuals: Vec<f64>,
    /// The covariance by the curvature there, prior included, in the same unit.
    pub covariance: Matrix,
}

/// The point with the least sum of squares of `residuals` and of the point itself, by steps of
/// K. Levenberg (1944) and D. W. Marquardt (1963). Residuals are in units of their standard error.
///
/// # Errors
/// Those of `residuals` at the start and beside a point that was reached.
pub(super) fn least_squares<E>(
    start: Vec<f64>,
    bounds: &[(f64, f64)],
    mut residuals: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Optimum, E> {
    let mut point = start;
    let mut now = residuals(&point)?;
    let mut reaches = vec![REACH.1; point.len()];
    let mut damping = 1e-3;
    let mut covariance;
    let mut steps = 0;
    loop {
        let slopes = slopes(&point, &reaches, &mut residuals)?;
        let curvature = curvature(&slopes);
        covariance = inverse(curvature.clone()).unwrap_or_else(|| identity(point.len()));
        let errors: Vec<f64> = diagonal(&covariance).map(f64::sqrt).collect();
        reaches = errors.iter().map(|error| error.clamp(REACH.0, REACH.1)).collect();
        steps += 1;
        let downhill: Vec<f64> =
            slopes.iter().zip(&point).map(|(slope, at)| -(dot(slope, &now) + at)).collect();
        let mut moved = 0.0;
        for _ in 0..SHORTER_MAX {
            let damped: Matrix = curvature
                .iter()
                .enumerate()
                .map(|(place, row)| {
                    let scaled = |(at, value): (usize, &f64)| match at == place {
                        true => value * (1.0 + damping),
                        false => *value,
                    };
                    row.iter().enumerate().map(scaled).collect()
                })
                .collect();
            let Some(inverse) = inverse(damped) else { break };
            let next: Vec<f64> = inverse
                .iter()
                .zip(&point)
                .zip(bounds)
                .map(|((row, at), (low, high))| (at + dot(row, &downhill)).clamp(*low, *high))
                .collect();
            // Too far may be where there is no answer.
            let then = residuals(&next).ok();
            if let Some(then) = then
                && squares(&then) + squares(&next) < squares(&now) + squares(&point)
            {
                let far = next.iter().zip(&point).zip(&errors);
                moved =
                    far.map(|((next, at), error)| (next - at).abs() / error).fold(0.0, f64::max);
                (point, now) = (next, then);
                damping = (damping * 0.2).max(1e-9);
                break;
            }
            damping *= 5.0;
        }
        if moved < STILL || steps >= STEPS_MAX {
            break;
        }
    }
    Ok(Optimum { point, residuals: now, covariance })
}

/// Slope of each residual along each coordinate: one row for each coordinate.
fn slopes<E>(
    point: &[f64],
    reaches: &[f64],
    residuals: &mut impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Matrix, E> {
    let mut slopes = Vec::with_capacity(point.len());
    for (place, reach) in reaches.iter().enumerate() {
        let mut at = |by: f64| {
            let mut moved = point.to_vec();
            if let Some(value) = moved.get_mut(place) {
                *value += by;
            }
            residuals(&moved)
        };
        let (above, below) = (at(*reach)?, at(-*reach)?);
        slopes
            .push(above.iter().zip(&below).map(|(up, down)| (up - down) / (2.0 * reach)).collect());
    }
    Ok(slopes)
}

/// Products of the slopes, and 1 on the diagonal for the prior.
fn curvature(slopes: &Matrix) -> Matrix {
    let rows = slopes.iter().enumerate().map(|(place, left)| {
        let value = |(other, right): (usize, &Vec<f64>)| {
            dot(left, right) + if other == place { 1.0 } else { 0.0 }
        };
        slopes.iter().enumerate().map(value).collect()
    });
    rows.collect()
}

/// The inverse of a positive definite matrix, by elimination; absent where it is none.
fn inverse(matrix: Matrix) -> Option<Matrix> {
    let size = matrix.len();
    let mut rows: Matrix = matrix
        .into_iter()
        .zip(identity(size))
        .map(|(mut row, unit)| {
            row.extend(unit);
            row
        })
        .collect();
    for place in 0..size {
        let mut pivot = std::mem::take(rows.get_mut(place)?);
        let by = *pivot.get(place)?;
        if !(by > 0.0 && by.is_finite()) {
            return None;
        }
        pivot.iter_mut().for_each(|value| *value /= by);
        for row in rows.iter_mut().filter(|row| !row.is_empty()) {
            let times = *row.get(place)?;
            row.iter_mut().zip(&pivot).for_each(|(value, above)| *value -= times * above);
        }
        *rows.get_mut(place)? = pivot;
    }
    Some(rows.into_iter().map(|row| row.into_iter().skip(size).collect()).collect())
}

fn identity(size: usize) -> Matrix {
    let row = |place| (0..size).map(|at| if at == place { 1.0 } else { 0.0 }).collect();
    (0..size).map(row).collect()
}

/// Values on the diagonal.
pub(super) fn diagonal(matrix: &Matrix) -> impl Iterator<Item = f64> + '_ {
    matrix.iter().enumerate().map(|(place, row)| row.get(place).copied().unwrap_or(1.0))
}

/// Sum of products.
pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// Sum of squares.
pub(super) fn squares(values: &[f64]) -> f64 {
    dot(values, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_by_hand() {
        let got = inverse(vec![vec![4.0, 2.0], vec![2.0, 3.0]]).expect("positive definite");
        for (row, by_hand) in got.iter().zip([[0.375, -0.25], [-0.25, 0.5]]) {
            assert!(row.iter().zip(by_hand).all(|(got, value)| (got - value).abs() < 1e-12));
        }
        assert!(inverse(vec![vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
    }

    /// A straight line with a prior has a solution by hand: of y = 2x + 1 at x = 0, 1, 2 with
    /// standard error 1 and the prior (0, 1) for both.
    #[test]
    fn a_line_with_a_prior_by_hand() {
        let line = |at: &[f64]| -> Result<Vec<f64>, ()> {
            Ok([0.0, 1.0, 2.0].iter().map(|x| at[0] * x + at[1] - (2.0 * x + 1.0)).collect())
        };
        let wide = [(-9.0, 9.0); 2];
        let optimum = least_squares(vec![0.0, 0.0], &wide, line).expect("no error");
        // (6 3; 3 4) (a, b) = (13, 9) and its inverse (4 -3; -3 6) / 15.
        assert!((optimum.point[0] - 25.0 / 15.0).abs() < 1e-3, "{optimum:?}");
        assert!((optimum.point[1] - 1.0).abs() < 1e-3, "{optimum:?}");
        assert!((optimum.covariance[0][0] - 4.0 / 15.0).abs() < 1e-9);
        assert!((optimum.covariance[0][1] + 3.0 / 15.0).abs() < 1e-9);
    }

    #[test]
    fn where_there_is_no_answer_the_step_is_shorter() {
        let near = |at: &[f64]| match at[0] < 2.5 {
            true => Ok(vec![at[0].exp() - 1.5_f64.exp()]),
            false => Err(()),
        };
        let wide = [(-9.0, 9.0)];
        let point = least_squares(vec![-0.5], &wide, near).expect("an optimum").point[0];
        assert!((1.2..1.5).contains(&point), "{point}");
        assert!(least_squares(vec![2.6], &wide, near).is_err());
    }

    #[test]
    fn bounds_hold() {
        let far = |at: &[f64]| -> Result<Vec<f64>, ()> { Ok(vec![100.0 * (at[0] - 50.0)]) };
        let optimum = least_squares(vec![0.0], &[(-3.0, 3.0)], far).expect("no error");
        assert_eq!(optimum.point[0], 3.0);
    }
}
