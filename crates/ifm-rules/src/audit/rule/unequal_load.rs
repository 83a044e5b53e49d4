//! Two curves are compared at equal load, not each at its own end.

use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use super::stated_ratio::parts;
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic, key};

pub(super) const RULE: Rule =
    Rule { id: "unequal_load", title: "compared figures were measured at equal load", look };

/// Share by which two loads may differ and count as equal.
const EQUAL: f64 = 0.1;
/// Times that grow with load.
const TIMES: [Metric; 4] = [Metric::Itl, Metric::Tpot, Metric::Ttft, Metric::E2e];
/// Quantities that state a load, and their names.
const LOADS: [(Metric, &str); 2] =
    [(Metric::RequestRate, "requests per second"), (Metric::InFlight, "requests in flight")];

/// A stated ratio of one model's time at a high and at a low load, with the rows that hold them.
struct Growth<'c> {
    stated: &'c Cell<'c>,
    ratio: f64,
    high_time: f64,
    low_time: f64,
    time: Metric,
    high: &'c Cell<'c>,
    rows: Vec<&'c Cell<'c>>,
}

fn look(subject: &Subject) -> Looked {
    let growths: Vec<Growth> =
        subject.cells(RowRole::Stated).filter_map(|stated| growth(subject, stated)).collect();
    let mut compared = 0;
    let mut findings = Vec::new();
    for (index, a) in growths.iter().enumerate() {
        for b in growths.iter().skip(index + 1) {
            let is_pair = a.time == b.time
                && std::ptr::eq(a.stated.part, b.stated.part)
                && a.stated.factors.get(key::MODEL) != b.stated.factors.get(key::MODEL);
            if !is_pair {
                continue;
            }
            compared += 1;
            // The one whose time grows more by the document.
            let (more, less) = if a.ratio > b.ratio { (a, b) } else { (b, a) };
            findings.extend(tell(more, less));
        }
    }
    match compared {
        0 => Looked::Needs("ratios of times at a high and a low load, of two models"),
        _ => Looked::Found(findings),
    }
}

fn tell(more: &Growth, less: &Growth) -> Option<Finding> {
    let mut words = Vec::new();
    let mut reverses = false;
    let mut evidence = Vec::new();
    for (quantity, name) in &LOADS {
        let Some(statistic) = statistic(&[more, less], *quantity) else { continue };
        let of = |cell: &Cell| load(cell, *quantity, statistic);
        let (Some(load_more), Some(load_less)) = (of(more.high), of(less.high)) else { continue };
        if (load_more / load_less - 1.0).abs() <= EQUAL {
            continue;
        }
        let equal = load_more.min(load_less);
        let kind = match statistic {
            Statistic::Mean => " on average",
            Statistic::Median => " (median)",
            _ => "",
        };
        let at = |growth: &Growth| Some(growth.at(equal, of)? / growth.low_time);
        let (Some(ratio_more), Some(ratio_less)) = (at(more), at(less)) else {
            words.push(format!(
                "these are {load_more} and {load_less} {name}{kind}, and only one of them was \
                 measured near {equal}"
            ));
            evidence.push((format!("{name} of the first"), load_more));
            evidence.push((format!("{name} of the second"), load_less));
            continue;
        };
        let does = ratio_more < ratio_less;
        reverses |= does;
        let load_of = |growth: &Growth| growth.nearest(equal, of).map(|(load, _)| load);
        let is_same = load_of(more) == load_of(less);
        words.push(format!(
            "at {}{equal} {name}{kind} for both they are {ratio_more:.2} and {ratio_less:.2}{}",
            if is_same { "" } else { "about " },
            if does { ", the other way round" } else { "" }
        ));
        evidence.push((format!("{name} of both"), equal));
        evidence.push(("ratio of the first".to_owned(), ratio_more));
        evidence.push(("ratio of the second".to_owned(), ratio_less));
    }
    if words.is_empty() {
        return None;
    }
    let text = format!(
        "the {} grows {} and {} times, each up to its own highest load; {}",
        more.time,
        more.words(),
        less.words(),
        words.join("; ")
    );
    let level = if reverses { Level::Strong } else { Level::Hint };
    let spots: [Spot; 4] =
        [more.stated.spot(), less.stated.spot(), more.high.spot(), less.high.spot()];
    let finding = Finding::new(RULE.id, level, text)
        .at_all(spots)
        .remedy("compare at the same rate, or at the same number in flight");
    Some(evidence.iter().fold(finding, |finding, (name, value)| finding.with(name, *value, "")))
}

impl Growth<'_> {
    /// The ratio of the times, and the stated one where it is written otherwise.
    fn words(&self) -> String {
        let own = format!("{:.2}", self.high_time / self.low_time);
        match format!("{:.2}", self.ratio) {
            stated if stated == own => own,
            stated => format!("{own} (stated as {stated})"),
        }
    }

    /// The time that was measured at a load, or near enough to be equal; nothing is interpolated.
    fn at(&self, at: f64, load: impl Fn(&Cell) -> Option<f64>) -> Option<f64> {
        self.nearest(at, load).map(|(_, time)| time)
    }

    /// The measured load that is nearest to this one and equals it, with its time.
    fn nearest(&self, at: f64, load: impl Fn(&Cell) -> Option<f64>) -> Option<(f64, f64)> {
        let far = |(load, _): &(f64, f64)| (load / at - 1.0).abs();
        self.rows
            .iter()
            .filter_map(|cell| Some((load(cell)?, value(cell.central(self.time)?)?)))
            .filter(|point| far(point) <= EQUAL)
            .min_by(|a, b| far(a).total_cmp(&far(b)))
    }
}

fn growth<'s>(subject: &'s Subject, stated: &'s Cell<'s>) -> Option<Growth<'s>> {
    let (ratio, above, below) = parts(stated)?;
    let rows: Vec<&Cell> = subject
        .cells(RowRole::Measured)
        .filter(|cell| {
            std::ptr::eq(cell.sheet, stated.sheet)
                && cell.factors.get(key::MODEL) == stated.factors.get(key::MODEL)
                // Rates that nothing bounds have no load of their own.
                && cell.factors.get(key::STRATEGY) != Some("throughput")
        })
        .collect();
    let holds = |time: Metric, sought: &Figure| {
        let is_same = |cell: &&&Cell| cell.central(time).and_then(|f| f.value) == sought.value;
        rows.iter().find(is_same).copied()
    };
    TIMES.iter().find_map(|&time| {
        let (high, low) = (holds(time, above)?, holds(time, below)?);
        let (high_time, low_time) = (value(high.central(time)?)?, value(low.central(time)?)?);
        let ratio = ratio.canonical()?;
        Some(Growth { stated, ratio, high_time, low_time, time, high, rows: rows.clone() })
    })
}

fn value(figure: &Figure) -> Option<f64> {
    figure.canonical().filter(|value| *value > 0.0)
}

/// The statistic by which the loads of all these rows are stated: of requests in flight the mean,
/// which agrees with the number of requests and their latency; of a rate the median, which a ramp
/// does not move.
fn statistic(growths: &[&Growth], quantity: Metric) -> Option<Statistic> {
    let order = match quantity {
        Metric::InFlight => [Statistic::Value, Statistic::Mean, Statistic::Median],
        _ => [Statistic::Median, Statistic::Value, Statistic::Mean],
    };
    let rows = || growths.iter().flat_map(|growth| &growth.rows);
    order
        .into_iter()
        .find(|statistic| rows().all(|cell| load(cell, quantity, *statistic).is_some()))
}

/// The load of a row.
fn load(cell: &Cell, quantity: Metric, statistic: Statistic) -> Option<f64> {
    cell.row.value(quantity, statistic).filter(|load| *load > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, PartKind, Place, Row, Unit};

    fn levels(model: &str, line: u32, points: &[(&str, &str)]) -> Vec<Row> {
        let level = |(line, (rate, itl)): (u32, &(&str, &str))| {
            let mut row = row(
                line,
                &[
                    (Metric::RequestRate, Statistic::Median, *rate, Unit::PerS),
                    (Metric::Itl, Statistic::Median, *itl, Unit::Ms),
                ],
            );
            row.factors.set(key::MODEL, model);
            row
        };
        (line..).zip(points).map(level).collect()
    }

    fn stated(model: &str, line: u32, [ratio, above, below]: [&str; 3]) -> Row {
        let other = |name: &str| Metric::other(name);
        let unit = || Unit::Other(String::new());
        let mut row = row(
            line,
            &[
                (Metric::Ratio, Statistic::Value, ratio, Unit::One),
                (other("numerator"), Statistic::Value, above, unit()),
                (other("denominator"), Statistic::Value, below, unit()),
            ],
        );
        row.role = RowRole::Stated;
        row.factors.set(key::MODEL, model);
        row
    }

    /// Red goes to 4 per second, or to 2 as blue does.
    fn document(goes_to_four: bool) -> Sheet {
        let mut red = levels("red", 3, &[("1.0", "10.0"), ("2.0", "14.0"), ("4.0", "30.0")]);
        let mut ratio = stated("red", 20, ["3.0", "30.0", "10.0"]);
        if !goes_to_four {
            red.pop();
            ratio = stated("red", 20, ["1.4", "14.0", "10.0"]);
        }
        red.extend(levels("blue", 9, &[("1.0", "20.0"), ("2.0", "40.0")]));
        let mut sheet = sheet(PartKind::Serving, red);
        let mut part = Part::new(PartKind::Conclusion, Place::line(20));
        part.rows = vec![ratio, stated("blue", 21, ["2.0", "40.0", "20.0"])];
        sheet.parts.push(part);
        sheet
    }

    #[test]
    fn reports_a_headline_that_reverses_at_equal_load() {
        let corrupt = |sheet: &mut Sheet| *sheet = document(true);
        let word = "at 2 requests per second (median) for both they are 1.40 and 2.00, the other way round";
        check("unequal_load", &document(false), corrupt, Level::Strong, word);
    }

    /// Blue was measured at 1 and 2 per second, red at 1, 1.5 and 4: what red takes at 2 is unknown.
    #[test]
    fn interpolates_nothing() {
        let corrupt = |sheet: &mut Sheet| {
            *sheet = document(true);
            let rate = Unit::PerS;
            let median = (Metric::RequestRate, Statistic::Median, "1.5", rate);
            sheet.parts[0].rows[1].figures[0] = row(4, &[median]).figures[0].clone();
        };
        let word = "these are 4 and 2 requests per second (median), and only one of them was \
                    measured near 2";
        check("unequal_load", &document(false), corrupt, Level::Hint, word);
    }
}
