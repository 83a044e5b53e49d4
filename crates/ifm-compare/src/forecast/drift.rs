//! What the errors of a prediction over the load say of its constants.
//!
//! The rule. The errors of at least four loads are put in the order of the load. They *drift* if
//! the number of rising (or falling) pairs has a chance of at most one in twenty without a trend
//! (one-sided test of Mann and Kendall; four points that all rise are just enough), and the line of
//! Theil and Sen through them, over the logarithm of the load, changes by at least 5 % from the
//! first load to the last. They are *constant* if they do not drift, their median is at least 5 %,
//! and none is further from it than half of it. Otherwise no cause is named.
//!
//! | error of | course | what is off |
//! |---|---|---|
//! | ITL | constant | share of the memory bandwidth; if one user is off by the same, the host's time of a step |
//! | ITL | grows with the users | the host's time for each sequence; with long contexts, the share of the bandwidth that keys and values reach |
//! | ITL | shrinks with the users | the host's time of a step |
//! | TTFT | constant | share of the arithmetic; time of the frontend |
//! | TTFT | grows with the load | share of the arithmetic; number of sequences or size of the KV pool, which make the queue |
//! | TTFT | shrinks with the load | time of the frontend |

use super::Pair;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_metrics::stat::percentile_of_sorted;
use ifm_metrics::stat::trend::{mann_kendall, theil_sen};
use ifm_results::say;
use ifm_results::sentence::Sentence;

/// Loads with an error, at least.
pub const POINTS_MIN: usize = 4;
/// Maximum chance of reporting a drift that does not exist; one-sided.
pub const CHANCE_MAX: f64 = 0.05;
/// Errors that are further from their median than this share of it are not the same.
const SPREAD_MAX: f64 = 0.5;
/// Minimum error, or change of an error, that is reported.
pub const ERROR_MIN: f64 = 0.05;

ifm_core::vocabulary! {
    /// How an error goes with the load.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Course {
        /// It is about the same at every load.
        Constant = "constant",
        /// It is larger at large loads.
        Grows = "grows",
        /// It is larger at small loads.
        Shrinks = "shrinks",
    }
}

/// What an error says of a constant of the prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// Whose error: ITL or TPOT over the users in flight, or TTFT over the load.
    pub metric: Metric,
    /// How it goes with the load.
    pub course: Course,
    /// The signed error at the smallest load: of the line, or the median where it is constant.
    pub first: f64,
    /// The same at the largest load.
    pub last: f64,
    /// The constants that are probably off, the most likely first.
    pub constants: &'static [&'static str],
    /// In plain words.
    pub sentence: Sentence,
}

/// What the errors say, gaps between tokens first: ITL, or TPOT where it takes the place of ITL.
pub(super) fn drifts(pairs: &[Pair]) -> Vec<Drift> {
    let over = |metric, load: fn(&Pair) -> Option<f64>| {
        let error = |pair: &Pair| Some((load(pair).filter(|at| *at > 0.0)?, pair.error(metric)?));
        drift(metric, pairs.iter().filter_map(error).collect())
    };
    let gap = |metric| over(metric, |pair| pair.measured.users());
    let itl = gap(Metric::Itl).or_else(|| gap(Metric::Tpot));
    let ttft = over(Metric::Ttft, |pair| Some(pair.measured.load.value()));
    itl.into_iter().chain(ttft).collect()
}

fn drift(metric: Metric, mut points: Vec<(f64, f64)>) -> Option<Drift> {
    if points.len() < POINTS_MIN {
        return None;
    }
    points.order_by(|a, b| a.0.total_cmp(&b.0));
    let (course, first, last) = course(&points)?;
    let (words, constants) = row(metric, course)?;
    let load = points.first()?.0;
    let way = if first > 0.0 { "long" } else { "short" };
    let name = metric.name();
    let told = match course {
        Course::Constant => say!("{} is predicted too {} by about the same at every load ({})";
            name, way, first => Change),
        Course::Grows | Course::Shrinks => say!(
            "The error of the predicted {} {} with the load, from about {} at {} to {} at {}";
            name, course.word(), first => Change, load => Load, last => Change,
            points.last()?.0 => Load
        ),
    };
    let sentence = say!("{}: {}."; told, words);
    Some(Drift { metric, course, first, last, constants, sentence })
}

/// How errors go with the load, with the first and the last of them; absent where they say nothing.
fn course(points: &[(f64, f64)]) -> Option<(Course, f64, f64)> {
    let errors: Vec<f64> = points.iter().map(|(_, error)| *error).collect();
    let ends = || {
        let places: Vec<(f64, f64)> =
            points.iter().map(|(at, error)| (at.log2(), *error)).collect();
        let line = theil_sen(&places)?;
        Some((line.at(places.first()?.0), line.at(places.last()?.0)))
    };
    let is_trend = mann_kendall(&errors).is_some_and(|trend| trend.p / 2.0 <= CHANCE_MAX);
    if let Some((first, last)) = ends().filter(|_| is_trend)
        && (last - first).abs() >= ERROR_MIN
    {
        let course = if last.abs() >= first.abs() { Course::Grows } else { Course::Shrinks };
        return Some((course, first, last));
    }
    let mut sorted = errors.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = percentile_of_sorted(&sorted, 50.0).filter(|m| m.abs() >= ERROR_MIN)?;
    let is_same = |error: &f64| (error - median).abs() <= SPREAD_MAX * median.abs();
    errors.iter().all(is_same).then_some((Course::Constant, median, median))
}

/// The table above: what is said, and which constants that names.
fn row(metric: Metric, course: Course) -> Option<(&'static str, &'static [&'static str])> {
    use Course::{Constant, Grows, Shrinks};
    Some(match (metric, course) {
        (Metric::Itl | Metric::Tpot, Constant) => (
            "the share of the memory bandwidth is off, or, since one user is off by the same, \
             the host's time of a step",
            &["share of the memory bandwidth", "host's time of a step"],
        ),
        (Metric::Itl | Metric::Tpot, Grows) => (
            "the host's time for each sequence is off, or, with long contexts, the share of the \
             bandwidth at which keys and values are read",
            &["host's time for each sequence", "share of the bandwidth of keys and values"],
        ),
        (Metric::Itl | Metric::Tpot, Shrinks) => {
            ("the host's time of a step is off", &["host's time of a step"])
        }
        (Metric::Ttft, Constant) => (
            "the share of the arithmetic is off, or the time of the frontend",
            &["share of the arithmetic", "time of the frontend"],
        ),
        (Metric::Ttft, Grows) => (
            "the share of the arithmetic is off, or the number of sequences or the size of the KV \
             pool, which make the queue",
            &["share of the arithmetic", "number of sequences", "size of the KV pool"],
        ),
        (Metric::Ttft, Shrinks) => ("the time of the frontend is off", &["time of the frontend"]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Forecast, Speeds};
    use super::*;
    use ifm_metrics::level::Load;

    const LOADS: [u32; 6] = [1, 2, 4, 8, 16, 32];

    /// Measured 100 ms and 10 ms at every load; predicted with these errors.
    fn found(itl: impl Fn(f64) -> f64, ttft: impl Fn(f64) -> f64) -> Vec<Drift> {
        let point = |users: u32, itl_error: f64, ttft_error: f64| Speeds {
            load: Load::Users(users),
            in_flight: None,
            ttft_ms: Some(100.0 * (1.0 + ttft_error)),
            itl_ms: Some(10.0 * (1.0 + itl_error)),
            tpot_ms: None,
            e2e_ms: None,
            output_tok_per_s: None,
        };
        let measured = LOADS.map(|users| point(users, 0.0, 0.0));
        let predicted =
            LOADS.map(|users| point(users, itl(f64::from(users)), ttft(f64::from(users))));
        Forecast::of(&predicted, &measured).drifts
    }

    fn none(_: f64) -> f64 {
        0.0
    }

    /// Up to ±2 %, of no order.
    fn noise(users: f64) -> f64 {
        0.02 * (users * 37.0).sin()
    }

    #[test]
    fn every_row_of_the_table_is_named() {
        let constant = |users: f64| -0.12 + noise(users);
        let grows = |users: f64| -0.08 * users.log2() + noise(users);
        let shrinks = |users: f64| 0.4 / users + noise(users);
        let (first, course) = (|drift: &Drift| drift.constants[0], |drift: &Drift| drift.course);
        for (error, way, itl_constant, ttft_constant) in [
            (
                &constant as &dyn Fn(f64) -> f64,
                Course::Constant,
                "share of the memory bandwidth",
                "share of the arithmetic",
            ),
            (&grows, Course::Grows, "host's time for each sequence", "share of the arithmetic"),
            (&shrinks, Course::Shrinks, "host's time of a step", "time of the frontend"),
        ] {
            for (metric, drifts, constant) in [
                (Metric::Itl, found(error, none), itl_constant),
                (Metric::Ttft, found(none, error), ttft_constant),
            ] {
                let [drift] = &drifts[..] else { panic!("{way:?}: {drifts:?}") };
                assert_eq!((drift.metric, course(drift), first(drift)), (metric, way, constant));
            }
        }
    }

    #[test]
    fn the_sentence_has_the_errors_at_both_ends() {
        let drifts = found(|users| -0.08 * users.log2(), none);
        let [drift] = &drifts[..] else { panic!("{drifts:?}") };
        assert!((drift.first - 0.0).abs() < 1e-9 && (drift.last + 0.4).abs() < 1e-9, "{drift:?}");
        let numbers: Vec<f64> = drift.sentence.numbers().map(|(value, _)| value).collect();
        assert_eq!((numbers.len(), numbers[1], numbers[3]), (4, 1.0, 32.0));
    }

    #[test]
    fn noise_and_few_points_name_nothing() {
        // Large errors that go up and down, of both signs.
        let wild = [0.2, -0.15, 0.1, -0.2, 0.18, -0.1];
        let at =
            |users: f64| wild[LOADS.iter().position(|load| f64::from(*load) == users).unwrap()];
        assert_eq!(found(at, at), []);
        assert_eq!(found(noise, noise), []);
        // Small errors of one sign are small.
        assert_eq!(found(|_| 0.03, |_| -0.04), []);
        // One that is quite another.
        assert_eq!(course(&[(1.0, 0.1), (2.0, 0.1), (4.0, 0.1), (8.0, -0.1)]), None);
    }

    #[test]
    fn pure_noise_is_rarely_reported() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let named = (0..1000)
            .filter(|_| {
                let points: Vec<(f64, f64)> =
                    LOADS.iter().map(|users| (f64::from(*users), 0.4 * next())).collect();
                course(&points).is_some()
            })
            .count();
        // One of twenty for each direction, and a few that are equal by chance.
        assert!(named < 150, "{named} of 1000");
        assert!(named > 20, "the rule does name something: {named}");
    }
}
