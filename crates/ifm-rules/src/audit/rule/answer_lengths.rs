//! The same prompts get as many tokens at one load as at another.

use super::super::{Cell, Finding, Level, Looked, Rule, Subject};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, key};

pub(super) const RULE: Rule = Rule {
    id: "answer_lengths",
    title: "the same prompts get equally long answers at every level",
    look,
};

/// Share by which the numbers of tokens may differ; and the share from which rates are of different
/// work.
const APART: f64 = 0.01;
const FAR: f64 = 0.1;

fn look(subject: &Subject) -> Looked {
    let sweeps = subject.sweeps();
    let groups: Vec<Vec<&Cell>> = sweeps.iter().flat_map(|sweep| same_prompts(sweep)).collect();
    if groups.is_empty() {
        return Looked::Needs(
            "levels of the same prompts that state the requested length or dataset, with prompt \
             and output tokens",
        );
    }
    let findings = groups.iter().filter_map(|cells| told(cells));
    Looked::Found(findings.collect())
}

/// Levels that sent as many requests with as many prompt tokens.
fn same_prompts<'c>(sweep: &[&'c Cell<'c>]) -> Vec<Vec<&'c Cell<'c>>> {
    let mut groups: Vec<([f64; 2], Vec<&Cell>)> = Vec::new();
    let is_serving = |cell: &&Cell| cell.part.kind == PartKind::Serving;
    for cell in sweep.iter().copied().filter(is_serving).filter(|cell| asks_for_same(cell)) {
        let prompts = cell.tokens(Metric::InputTokens).zip(cell.requests());
        let (Some((tokens, requests)), Some(_)) = (prompts, output(cell)) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == [tokens, requests]) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push(([tokens, requests], vec![cell])),
        }
    }
    groups.into_iter().map(|(_, cells)| cells).filter(|cells| cells.len() > 1).collect()
}

/// Whether a level states the requested length of answers: a number, or a dataset that has one for
/// each prompt. Levels of a sweep share these settings; if they are unknown, one may have requested
/// longer answers than another.
fn asks_for_same(cell: &Cell) -> bool {
    let is_random = |name: &str| name.to_ascii_lowercase().contains("random");
    let has_lengths = cell.factors.get(key::WORKLOAD).is_some_and(|name| !is_random(name));
    cell.factors.get(key::OUTPUT_TOKENS).is_some() || has_lengths
}

fn output(cell: &Cell) -> Option<f64> {
    cell.tokens(Metric::OutputTokens).filter(|tokens| *tokens > 0.0)
}

fn told(cells: &[&Cell]) -> Option<Finding> {
    let counted = || cells.iter().filter_map(|cell| Some((output(cell)?, *cell)));
    let (least, of_least) = counted().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (most, of_most) = counted().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let share = most / least - 1.0;
    let level = match share {
        share if share > FAR => Level::Strong,
        share if share > APART => Level::Hint,
        _ => return None,
    };
    let text = format!(
        "the same {:.0} prompt tokens got {least:.0} ({}) to {most:.0} ({}) tokens, {:.1} % apart, in \
         {} levels: answers were sampled or stopped elsewhere, so the levels did not do the same work",
        of_least.tokens(Metric::InputTokens)?,
        of_least.name(),
        of_most.name(),
        share * 100.0,
        cells.len()
    );
    let finding = Finding::new(RULE.id, level, text)
        .at_all([of_least.spot(), of_most.spot()])
        .at_all(cells.iter().map(|cell| cell.spot()))
        .with("fewest tokens", least, "tokens")
        .with("most tokens", most, "tokens")
        .remedy("fix the length of answers (ignore_eos), or compare times per token only");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{check, found, row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{Statistic, Unit};

    fn document(output: &str, input: &str) -> Sheet {
        let level = |line, users: u32, output: &str, input: &str| {
            let (count, value) = (Unit::Count, Statistic::Value);
            let figures = [
                (Metric::RequestsOk, value, "100", count.clone()),
                (Metric::InputTokens, value, input, count.clone()),
                (Metric::OutputTokens, value, output, count),
            ];
            let mut row = row(line, &figures);
            row.factors.set(key::CONCURRENCY, users);
            row.factors.set(key::OUTPUT_TOKENS, 90);
            row
        };
        let rows = vec![level(3, 8, "9000", "20000"), level(9, 16, output, input)];
        sheet(PartKind::Serving, rows)
    }

    #[test]
    fn reports_answers_of_another_length() {
        let sound = document("9020", "20000");
        let some = |sheet: &mut Sheet| *sheet = document("9200", "20000");
        check(
            "answer_lengths",
            &sound,
            some,
            Level::Hint,
            "9000 (concurrency 8, output_tokens 90) to 9200",
        );
        let far = |sheet: &mut Sheet| *sheet = document("7000", "20000");
        check("answer_lengths", &sound, far, Level::Strong, "28.6 % apart");
        assert_eq!(found("answer_lengths", &[document("7000", "21000")]), []);
    }

    #[test]
    fn is_silent_where_the_asked_length_is_unknown() {
        let with = |name: &str, value: &str| {
            let mut sheet = document("7000", "20000");
            for row in &mut sheet.parts[0].rows {
                row.factors = row.factors.without(&[key::OUTPUT_TOKENS]);
                if !name.is_empty() {
                    row.factors.set(name, value);
                }
            }
            found("answer_lengths", &[sheet]).len()
        };
        assert_eq!(with("", ""), 0);
        assert_eq!(with(key::WORKLOAD, "random"), 0);
        assert_eq!(with(key::WORKLOAD, "sharegpt"), 1);
    }
}
