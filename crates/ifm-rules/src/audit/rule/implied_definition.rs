//! How a figure was computed, found by arithmetic from the other figures of its row.
//!
//! A time per output token is with or without the time to the first token; a throughput counts
//! output tokens or all. If the row holds the parts, the definition that fits is found, and
//! reported if the name or the tool's own definition says another. A figure that fits no
//! definition, or fits two equally well, is left alone.

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, PartKind, RowRole, Statistic, key, meaning};

pub(super) const RULE: Rule =
    Rule { id: "implied_definition", title: "figures are computed as their names say", look };

/// Share by which a figure may differ from what it was computed as: closing events, rounding.
const FITS: f64 = 0.01;
/// Share from which on it is something else.
const FAR: f64 = 0.05;

/// One way to compute a figure.
struct Way {
    words: &'static str,
    value: f64,
}

/// A figure, the ways that its name allows, and others.
struct Question<'c> {
    figure: &'c Figure,
    /// What the name, or the tool, says.
    by_name: Vec<Way>,
    others: Vec<Way>,
    remedy: &'static str,
}

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut told: Vec<(Metric, String, Vec<Finding>)> = Vec::new();
    for cell in subject.cells(RowRole::Measured).filter(|c| c.part.kind == PartKind::Serving) {
        for question in
            [tpot(cell), rate(cell, Metric::OutputRate), rate(cell, Metric::TotalRate), bare(cell)]
        {
            let Some(question) = question else { continue };
            seen += 1;
            let Some((way, stated)) = answer(&question) else { continue };
            let name = question.figure.quantity;
            let finding = tell(cell, &question, way, stated);
            match told.iter_mut().find(|(other, words, _)| *other == name && words == way.words) {
                Some((.., findings)) => findings.push(finding),
                None => told.push((name, way.words.to_owned(), vec![finding])),
            }
        }
    }
    match seen {
        0 => Looked::Needs(
            "times per token with E2E, TTFT and token counts, or token rates with tokens and \
             duration",
        ),
        _ => Looked::Found(told.into_iter().filter_map(|(.., same)| merged(same)).collect()),
    }
}

/// One finding for all rows that say the same.
fn merged(findings: Vec<Finding>) -> Option<Finding> {
    let n = findings.len();
    let spots: Vec<_> = findings.iter().flat_map(|finding| finding.spots.clone()).collect();
    let mut first = findings.into_iter().next()?.at_all(spots);
    if n > 1 {
        first.text = format!("in {n} rows: {}", first.text);
    }
    Some(first)
}

/// The other way that a figure fits, where it is far from its own.
fn answer<'q>(question: &'q Question) -> Option<(&'q Way, f64)> {
    let stated = question.figure.canonical().filter(|stated| *stated > 0.0)?;
    let off =
        |way: &Way| ((stated - way.value).abs() - slack(question.figure)).max(0.0) / way.value;
    if question.by_name.iter().any(|way| off(way) <= FAR) {
        return None;
    }
    let mut fitting = question.others.iter().filter(|way| off(way) <= FITS);
    let way = fitting.next()?;
    // Two that fit equally well decide nothing, unless they are one number.
    let is_sole = fitting.all(|other| (other.value / way.value - 1.0).abs() <= FITS);
    is_sole.then_some((way, stated))
}

fn tell(cell: &Cell, question: &Question, way: &Way, stated: f64) -> Finding {
    let name = &question.figure.quantity;
    let expected = question.by_name.first();
    let (level, said) = match expected {
        Some(by_name) => (
            Level::Strong,
            format!(", while its name means {}, which is {:.4}", by_name.words, by_name.value),
        ),
        None => (Level::Hint, ", which its name does not say".to_owned()),
    };
    let text = format!(
        "{}: {name} was computed as {}: that is {:.4}, and {:.4} is given{said}",
        cell.name(),
        way.words,
        way.value,
        stated
    );
    let finding = Finding::new(RULE.id, level, text)
        .at(cell.spot_of_figure(question.figure))
        .with("given", stated, "")
        .with(way.words, way.value, "")
        .remedy(question.remedy);
    match expected {
        Some(by_name) => finding.with(by_name.words, by_name.value, ""),
        None => finding,
    }
}

/// Tokens of every answer, where all answers are of one length.
fn answer_tokens(cell: &Cell) -> Option<f64> {
    let value = |statistic| cell.row.value(Metric::OutputTokens, statistic);
    let lengths = cell.row.requests.iter().filter(|request| request.error.is_none());
    let mut lengths = lengths.map(|request| request.output_tokens);
    if let Some(first) = lengths.next() {
        return lengths.all(|other| other == first).then_some(first? as f64);
    }
    if let Some((min, max)) = value(Statistic::Min).zip(value(Statistic::Max)) {
        return (min == max).then_some(min);
    }
    // No answer is longer than requested: a mean of that length is the length of all of them.
    let asked = cell.factors.number(key::OUTPUT_TOKENS)?;
    let completed = cell.row.value(Metric::RequestsOk, Statistic::Value);
    let sum = value(Statistic::Sum).or_else(|| value(Statistic::Value));
    let mean = value(Statistic::Mean).or_else(|| Some(sum? / completed?));
    (mean == Some(asked)).then_some(asked)
}

/// Mean end-to-end time and time to the first token, ms, and tokens of an answer.
fn made_of(cell: &Cell) -> Option<(f64, f64, f64)> {
    let mean = |quantity| cell.row.value(quantity, Statistic::Mean);
    let tokens = answer_tokens(cell).filter(|tokens| *tokens >= 2.0)?;
    Some((mean(Metric::E2e)?, mean(Metric::Ttft)?, tokens))
}

/// Mean time per output token without the first of a row whose answers are all of one length, ms,
/// and that length.
pub(super) fn without_first(cell: &Cell) -> Option<(f64, f64)> {
    let (e2e, ttft, tokens) = made_of(cell)?;
    Some(((e2e - ttft) / (tokens - 1.0), tokens))
}

fn tpot<'c>(cell: &'c Cell) -> Option<Question<'c>> {
    let figure = cell.row.figure(Metric::Tpot, Statistic::Mean)?;
    let (e2e, ttft, tokens) = made_of(cell).filter(|(e2e, ttft, _)| e2e > ttft && *ttft > 0.0)?;
    let without = Way { words: "(E2E - TTFT) / (n - 1)", value: (e2e - ttft) / (tokens - 1.0) };
    let with = Way { words: "E2E / n, the time to the first token in it", value: e2e / tokens };
    let short = Way { words: "(E2E - TTFT) / n", value: (e2e - ttft) / tokens };
    let (by_name, others) = match &figure.definition {
        Definition::Different(words) if words == meaning::TPOT_WITH_FIRST => {
            (with, vec![without, short])
        }
        Definition::Different(words) if words == meaning::TPOT_BY_ALL => {
            (short, vec![without, with])
        }
        _ => (without, vec![with, short]),
    };
    let remedy = "state the definition, and compare only figures of the same definition";
    Some(Question { figure, by_name: vec![by_name], others, remedy })
}

/// Output and all tokens per second of a row: from tokens and duration, else from requests per
/// second and lengths.
fn rates(cell: &Cell) -> Option<[Way; 2]> {
    let whole = |quantity: Metric| {
        [Statistic::Sum, Statistic::Value].iter().find_map(|s| cell.row.value(quantity, *s))
    };
    let seconds = whole(Metric::Duration).map(|ms| ms / 1e3);
    let requests = cell.central(Metric::RequestRate).filter(|figure| {
        // One decimal of a small rate says too little.
        figure.rounding().is_none_or(|r| r < FITS * figure.value.unwrap_or(0.0) / 2.0)
    });
    let length = |quantity: Metric, asked: &str| {
        cell.row.value(quantity, Statistic::Mean).or_else(|| cell.factors.number(asked))
    };
    let per_s = |quantity: Metric, asked: &str| match whole(quantity).zip(seconds) {
        Some((tokens, seconds)) if seconds > 0.0 => Some(tokens / seconds),
        _ => Some(length(quantity, asked)? * requests?.canonical()?),
    };
    let output = per_s(Metric::OutputTokens, key::OUTPUT_TOKENS)?;
    let input = per_s(Metric::InputTokens, key::INPUT_TOKENS)?;
    let ways = [
        Way { words: "output tokens by time", value: output },
        Way { words: "prompt and output tokens by time", value: input + output },
    ];
    (output > 0.0 && input > 0.0).then_some(ways)
}

fn rate<'c>(cell: &'c Cell, quantity: Metric) -> Option<Question<'c>> {
    let figure = cell.central(quantity)?;
    let [output, total] = rates(cell)?;
    let (own, other) = match quantity {
        Metric::OutputRate => (output, total),
        _ => (total, output),
    };
    let remedy = "name the tokens that are counted: output, or prompt and output";
    Some(Question { figure, by_name: vec![own], others: vec![other], remedy })
}

/// A throughput whose name does not say which tokens it counts.
fn bare<'c>(cell: &'c Cell) -> Option<Question<'c>> {
    let figure = cell.central(Metric::other("token throughput"))?;
    let [output, total] = rates(cell)?;
    let remedy = "call it output throughput or total throughput";
    Some(Question { figure, by_name: Vec::new(), others: vec![output, total], remedy })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    /// Answers of 8 tokens: TTFT 50 ms, 10 ms between tokens, so E2E 120 ms; 4 requests of 24 and 8
    /// tokens in 2 s.
    fn document(name: Metric, printed: &str, unit: Unit) -> Sheet {
        let statistic = if name == Metric::Tpot { Statistic::Mean } else { Statistic::Value };
        let mut row = row(
            3,
            &[
                (name, statistic, printed, unit),
                (Metric::E2e, Statistic::Mean, "120", Unit::Ms),
                (Metric::Ttft, Statistic::Mean, "50", Unit::Ms),
                (Metric::Duration, Statistic::Value, "2.0", Unit::S),
                (Metric::RequestsOk, Statistic::Value, "4", Unit::Count),
                (Metric::InputTokens, Statistic::Value, "96", Unit::Count),
                (Metric::OutputTokens, Statistic::Value, "32", Unit::Count),
            ],
        );
        row.factors.set(key::OUTPUT_TOKENS, 8);
        sheet(PartKind::Serving, vec![row])
    }

    fn fires(name: Metric, unit: &Unit, [sound, corrupted]: [&str; 2], level: Level, word: &str) {
        let of = |printed| document(name, printed, unit.clone());
        check("implied_definition", &of(sound), |sheet| *sheet = of(corrupted), level, word);
    }

    #[test]
    fn a_time_per_token_is_what_its_name_says() {
        let with = "computed as E2E / n, the time to the first token in it: that is 15.0000";
        fires(Metric::Tpot, &Unit::Ms, ["10.0", "15.0"], Level::Strong, with);
        let short = "computed as (E2E - TTFT) / n";
        fires(Metric::Tpot, &Unit::Ms, ["10.0", "8.75"], Level::Strong, short);
        // A figure that fits nothing is left alone.
        assert_eq!(
            super::super::super::testing::found(
                "implied_definition",
                &[document(Metric::Tpot, "12.0", Unit::Ms)]
            ),
            []
        );
    }

    #[test]
    fn checks_a_tool_against_its_own_definition() {
        let of = |printed| {
            let mut sheet = document(Metric::Tpot, printed, Unit::Ms);
            sheet.parts[0].rows[0].figures[0].definition =
                Definition::Different(meaning::TPOT_WITH_FIRST.to_owned());
            sheet
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("10.0");
        let word = "computed as (E2E - TTFT) / (n - 1)";
        check("implied_definition", &of("15.0"), corrupt, Level::Strong, word);
    }

    #[test]
    fn accepts_tpot_by_all_tokens_where_the_tool_defines_it_so() {
        let of = |printed| {
            let mut sheet = document(Metric::Tpot, printed, Unit::Ms);
            sheet.parts[0].rows[0].figures[0].definition =
                Definition::Different(meaning::TPOT_BY_ALL.to_owned());
            sheet
        };
        let corrupt = |sheet: &mut Sheet| *sheet = of("15.0");
        let word = "computed as E2E / n";
        check("implied_definition", &of("8.75"), corrupt, Level::Strong, word);
    }

    #[test]
    fn a_throughput_counts_the_tokens_that_its_name_says() {
        let total = "computed as prompt and output tokens by time";
        fires(Metric::OutputRate, &Unit::PerS, ["16.0", "64.0"], Level::Strong, total);
        let output = "computed as output tokens by time";
        fires(Metric::TotalRate, &Unit::PerS, ["64.0", "16.0"], Level::Strong, output);
        let bare = Metric::other("token throughput");
        fires(bare, &Unit::PerS, ["30.0", "16.0"], Level::Hint, "which its name does not say");
    }

    #[test]
    fn answers_of_different_length_are_left_alone() {
        let mut sheet = document(Metric::Tpot, "15.0", Unit::Ms);
        sheet.parts[0].rows[0].factors.set(key::OUTPUT_TOKENS, 12);
        assert_eq!(super::super::super::testing::found("implied_definition", &[sheet]), []);
    }
}
