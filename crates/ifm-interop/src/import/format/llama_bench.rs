//! `llama-bench -o json|jsonl|csv|sql`: the same fields four times.

use super::super::error::ImportError;
use super::super::llama::bench;
use super::super::{Head, Input};
use super::records::{self, Draft};
use super::{Format, Like, sure};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "llama-bench",
    title: "llama-bench, JSON, JSON Lines, CSV or SQL",
    tool: Some(bench::TOOL),
    kind: PartKind::Engine,
    like: Like::By(|head| sure(style(head).is_some())),
    marks: MARKS,
    read,
};
const MARKS: &[&str] = &["build_commit", "model_type", "n_prompt", "n_gen", "avg_ts"];

/// How the fields are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Json,
    Csv,
    Sql,
}

fn style(head: &Head) -> Option<Style> {
    if head.is_json() {
        return head.has_keys(MARKS).then_some(Style::Json);
    }
    let text = head.text();
    if text.contains("INSERT INTO llama_bench") || text.contains("EXISTS llama_bench") {
        return Some(Style::Sql);
    }
    let first = text.lines().next().unwrap_or_default();
    let columns: Vec<&str> = first.split(',').map(|name| name.trim().trim_matches('"')).collect();
    MARKS.iter().all(|mark| columns.contains(mark)).then_some(Style::Csv)
}

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut version = None;
    let mut take = |fields: Map<String, Value>, draft: &mut Draft<'_>| {
        version = version.take().or_else(|| bench::build(&fields));
        let rows = bench::rows(fields, &draft.row.place);
        draft.fill(rows);
    };
    let (head, input) = input.with_head()?;
    let mut sheet = match style(&head) {
        Some(Style::Csv) => records::read_csv(format, input, |cells, draft| {
            let named = cells.into_iter().map(|(name, cell)| (name, Value::String(cell)));
            take(named.collect(), draft);
        }),
        Some(Style::Sql) => records::read_lines(format, input, |line, draft| {
            statement(line).map_or(Ok(()), |fields| {
                take(fields?, draft);
                Ok(())
            })
        }),
        _ => records::read_small(format, input, take),
    }?;
    sheet.source.tool_version = version;
    Ok(sheet)
}

/// The fields of `INSERT INTO llama_bench (names) VALUES ('values');`.
fn statement(line: &str) -> Option<Result<Map<String, Value>, String>> {
    let rest = line.trim().strip_prefix("INSERT INTO llama_bench (")?;
    let parts = rest.split_once(") VALUES ('").and_then(|(names, values)| {
        Some((names, values.trim_end().strip_suffix(';')?.trim_end().strip_suffix("')")?))
    });
    let Some((names, values)) = parts else {
        return Some(Err("a statement breaks off".to_owned()));
    };
    let names: Vec<&str> = names.split(", ").collect();
    let values: Vec<&str> = values.split("', '").collect();
    Some(match names.len() == values.len() {
        true => Ok(names
            .into_iter()
            .zip(values)
            .map(|(name, value)| (name.to_owned(), Value::String(value.to_owned())))
            .collect()),
        false => Err(format!("{} names and {} values", names.len(), values.len())),
    })
}
