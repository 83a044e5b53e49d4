//! What a sentence describes as faster, slower, higher or lower is so in the rows.
//!
//! `Red is faster than blue`, `Blue has the lowest TTFT`: compared with the rows of the things that
//! it names. Told only where not one setting that was measured for them agrees, by any quantity that
//! can be meant, so that a word such as `under load` cannot rescue it. Not here: percentages and
//! factors (`stated_change`), places in a table (`stated_rank`).

use super::super::change::Direction;
use super::super::order::{Order, order};
use super::super::sentence::{Sentence, sentences};
use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use super::stated_change::{SIDES, is_time, measured, named, others_fit, quantities};
use super::stated_rank::printed;
use ifm_core::Metric;
use ifm_core::sheet::{Figure, RowRole, key};
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) const RULE: Rule = Rule {
    id: "stated_order",
    title: "what is described as faster or slower is so in its rows",
    look,
};

/// What rows have to share to be compared, whatever else is a property of the things themselves.
const SETTING: [&str; 9] = [
    key::STRATEGY,
    key::CONCURRENCY,
    key::RATE,
    key::BATCH_SIZE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::DEPTH_TOKENS,
    key::TEST,
    key::POWER_LIMIT_W,
];
/// Words allowed between a name and its superlative.
const LINKS: [&str; 12] = [
    "is the",
    "was the",
    "are the",
    "were the",
    "has the",
    "had the",
    "shows the",
    "reaches the",
    "achieves the",
    "delivers the",
    "gives the",
    "remains the",
];
/// Maximum number of rows that are checked for one sentence.
const ROWS_MAX: usize = 5_000;

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for sentence in sentences(subject) {
        let cells: Vec<&Cell> = [RowRole::Measured, RowRole::Summary]
            .into_iter()
            .flat_map(|role| subject.cells(role))
            .filter(|cell| std::ptr::eq(cell.sheet, sentence.cell.sheet))
            .collect();
        if cells.len() > ROWS_MAX {
            continue;
        }
        let Some(held) = SIDES.iter().find_map(|side| held(&sentence, &cells, side)) else {
            continue;
        };
        seen += 1;
        findings.extend(held.finding(&sentence));
    }
    match seen {
        0 => {
            Looked::Needs("sentences that call one of the measured faster, slower, higher or lower")
        }
        _ => Looked::Found(findings),
    }
}

/// A sentence compared with its rows.
struct Held<'c> {
    /// Settings in which both sides were measured.
    settings: usize,
    /// The first two rows that say the contrary, if all do.
    contrary: Option<Contrary<'c>>,
}

/// Two rows of one setting that say the contrary of a sentence.
struct Contrary<'c> {
    quantity: Metric,
    of: (String, &'c Figure),
    other: (String, &'c Figure),
    spots: Vec<Spot>,
}

impl Held<'_> {
    fn finding(&self, sentence: &Sentence) -> Option<Finding> {
        let Contrary { quantity, of, other, spots } = self.contrary.as_ref()?;
        let all = match self.settings {
            1 => "in the one setting that was measured for both".to_owned(),
            settings => format!("in each of the {settings} settings that were measured for both"),
        };
        let text = format!(
            "\"{}\": {all} it is the other way round, such as {quantity} {} ({}) and {} ({})",
            sentence.shown(),
            printed(of.1),
            of.0,
            printed(other.1),
            other.0
        );
        let finding = Finding::new(RULE.id, Level::Strong, text)
            .at(sentence.cell.spot())
            .at_all(spots.clone())
            .with("settings", self.settings as f64, "")
            .remedy("state the setting and the figure, or reverse the sentence");
        Some(finding)
    }
}

/// The order that a sentence states of the values of a factor, compared with their rows; absent
/// where it states none that can be understood.
fn held<'c>(sentence: &Sentence, cells: &[&'c Cell<'c>], side: &str) -> Option<Held<'c>> {
    let named = named(sentence, cells, side);
    let places: Vec<Range<usize>> = named.iter().map(|(_, place)| place.clone()).collect();
    let order = order(&sentence.lower, &places)?;
    let sole = |is_side: &dyn Fn(&Range<usize>) -> bool| {
        let names: BTreeSet<&str> =
            named.iter().filter(|(_, place)| is_side(place)).map(|(name, _)| *name).collect();
        let is_sole = names.len() == 1;
        names.into_iter().next().filter(|_| is_sole)
    };
    let a = sole(&|place| place.end <= order.at.start)?;
    let b = match order.than {
        Some(than) => {
            let b = sole(&|place| place.start >= than).filter(|b| *b != a)?;
            named.iter().all(|(name, _)| *name == a || *name == b).then_some(Some(b))?
        }
        None => {
            let (_, place) = named.first().filter(|_| named.iter().all(|(name, _)| *name == a))?;
            let between = sentence.lower.get(place.end..order.at.start)?;
            LINKS.contains(&between.trim()).then_some(None)?
        }
    };
    let fits = |cell: &&&Cell| {
        order.load.iter().all(|(name, value)| cell.factors.number(name) == Some(*value))
            && others_fit(sentence, cells, cell, side)
    };
    let fitting: Vec<&Cell> = cells.iter().filter(fits).copied().collect();
    compare(&order, &quantities(&sentence.lower)?, &fitting, (side, a, b))
}

/// Whether all settings say the contrary: of `b`, or of any other where none is named.
fn compare<'c>(
    order: &Order,
    sought: &[Metric],
    cells: &[&'c Cell<'c>],
    (side, a, b): (&str, &str, Option<&str>),
) -> Option<Held<'c>> {
    let is_by_number = matches!(order.direction, Direction::Higher | Direction::Lower);
    if sought.is_empty() && is_by_number {
        return None;
    }
    let of = |name: &str| -> Vec<&'c Cell<'c>> {
        cells.iter().filter(|cell| cell.factors.get(side) == Some(name)).copied().collect()
    };
    let others: BTreeSet<&str> = match b {
        Some(b) => BTreeSet::from([b]),
        None => {
            cells.iter().filter_map(|c| c.factors.get(side)).filter(|name| *name != a).collect()
        }
    };
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    for cell in of(a) {
        match groups.iter_mut().find(|group| group.iter().all(|known| are_alike(known, cell))) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let (mut settings, mut first, mut is_contrary) = (0, None, true);
    for group in &groups {
        let alike = |name: &&str| -> (String, Vec<&'c Cell<'c>>) {
            let of = of(name);
            let is_of = |cell: &&'c Cell<'c>| group.iter().all(|known| are_alike(known, cell));
            ((*name).to_owned(), of.into_iter().filter(is_of).collect())
        };
        let rivals: Vec<(String, Vec<&Cell>)> =
            others.iter().map(alike).filter(|(_, rows)| !rows.is_empty()).collect();
        let judged: Vec<_> = rivals
            .iter()
            .filter_map(|(name, rows)| contrary(order, sought, (a, group), (name, rows)))
            .collect();
        if judged.is_empty() {
            continue;
        }
        settings += 1;
        // One rival that is ahead is enough against a superlative.
        let found = judged.into_iter().flatten().next();
        is_contrary &= found.is_some();
        first = first.or(found);
    }
    (settings > 0).then_some(Held { settings, contrary: first.filter(|_| is_contrary) })
}

/// Whether two rows are of one setting.
fn are_alike(one: &Cell, other: &Cell) -> bool {
    one.row.role == other.row.role
        && one.part.kind == other.part.kind
        && SETTING.iter().all(|name| one.factors.get(name) == other.factors.get(name))
}

/// Two sides of one setting: absent if nothing can be compared, else the contrary that all
/// quantities say, if they do.
fn contrary<'c>(
    order: &Order,
    sought: &[Metric],
    (a_name, a): (&str, &[&'c Cell<'c>]),
    (b_name, b): (&str, &[&'c Cell<'c>]),
) -> Option<Option<Contrary<'c>>> {
    let of = |cells: &[&Cell]| -> BTreeSet<Metric> {
        cells.iter().flat_map(|cell| measured(cell)).collect()
    };
    let quantities: Vec<Metric> = match sought {
        [] => of(a).intersection(&of(b)).cloned().collect(),
        sought => sought.to_vec(),
    };
    let mut found = None;
    let mut compared = 0;
    for quantity in &quantities {
        let figures = |cells: &[&'c Cell<'c>]| -> Vec<&'c Figure> {
            cells.iter().filter_map(|cell| cell.central(*quantity)).collect()
        };
        let (first, second) = (figures(a), figures(b));
        // A number described as higher is greater; what is faster takes less time or does more.
        let is_more = match order.direction {
            Direction::Higher => true,
            Direction::Lower => false,
            Direction::Faster => !is_time(*quantity),
            Direction::Slower | Direction::Unsaid => is_time(*quantity),
        };
        let ends = |figures: &[&Figure]| {
            let values =
                figures.iter().filter_map(|figure| Some((figure.canonical()?, slack(figure))));
            values.fold(None, |ends: Option<(f64, f64)>, (value, slack)| {
                let (low, high) = ends.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
                Some((low.min(value - slack), high.max(value + slack)))
            })
        };
        let (Some(of_a), Some(of_b)) = (ends(&first), ends(&second)) else { continue };
        compared += 1;
        // Every repeat of one lies beyond every repeat of the other.
        let is_contrary = if is_more { of_a.1 < of_b.0 } else { of_a.0 > of_b.1 };
        if !is_contrary {
            return Some(None);
        }
        found = found.or_else(|| {
            Some(Contrary {
                quantity: *quantity,
                of: (a_name.to_owned(), first.first()?),
                other: (b_name.to_owned(), second.first()?),
                spots: a.iter().chain(b).map(|cell| cell.spot()).collect(),
            })
        });
    }
    (compared > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Part, PartKind, Place, Row, Statistic, Unit};

    const TRUE: &str = "Red-7B is faster than Blue.";
    const FALSE: &str = "Blue is faster than Red-7B.";

    /// Rows of model, users, tokens per second and TTFT, and a sentence about them.
    fn document(text: &str, rows: &[(&str, u32, &str, &str)]) -> Sheet {
        let level = |(line, (model, users, rate, ttft)): (usize, &(&str, u32, &str, &str))| {
            let figures = [
                (Metric::OutputRate, Statistic::Value, *rate, Unit::PerS),
                (Metric::Ttft, Statistic::Mean, *ttft, Unit::Ms),
            ];
            let mut row = row(line as u32 + 3, &figures);
            row.factors = row.factors.with(key::MODEL, *model).with(key::CONCURRENCY, *users);
            row
        };
        let mut sheet = sheet(PartKind::Serving, rows.iter().enumerate().map(level).collect());
        let mut said = Row::new(RowRole::Stated, Place::line(90));
        said.text = Some(text.to_owned());
        let part = Part { rows: vec![said], ..Part::new(PartKind::Conclusion, Place::line(90)) };
        sheet.parts.push(part);
        sheet
    }

    const ROWS: [(&str, u32, &str, &str); 4] = [
        ("Red-7B", 1, "120.0", "40.0"),
        ("Blue", 1, "100.0", "50.0"),
        ("Red-7B", 8, "700.0", "80.0"),
        ("Blue", 8, "600.0", "90.0"),
    ];

    #[test]
    fn what_is_called_faster_is_faster() {
        let corrupt = |sheet: &mut Sheet| *sheet = document(FALSE, &ROWS);
        let words =
            "in each of the 2 settings that were measured for both it is the other way round";
        check("stated_order", &document(TRUE, &ROWS), corrupt, Level::Strong, words);
        for (text, expect) in [
            ("Blue has a higher output throughput than Red-7B.", true),
            ("Blue has a lower output throughput than Red-7B.", false),
            ("Red-7B has a higher TTFT than Blue.", true),
            ("Red-7B has a slower TTFT than Blue.", true),
            ("At 8 users, Blue is faster than Red-7B.", true),
            ("Blue is the fastest.", true),
            ("Red-7B has the highest TTFT.", true),
            ("Red-7B is the fastest.", false),
            ("Blue has the lowest output throughput.", false),
        ] {
            let findings = found("stated_order", &[document(text, &ROWS)]);
            assert_eq!(!findings.is_empty(), expect, "{text}: {findings:?}");
        }
    }

    /// If a setting agrees, or one of the possible quantities, nothing is reported; nor if the
    /// sentence has another meaning.
    #[test]
    fn skips_ambiguous_sentences() {
        let mut mixed = ROWS;
        mixed[3].2 = "800.0";
        mixed[3].3 = "70.0";
        assert_eq!(found("stated_order", &[document(FALSE, &mixed)]), [], "true at 8 users");
        let mut of_two = ROWS;
        of_two[1].3 = "30.0";
        of_two[3].3 = "60.0";
        assert_eq!(found("stated_order", &[document(FALSE, &of_two)]), [], "its TTFT is shorter");
        let mut apart = ROWS;
        apart[1].1 = 16;
        apart[3].1 = 32;
        assert_eq!(found("stated_order", &[document(FALSE, &apart)]), [], "no setting of both");
        let mut repeated = ROWS.to_vec();
        repeated.retain(|row| row.1 == 1);
        repeated.push(("Blue", 1, "125.0", "39.0"));
        assert_eq!(found("stated_order", &[document(FALSE, &repeated)]), [], "repeats overlap");
        for text in [
            "Blue is not slower than Red-7B, but faster.",
            "Blue would be faster than Red-7B.",
            "Blue is faster than Green.",
            "Blue handles more requests than Red-7B.",
            "Blue is slower and faster than Red-7B.",
            "Nothing is faster than Blue at 3 GPUs with Red-7B.",
            "Blue, the runner-up, is said to be the fastest.",
        ] {
            assert_eq!(found("stated_order", &[document(text, &ROWS)]), [], "{text}");
        }
    }
}
