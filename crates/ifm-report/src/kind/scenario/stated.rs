//! What is shown of a document that states figures and holds no data.

use super::data::Data;
use super::dispute::Dispute;
use crate::format::{ABSENT, count, meant, plain};
use crate::model::load;
use crate::page::{Block, Cell, Columns, Head, Section};
use ifm_core::Metric;
use ifm_core::sheet::{RowRole, Statistic, key, meaning};
use ifm_results::{CurvePoint, Point, Results, Stat};
use ifm_rules::insight::{Meant, Tone, user_speed_curves};

/// Before any number.
const BANNER: &str = "⚠ The document states these figures and shows no data: none of \
     them was measured here, and none can be checked against requests.";
/// What an import calls a number of use cases.
const USE_CASES: &str = "use cases";
/// Sentences in the table, at most.
const ROWS_MAX: usize = 100;

/// What is said before any number: that nothing was measured here, and how many use cases the
/// document counts and gives no figure of.
pub(super) fn banners(results: &Results, named: &[String]) -> Vec<String> {
    let mut banners = vec![BANNER.to_owned()];
    let unnamed: Vec<&str> = [(key::MODEL, "model"), (key::GPU, "GPU")]
        .into_iter()
        .filter(|(name, _)| results.points.iter().all(|point| point.factor(name).is_none()))
        .map(|(_, word)| word)
        .collect();
    if !unnamed.is_empty() {
        banners.push(format!(
            "⚠ The document names no {}: its figures cannot be compared with a machine's limit.",
            unnamed.join(" and no ")
        ));
    }
    let quantity = Metric::other(USE_CASES);
    let counts = results.of_role(RowRole::Stated);
    let counts = counts.filter_map(|point| point.value(quantity, Statistic::Value));
    let counted = counts.fold(0.0, f64::max);
    let named: Vec<&str> =
        named.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let missing = counted - named.len() as f64;
    if missing > 0.0 {
        banners.push(format!(
            "⚠ {} of {} use cases are missing: the document gives figures in words for {} alone, \
             and nothing here speaks of the others.",
            count(missing as u64),
            count(counted as u64),
            named.join(" and ")
        ));
    }
    banners
}

/// What stated speeds for one user imply for the whole server, where its output is not stated:
/// users times speed. It is what comes out while all of them get tokens, so what comes out over the
/// whole time is at most that.
pub(super) fn implied_output(data: &Data, dispute: Option<Dispute>) -> Option<Block> {
    let is_told = data.users.cells.iter().any(|cell| cell.central(Metric::OutputRate).is_some());
    if !data.is_stated || is_told {
        return None;
    }
    let mut rows: Vec<(String, CurvePoint)> = Vec::new();
    for curve in data.ordered(user_speed_curves(&data.users, &data.by)) {
        let name = plain(&curve.name());
        let many = curve.points.into_iter().filter(|point| point.at > 1.0);
        rows.extend(many.map(|point| (name.clone(), point)));
    }
    let columns = Columns::<(String, CurvePoint)>::default()
        .name("use case", |(name, _)| name.clone())
        .cell(Head::number("users"), |(_, point)| Cell {
            value: Some(point.at),
            ..Cell::text(load(point.cell.load()))
        })
        .cell(Head::number("speed for one"), |(_, point)| {
            let speed = point.stat.value;
            let each = Cell::number(Some(speed), |speed| meant(speed, Meant::TokPerS));
            disputed(each, dispute.is_some_and(|dispute| dispute.is_speed(speed)))
        })
        .number(
            "output, at most",
            |(_, point)| Some(point.at * point.stat.value),
            |all| meant(all, Meant::TokPerS),
        );
    let caption = "Computed from stated figures, not stated: users × speed for one of them, which is \
                   what comes out while all of them get tokens. Waits for first tokens reduce it, \
                   so this is the maximum over the whole time.";
    (!rows.is_empty()).then(|| Block::Table(columns.table(caption, rows)))
}

/// A cell, marked where the checks do not believe it.
fn disputed(cell: Cell, is_disputed: bool) -> Cell {
    if is_disputed { cell.noted("⚠ disputed").toned(Tone::Warn) } else { cell }
}

/// Why there is no capacity.
pub(super) fn no_capacity(is_stated: bool) -> Option<Section> {
    let words = "A capacity needs measured percentiles at several loads; the document states none.";
    is_stated.then(|| Section::new("How many users fit", vec![Block::Prose(words.to_owned())]))
}

/// Every stated figure with its sentence.
pub(super) fn figures(results: &Results, dispute: Option<Dispute>) -> Section {
    let mut rows: Vec<Figure> = Vec::new();
    for point in results.of_role(RowRole::Stated) {
        let mut stats = point.stats.iter().peekable();
        while let Some(reading) = stats.next() {
            // The two ends of a range are one figure.
            let is_end = |other: &&Stat| {
                let ends = (reading.statistic, other.statistic);
                other.metric == reading.metric && ends == (Statistic::Min, Statistic::Max)
            };
            rows.push(Figure { point, reading, end: stats.next_if(is_end) });
        }
    }
    rows.truncate(ROWS_MAX);
    let heading = "What the document states";
    if rows.is_empty() {
        return Section::new(heading, Vec::new());
    }
    let or_absent = |text: Option<&str>| text.map_or(ABSENT.to_owned(), plain);
    let columns = Columns::<Figure>::default()
        .number(
            "line",
            |of| {
                let place = of.reading.place.as_ref().unwrap_or(&of.point.place);
                place.line.map(f64::from)
            },
            |line| meant(line, Meant::Count),
        )
        .text("quantity", |of| plain(&quantity_words(of.reading.metric)))
        .cell(Head::number("figure"), |of| of.cell(dispute))
        .text("statistic", Figure::statistic)
        .text("use case", |of| or_absent(of.point.factor(key::WORKLOAD).as_deref()))
        .cell(Head::number("users"), |of| Cell {
            value: of.point.load.map(|at| at.value()),
            ..Cell::text(of.point.load.map_or(ABSENT.to_owned(), |at| load(Some(at))))
        })
        .text("sentence", |of| or_absent(of.point.text.as_deref()));
    let caption = "Every figure stated in a sentence. Figures that no sentence states are missing.";
    Section::new(heading, vec![Block::Table(columns.table(caption, rows))])
}

/// A stated figure; of a range with its other end.
struct Figure<'s> {
    point: &'s Point,
    reading: &'s Stat,
    end: Option<&'s Stat>,
}

impl Figure<'_> {
    fn cell(&self, dispute: Option<Dispute>) -> Cell {
        let value = self.reading.value;
        let cell = match self.end {
            Some(end) => Cell::text(format!("{} to {}", written(self.reading), written(end))),
            None => Cell { value: Some(value), ..Cell::text(written(self.reading)) },
        };
        let is_disputed = |dispute: Dispute| match self.reading.metric {
            Metric::Itl | Metric::Tpot => dispute.is_gap(value),
            Metric::UserSpeed => dispute.is_speed(value),
            _ => false,
        };
        disputed(cell, dispute.is_some_and(is_disputed))
    }

    fn statistic(&self) -> String {
        match (self.reading.statistic, self.end) {
            (_, Some(_)) => "range".to_owned(),
            (Statistic::Min, None) => "from".to_owned(),
            (Statistic::Max, None) => "up to".to_owned(),
            (Statistic::Mean, None) => "mean".to_owned(),
            (Statistic::Median, None) => "median".to_owned(),
            (Statistic::Percentile(p), None) => format!("p{p}"),
            _ => ABSENT.to_owned(),
        }
    }
}

/// How a quantity is written.
fn how(quantity: Metric) -> Meant {
    match quantity {
        Metric::Ttft | Metric::Itl | Metric::Tpot | Metric::E2e => Meant::Ms,
        Metric::UserSpeed | Metric::OutputRate | Metric::TotalRate => Meant::TokPerS,
        Metric::Efficiency | Metric::ErrorRate => Meant::Share,
        Metric::RequestRate => Meant::ReqPerS,
        Metric::Other(name) if name.as_str() == USE_CASES => Meant::Count,
        other => meaning::behind(other).map_or(Meant::Plain, |(_, inner)| how(inner)),
    }
}

/// A figure as it is printed, where that says more than our digits.
fn written(reading: &Stat) -> String {
    match (how(reading.metric), &reading.printed) {
        (Meant::TokPerS, Some(printed)) => plain(&format!("{printed} tok/s")),
        (how, _) => meant(reading.value, how),
    }
}

/// A quantity in words.
fn quantity_words(quantity: Metric) -> String {
    match meaning::behind(quantity) {
        Some((of, inner)) => format!("{of} {inner}"),
        None => quantity.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_words() {
        for (name, expect) in [
            ("limit of Itl", "limit of ITL"),
            ("supposed Efficiency", "supposed efficiency"),
            ("use cases", "use cases"),
        ] {
            assert_eq!(quantity_words(Metric::other(name)), expect);
        }
        assert_eq!(quantity_words(Metric::Ttft), Metric::Ttft.to_string());
    }
}
