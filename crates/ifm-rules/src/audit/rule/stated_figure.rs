//! A figure in prose occurs in the rows that it was taken from.
//!
//! Reported if a sentence names a model and a quantity, rows of that model have the quantity, and
//! no row has the figure: not by any statistic, not at any load, and not as the mean of all; in a
//! sentence about a change, not as the difference of two either. Limits, targets, estimates and
//! measurements by others are not figures of the document.

use super::super::sentence::{Sentence, sentences};
use super::super::subject::{shown, slack};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, Statistic, key};

pub(super) const RULE: Rule =
    Rule { id: "stated_figure", title: "figures in prose agree with their rows", look };

/// Quantities that are sought, and under which names a table may hold them.
const SOUGHT: [(Metric, &[Metric]); 10] = [
    (Metric::Ttft, &[Metric::Ttft, Metric::Prefill]),
    (Metric::Itl, &[Metric::Itl, Metric::Tpot]),
    (Metric::Tpot, &[Metric::Itl, Metric::Tpot]),
    (Metric::InFlight, &[Metric::InFlight, Metric::PeakInFlight]),
    (Metric::RequestRate, &[Metric::RequestRate, Metric::Goodput]),
    (Metric::OutputRate, &RATES),
    (Metric::InputRate, &RATES),
    (Metric::TotalRate, &RATES),
    (Metric::DecodeRate, &RATES),
    (Metric::PrefillRate, &RATES),
];
/// Tokens per second, which sentences name loosely.
const RATES: [Metric; 7] = [
    Metric::OutputRate,
    Metric::InputRate,
    Metric::TotalRate,
    Metric::PeakOutputRate,
    Metric::UserSpeed,
    Metric::DecodeRate,
    Metric::PrefillRate,
];
/// Words with which a sentence gives no figure of its own rows, or no exact one.
const OTHERS: [&str; 46] = [
    "≤",
    "<",
    "≥",
    ">",
    "~",
    "≈",
    "±",
    "target",
    "slo",
    "sla",
    "limit",
    "threshold",
    "would",
    "could",
    "should",
    "about",
    "around",
    "roughly",
    "approximately",
    "nearly",
    "almost",
    "up to",
    "under ",
    "below",
    "above",
    "over ",
    "at least",
    "at most",
    "less than",
    "more than",
    "reference",
    "expect",
    "estimat",
    "theor",
    "predict",
    "paper",
    "claim",
    "advertis",
    "ideal",
    "goal",
    "assum",
    "previous",
    "earlier",
    "another",
    "average of",
    "if ",
];
/// Words with which a sentence may give a difference.
const CHANGES: [&str; 21] = [
    " by ", "grow", "grew", "rise", "rose", "increas", "decreas", "drop", "fall", "fell", "differ",
    "gap ", "more", "less", "gain", "faster", "slower", "higher", "lower", "reduc", "sav",
];
/// What sets rows apart that may be of another measurement.
const APART: [&str; 4] = [key::GPU, key::ENGINE, key::CONDITION, key::QUANTIZATION];
/// Digits of a figure that is not a coincidence.
const DIGITS: usize = 3;
/// Figures of one statistic whose pairs are tried at most.
const PAIRED_MAX: usize = 500;

fn look(subject: &Subject) -> Looked {
    let sentences = sentences(subject);
    let mut seen = 0;
    let mut findings = Vec::new();
    for cell in subject.cells(RowRole::Stated) {
        let is_of = |sentence: &&Sentence| {
            Some(sentence.text) == cell.row.text.as_deref()
                && std::ptr::eq(sentence.cell.sheet, cell.sheet)
        };
        let Some(sentence) = sentences.iter().find(is_of) else { continue };
        if sentence.says(&OTHERS) {
            continue;
        }
        for figure in &cell.row.figures {
            let Some(names) = names_of(figure) else { continue };
            let rows = rows(subject, cell, names);
            let held: Vec<&Figure> = rows.iter().flat_map(|row| figures(row, names)).collect();
            if held.is_empty() {
                continue;
            }
            seen += 1;
            if !is_held(figure, &held, sentence.says(&CHANGES)) {
                findings.push(tell(subject, cell, figure, sentence, &held));
            }
        }
    }
    match seen {
        0 => {
            Looked::Needs("figures in prose of a model and a quantity that rows were measured for")
        }
        _ => Looked::Found(findings),
    }
}

fn names_of(figure: &Figure) -> Option<&'static [Metric]> {
    let is_printed = figure.printed.is_some() && figure.canonical().is_some_and(|v| v > 0.0);
    let central = [Statistic::Value, Statistic::Mean, Statistic::Median, Statistic::Max];
    let is_one = central.contains(&figure.statistic)
        || matches!(figure.statistic, Statistic::Percentile(_) | Statistic::Min);
    let found = SOUGHT.iter().find(|(quantity, _)| *quantity == figure.quantity)?;
    (is_printed && is_one).then_some(found.1)
}

/// Whether a sentence itself says which model its figure is of, and gives no second of its kind:
/// "from 100 ms to 80 ms" may be of two.
fn is_of_model(subject: &Subject, stated: &Cell) -> bool {
    let quantity = |cell: &Cell| cell.row.figures.first().map(|figure| figure.quantity);
    let others = subject.cells(RowRole::Stated).filter(|other| {
        std::ptr::eq(other.sheet, stated.sheet)
            && other.row.text == stated.row.text
            && other.row.factors.get(key::MODEL) == stated.row.factors.get(key::MODEL)
            && quantity(other) == quantity(stated)
    });
    stated.row.factors.get(key::MODEL).is_some() && others.count() == 1
}

/// Rows of the model of a sentence that hold one of the quantities; of all models where it leaves
/// open which one is meant.
fn rows<'s>(subject: &'s Subject<'s>, stated: &Cell, names: &[Metric]) -> Vec<&'s Cell<'s>> {
    let Some(model) = stated.factors.get(key::MODEL) else { return Vec::new() };
    let is_named = is_of_model(subject, stated);
    let is_same =
        |cell: &Cell, name: &str| match (stated.row.factors.get(name), cell.factors.get(name)) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
    let roles = [RowRole::Measured, RowRole::Summary].into_iter();
    roles
        .flat_map(|role| subject.cells(role))
        .filter(|cell| {
            std::ptr::eq(cell.sheet, stated.sheet)
                && (!is_named || cell.factors.get(key::MODEL) == Some(model))
                && APART.iter().all(|name| is_same(cell, name))
                && !figures(cell, names).is_empty()
        })
        .collect()
}

fn figures<'c>(cell: &'c Cell, names: &[Metric]) -> Vec<&'c Figure> {
    let is_meant =
        |figure: &&Figure| names.contains(&figure.quantity) && figure.canonical().is_some();
    cell.row.figures.iter().filter(is_meant).collect()
}

/// Whether a figure is one of these or the mean of all; if the sentence states a change, also the
/// difference of two.
fn is_held(stated: &Figure, held: &[&Figure], is_change: bool) -> bool {
    let Some(value) = stated.canonical() else { return true };
    // A digit may have been cut off.
    let open = 2.0 * slack(stated);
    let near = |other: f64, more: f64| (value - other).abs() <= open + more + 1e-9 * value.abs();
    let known: Vec<(f64, f64)> =
        held.iter().filter_map(|figure| Some((figure.canonical()?, slack(figure)))).collect();
    if known.iter().any(|(other, more)| near(*other, *more)) {
        return true;
    }
    for figure in held {
        let alike: Vec<f64> = held
            .iter()
            .filter(|f| f.quantity == figure.quantity && f.statistic == figure.statistic)
            .filter_map(|f| f.canonical())
            .collect();
        if near(alike.iter().sum::<f64>() / alike.len().max(1) as f64, slack(figure)) {
            return true;
        }
    }
    // Too many pairs hold any number.
    if !is_change || known.len() > PAIRED_MAX {
        return is_change;
    }
    let like = |a: &Figure, b: &Figure| a.quantity == b.quantity && a.statistic == b.statistic;
    held.iter().zip(&known).enumerate().any(|(at, (figure, (a, more)))| {
        held.iter()
            .zip(&known)
            .skip(at + 1)
            .any(|(other, (b, further))| like(figure, other) && near((a - b).abs(), more + further))
    })
}

fn tell(
    subject: &Subject,
    cell: &Cell,
    figure: &Figure,
    sentence: &Sentence,
    held: &[&Figure],
) -> Finding {
    let model = cell.factors.get(key::MODEL).unwrap_or_default();
    let others = subject
        .cells(RowRole::Stated)
        .filter(|other| std::ptr::eq(other.sheet, cell.sheet) && other.row.text == cell.row.text);
    let is_sole = others.filter_map(|other| other.factors.get(key::MODEL)).all(|m| m == model);
    let printed = figure.printed.as_deref().unwrap_or_default();
    let digits =
        printed.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    let is_sole = is_sole && is_of_model(subject, cell);
    let level = if is_sole && digits >= DIGITS { Level::Strong } else { Level::Hint };
    let value = figure.canonical().unwrap_or_default();
    let apart = |other: &Figure| other.canonical().map_or(f64::MAX, |other| (other - value).abs());
    let nearest = held.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
    let nearest =
        nearest.map_or_else(String::new, |near| format!("; the nearest is {}", shown(near)));
    let of = if is_of_model(subject, cell) { format!(" of {model}") } else { String::new() };
    let text = format!(
        "\"{}\": no row{of} has {} as {}{nearest}",
        sentence.shown(),
        shown(figure),
        figure.quantity
    );
    Finding::new(RULE.id, level, text)
        .at(cell.spot_of_figure(figure))
        .with("stated", figure.value.unwrap_or_default(), "")
        .remedy("show the row that it was taken from")
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, PartKind, Place, Unit};

    /// Two models with two loads each, and a sentence.
    fn document(sentence: &str, itl: &str, model: &str) -> Sheet {
        let mut rows = Vec::new();
        for (line, name, itl) in
            [(2, "base", "22.2"), (3, "base", "39.6"), (4, "int8", "14.7"), (5, "int8", "34.5")]
        {
            let mut row = row(line, &[(Metric::Itl, Statistic::Median, itl, Unit::Ms)]);
            row.factors.set(key::MODEL, name);
            rows.push(row);
        }
        let mut sheet = sheet(PartKind::Serving, rows);
        let mut stated = row(9, &[(Metric::Itl, Statistic::Value, itl, Unit::Ms)]);
        stated.role = RowRole::Stated;
        stated.text = Some(sentence.to_owned());
        stated.factors.set(key::MODEL, model);
        let prose = Part::new(PartKind::Conclusion, Place::line(9));
        sheet.parts.push(Part { rows: vec![stated], ..prose });
        sheet
    }

    #[test]
    fn reports_a_figure_that_no_row_has() {
        let sound = document("Compressed model: ITL = 34.5 ms", "34.5", "int8");
        let say = |corrupted: Sheet, level: Level, word: &str| {
            check("stated_figure", &sound, |sheet| *sheet = corrupted, level, word);
        };
        let text = "Compressed model: ITL = 43.5 ms";
        say(document(text, "43.5", "int8"), Level::Strong, "no row of int8 has 43.5 ms as ITL");
        let text = "Compressed model: ITL = 39.6 ms";
        say(document(text, "39.6", "int8"), Level::Strong, "the nearest is 34.5 ms");
        say(document("ITL is 43 ms", "43", "int8"), Level::Hint, "no row of int8");
    }

    #[test]
    fn means_differences_and_limits_are_left_alone() {
        for (text, itl) in [
            ("ITL is 24.6 ms on the mean", "24.6"),
            ("ITL grows by 19.8 ms", "19.8"),
            ("ITL stays below 50.0 ms", "50.0"),
            ("ITL p99 ≤ 50.0 ms", "50.0"),
        ] {
            assert_eq!(found("stated_figure", &[document(text, itl, "int8")]), [], "{text}");
        }
        // Two figures of one quantity may be of two models.
        let mut two = document("ITL falls from 39.6 ms to 34.5 ms", "34.5", "int8");
        let mut first = two.parts[1].rows[0].clone();
        (first.figures[0].value, first.figures[0].printed) = (Some(39.6), Some("39.6".to_owned()));
        two.parts[1].rows.push(first);
        assert_eq!(found("stated_figure", &[two]), []);
        // So may one below a heading.
        let mut below = document("ITL is 39.6 ms", "39.6", "int8");
        let prose = &mut below.parts[1];
        prose.factors = std::mem::take(&mut prose.rows[0].factors);
        assert_eq!(found("stated_figure", &[below]), []);
        // Nothing was measured of this one.
        assert_eq!(found("stated_figure", &[document("ITL is 43.5 ms", "43.5", "other")]), []);
    }
}
