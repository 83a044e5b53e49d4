//! The rates of a serving row are its counts over its duration.
//!
//! Looked at where it is known that the tool computes its rates so. Others do not: GuideLLM's
//! duration is a window, AIPerf's reaches to the last answer and its rates do not, and k6 counts
//! requests that failed.

use super::super::subject::slack;
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::sheet::{Figure, PartKind, Quantity, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "own_arithmetic", title: "rates of a row are its counts over its duration", look };

/// Tools whose rates are counts of what succeeded over the duration that they give.
const TOOLS: [&str; 8] = [
    "vllm bench serve",
    "vllm bench serve, Rust client",
    "sglang.bench_serving",
    "sglang.bench_serving, Rust client",
    "TensorRT-LLM benchmark_serving",
    "genai-bench",
    "inference-perf",
    "oha",
];
/// Share beyond rounding by which a rate may differ: clocks that are read twice.
const APART: f64 = 0.01;

/// A rate, what it counts, and their names.
struct Question<'c> {
    rate: &'c Figure,
    /// Sum of these over the duration.
    counts: Vec<&'c Figure>,
    of: &'static str,
}

fn look(subject: &Subject) -> Looked {
    let mut seen = 0;
    let mut rows = 0;
    let mut wrong: Vec<(&Cell, Vec<&Figure>, String, [f64; 2])> = Vec::new();
    for cell in subject.cells(RowRole::Measured).filter(|cell| is_judged(cell)) {
        let Some(duration) = cell.row.figure(&Quantity::Duration, Statistic::Value) else {
            continue;
        };
        let questions = questions(cell);
        seen += questions.len();
        rows += usize::from(!questions.is_empty());
        let differing = questions.iter().filter_map(|question| differs(question, duration));
        let differing: Vec<_> = differing.collect();
        let Some((words, numbers)) = differing.first().cloned() else { continue };
        let figures = questions.iter().filter(|q| differs(q, duration).is_some());
        let text = match differing.len() {
            1 => words,
            n => format!("{words}; so are {n} of its {} rates", questions.len()),
        };
        wrong.push((cell, figures.map(|question| question.rate).collect(), text, numbers));
    }
    if seen == 0 {
        return Looked::Needs(
            "serving rows with duration, counts and rates of a tool whose rates \
             are known to be the ones by the other",
        );
    }
    let Some((cell, _, text, [stated, computed])) = wrong.first() else {
        return Looked::Found(Vec::new());
    };
    let text = match wrong.len() {
        1 => format!("{}: {text}", cell.name()),
        n => format!("{n} of {rows} rows contradict themselves; {}: {text}", cell.name()),
    };
    let finding = Finding::new(RULE.id, Level::Proof, text)
        .at_all(wrong.iter().flat_map(|(cell, figures, ..)| {
            figures.iter().map(|figure| cell.spot_of_figure(figure)).collect::<Vec<_>>()
        }))
        .with("stated", *stated, "/s")
        .with("counts over duration", *computed, "/s")
        .remedy("look for a figure that was changed, or that is of another run");
    Looked::Found(vec![finding])
}

fn is_judged(cell: &Cell) -> bool {
    let tool = cell.measured_by();
    // Requests that failed are in the rate of oha and not in its count.
    let failed = cell.row.value(&Quantity::RequestsFailed, Statistic::Value);
    cell.part.kind == PartKind::Serving
        && tool.is_some_and(|tool| TOOLS.contains(&tool))
        && (tool != Some("oha") || failed.is_none_or(|failed| failed == 0.0))
}

fn questions<'c>(cell: &'c Cell) -> Vec<Question<'c>> {
    let rate = |quantity: &Quantity| cell.row.figure(quantity, Statistic::Value);
    let count = |quantity: &Quantity| {
        [Statistic::Sum, Statistic::Value].into_iter().find_map(|s| cell.row.figure(quantity, s))
    };
    let (input, output) = (&Quantity::InputTokens, &Quantity::OutputTokens);
    let asked: [(&Quantity, &[&Quantity], &str); 4] = [
        (&Quantity::RequestRate, &[&Quantity::RequestsOk], "successful requests"),
        (&Quantity::InputRate, &[input], "input tokens"),
        (&Quantity::OutputRate, &[output], "output tokens"),
        (&Quantity::TotalRate, &[input, output], "input and output tokens"),
    ];
    let question = |(quantity, counts, of): (&Quantity, &[&Quantity], &'static str)| {
        let counts = counts.iter().map(|quantity| count(quantity)).collect::<Option<Vec<_>>>()?;
        Some(Question { rate: rate(quantity)?, counts, of })
    };
    asked.into_iter().filter_map(question).collect()
}

/// What a rate says and what follows from counts and duration, where they differ by more than
/// rounding.
fn differs(question: &Question, duration: &Figure) -> Option<(String, [f64; 2])> {
    let seconds = duration.canonical().filter(|ms| *ms > 0.0)? / 1e3;
    let stated = question.rate.canonical()?;
    let mut count = 0.0;
    let mut open = 0.0;
    for figure in &question.counts {
        count += figure.canonical()?;
        open += slack(figure);
    }
    let computed = count / seconds;
    let share = APART + slack(duration) / 1e3 / seconds;
    let allowed = share * computed.abs() + open / seconds + slack(question.rate);
    let words = format!(
        "{count} {} in {seconds:.2} s are {computed:.2} per second, and {stated:.2} are stated as {}",
        question.of, question.rate.quantity
    );
    ((stated - computed).abs() > allowed).then_some((words, [stated, computed]))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    /// A block of `vllm bench serve`.
    fn document(rate: &str, duration: &str, completed: &str) -> Sheet {
        let (value, count) = (Statistic::Value, Unit::Count);
        let row = row(
            3,
            &[
                (Quantity::RequestsOk, value, completed, count.clone()),
                (Quantity::Duration, value, duration, Unit::S),
                (Quantity::InputTokens, value, "12000", count.clone()),
                (Quantity::OutputTokens, value, "4800", count),
                (Quantity::RequestRate, value, rate, Unit::PerS),
                (Quantity::OutputRate, value, "1599.5", Unit::PerS),
                (Quantity::TotalRate, value, "5600.1", Unit::PerS),
            ],
        );
        let mut sheet = sheet(PartKind::Serving, vec![row]);
        sheet.parts[0].tool = Some("vllm bench serve".to_owned());
        sheet
    }

    #[test]
    fn a_row_that_contradicts_itself_is_proof() {
        let sound = document("8.00", "3.00", "24");
        let say = |spoiled: Sheet, word: &str| {
            check("own_arithmetic", &sound, |sheet| *sheet = spoiled, Level::Proof, word);
        };
        say(document("16.00", "3.00", "24"), "16.00 are stated as requests per second");
        say(document("8.00", "3.00", "48"), "48 successful requests in 3.00 s are 16.00");
        say(document("8.00", "6.00", "24"), "3 of its 3 rates");
    }

    #[test]
    fn tools_that_measure_otherwise_are_not_judged() {
        let mut sheet = document("16.00", "3.00", "24");
        sheet.parts[0].tool = Some("guidellm".to_owned());
        assert_eq!(found("own_arithmetic", &[sheet]), []);
    }
}
