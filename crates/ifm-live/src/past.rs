//! The past of a run in a bounded number of points: when there are too many, two become one.

use super::view::Point;

/// Maximum number of points.
const POINTS_MAX: usize = 512;
/// Length of a point at first, seconds.
const STEP_S: f64 = 0.5;
/// Over how many seconds the present speed is taken.
const RECENT_S: f64 = 5.0;

/// Counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Token-bearing events so far.
    pub events: u64,
    /// Tokens of answers that came whole so far.
    pub whole_tokens: u64,
    /// Requests in flight now.
    pub in_flight: u64,
}

/// The points so far and the samples of the last seconds.
#[derive(Debug)]
pub struct Past {
    points: Vec<Point>,
    step_s: f64,
    /// Where the point under way began.
    from: Option<Sample>,
    recent: std::collections::VecDeque<Sample>,
}

impl Default for Past {
    fn default() -> Past {
        Past { points: Vec::new(), step_s: STEP_S, from: None, recent: Default::default() }
    }
}

impl Past {
    /// Takes a sample; times must rise.
    pub fn add(&mut self, sample: Sample) {
        let is_old = |first: &Sample| sample.at_s - first.at_s > RECENT_S;
        while self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        self.recent.push_back(sample);
        let Some(from) = self.from else {
            self.from = Some(sample);
            return;
        };
        // A hair less than a step, since samples come a hair early or late.
        if sample.at_s - from.at_s < self.step_s * 0.9 {
            return;
        }
        self.from = Some(sample);
        self.points.extend(between(from, sample));
        if self.points.len() >= POINTS_MAX {
            self.points = self.points.chunks(2).map(merged).collect();
            self.step_s *= 2.0;
        }
    }

    /// A new level begins: the present speed is its own.
    pub fn begin_level(&mut self) {
        self.recent.clear();
    }

    /// All points, oldest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The last seconds as one point; absent until there are two samples.
    pub fn recent(&self) -> Option<Point> {
        between(*self.recent.front()?, *self.recent.back()?)
    }
}

fn between(from: Sample, to: Sample) -> Option<Point> {
    let span_s = to.at_s - from.at_s;
    let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / span_s;
    (span_s > 0.0).then(|| Point {
        at_s: to.at_s,
        events_per_s: rate(from.events, to.events),
        whole_tok_per_s: rate(from.whole_tokens, to.whole_tokens),
        in_flight: to.in_flight as f64,
    })
}

fn merged(pair: &[Point]) -> Point {
    let n = pair.len() as f64;
    let mean = |of: fn(&Point) -> f64| pair.iter().map(of).sum::<f64>() / n;
    Point {
        at_s: pair.iter().map(|point| point.at_s).fold(0.0, f64::max),
        events_per_s: mean(|point| point.events_per_s),
        whole_tok_per_s: mean(|point| point.whole_tok_per_s),
        in_flight: mean(|point| point.in_flight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(quarter: u64) -> Sample {
        let at_s = quarter as f64 * 0.25;
        Sample { at_s, events: quarter * 25, whole_tokens: 0, in_flight: 3 }
    }

    #[test]
    fn a_long_run_stays_small_and_keeps_its_speed() {
        let mut past = Past::default();
        assert_eq!(past.recent(), None);
        (0..100_000).for_each(|quarter| past.add(sample(quarter)));
        assert!(past.points().len() < POINTS_MAX && past.points().len() > POINTS_MAX / 4);
        assert!(past.recent.len() < 32);
        let is_right =
            |point: &Point| (point.events_per_s - 100.0).abs() < 1e-6 && point.in_flight == 3.0;
        assert!(past.points().iter().all(is_right));
        let rises = |pair: &[Point]| pair[0].at_s < pair[1].at_s;
        assert!(past.points().windows(2).all(rises));
        assert!(past.recent().is_some_and(|point| is_right(&point)));
    }

    #[test]
    fn the_speed_of_a_level_is_its_own() {
        let mut past = Past::default();
        (0..8).for_each(|quarter| past.add(sample(quarter)));
        past.begin_level();
        assert_eq!(past.recent(), None);
        past.add(Sample { events: 1000, ..sample(8) });
        past.add(Sample { events: 1001, ..sample(9) });
        assert_eq!(past.recent().map(|point| point.events_per_s), Some(4.0));
    }
}
