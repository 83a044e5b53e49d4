//! Gaps between the tokens of one stream, by the number of concurrent streams and the workload.
//!
//! Gaps, times per token, speeds per user and scaling efficiencies express one quantity: speed is
//! the inverse of the gap, and efficiency is the gap of a single stream over its gap when others
//! run. Not here: what follows from them.

use super::subject::{LOAD, slack};
use super::{Cell, Subject};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, PartKind, RowRole, Statistic, key};

const MS_PER_S: f64 = 1e3;
/// Factors that tell one workload from another.
const WORKLOAD: [&str; 4] =
    [key::WORKLOAD, key::INPUT_TOKENS, key::OUTPUT_TOKENS, key::DEPTH_TOKENS];

/// A number that was rounded: the true one lies between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    fn of(figure: &Figure) -> Option<Interval> {
        let value = figure.canonical()?;
        let slack = slack(figure);
        let interval = Interval { low: value - slack, high: value + slack };
        (interval.low > 0.0 && interval.high.is_finite()).then_some(interval)
    }

    /// A speed per second as a gap in milliseconds, and back.
    fn inverse(self) -> Interval {
        Interval { low: MS_PER_S / self.high, high: MS_PER_S / self.low }
    }

    fn times(self, other: Interval) -> Interval {
        Interval { low: self.low * other.low, high: self.high * other.high }
    }

    fn over(self, other: Interval) -> Interval {
        Interval { low: self.low / other.high, high: self.high / other.low }
    }

    /// The middle.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// Which number a gap is: only gaps of the same sort are compared. Sentences do not say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    TpotMean,
    TpotMedian,
    ItlMean,
    UserRate,
    Said,
}

/// The gap between the tokens of a stream.
#[derive(Debug, Clone)]
pub(super) struct Stream<'c> {
    /// The row.
    pub cell: &'c Cell<'c>,
    /// Streams at a time.
    pub users: f64,
    /// Factors that identify the workload; may be empty.
    pub workload: Factors,
    /// Everything else that was set, but for the load.
    pub of: Factors,
    pub sort: Sort,
    /// Milliseconds.
    pub gap: Interval,
    /// Whether it follows from a stated efficiency.
    pub is_derived: bool,
}

impl Stream<'_> {
    /// The document.
    pub fn sheet(&self) -> *const Sheet {
        std::ptr::from_ref(self.cell.sheet)
    }

    /// Tokens of the prompt and of the context before it.
    pub fn prompt_tokens(&self) -> Option<f64> {
        let input = self.workload.number(key::INPUT_TOKENS)?;
        Some(input + self.workload.number(key::DEPTH_TOKENS).unwrap_or(0.0))
    }

    /// A name of the workload for sentences.
    pub fn workload_name(&self) -> String {
        let words = self.workload.iter().map(|(name, value)| match name {
            key::WORKLOAD => value.to_owned(),
            key::INPUT_TOKENS => format!("{value} prompt tokens"),
            key::OUTPUT_TOKENS => format!("{value} output tokens"),
            _ => format!("{name} {value}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The workload of a row, and all settings other than workload and load.
pub(super) fn split(factors: &Factors) -> (Factors, Factors) {
    let (mut workload, mut of) = (Factors::default(), Factors::default());
    for (name, value) in factors.iter().filter(|(name, _)| !LOAD.contains(name)) {
        let side = if WORKLOAD.contains(&name) { &mut workload } else { &mut of };
        side.set(name, value);
    }
    (workload, of)
}

/// Streams at a time of a row.
pub(super) fn users(cell: &Cell) -> Option<f64> {
    cell.factors.number(key::CONCURRENCY).filter(|users| *users >= 1.0)
}

/// The gap that a row gives, by its best figure.
pub(super) fn gap(cell: &Cell) -> Option<(Sort, Interval)> {
    use Statistic::{Mean, Median, Value};
    let known = [
        (Metric::Tpot, Mean, Sort::TpotMean),
        (Metric::Tpot, Value, Sort::TpotMean),
        (Metric::Tpot, Median, Sort::TpotMedian),
        (Metric::Itl, Mean, Sort::ItlMean),
        (Metric::Itl, Value, Sort::ItlMean),
        (Metric::UserSpeed, Mean, Sort::UserRate),
        (Metric::UserSpeed, Value, Sort::UserRate),
    ];
    known.into_iter().find_map(|(quantity, statistic, sort)| {
        let interval = Interval::of(cell.row.figure(quantity, statistic)?)?;
        let is_speed = quantity == Metric::UserSpeed;
        let sort = if cell.row.role == RowRole::Stated { Sort::Said } else { sort };
        Some((sort, if is_speed { interval.inverse() } else { interval }))
    })
}

/// All streams of the documents that say how many there were: measured ones and stated ones, and
/// those that follow from stated efficiencies.
pub(super) fn streams<'s>(subject: &'s Subject<'s>) -> Vec<Stream<'s>> {
    let mut found = Vec::new();
    for role in [RowRole::Measured, RowRole::Stated] {
        for cell in subject.cells(role) {
            // A static batch and an engine compute no prompts of other requests between their
            // tokens.
            if matches!(cell.part.kind, PartKind::StaticBatch | PartKind::Engine) {
                continue;
            }
            let Some((users, (sort, gap))) = users(cell).zip(gap(cell)) else { continue };
            let (workload, of) = split(&cell.factors);
            found.push(Stream { cell, users, workload, of, sort, gap, is_derived: false });
        }
    }
    let derived: Vec<Stream> = subject
        .cells(RowRole::Stated)
        .filter_map(|cell| Some((cell, users(cell).filter(|users| *users > 1.0)?)))
        .filter_map(|(cell, users)| derive(cell, users, &found))
        .collect();
    found.extend(derived);
    found
}

/// Efficiency is the gap of a stream by itself over that among others: the one from the other.
fn derive<'s>(cell: &'s Cell<'s>, users: f64, known: &[Stream<'s>]) -> Option<Stream<'s>> {
    let efficiency = Interval::of(cell.row.figure(Metric::Efficiency, Statistic::Value)?)?;
    let (workload, of) = split(&cell.factors);
    let at = |users: f64| {
        known.iter().find(|stream| {
            stream.sort == Sort::Said
                && stream.users == users
                && stream.sheet() == std::ptr::from_ref(cell.sheet)
                && (&stream.workload, &stream.of) == (&workload, &of)
        })
    };
    let (users, gap) = match (at(1.0), at(users)) {
        (Some(alone), None) => (users, alone.gap.over(efficiency)),
        (None, Some(among)) => (1.0, among.gap.times(efficiency)),
        _ => return None,
    };
    Some(Stream { cell, users, workload, of, sort: Sort::Said, gap, is_derived: true })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{row, sheet};
    use super::*;
    use ifm_core::sheet::Unit;

    #[test]
    fn speeds_gaps_and_efficiencies_are_equivalent() {
        let stated = |quantity, printed: &str, unit, users: u32| {
            let mut row = row(4, &[(quantity, Statistic::Value, printed, unit)]);
            row.role = RowRole::Stated;
            row.factors = row.factors.with(key::CONCURRENCY, users).with(key::WORKLOAD, "Chat");
            row
        };
        let sheet = sheet(
            PartKind::Conclusion,
            vec![
                stated(Metric::UserSpeed, "100", Unit::PerS, 1),
                stated(Metric::Efficiency, "50", Unit::Percent, 8),
            ],
        );
        let sheets = [sheet];
        let subject = Subject::new(&sheets);
        let found = streams(&subject);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert_eq!(found.len(), 2);
        assert!(near(found[0].gap.low, 1e3 / 100.5) && near(found[0].gap.high, 1e3 / 99.5));
        assert_eq!((found[1].users, found[1].is_derived), (8.0, true));
        assert!(near(found[1].gap.low, 1e3 / 100.5 / 0.505), "{:?}", found[1].gap);
        assert_eq!(found[0].workload_name(), "Chat");
    }
}
