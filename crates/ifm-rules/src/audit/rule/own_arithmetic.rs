//! The rates of a serving row are its counts over the time that they are over.
//!
//! Applied only if it is known over which time the tool computes its rates ([`window`]): GuideLLM
//! uses a window, which has to hold all of the run, and AIPerf its phase. k6 counts requests that
//! failed, and is skipped.

use super::super::subject::slack;
use super::super::window::{self, Over, Span};
use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, PartKind, RowRole, Statistic};

pub(super) const RULE: Rule =
    Rule { id: "own_arithmetic", title: "rates of a row are its counts over its duration", look };

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
        let Some(over) = window::over(cell) else { continue };
        let questions = questions(cell, &over);
        seen += questions.len();
        rows += usize::from(!questions.is_empty());
        let Some(differing) = differing(&questions, &over) else { continue };
        let Some((_, words, numbers)) = differing.first().cloned() else { continue };
        let figures: Vec<&Figure> = differing.iter().map(|(question, ..)| question.rate).collect();
        let text = match differing.len() {
            1 => words,
            n => format!("{words}; so are {n} of its {} rates", questions.len()),
        };
        wrong.push((cell, figures, text, numbers));
    }
    if seen == 0 {
        return Looked::Needs(
            "serving rows with duration, counts and rates of a tool that is known to divide its \
             counts by the duration; of GuideLLM: JSON or YAML of version 0.8 without warm-up, \
             cool-down and requests that were cut off; of AIPerf: JSON, with the start and the \
             end of the run",
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
        .remedy("check for an edited number or one from another run");
    Looked::Found(vec![finding])
}

fn is_judged(cell: &Cell) -> bool {
    // Requests that failed are in the rate of oha and not in its count.
    let failed = cell.row.value(Metric::RequestsFailed, Statistic::Value);
    cell.part.kind == PartKind::Serving
        && (cell.measured_by() != Some("oha") || failed.is_none_or(|failed| failed == 0.0))
}

/// Rates that differ, by the time by which most of them are right.
fn differing<'q, 'c>(
    questions: &'q [Question<'c>],
    over: &Over,
) -> Option<Vec<(&'q Question<'c>, String, [f64; 2])>> {
    let by = |span: &Span| -> Vec<_> {
        let told = questions.iter().map(|question| (question, differs(question, span)));
        told.filter_map(|(question, told)| told.map(|(words, n)| (question, words, n))).collect()
    };
    over.spans.iter().map(by).min_by_key(Vec::len)
}

fn questions<'c>(cell: &'c Cell, over: &Over) -> Vec<Question<'c>> {
    let rate = |quantity: Metric| cell.row.figure(quantity, over.rate);
    let count = |quantity: Metric| {
        [Statistic::Sum, Statistic::Value].into_iter().find_map(|s| cell.row.figure(quantity, s))
    };
    let (input, output) = (Metric::InputTokens, Metric::OutputTokens);
    let asked: [(Metric, &[Metric], &str); 4] = [
        (Metric::RequestRate, &[Metric::RequestsOk], "successful requests"),
        (Metric::InputRate, &[input], "input tokens"),
        (Metric::OutputRate, &[output], "output tokens"),
        (Metric::TotalRate, &[input, output], "input and output tokens"),
    ];
    let question = |(quantity, counts, of): (Metric, &[Metric], &'static str)| {
        let counts = counts.iter().map(|quantity| count(*quantity)).collect::<Option<Vec<_>>>()?;
        Some(Question { rate: rate(quantity)?, counts, of })
    };
    asked.into_iter().filter_map(question).collect()
}

/// What a rate says and what follows from counts and the time, where they differ by more than
/// rounding.
fn differs(question: &Question, span: &Span) -> Option<(String, [f64; 2])> {
    let seconds = span.seconds;
    let stated = question.rate.canonical()?;
    let mut count = 0.0;
    let mut open = 0.0;
    for figure in &question.counts {
        count += figure.canonical()?;
        open += slack(figure);
    }
    let computed = count / seconds;
    let share = APART + span.slack_s / seconds;
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
                (Metric::RequestsOk, value, completed, count.clone()),
                (Metric::Duration, value, duration, Unit::S),
                (Metric::InputTokens, value, "12000", count.clone()),
                (Metric::OutputTokens, value, "4800", count),
                (Metric::RequestRate, value, rate, Unit::PerS),
                (Metric::OutputRate, value, "1599.5", Unit::PerS),
                (Metric::TotalRate, value, "5600.1", Unit::PerS),
            ],
        );
        let mut sheet = sheet(PartKind::Serving, vec![row]);
        sheet.parts[0].tool = Some("vllm bench serve".to_owned());
        sheet
    }

    #[test]
    fn a_row_that_contradicts_itself_is_proof() {
        let sound = document("8.00", "3.00", "24");
        let say = |corrupted: Sheet, word: &str| {
            check("own_arithmetic", &sound, |sheet| *sheet = corrupted, Level::Proof, word);
        };
        say(document("16.00", "3.00", "24"), "16.00 are stated as requests per second");
        say(document("8.00", "3.00", "48"), "48 successful requests in 3.00 s are 16.00");
        say(document("8.00", "6.00", "24"), "3 of its 3 rates");
    }

    #[test]
    fn tools_that_measure_otherwise_are_not_judged() {
        let mut sheet = document("16.00", "3.00", "24");
        sheet.parts[0].tool = Some("k6".to_owned());
        assert_eq!(found("own_arithmetic", &[sheet]), []);
    }

    /// A row of AIPerf: its phase takes half a second more than what it gives as duration.
    #[test]
    fn rates_of_a_phase_are_over_the_phase_or_the_duration() {
        let document = |requests: &str, output: &str| {
            let mut sheet = document(requests, "3.00", "24");
            let row = &mut sheet.parts[0].rows[0];
            row.figures.retain(|figure| figure.quantity != Metric::TotalRate);
            let rate = row.figures.iter_mut().find(|f| f.quantity == Metric::OutputRate);
            let rate = rate.unwrap();
            (rate.value, rate.printed) = (output.parse().ok(), Some(output.to_owned()));
            for (name, stamp) in
                [("start_time", "2026-11-20T11:20:34.25"), ("end_time", "2026-11-20T11:20:37.75")]
            {
                row.unknown.insert(name.to_owned(), stamp.into());
            }
            sheet.parts[0].tool = Some("aiperf".to_owned());
            sheet
        };
        for (requests, output, is_sound) in [
            ("6.86", "1371.43", true),
            ("8.00", "1600.00", true),
            // One over the phase, the other over the duration.
            ("6.86", "1600.00", false),
            ("9.20", "1371.43", false),
        ] {
            let findings = found("own_arithmetic", &[document(requests, output)]);
            assert_eq!(findings.is_empty(), is_sound, "{requests} {output}: {findings:?}");
        }
        let mut timeless = document("9.20", "1371.43");
        timeless.parts[0].rows[0].unknown.clear();
        assert_eq!(found("own_arithmetic", &[timeless]), []);
    }

    /// A row of GuideLLM, whose rates are distributions over its window.
    #[test]
    fn rates_of_a_window_are_judged_where_it_holds_the_whole_run() {
        let document = |rate: &str, warmup_s: f64, cut_off: f64, version: &str| {
            let mut sheet = document(rate, "3.00", "24");
            let row = &mut sheet.parts[0].rows[0];
            let rates = [Metric::RequestRate, Metric::OutputRate, Metric::TotalRate];
            for figure in row.figures.iter_mut().filter(|f| rates.contains(&f.quantity)) {
                figure.statistic = Statistic::Mean;
            }
            let (quantity, value) = (Metric::RequestsIncomplete, Statistic::Value);
            row.figures.push(Figure::new(quantity, value, cut_off, Unit::Count));
            row.unknown.insert("warmup_duration".to_owned(), warmup_s.into());
            row.unknown.insert("cooldown_duration".to_owned(), 0.0.into());
            sheet.parts[0].tool = Some("guidellm".to_owned());
            sheet.source.tool_version = Some(version.to_owned());
            sheet
        };
        for (rate, warmup_s, cut_off, version, is_told) in [
            ("8.00", 0.0, 0.0, "0.8.1", false),
            ("16.00", 0.0, 0.0, "0.8.1", true),
            ("16.00", 1.0, 0.0, "0.8.1", false),
            ("16.00", 0.0, 3.0, "0.8.1", false),
            ("16.00", 0.0, 0.0, "0.4.0", false),
        ] {
            let findings = found("own_arithmetic", &[document(rate, warmup_s, cut_off, version)]);
            let is_found = !findings.is_empty();
            assert_eq!(is_found, is_told, "{rate} {warmup_s} {cut_off} {version}: {findings:?}");
        }
    }
}
