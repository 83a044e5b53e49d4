//! A plan as text: what it would do, what it did, and what remains.

use super::{Experiment, conditions};
use crate::secrets::mask_words;
use ifm_core::words::counted;
use ifm_plan::{
    Cell, Estimate, Fate, Journal, Order, Words, effects, estimate, start_words, words,
};
use std::fmt::Write as _;
use std::time::Duration;

/// Maximum number of cells in a table if all are alike.
const ROWS_MAX: usize = 40;
const S_PER_MIN: f64 = 60.0;
const S_PER_HOUR: f64 = 3600.0;

/// The status line while a cell is measured. Cells that are neither done nor remaining have finally
/// failed.
pub fn progress(left: &Estimate, done: usize, all: usize, label: &str, took: Duration) -> String {
    let failed = all.saturating_sub(done + left.cells);
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let seconds = took.as_secs_f64();
    format!("{done} of {all} cells done{failed} · now {label} ({seconds:.0} s) · {}", time(left))
}

/// Remaining time: `about 12 min left`.
fn time(left: &Estimate) -> String {
    let all = match (left.unknown, left.cells) {
        (_, 0) => return "no cell left".to_owned(),
        (unknown, cells) if unknown == cells && left.seconds <= 0.0 => {
            return "time left: unknown until a cell is measured".to_owned();
        }
        (0, _) => format!("about {} left", span(left.seconds)),
        (unknown, _) => {
            let cells = counted(unknown as u64, "cell");
            format!("at least {} left ({cells} of unknown length)", span(left.seconds))
        }
    };
    match left.settle_s > 0.0 {
        false => all,
        true => {
            let measuring = span(left.seconds - left.settle_s);
            format!("{all}: {measuring} measuring, up to {} settling", span(left.settle_s))
        }
    }
}

/// A duration in the way people say it.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 2.0 * S_PER_MIN => format!("{s:.0} s"),
        s if s < 2.0 * S_PER_HOUR => format!("{:.0} min", s / S_PER_MIN),
        s => format!("{:.1} h", s / S_PER_HOUR),
    }
}

/// The shape of a plan: its cells as a product, and their order.
pub fn head(of: &Experiment) -> String {
    let plan = &of.plan;
    let mut factors: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in of.cells.iter().flat_map(|cell| cell.factors(plan)) {
        match factors.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => factors.push((name, vec![value])),
        }
    }
    let mut text = format!("plan {}: {}", plan.head.name, counted(of.cells.len() as u64, "cell"));
    let order = match plan.head.order {
        Order::Blocked => "repeats of a cell in a row",
        Order::Interleaved => "interleaved",
        Order::Shuffled => "interleaved, each repeat in a random order",
    };
    let repeats = plan.head.repeats;
    let _ = match repeats {
        1 => writeln!(text),
        _ => {
            let different = of.cells.len() / repeats.max(1) as usize;
            writeln!(text, " ({different} × {repeats} repeats, {order})")
        }
    };
    let width = factors.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, values) in factors {
        let _ = writeln!(text, "  {name:width$}  {}", values.join(", "));
    }
    text
}

/// What the plan does with the user's permissions, one line each; empty if it only sends load.
pub fn rights(of: &Experiment) -> String {
    let effects = effects(&of.plan);
    let mut text = String::new();
    if !effects.is_empty() {
        text.push_str("runs as your user:\n");
    }
    for effect in effects {
        let words = ifm_report::command_line(&mask_words(&effect.words));
        let words =
            if effect.words.len() == 1 { mask_words(&effect.words).concat() } else { words };
        let words = ifm_report::plain(&words);
        let _ = writeln!(text, "  {:6}  {words}  ({})", effect.deed.word(), effect.by);
    }
    text
}

/// Texts with the number of occurrences of each, in the order of first occurrence.
pub fn grouped<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => groups.push((text, 1)),
        }
    }
    groups
}

/// The cells that failed and are not retried: how many and why, with the command that retries them.
pub fn failures(of: &Experiment, journal: &Journal) -> String {
    let reasons = of.cells.iter().filter_map(|cell| match journal.fate(&cell.key) {
        Fate::Failed { reason, .. }
            if journal.next_attempt(&cell.key, of.plan.head.retries).is_none() =>
        {
            Some(reason.as_str())
        }
        _ => None,
    });
    let groups = grouped(reasons);
    let mut text = String::new();
    for (reason, count) in &groups {
        let _ = writeln!(text, "  {} failed: {reason}", counted(*count as u64, "cell"));
    }
    if !groups.is_empty() {
        let logs = of.folder.path().join("logs");
        let name = &of.plan.head.name;
        let _ = writeln!(text, "  logs: {}", logs.display());
        let _ = writeln!(
            text,
            "  after the cause is fixed, try them again: inferometer plan resume {name}"
        );
    }
    text
}

/// Time and cost of the remaining work.
pub fn costs(of: &Experiment, journal: &Journal) -> String {
    let left = estimate(&of.plan, &of.cells, journal);
    let failures = failures(of, journal);
    if left.cells == 0 && !failures.is_empty() {
        return failures;
    }
    if left.cells == 0 {
        let all = of.cells.len();
        return format!("  done: {all} of {all} measured\n");
    }
    let mut text = format!("{failures}  {}", time(&left));
    if left.starts > 0 {
        let starts = counted(left.starts as u64, "server start");
        let _ = match left.is_start_known {
            true => write!(text, ", including {starts}"),
            false => write!(text, ", plus {starts} of unknown length"),
        };
    }
    match (left.usd, left.unknown) {
        (Some(usd), 0) => {
            let _ = write!(text, "; about ${usd:.2}");
        }
        (Some(usd), _) => {
            let _ = write!(text, "; more than ${usd:.2}");
        }
        (None, _) => {}
    }
    text.push('\n');
    text
}

/// A row per cell: its settings and its state. Repeats in the same state share a row, unless every
/// cell is wanted.
pub fn cells(of: &Experiment, journal: &Journal, shows_all: bool) -> String {
    let rows = match shows_all {
        true => {
            of.cells.iter().map(|cell| (cell.label(&of.plan), state(journal, &[cell]))).collect()
        }
        false => grouped_rows(of, journal),
    };
    let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let shown = if shows_all { rows.len() } else { ROWS_MAX };
    let mut text = String::new();
    for (label, state) in rows.iter().take(shown) {
        let _ = writeln!(text, "  {}", format!("{label:width$}  {state}").trim_end());
    }
    if rows.len() > shown {
        let _ = writeln!(text, "  … and {} more (--all)", rows.len() - shown);
    }
    text
}

/// Rows in which the repeats of a cell are one, as far as they are in the same state.
fn grouped_rows(of: &Experiment, journal: &Journal) -> Vec<(String, String)> {
    let mut names: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in &of.cells {
        let name = cell.name(&of.plan);
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => names.push((name, vec![cell])),
        }
    }
    let alike = |one: &Cell, other: &Cell| match (journal.fate(&one.key), journal.fate(&other.key))
    {
        (Fate::Open, Fate::Open) | (Fate::Done { .. }, Fate::Done { .. }) => true,
        (
            Fate::Failed { attempts, reason, .. },
            Fate::Failed { attempts: tries, reason: other, .. },
        ) => attempts == tries && reason == other,
        _ => false,
    };
    let mut rows = Vec::new();
    for (name, cells) in names {
        match cells.as_slice() {
            [first, _, ..] if cells.iter().all(|cell| alike(first, cell)) => {
                let name = if name.is_empty() { "all" } else { &name };
                let label = format!("{name} × {} repeats", cells.len());
                rows.push((label, state(journal, &cells)));
            }
            _ => rows
                .extend(cells.iter().map(|cell| (cell.label(&of.plan), state(journal, &[*cell])))),
        }
    }
    rows
}

/// The state of a cell, or of several in the same state.
fn state(journal: &Journal, cells: &[&Cell]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    match journal.fate(&first.key) {
        Fate::Open => String::new(),
        Fate::Begun { .. } => "begun".to_owned(),
        Fate::Done { run, seconds } if cells.len() == 1 => format!("done in {seconds:.1} s  {run}"),
        Fate::Done { .. } => {
            let took = |cell: &&Cell| match journal.fate(&cell.key) {
                Fate::Done { seconds, .. } => *seconds,
                _ => 0.0,
            };
            let mean = cells.iter().map(took).sum::<f64>() / cells.len() as f64;
            format!("done in {mean:.1} s each")
        }
        Fate::Failed { attempts, reason, .. } => {
            let tries = counted(u64::from(*attempts), "try").replace("trys", "tries");
            format!("failed ({tries}): {reason}")
        }
    }
}

/// What prevents cells from being measured on this machine; empty if nothing is known to.
pub fn obstacles(of: &Experiment) -> String {
    let lines = conditions::obstacles(&of.plan.conditions).into_iter();
    lines.map(|one| format!("✗ {} cannot be set here: {}\n", one.condition, one.why)).collect()
}

/// How a call ended: the measured cells, and the command for their report.
pub fn end(of: &Experiment, journal: &Journal) -> String {
    let is_done = |cell: &&Cell| matches!(journal.fate(&cell.key), Fate::Done { .. });
    let done = of.cells.iter().filter(is_done).count();
    let name = &of.plan.head.name;
    let mut text = format!("{done} of {} cells measured.", of.cells.len());
    if done > 0 {
        let _ = write!(text, " Report: inferometer plan show {name} -o {name}.html");
    }
    text.push('\n');
    text
}

/// The command of each cell, ready to type, and of the servers in between.
pub fn commands(of: &Experiment) -> String {
    let mut text = String::new();
    let mut last = None;
    for cell in &of.cells {
        let server = start_words(&of.plan, cell).map(|words| mask_words(&words).join(" "));
        let instance = cell.instance(&of.plan);
        if let (Some(server), true) = (&server, last.as_ref() != Some(&instance)) {
            let _ = writeln!(text, "# starts {server}");
        }
        last = Some(instance);
        let _ = writeln!(text, "{}", command(of, cell));
    }
    text
}

/// The command of a cell.
pub fn command(of: &Experiment, cell: &Cell) -> String {
    let server = cell.server.and_then(|index| of.plan.servers.get(index));
    let url = server.and_then(|server| server.url.as_deref()).unwrap_or("URL");
    let words = mask_words(&words(&of.plan, cell, Words { url, attempt: 1, is_fresh: true }));
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    format!("inferometer {}", words.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_failed_for_good_is_neither_done_nor_left() {
        let left = Estimate {
            cells: 3,
            seconds: 90.0,
            settle_s: 0.0,
            unknown: 0,
            starts: 0,
            is_start_known: true,
            usd: None,
        };
        let line = progress(&left, 5, 10, "base, 8 users", Duration::from_secs(4));
        assert_eq!(
            line,
            "5 of 10 cells done, 2 failed · now base, 8 users (4 s) · about 90 s left"
        );
        let line = progress(&left, 7, 10, "base", Duration::from_secs(4));
        assert_eq!(line, "7 of 10 cells done · now base (4 s) · about 90 s left");
    }
}
