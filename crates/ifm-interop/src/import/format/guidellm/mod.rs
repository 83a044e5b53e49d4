//! GuideLLM: one file with all benchmarks of a run, JSON or YAML, of any of its generations.
//!
//! Up to 0.3.1 a benchmark has its own `args`; 0.4 to 0.7 put them next to the benchmarks, 0.8 has
//! `config` in both places. Each benchmark is a row. Not here: what its metrics mean (`words`), its
//! CSV (`csv`), its tables on the console (`block/guidellm`).

mod benchmark;
pub(super) mod csv;
mod request;
pub(crate) mod words;

use super::super::error::ImportError;
use super::super::{Input, Likeness, json, yaml};
use super::collect::Gathered;
use super::{Format, Like, collect, sure};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;
use request::Requests;

pub(super) const JSON: Format = Format {
    id: "guidellm",
    title: "GuideLLM, JSON",
    tool: Some("guidellm"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let named = head.has_keys(&["guidellm_version"])
            || head.text().contains("\"generative_benchmark\"")
            || head.text().contains("\"generative_benchmarks_report\"");
        match head.is_json() && (named || head.has_keys(&["benchmarks"])) {
            true if named => Likeness::Sure,
            true => Likeness::Some,
            false => Likeness::No,
        }
    }),
    marks: &["benchmarks", "metadata", "guidellm_version", "config", "args"],
    read,
};
pub(super) const YAML: Format = Format {
    id: "guidellm-yaml",
    title: "GuideLLM, YAML",
    like: Like::By(|head| {
        let text = head.text();
        let begins = |mark: &str| text.lines().any(|line| line.starts_with(mark));
        sure(!head.is_json() && begins("benchmarks:") && text.contains("strategy:"))
    }),
    marks: &[],
    read: |format, input| {
        let name = input.name().to_owned();
        let bytes = input.all()?;
        let (text, broken) = yaml::to_json(&String::from_utf8_lossy(&bytes));
        let mut sheet = read(format, Input::new(name, text.as_bytes()))?;
        sheet.source.bytes = bytes.len() as u64;
        sheet.remarks.extend(broken.map(|(line, reason)| collect::skipped(line, &reason)));
        Ok(sheet)
    },
    ..JSON
};
/// What is cut out of the file: a benchmark, and each of its requests.
const PATHS: &[&str] = &["/benchmarks/*", "/benchmarks/*/requests/*/*"];

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let (mut all, mut requests) = (Gathered::default(), Requests::default());
    // What the fields and the requests of each row say of its time per output token.
    let mut meant = Vec::new();
    let gone = collect::pieces(&mut input, PATHS, &mut |piece| {
        if piece.cut == Some(1) {
            return requests.take(&piece, &mut all);
        }
        let Some(object) = all.value(&piece) else { return };
        if piece.cut.is_none() {
            all.rest = object;
            return;
        }
        let by_fields = benchmark::tpot_meaning(&object);
        let row = benchmark::row(object, &piece.pointer(), &mut all.remarks);
        meant.push(requests.tpot_meaning().or(by_fields));
        all.push(requests.finish(row));
        if piece.broken_off {
            let reason = "the rest of this benchmark: the file breaks off";
            all.remarks.push(collect::skipped(piece.line, reason));
        }
    })?;
    let version = all.rest.get("metadata").and_then(|metadata| metadata.get("guidellm_version"));
    let version = json::word(version);
    let by_version = version.as_deref().and_then(words::TpotMeaning::of_version);
    for (row, meant) in all.rows.iter_mut().zip(meant) {
        words::define_tpot(row, by_version.or(meant));
    }
    benchmark::spread_settings(&all.rest, &mut all.rows);
    all.remarks.extend(requests.remarks());
    // Remarks about benchmarks come before remarks about the file.
    let told = all.rows.first().map(|_| std::mem::take(&mut all.remarks));
    let mut sheet = all.finish(format, gone, "no benchmark in it")?;
    sheet.remarks.splice(0..0, told.unwrap_or_default());
    sheet.source.tool_version = version;
    Ok(sheet)
}
