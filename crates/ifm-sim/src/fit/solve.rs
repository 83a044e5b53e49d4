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

/// Where to search.
#[derive(Debug, Clone)]
pub(super) struct Space {
    /// Lowest and highest value of each coordinate.
    pub bounds: Vec<(f64, f64)>,
    /// Coordinates that stay where they are. They still count in the covariance, by the prior.
    pub is_held: Vec<bool>,
    /// Degrees of freedom of the prior, a Student distribution; infinite for a normal one.
    pub freedom: f64,
}

impl Space {
    /// Twice the negative logarithm of the prior, without its constant.
    pub fn penalty(&self, point: &[f64]) -> f64 {
        match self.freedom.is_finite() {
            true => point.iter().map(|at| self.freedom * (at * at / self.freedom).ln_1p()).sum(),
            false => squares(point),
        }
    }

    /// How strongly the prior holds a coordinate there: 1 at the center, less far from it.
    fn weight(&self, at: f64) -> f64 {
        1.0 / (1.0 + at * at / self.freedom)
    }

    fn is_held(&self, place: usize) -> bool {
        self.is_held.get(place).copied().unwrap_or(false)
    }
}

/// The point with the least sum of squares of `residuals` and penalty of the prior, by steps of
/// K. Levenberg (1944) and D. W. Marquardt (1963). Residuals are in units of their standard error.
///
/// # Errors
/// Errors of `residuals` at the start and next to a point that was reached.
pub(super) fn least_squares<E>(
    start: Vec<f64>,
    space: &Space,
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
        let weights: Vec<f64> = point.iter().map(|at| space.weight(*at)).collect();
        let curvature = curvature(&slopes, &weights);
        covariance = covariance_of(&curvature, space).unwrap_or_else(|| identity(point.len()));
        let errors: Vec<f64> = diagonal(&covariance).map(f64::sqrt).collect();
        reaches = errors.iter().map(|error| error.clamp(REACH.0, REACH.1)).collect();
        steps += 1;
        let pull = |(place, ((slope, at), weight)): (usize, ((&Vec<f64>, &f64), &f64))| {
            if space.is_held(place) { 0.0 } else { -(dot(slope, &now) + weight * at) }
        };
        let downhill: Vec<f64> =
            slopes.iter().zip(&point).zip(&weights).enumerate().map(pull).collect();
        let mut moved = 0.0;
        for _ in 0..SHORTER_MAX {
            let damped: Matrix = curvature
                .iter()
                .enumerate()
                .map(|(place, row)| {
                    let scaled = |(at, value): (usize, &f64)| match at == place {
                        true => value * (1.0 + damping),
                        // What is held does not move, nor moves the others.
                        false if space.is_held(at) || space.is_held(place) => 0.0,
                        false => *value,
                    };
                    row.iter().enumerate().map(scaled).collect()
                })
                .collect();
            let Some(inverse) = inverse(damped) else { break };
            let next: Vec<f64> = inverse
                .iter()
                .zip(&point)
                .zip(&space.bounds)
                .map(|((row, at), (low, high))| (at + dot(row, &downhill)).clamp(*low, *high))
                .collect();
            // Too far may be where there is no answer.
            let then = residuals(&next).ok();
            if let Some(then) = then
                && squares(&then) + space.penalty(&next) < squares(&now) + space.penalty(&point)
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

/// The covariance of what was found. A coordinate that is held has its prior, whatever the residuals
/// say of it, and the others are as uncertain as it makes them.
fn covariance_of(curvature: &Matrix, space: &Space) -> Option<Matrix> {
    let size = curvature.len();
    let entry = |row: usize, column: usize| {
        curvature.get(row).and_then(|line| line.get(column)).copied().unwrap_or(0.0)
    };
    let line = |row: usize| {
        let value = |column: usize| match space.is_held(row) || space.is_held(column) {
            true if row == column => 1.0,
            true => 0.0,
            false => entry(row, column),
        };
        (0..size).map(value).collect()
    };
    let own = inverse((0..size).map(line).collect())?;
    let held: Vec<usize> = (0..size).filter(|place| space.is_held(*place)).collect();
    // How the point moves with each coordinate that is held.
    let follows = held.iter().map(|place| {
        let pull: Vec<f64> = (0..size)
            .map(|row| if space.is_held(row) { 0.0 } else { -entry(row, *place) })
            .collect();
        let moved = |(row, line): (usize, &Vec<f64>)| match row == *place {
            true => 1.0,
            false => dot(line, &pull),
        };
        own.iter().enumerate().map(moved).collect::<Vec<f64>>()
    });
    let follows: Matrix = follows.collect();
    let sum = |row: usize, column: usize| {
        let is_free = !space.is_held(row) && !space.is_held(column);
        let alone = own.get(row).and_then(|line| line.get(column)).filter(|_| is_free);
        let with = follows.iter().map(|along| match (along.get(row), along.get(column)) {
            (Some(left), Some(right)) => left * right,
            _ => 0.0,
        });
        alone.copied().unwrap_or(0.0) + with.sum::<f64>()
    };
    Some((0..size).map(|row| (0..size).map(|column| sum(row, column)).collect()).collect())
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

/// Products of the slopes, and on the diagonal the weight of the prior.
fn curvature(slopes: &Matrix, weights: &[f64]) -> Matrix {
    let rows = slopes.iter().zip(weights).enumerate().map(|(place, (left, weight))| {
        let value = |(other, right): (usize, &Vec<f64>)| {
            dot(left, right) + if other == place { *weight } else { 0.0 }
        };
        slopes.iter().enumerate().map(value).collect()
    });
    rows.collect()
}

/// The inverse of a positive definite matrix, by elimination; absent for other matrices.
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

/// The lower triangle whose product with its transpose is a positive definite matrix (A.-L. Cholesky);
/// its columns are independent directions of one standard error each. A column that rounding makes
/// impossible is 0.
pub(super) fn directions(covariance: &Matrix) -> Matrix {
    let size = covariance.len();
    let mut columns: Matrix = Vec::with_capacity(size);
    let at = |values: &Vec<f64>, place: usize| values.get(place).copied().unwrap_or(0.0);
    for place in 0..size {
        let left = |row: usize| {
            let entry = covariance.get(row).map_or(0.0, |line| at(line, place));
            let known = columns.iter().map(|column| at(column, row) * at(column, place));
            entry - known.sum::<f64>()
        };
        let own = left(place).max(0.0).sqrt();
        let value = |row: usize| match row < place || own <= f64::EPSILON {
            true => 0.0,
            false => left(row) / own,
        };
        let column = (0..size).map(value).collect();
        columns.push(column);
    }
    columns
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

    /// All coordinates move, and the prior is normal.
    fn space(bounds: &[(f64, f64)]) -> Space {
        let is_held = vec![false; bounds.len()];
        Space { bounds: bounds.to_vec(), is_held, freedom: f64::INFINITY }
    }

    #[test]
    fn directions_give_the_covariance_back() {
        let covariance = vec![vec![4.0, 2.0, 0.0], vec![2.0, 3.0, 1.0], vec![0.0, 1.0, 2.0]];
        let columns = directions(&covariance);
        assert_eq!(columns[0], [2.0, 1.0, 0.0]);
        for (row, line) in covariance.iter().enumerate() {
            for (other, entry) in line.iter().enumerate() {
                let sum: f64 = columns.iter().map(|column| column[row] * column[other]).sum();
                assert!((sum - entry).abs() < 1e-12, "{row} {other}: {sum}");
            }
        }
    }

    /// The line of `a_line_with_a_prior_by_hand` with the slope held at 0: 4 b = 9. The slope has a
    /// variance of 1 by its prior, and b moves with it by -3/4: 1/4 + 9/16.
    #[test]
    fn a_held_coordinate_stays_and_still_widens_the_others() {
        let line = |at: &[f64]| -> Result<Vec<f64>, ()> {
            Ok([0.0, 1.0, 2.0].iter().map(|x| at[0] * x + at[1] - (2.0 * x + 1.0)).collect())
        };
        let held = Space { is_held: vec![true, false], ..space(&[(-9.0, 9.0); 2]) };
        let optimum = least_squares(vec![0.0, 0.0], &held, line).expect("no error");
        assert_eq!(optimum.point[0], 0.0);
        assert!((optimum.point[1] - 9.0 / 4.0).abs() < 1e-3, "{optimum:?}");
        let [slope, own] = [0, 1].map(|row| optimum.covariance[row].clone());
        assert!((own[1] - 13.0 / 16.0).abs() < 1e-9, "{optimum:?}");
        assert!((slope[0] - 1.0).abs() < 1e-9 && (slope[1] + 0.75).abs() < 1e-9, "{optimum:?}");
    }

    /// With a heavy tail a far optimum is hardly pulled back: of x = 8 with standard error 0.5.
    #[test]
    fn a_student_prior_lets_go_of_what_is_far() {
        let far = |at: &[f64]| -> Result<Vec<f64>, ()> { Ok(vec![2.0 * (at[0] - 8.0)]) };
        let normal = least_squares(vec![0.0], &space(&[(-9.0, 9.0)]), far).expect("no error");
        let student = Space { freedom: 4.0, ..space(&[(-9.0, 9.0)]) };
        let student = least_squares(vec![0.0], &student, far).expect("no error");
        assert!((normal.point[0] - 6.4).abs() < 0.01, "{normal:?}");
        assert!((7.85..8.0).contains(&student.point[0]), "{student:?}");
    }

    #[test]
    fn an_inverse_by_hand() {
        let got = inverse(vec![vec![4.0, 2.0], vec![2.0, 3.0]]).expect("positive definite");
        for (row, by_hand) in got.iter().zip([[0.375, -0.25], [-0.25, 0.5]]) {
            assert!(row.iter().zip(by_hand).all(|(got, value)| (got - value).abs() < 1e-12));
        }
        assert!(inverse(vec![vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
    }

    /// A straight line with a prior has an analytic solution: of y = 2x + 1 at x = 0, 1, 2 with
    /// standard error 1 and the prior (0, 1) for both.
    #[test]
    fn a_line_with_a_prior_by_hand() {
        let line = |at: &[f64]| -> Result<Vec<f64>, ()> {
            Ok([0.0, 1.0, 2.0].iter().map(|x| at[0] * x + at[1] - (2.0 * x + 1.0)).collect())
        };
        let wide = space(&[(-9.0, 9.0); 2]);
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
        let wide = space(&[(-9.0, 9.0)]);
        let point = least_squares(vec![-0.5], &wide, near).expect("an optimum").point[0];
        assert!((1.2..1.5).contains(&point), "{point}");
        assert!(least_squares(vec![2.6], &wide, near).is_err());
    }

    #[test]
    fn bounds_hold() {
        let far = |at: &[f64]| -> Result<Vec<f64>, ()> { Ok(vec![100.0 * (at[0] - 50.0)]) };
        let optimum = least_squares(vec![0.0], &space(&[(-3.0, 3.0)]), far).expect("no error");
        assert_eq!(optimum.point[0], 3.0);
    }
}
