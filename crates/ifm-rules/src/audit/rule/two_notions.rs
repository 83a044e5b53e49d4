//! One name means one thing in all documents of an audit.
//!
//! A tool's definition of a number is kept with the number. If two tools mean different things by
//! one name, the definitions are reported with whether one follows from the other. Documents that
//! do not state their definitions are skipped here: `implied_definition` infers what they computed.

use super::super::{Cell, Finding, Level, Looked, Rule, Spot, Subject};
use super::implied_definition::without_first;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Definition, Figure, RowRole, Statistic, key, meaning};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule =
    Rule { id: "two_notions", title: "one name means one thing in all documents", look };

/// Names that tools share.
const NAMES: [Metric; 11] = [
    Metric::Tpot,
    Metric::Itl,
    Metric::Ttft,
    Metric::E2e,
    Metric::OutputRate,
    Metric::RequestRate,
    Metric::DecodeRate,
    Metric::PrefillRate,
    Metric::UserSpeed,
    Metric::OutputTokens,
    Metric::InputTokens,
];
/// Numbers that are compared: a value for the whole or a mean, otherwise the median.
const CENTERS: [&[Statistic]; 2] = [&[Statistic::Mean, Statistic::Value], &[Statistic::Median]];
/// Share by which asked and reached concurrency may differ and count as the same.
const REACHED: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let tools: BTreeSet<&str> = subject.cells(RowRole::Measured).filter_map(tool).collect();
    if tools.len() < 2 {
        return Looked::Needs("figures of two tools with known definitions");
    }
    let names = NAMES.iter().filter_map(|name| of_name(subject, *name));
    Looked::Found(names.chain(concurrency(subject)).collect())
}

/// The tool that wrote a row.
fn tool<'c>(cell: &'c Cell) -> Option<&'c str> {
    cell.part.tool.as_deref().or(cell.sheet.source.tool.as_deref())
}

/// What one tool means by a name.
struct Notion<'c> {
    tool: &'c str,
    /// As text; several where the tool has several ways.
    words: BTreeSet<&'c str>,
    /// How ours follows from it; absent where it does not.
    conversion: Option<String>,
    spot: Spot,
}

fn of_name(subject: &Subject, name: Metric) -> Option<Finding> {
    CENTERS.iter().find_map(|statistics| {
        let mut notions: BTreeMap<&str, Notion> = BTreeMap::new();
        for cell in subject.cells(RowRole::Measured) {
            let figure = statistics.iter().find_map(|s| cell.row.figure(name, *s));
            let Some((tool, figure)) = tool(cell).zip(figure) else { continue };
            let Some(words) = words(name, &figure.definition) else { continue };
            let notion = notions.entry(tool).or_insert_with(|| Notion {
                tool,
                words: BTreeSet::new(),
                conversion: conversion(cell, figure),
                spot: cell.spot_of_figure(figure),
            });
            notion.words.insert(words);
        }
        let mut notions: Vec<Notion> = notions.into_values().collect();
        let is_apart = notions.iter().enumerate().any(|(at, one)| {
            notions.iter().skip(at + 1).any(|other| one.words.is_disjoint(&other.words))
        });
        notions.order_by(|a, b| a.words.cmp(&b.words));
        is_apart.then(|| tell(name, &notions))
    })
}

/// A definition as text; absent where none is known.
fn words(name: Metric, definition: &Definition) -> Option<&str> {
    match definition {
        Definition::Same => ours(name),
        Definition::Derivable(words) | Definition::Different(words) => Some(words),
        Definition::Unstated => None,
    }
}

/// What this program means by a name, in the words of `docs/concepts/metrics.md`.
fn ours(name: Metric) -> Option<&'static str> {
    Some(match name {
        Metric::Ttft => "from the start of the request to its first token",
        Metric::Itl => "gaps between tokens, one value for each gap",
        Metric::Tpot => "from first to last token, over the tokens after the first",
        Metric::E2e => "from the start of the request to its last token",
        Metric::OutputTokens | Metric::InputTokens => "as the server counts them",
        // Of a rate it does not say over which window.
        _ => return None,
    })
}

/// How the canonical number follows from a figure and its row.
fn conversion(cell: &Cell, figure: &Figure) -> Option<String> {
    match &figure.definition {
        Definition::Same => Some(String::new()),
        Definition::Derivable(how) => Some(how.clone()),
        Definition::Different(words)
            if [meaning::TPOT_WITH_FIRST, meaning::TPOT_BY_ALL].contains(&words.as_str()) =>
        {
            let (ms, tokens) = without_first(cell)?;
            Some(format!(
                "(E2E - TTFT) / (n - 1) of its means and {tokens:.0} tokens is {ms:.2} ms"
            ))
        }
        Definition::Different(words) if words == meaning::ITL_PER_REQUEST => {
            Some("other tools call this TPOT".to_owned())
        }
        Definition::Different(_) | Definition::Unstated => None,
    }
}

fn tell(name: Metric, notions: &[Notion]) -> Finding {
    // Tools that mean the same share a line.
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for notion in notions {
        let words = notion.words.iter().copied().collect::<Vec<_>>().join(" or ");
        match lines.iter_mut().find(|(other, _)| *other == words) {
            Some((_, tools)) => tools.push(notion.tool),
            None => lines.push((words, vec![notion.tool])),
        }
    }
    let lines: Vec<String> =
        lines.iter().map(|(words, tools)| format!("{} ({words})", tools.join(", "))).collect();
    let converted: Vec<String> = notions
        .iter()
        .filter_map(|notion| Some((notion.tool, notion.conversion.as_deref()?)))
        .filter(|(_, how)| !how.is_empty())
        .map(|(tool, how)| format!("{tool}: {how}"))
        .collect();
    let stuck: Vec<&str> =
        notions.iter().filter(|n| n.conversion.is_none()).map(|n| n.tool).collect();
    let mut text = format!("{name} means {} things: {}", lines.len(), lines.join("; "));
    if !converted.is_empty() {
        text.push_str(&format!(". Converted: {}", converted.join("; ")));
    }
    if !stuck.is_empty() {
        text.push_str(&format!(
            ". The one of {} cannot be converted: the file lacks the needed figures",
            stuck.join(", ")
        ));
    }
    Finding::new(RULE.id, Level::Hint, text)
        .at_all(notions.iter().map(|notion| notion.spot.clone()))
        .remedy("give each meaning a column of its own, or measure both with one tool")
}

/// The requested number in one tool's rows, and the achieved one in another's.
fn concurrency(subject: &Subject) -> Option<Finding> {
    let reached = |cell: &Cell| {
        [Statistic::Mean, Statistic::Value]
            .iter()
            .find_map(|statistic| cell.row.value(Metric::InFlight, *statistic))
    };
    let cells: Vec<&Cell> = subject.cells(RowRole::Measured).collect();
    let measuring: BTreeSet<&str> =
        cells.iter().filter(|cell| reached(cell).is_some()).filter_map(|cell| tool(cell)).collect();
    let asked = cells.iter().find_map(|cell| {
        let tool = tool(cell).filter(|tool| !measuring.contains(tool))?;
        Some((*cell, tool, cell.factors.number(key::CONCURRENCY)?))
    });
    let (asked_cell, asked_tool, asked) = asked?;
    // Where every limit was reached the two are one.
    let apart = cells.iter().find_map(|cell| {
        let in_flight = reached(cell)?;
        let limit = cell.factors.number(key::CONCURRENCY);
        let is_apart = limit.is_none_or(|limit| (in_flight / limit - 1.0).abs() > REACHED);
        is_apart.then_some((*cell, tool(cell)?, in_flight))
    });
    let (reached_cell, reached_tool, in_flight) = apart?;
    let mut text = format!(
        "concurrency means 2 things: {asked_tool} (what was asked for, such as {asked}); \
         {reached_tool} (the mean number in flight, such as {in_flight:.1})"
    );
    let product = asked_cell
        .central(Metric::RequestRate)
        .and_then(Figure::canonical)
        .zip(asked_cell.row.value(Metric::E2e, Statistic::Mean))
        .map(|(rate, e2e_ms)| rate * e2e_ms / 1e3);
    text.push_str(&match product {
        Some(product) => {
            format!(". Converted: rate times mean E2E of {asked_tool} is {product:.1} in flight")
        }
        None => {
            format!(
                ". The one of {asked_tool} cannot be converted: the file lacks the needed \
                     figures"
            )
        }
    });
    let finding = Finding::new(RULE.id, Level::Hint, text)
        .at_all([asked_cell.spot(), reached_cell.spot()])
        .with("asked for", asked, "requests")
        .with("in flight", in_flight, "requests")
        .remedy("compare at the same number in flight");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    fn document(tool: &str, definition: Definition) -> Sheet {
        let mut row = row(
            3,
            &[
                (Metric::Tpot, Statistic::Mean, "15.0", Unit::Ms),
                (Metric::E2e, Statistic::Mean, "120", Unit::Ms),
                (Metric::Ttft, Statistic::Mean, "50", Unit::Ms),
                (Metric::RequestRate, Statistic::Value, "20", Unit::PerS),
                (Metric::OutputTokens, Statistic::Min, "8", Unit::Count),
                (Metric::OutputTokens, Statistic::Max, "8", Unit::Count),
            ],
        );
        row.figures[0].definition = definition;
        let mut sheet = sheet(PartKind::Serving, vec![row]);
        sheet.source.tool = Some(tool.to_owned());
        sheet.source.name = format!("{tool}.json");
        sheet
    }

    #[test]
    fn reports_different_meanings_with_the_conversion() {
        let with_first = || Definition::Different(meaning::TPOT_WITH_FIRST.to_owned());
        let same = document("red", Definition::Same);
        assert_eq!(found("two_notions", &[same.clone(), document("blue", Definition::Same)]), []);
        assert_eq!(found("two_notions", &[same.clone(), document("red", with_first())]), []);
        let unstated = document("blue", Definition::Unstated);
        assert_eq!(found("two_notions", &[same.clone(), unstated]), []);

        let findings = found("two_notions", &[same, document("blue", with_first())]);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.level, finding.spots.len()), (Level::Hint, 2));
        for words in ["TPOT means 2 things", "blue (end-to-end", "red (from first", "is 10.00 ms"] {
            assert!(finding.text.contains(words), "{words}: {}", finding.text);
        }
    }

    #[test]
    fn reports_meanings_that_cannot_be_converted() {
        let late = Definition::Different("ends with the last line".to_owned());
        let of = [document("red", Definition::Same), document("blue", late)];
        let text = &found("two_notions", &of)[0].text;
        assert!(text.contains("The one of blue cannot be converted"), "{text}");
    }

    #[test]
    fn asked_and_reached_concurrency_are_two() {
        let mut asked = document("red", Definition::Same);
        asked.parts[0].rows[0].factors.set(key::CONCURRENCY, 4);
        let reached = |printed: &str| {
            let mut sheet = document("blue", Definition::Same);
            let figure = row(1, &[(Metric::InFlight, Statistic::Mean, printed, Unit::Count)]);
            sheet.parts[0].rows[0].figures.extend(figure.figures);
            sheet.parts[0].rows[0].factors.set(key::CONCURRENCY, 4);
            sheet
        };
        assert_eq!(found("two_notions", &[asked.clone(), reached("3.9")]), []);
        let text = &found("two_notions", &[asked, reached("2.9")])[0].text;
        assert!(text.contains("such as 4)") && text.contains("such as 2.9)"), "{text}");
        assert!(text.contains("is 2.4 in flight"), "{text}");
    }
}
