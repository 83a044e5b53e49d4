//! Notes on a training run: a few short lines with a model, a batch size, memory and hours below a
//! heading that speaks of training.

use super::super::heading;
use super::super::known;
use super::super::measure::{Dimension, Token, lex, unit};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, PartKind, Place, Row, RowRole, Statistic, Unit, key};

/// What the part is.
pub(super) const KIND: PartKind = PartKind::Training;
/// Longest line that is a note, bytes.
const LINE_BYTES_MAX: usize = 120;

/// Whether a heading speaks of training.
pub(super) fn is_about(title: &str) -> bool {
    let title = title.to_lowercase();
    ["training", "fine-tun", "finetun", "pretrain"].iter().any(|word| title.contains(word))
        || lex(&title).iter().any(|token| token.is("sft") || token.is("train"))
}

/// The row of the lines below such a heading; absent where they hold no figure.
pub(super) fn row(lines: &[(u32, &str)]) -> Option<(Row, Vec<u32>)> {
    let mut row = Row::new(RowRole::Measured, Place::line(lines.first()?.0));
    let mut taken = Vec::new();
    for (number, line) in lines.iter().filter(|(_, line)| line.len() <= LINE_BYTES_MAX) {
        let line = line.trim().trim_start_matches(['-', '*', '•']).trim();
        let figures = figures(line, *number);
        let said = heading::factors(line);
        let method = method(line);
        if figures.is_empty() && said.is_empty() && method.is_none() {
            continue;
        }
        row.figures.extend(figures);
        row.factors = said.within(&row.factors);
        if known::is_model(line) {
            row.factors.set(key::MODEL, line);
        }
        if let Some(method) = method {
            row.factors.set("method", method);
        }
        taken.push(*number);
    }
    row.text = Some(lines.iter().map(|(_, line)| line.trim()).collect::<Vec<_>>().join("\n"));
    (!row.figures.is_empty()).then_some((row, taken))
}

/// How it was trained.
fn method(line: &str) -> Option<String> {
    let known = ["sft", "dpo", "lora", "qlora", "grpo", "ppo", "rlhf", "pretraining"];
    let token = lex(line).into_iter().find(|token| known.iter().any(|word| token.is(word)))?;
    Some(token.text.to_lowercase())
}

fn figures(line: &str, number: u32) -> Vec<Figure> {
    let tokens = lex(line);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((quantity, unit, values, next)) = amount(line, &tokens, at) else {
            at += 1;
            continue;
        };
        let statistics = match values.len() {
            1 => vec![Statistic::Value],
            _ => vec![Statistic::Min, Statistic::Max],
        };
        for ((value, printed), statistic) in values.into_iter().zip(statistics) {
            let figure = Figure::new(quantity, statistic, value, unit.clone());
            let mut figure = figure.as_printed(printed);
            figure.place = Some(Place::line(number));
            found.push(figure);
        }
        at = next;
    }
    found
}

type Amount = (Metric, Unit, Vec<(f64, String)>, usize);

/// `85-88GB`, `3:00-3:20h`, `loss 1.23`.
fn amount(line: &str, tokens: &[Token<'_>], at: usize) -> Option<Amount> {
    if let Some(token) = tokens.get(at).filter(|token| token.is("loss")) {
        let skip = tokens.get(at + 1).filter(|next| next.is("=") || next.is(":")).map_or(1, |_| 2);
        let value = tokens.get(at + skip)?;
        let values = vec![(value.number()?, value.text.to_owned())];
        let quantity = Metric::other(token.text.to_lowercase());
        return Some((quantity, Unit::One, values, at + skip + 1));
    }
    let (first, mut next) = clock(line, tokens, at)?;
    let mut values = vec![first];
    if tokens.get(next).is_some_and(|dash| matches!(dash.text, "-" | "–"))
        && let Some((second, behind)) = clock(line, tokens, next + 1)
    {
        values.push(second);
        next = behind;
    }
    let (unit, dimension) = unit(tokens.get(next)?.text)?;
    let colons = values.iter().all(|(_, printed)| printed.contains(':'));
    let (quantity, unit) = match dimension {
        Dimension::Size => (Metric::Memory, unit),
        // Hours and minutes are written out: counted in minutes.
        Dimension::Time if colons && unit == Unit::H => (Metric::Duration, Unit::Min),
        Dimension::Time if !colons => (Metric::Duration, unit),
        Dimension::TokenRate => (Metric::other("training rate"), unit),
        _ => return None,
    };
    Some((quantity, unit, values, next + 1))
}

/// A number, or hours and minutes with a colon, in minutes then; and the token behind it.
fn clock(line: &str, tokens: &[Token<'_>], at: usize) -> Option<((f64, String), usize)> {
    let hours = tokens.get(at)?;
    let number = hours.number()?;
    if let (Some(colon), Some(minutes)) = (tokens.get(at + 1), tokens.get(at + 2))
        && colon.is(":")
        && let Some(minutes_number) = minutes.number().filter(|_| minutes.text.len() == 2)
    {
        let printed = line.get(hours.start..minutes.end)?.to_owned();
        return Some(((60.0 * number + minutes_number, printed), at + 3));
    }
    Some(((number, hours.text.to_owned()), at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_lines_are_a_run() {
        let lines = [
            (3, "gemma-2-2b"),
            (4, "40-44GB memory"),
            (5, "bs=16"),
            (6, "2:30-2:45h lora"),
            (7, "loss: 1.75"),
        ];
        let (row, taken) = row(&lines).unwrap();
        assert_eq!(taken, [3, 4, 5, 6, 7]);
        assert_eq!(row.factors.get(key::MODEL), Some("gemma-2-2b"));
        assert_eq!(row.factors.get(key::BATCH_SIZE), Some("16"));
        assert_eq!(row.factors.get("method"), Some("lora"));
        assert_eq!(row.value(Metric::Memory, Statistic::Max), Some(44e9));
        assert_eq!(row.value(Metric::Duration, Statistic::Min), Some(150.0 * 60e3));
        assert_eq!(
            row.figure(Metric::Duration, Statistic::Max).unwrap().printed.as_deref(),
            Some("2:45")
        );
        assert_eq!(row.value(Metric::other("loss"), Statistic::Value), Some(1.75));
    }

    #[test]
    fn prose_about_training_is_none() {
        assert!(row(&[(1, "We trained it for a while and then went home.")]).is_none());
        assert!(is_about("Training") && is_about("LoRA fine-tuning") && !is_about("Restraint"));
    }
}
