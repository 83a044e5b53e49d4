//! Other constants that explain the rows as well as the best ones.
//!
//! Two constants whose effects on all rows are alike explain each other: if one is wrong by some
//! amount, the other one is wrong by the opposite, and the rows do not show it. Only their combination
//! is then known, and a load on which they act differently is predicted badly.
//!
//! Not here: the best constants (`problem`), and whether they can be used (`judge`).

use super::outcome::{Estimate, FitError, Pair};
use super::problem::{
    AS_GOOD, NARROWED, PRIOR_END, Partner, Problem, Rival, Solved, faster, is_share, slower,
    value_of,
};
use super::solve::{Optimum, diagonal, least_squares, squares};

/// Standard deviations from its default beyond which a constant has to prove itself.
const STRAINED: f64 = 2.0;
/// Halvings of the way to an end that the rows do not allow.
const HALVINGS: usize = 4;
/// A constant that moves residuals by less than this, as a sum of squares, moves no other constant.
const UNSEEN: f64 = 0.25;

impl Problem<'_> {
    /// Other constants that explain the rows as well: with one that is far from its default there, and
    /// with one that the rows do not narrow at either end of what its prior allows. The curvature at the
    /// optimum does not show the second kind: a time of the host of 0.3 ms hardly matters to a step of
    /// 20 ms, and one of 3 ms does.
    ///
    /// # Errors
    /// A row that cannot be predicted.
    pub fn rivals(&self, solved: &Solved) -> Result<Vec<Rival>, FitError> {
        let point = &solved.optimum.point;
        let mut rivals = Vec::new();
        for (place, at) in point.iter().enumerate().filter(|(_, at)| at.abs() > STRAINED) {
            rivals.extend(self.rival_at_default(solved, place, *at)?);
        }
        let errors: Vec<f64> = diagonal(&solved.optimum.covariance).map(f64::sqrt).collect();
        let open = self.free.iter().zip(errors).enumerate();
        let open = open.filter(|(_, (free, error))| !free.is_held && *error >= NARROWED);
        for (place, _) in open {
            for end in [-PRIOR_END, PRIOR_END] {
                rivals.extend(self.rival_at_end(solved, place, end));
            }
        }
        Ok(rivals)
    }

    /// Whether others explain the rows as well with this constant at its default.
    fn rival_at_default(
        &self,
        solved: &Solved,
        place: usize,
        at: f64,
    ) -> Result<Option<Rival>, FitError> {
        let point = &solved.optimum.point;
        let (without, start) = self.moved_to(solved, place, 0.0);
        let space = self.space(&without);
        // Whatever makes up for it is as slow, or as fast, as it is.
        let is_slower = (at < 0.0) == self.free.get(place).is_some_and(is_share);
        let other = self.search(&start, &without, if is_slower { slower } else { faster })?;
        let start = other.optimum.point;
        let other = least_squares(start, &space, |at| self.residuals(at, solved.scatter))?;
        let cost = Self::cost(&self.space(&solved.is_held), &solved.optimum);
        if Self::cost(&space, &other) - cost >= AS_GOOD {
            return Ok(None);
        }
        let by = most_moved(&other.point, point, place);
        let by = by.map(|(by, _)| partner(&other, by, place));
        Ok(by.map(|by| Rival { of: place, by: Some(by), point: other.point }))
    }

    /// The farthest place of a constant towards an end at which the others still explain the rows. Its
    /// own prior does not count, because the question is what the rows say. Absent where the rows do
    /// not see it move.
    fn rival_at_end(&self, solved: &Solved, place: usize, end: f64) -> Option<Rival> {
        let best = &solved.optimum;
        let from = best.point.get(place).copied()?;
        let alone = self.residuals(&self.moved_to(solved, place, end).1, solved.scatter).ok();
        let seen = alone.map(|moved| {
            let moved = moved.iter().zip(&best.residuals).map(|(one, other)| one - other);
            squares(&moved.collect::<Vec<_>>())
        });
        if seen.is_some_and(|seen| seen < UNSEEN) {
            return None;
        }
        let now = self.cost_of_others(best, place);
        let reached = |part: f64| {
            let (held, start) = self.moved_to(solved, place, from + (end - from) * part);
            let space = self.space(&held);
            let other =
                least_squares(start, &space, |at| self.residuals(at, solved.scatter)).ok()?;
            let is_as_good = self.cost_of_others(&other, place) - now < AS_GOOD;
            (is_as_good && self.is_possible(&other.point, &best.point)).then_some(other)
        };
        let mut found = reached(1.0);
        let (mut least, mut step) = (0.0, 0.5);
        let halvings = if found.is_some() { 0 } else { HALVINGS };
        for _ in 0..halvings {
            if let Some(other) = reached(least + step) {
                (found, least) = (Some(other), least + step);
            }
            step /= 2.0;
        }
        let found = found?;
        // A constant that is open by itself makes no claim that another one could take away.
        let narrowed = diagonal(&best.covariance).map(|variance| variance.sqrt() < NARROWED);
        let claimed = found.point.iter().zip(narrowed).zip(&best.point);
        let claimed: Vec<f64> =
            claimed.map(|((at, is_claimed), from)| if is_claimed { *at } else { *from }).collect();
        let by = most_moved(&claimed, &best.point, place);
        let by = by.filter(|(_, far)| *far >= NARROWED * PRIOR_END);
        let by = by.map(|(by, _)| partner(&found, by, place));
        Some(Rival { of: place, by, point: found.point })
    }

    /// A start with one constant elsewhere, where it stays; the others are free.
    fn moved_to(&self, solved: &Solved, place: usize, at: f64) -> (Vec<bool>, Vec<f64>) {
        let mut held: Vec<bool> = self.free.iter().map(|free| free.is_held).collect();
        let mut start = solved.optimum.point.clone();
        if let (Some(held), Some(value)) = (held.get_mut(place), start.get_mut(place)) {
            (*held, *value) = (true, at);
        }
        (held, start)
    }

    /// The cost without the prior of one constant.
    fn cost_of_others(&self, optimum: &Optimum, place: usize) -> f64 {
        let mut point = optimum.point.clone();
        if let Some(at) = point.get_mut(place) {
            *at = 0.0;
        }
        squares(&optimum.residuals) + self.space(&[]).penalty(&point)
    }

    /// Whether no share of a peak is above 1 that was not above 1 before.
    fn is_possible(&self, point: &[f64], from: &[f64]) -> bool {
        let (constants, before) = (self.constants(point), self.constants(from));
        self.free.iter().filter(|free| is_share(free)).all(|free| {
            value_of(free.constant, constants) <= value_of(free.constant, before).max(1.0)
        })
    }

    /// Pairs of constants of which the rows determine only what both do, each pair once.
    pub fn pairs(&self, solved: &Solved, estimates: &[Estimate]) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::new();
        for rival in &solved.rivals {
            let Some(by) = rival.by else { continue };
            let both = estimates.get(rival.of).zip(estimates.get(by.place));
            let (Some((of, other)), Some(free)) = (both, self.free.get(by.place)) else { continue };
            let width = (2.0 * Self::reach(solved) * free.sd * by.error).exp();
            let pair = Pair { names: [of.name, other.name], width, measured: other.name };
            let is_same =
                |known: &&mut Pair| pair.names.iter().all(|one| known.names.contains(one));
            match pairs.iter_mut().find(is_same) {
                Some(known) if width < known.width => *known = pair,
                Some(_) => {}
                None => pairs.push(pair),
            }
        }
        pairs
    }
}

/// A constant that moved, with its error while the one at `held` stays where it is.
fn partner(optimum: &Optimum, place: usize, held: usize) -> Partner {
    let entry = |row: usize, column: usize| {
        optimum.covariance.get(row).and_then(|line| line.get(column)).copied().unwrap_or(1.0)
    };
    // The covariance has the prior of what is held, whose variance is 1.
    let variance = entry(place, place) - entry(place, held) * entry(held, place);
    Partner { place, error: variance.max(0.0).sqrt() }
}

/// The constant that moved the most, but for one, and by how many standard deviations of its prior.
fn most_moved(point: &[f64], from: &[f64], but: usize) -> Option<(usize, f64)> {
    let moved = point.iter().zip(from).map(|(one, other)| (one - other).abs()).enumerate();
    moved.filter(|(place, _)| *place != but).max_by(|left, right| left.1.total_cmp(&right.1))
}
