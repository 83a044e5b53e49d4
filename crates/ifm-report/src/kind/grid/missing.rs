//! Cells that a grid announces but that were not measured, and the commands that would fill them.

use super::{charts, row_title, workload_title};
use crate::format::{ABSENT, plain};
use crate::page::{Block, Columns, Section};
use ifm_metrics::level::Load;
use ifm_rules::insight::{Grid, GridRow};

/// Workloads that a command is shown for, at most.
const COMMANDS_MAX: usize = 20;

/// Workloads and loads without any measurement, in one table under their titles; absent if there
/// are none.
pub(super) fn section(grid: &Grid, rows: &[(usize, &GridRow)]) -> Option<Section> {
    if rows.is_empty() {
        return None;
    }
    let sides = format!("✗ {}, {}", plain(&grid.base), plain(&grid.other));
    let mut columns = Columns::<(usize, &GridRow)>::default()
        .name("workload and load", |(_, row)| row_title(row));
    for (model, name) in grid.models.iter().enumerate() {
        let is_wanted = move |index: usize| {
            grid.cells.iter().any(|cell| cell.row == index && cell.model == model)
        };
        let sides = &sides;
        columns = columns.text(plain(name), move |(index, _)| match is_wanted(*index) {
            true => sides.clone(),
            false => ABSENT.to_owned(),
        });
    }
    let caption = format!(
        "✗ marks what was announced and is missing, {} of both conditions.{}",
        charts::TITLES.join(" and "),
        words(grid, rows)
    );
    let table = columns.table(caption, rows);
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(commands(grid, rows).into_iter().flatten());
    Some(Section::new("What is missing", blocks))
}

/// The meaning of the signs in the titles, if there are any.
fn words(grid: &Grid, rows: &[(usize, &GridRow)]) -> String {
    let mut words = String::new();
    if rows.iter().any(|(_, row)| workload_title(row).contains('⇒')) {
        words.push_str(" After a workload: prompt tokens ⇒ answer tokens.");
    }
    if [&grid.base, &grid.other].iter().any(|side| side.split_whitespace().any(|w| w == "CC")) {
        words.push_str(" CC: confidential computing.");
    }
    words
}

/// A sweep for each workload that has a name a sweep knows, and how to distinguish both sides.
fn commands(grid: &Grid, rows: &[(usize, &GridRow)]) -> Option<[Block; 2]> {
    let mut wanted: Vec<(String, Vec<u32>)> = Vec::new();
    for (_, row) in rows {
        let (Some(name), Some(Load::Users(users))) = (asked(row), row.load) else { continue };
        match wanted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, loads)) => loads.push(users),
            None => wanted.push((name, vec![users])),
        }
    }
    if wanted.is_empty() {
        return None;
    }
    let tag = |value: &str| quoted(&format!("{}={value}", grid.by));
    let mut lines: Vec<String> = Vec::new();
    for (name, mut loads) in wanted.into_iter().take(COMMANDS_MAX) {
        loads.sort_unstable();
        loads.dedup();
        let loads: Vec<String> = loads.iter().map(u32::to_string).collect();
        let tag = tag(&grid.base);
        lines.push(format!(
            "inferometer sweep URL -W {name} -c {} --repeat 3 --tag {tag}",
            loads.join(",")
        ));
    }
    lines.push(format!("inferometer report RUN… --kind grid --compare {}", quoted(&grid.by)));
    let intro = format!(
        "To measure them: each line once for every model under each of both conditions, the second \
         time with --tag {}; then the report of all these runs.",
        tag(&grid.other)
    );
    Some([Block::Prose(intro), Block::Pre(lines.join("\n"))])
}

/// The workload of a row as a sweep is asked for it; absent where its name is not known there.
fn asked(row: &GridRow) -> Option<String> {
    let title = workload_title(row);
    if let Some((input, output)) = title.strip_prefix("Random (").and_then(|t| t.split_once(" ⇒ "))
    {
        return Some(format!("{input}/{}", output.trim_end_matches(')')));
    }
    let known = [
        ("ShareGPT", "sharegpt"),
        ("Edit 10K Characters", "edit-10k-chars"),
        ("Numina Math", "numina-math"),
    ];
    known.iter().find(|(name, _)| *name == title).map(|(_, preset)| (*preset).to_owned())
}

/// A word for a shell: in single quotes unless it is plain.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-/:".contains(c);
    let word = plain(word);
    match word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("cc=on"), "cc=on");
        assert_eq!(quoted("condition=No CC"), "'condition=No CC'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$(rm x)"), "'$(rm x)'");
    }
}
