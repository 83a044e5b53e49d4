//! The requested rate is the rate that was measured.

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{RowRole, Statistic, key};

pub(super) const RULE: Rule =
    Rule { id: "asked_rate", title: "requests are answered at the requested rate", look };

/// Share by which the actual rate may be lower, in addition to random variation of the arrivals:
/// this many standard deviations of their number.
const TOLERANCE: f64 = 0.15;
const DEVIATIONS: f64 = 2.0;
/// How many times lower it is where no innocent reason is left.
const STRONG: f64 = 1.5;

/// A level with the requested and the achieved rate.
struct Pace<'c> {
    cell: &'c Cell<'c>,
    asked: f64,
    /// The most that a server which keeps up would have reached.
    expected: f64,
    reached: f64,
    /// Share that chance explains.
    chance: f64,
}

impl Pace<'_> {
    fn level(&self) -> Option<Level> {
        let share = self.reached / self.expected;
        let is_below = share < 1.0 - TOLERANCE - self.chance;
        let is_far = share * STRONG < 1.0 - self.chance;
        is_below.then_some(if is_far { Level::Strong } else { Level::Hint })
    }
}

fn look(subject: &Subject) -> Looked {
    let levels: Vec<Pace> = subject.cells(RowRole::Measured).filter_map(level).collect();
    if levels.is_empty() {
        return Looked::Needs("rows with the requested and the achieved rate");
    }
    let mut below: Vec<&Pace> = levels.iter().filter(|level| level.level().is_some()).collect();
    below.order_by(|a, b| (a.reached / a.expected).total_cmp(&(b.reached / b.expected)));
    let Some(worst) = below.first() else { return Looked::Found(Vec::new()) };
    let text = format!(
        "{} of {} levels stay below the requested rate, such as {}: {:.2} of {:.2} requests per \
         second{}: unanswered requests piled up, so latencies grow with the length of the run",
        below.len(),
        levels.len(),
        worst.cell.name(),
        worst.reached,
        worst.asked,
        match worst.expected < 0.99 * worst.asked {
            true => format!(" ({:.2} where the last answers are waited for)", worst.expected),
            false => String::new(),
        }
    );
    let level = below.iter().filter_map(|level| level.level()).max().unwrap_or(Level::Hint);
    let finding = Finding::new(RULE.id, level, text)
        .at_all(below.iter().map(|level| level.cell.spot()))
        .with("reached", worst.reached, "/s")
        .with("asked for", worst.asked, "/s")
        .remedy("name the level by the achieved rate, or report it as overload");
    Looked::Found(vec![finding])
}

fn level<'c>(cell: &'c Cell<'c>) -> Option<Pace<'c>> {
    let asked = cell.factors.number(key::RATE).filter(|rate| *rate > 0.0)?;
    let figure = cell.central(Metric::RequestRate)?;
    let value = |quantity: Metric| cell.row.value(quantity, Statistic::Value);
    let ok = value(Metric::RequestsOk).filter(|ok| *ok >= 1.0)?;
    // Those that failed arrived as well.
    let all = ok + value(Metric::RequestsFailed).unwrap_or(0.0);
    let reached = (figure.canonical()? + slack(figure)) * all / ok;
    // From the first request to the last answer: arrivals take all / asked, and the last of them
    // may be the slowest.
    let slowest = [Statistic::Max, Statistic::Percentile(99.0), Statistic::Percentile(95.0)];
    let last_ms = slowest
        .into_iter()
        .chain([Statistic::Mean])
        .find_map(|statistic| cell.row.value(Metric::E2e, statistic));
    let expected = all / (all / asked + last_ms? / 1e3);
    let chance = DEVIATIONS / all.sqrt();
    Some(Pace { cell, asked, expected, reached, chance })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    /// 1000 requests at 20 per second arrive in 50 s.
    fn document(reached: &str, requests: &str, p99: &str) -> Sheet {
        let value = Statistic::Value;
        let mut row = row(
            3,
            &[
                (Metric::RequestRate, value, reached, Unit::PerS),
                (Metric::RequestsOk, value, requests, Unit::Count),
                (Metric::E2e, Statistic::Percentile(99.0), p99, Unit::S),
            ],
        );
        row.factors.set(key::RATE, 20);
        sheet(PartKind::Serving, vec![row])
    }

    #[test]
    fn reports_a_rate_that_was_not_reached() {
        let sound = document("18.50", "1000", "4.00");
        let far = |sheet: &mut Sheet| *sheet = document("11.00", "1000", "4.00");
        check("asked_rate", &sound, far, Level::Strong, "11.01 of 20.00 requests per second");
        let some = |sheet: &mut Sheet| *sheet = document("13.00", "1000", "4.00");
        check("asked_rate", &sound, some, Level::Hint, "18.52 where the last answers");
    }

    #[test]
    fn what_chance_and_the_last_answers_explain_is_left_alone() {
        // Ten requests arrive in half a second, and the last of them takes 4 s.
        assert_eq!(found("asked_rate", &[document("2.30", "10", "4.00")]), []);
        // Twenty may be spread over 1.5 s as well as over one.
        assert_eq!(found("asked_rate", &[document("12.00", "20", "0.10")]), []);
        let mut open = document("11.00", "1000", "4.00");
        open.parts[0].rows[0].factors.set(key::RATE, "inf");
        assert_eq!(found("asked_rate", &[open]), []);
        // Those that failed arrived as well.
        let mut failed = document("11.00", "600", "4.00");
        let figure = (Metric::RequestsFailed, Statistic::Value, "400", Unit::Count);
        failed.parts[0].rows[0].figures.extend(row(3, &[figure]).figures);
        assert_eq!(found("asked_rate", &[failed]), []);
    }
}
