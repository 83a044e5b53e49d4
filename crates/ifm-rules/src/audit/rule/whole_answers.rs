//! Answers come in pieces, so that a TTFT is the time to a first token.
//!
//! Where a server does not stream, or a proxy collects the stream, the first piece is the whole
//! answer: the TTFT is the end-to-end time, and nothing is left for the tokens after the first.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic};

pub(super) const RULE: Rule = Rule {
    id: "whole_answers",
    title: "answers come in pieces, so TTFT is the time to a first token",
    look,
};

/// Time per token below which an answer came at once: 5000 tokens per second of one user, ms.
const AT_ONCE_MS: f64 = 0.2;
/// Share of the whole time from which on a TTFT is practically the same time.
const WHOLE: f64 = 0.9;
/// Tokens of an answer from which on it would come in several pieces.
const TOKENS_MIN: f64 = 8.0;
const STATISTICS: [Statistic; 2] = [Statistic::Median, Statistic::Mean];

fn look(subject: &Subject) -> Looked {
    let (mut seen, mut findings) = (0, Vec::new());
    for cell in subject.cells(RowRole::Measured) {
        if cell.part.kind != PartKind::Serving || !is_long(cell) {
            continue;
        }
        let Some(tpot) = Tpot::read(cell) else { continue };
        let has_first = STATISTICS.iter().any(|of| cell.row.figure(Metric::Ttft, *of).is_some());
        if !has_first {
            continue;
        }
        seen += 1;
        findings.extend(check(cell, &tpot));
    }
    match seen {
        0 => Looked::Needs("TTFT and TPOT of answers of several tokens"),
        _ => Looked::Found(findings),
    }
}

/// Whether answers have several tokens, or their number is unknown.
fn is_long(cell: &Cell) -> bool {
    cell.mean_tokens(Metric::OutputTokens).is_none_or(|tokens| tokens >= TOKENS_MIN)
}

/// The time per token of most answers.
struct Tpot {
    statistic: Statistic,
    /// Absent where zero was printed for all of it.
    ms: Option<f64>,
}

impl Tpot {
    fn read(cell: &Cell) -> Option<Tpot> {
        let of = |statistic: &Statistic| {
            let figures = &cell.row.figures;
            let is_meant = |figure: &&ifm_core::sheet::Figure| {
                figure.quantity == Metric::Tpot && figure.statistic == *statistic
            };
            let figure = figures.iter().find(is_meant)?;
            let is_zero = figure.value.is_none()
                && figure.printed.as_deref().is_none_or(|printed| {
                    printed.trim().parse::<f64>().is_ok_and(|printed| printed == 0.0)
                });
            let ms = figure.canonical();
            (ms.is_some() || is_zero).then_some(Tpot { statistic: *statistic, ms })
        };
        STATISTICS.iter().find_map(of)
    }

    fn is_at_once(&self) -> bool {
        self.ms.is_none_or(|ms| ms <= AT_ONCE_MS)
    }
}

fn check(cell: &Cell, tpot: &Tpot) -> Option<Finding> {
    if !tpot.is_at_once() {
        return None;
    }
    let share = |statistic: &Statistic| {
        let first = cell.row.value(Metric::Ttft, *statistic)?;
        let whole = cell.row.value(Metric::E2e, *statistic).filter(|whole| *whole > 0.0)?;
        Some((*statistic, first, whole))
    };
    // A mean of all is near, or at least the median: half of them.
    let shares: Vec<_> = STATISTICS.iter().rev().filter_map(share).collect();
    let is_whole = |(_, first, whole): &&(Statistic, f64, f64)| *first >= WHOLE * whole;
    let compared = shares.iter().find(is_whole).copied();
    if compared.is_none() && (!shares.is_empty() || tpot.ms.is_none()) {
        return None;
    }
    let of = |statistic| if statistic == Statistic::Mean { "mean" } else { "median" };
    let per_token = match tpot.ms {
        Some(ms) => format!("the {} TPOT is {ms:.2} ms", of(tpot.statistic)),
        None => "the TPOT is 0".to_owned(),
    };
    let (level, text) = match compared {
        Some((statistic, first, whole)) => (
            Level::Strong,
            format!(
                "the {} TTFT is {:.1} % of the {} end-to-end latency, and {per_token}",
                of(statistic),
                100.0 * first / whole,
                of(statistic)
            ),
        ),
        // Without end-to-end times this is all that is known.
        None => (Level::Hint, per_token),
    };
    let text = format!(
        "{}: {text}: answers came whole, so TTFT is not the time to a first token and TPOT is not the \
         time of a token",
        cell.name()
    );
    let mut finding = Finding::new(RULE.id, level, text)
        .at(cell.spot())
        .remedy("stream the answers, without a proxy that collects them, and measure again");
    if let Some(ms) = tpot.ms {
        finding = finding.with("TPOT", ms, "ms");
    }
    if let Some((_, first, whole)) = compared {
        finding = finding.with("TTFT", first, "ms").with("end-to-end latency", whole, "ms");
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::Unit;

    fn document(ttft: &str, tpot: &str, tokens: &str) -> Sheet {
        let figures = [
            (Metric::Ttft, Statistic::Mean, ttft, Unit::Ms),
            (Metric::E2e, Statistic::Mean, "1900.00", Unit::Ms),
            (Metric::Tpot, Statistic::Median, tpot, Unit::Ms),
            (Metric::RequestsOk, Statistic::Value, "500", Unit::Count),
            (Metric::OutputTokens, Statistic::Value, tokens, Unit::Count),
        ];
        sheet(PartKind::Serving, vec![row(3, &figures)])
    }

    #[test]
    fn reports_answers_that_came_whole() {
        let sound = document("180.00", "7.90", "110000");
        let whole = |sheet: &mut Sheet| *sheet = document("1880.00", "-0.00", "110000");
        let text = "the mean TTFT is 98.9 % of the mean end-to-end latency, and the median TPOT is";
        check("whole_answers", &sound, whole, Level::Strong, text);
        let without_end = |sheet: &mut Sheet| {
            *sheet = document("1880.00", "0.01", "110000");
            sheet.parts[0].rows[0].figures.remove(1);
        };
        check("whole_answers", &sound, without_end, Level::Hint, "came whole");
        let zero = |sheet: &mut Sheet| {
            *sheet = document("1880.00", "0.00", "110000");
            sheet.parts[0].rows[0].figures[2].value = None;
        };
        check("whole_answers", &sound, zero, Level::Strong, "the TPOT is 0");
    }

    #[test]
    fn is_silent_on_queues_and_single_tokens() {
        // A long queue: nearly all of the time is before the first token, and tokens take time.
        assert_eq!(found("whole_answers", &[document("1880.00", "2.00", "110000")]), []);
        assert_eq!(found("whole_answers", &[document("1880.00", "0.00", "500")]), []);
        // Zero for want of a time, and no end-to-end time.
        let mut unmeasured = document("1880.00", "0.00", "110000");
        unmeasured.parts[0].rows[0].figures[2].value = None;
        unmeasured.parts[0].rows[0].figures.remove(1);
        assert_eq!(found("whole_answers", &[unmeasured]), []);
        // Most of the time is after the first token.
        assert_eq!(found("whole_answers", &[document("180.00", "0.01", "110000")]), []);
        let mut missing = document("1880.00", "0.00", "110000");
        missing.parts[0].rows[0].figures[2].value = None;
        missing.parts[0].rows[0].figures[2].printed = Some("N/A".to_owned());
        assert_eq!(found("whole_answers", &[missing]), []);
    }
}
