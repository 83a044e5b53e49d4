//! The output for an engine's tests: llama-bench's formats, and the report.

use super::Format;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Row, RowRole, key};
use std::collections::BTreeSet;

/// The tests in llama-bench's notation in one of its formats; empty if there are none.
pub(super) fn tables(sheets: &[Sheet], format: Format) -> String {
    let export = ifm_interop::EXPORTS.iter().find(|export| export.id == format.export());
    let texts = sheets.iter().filter_map(|sheet| {
        let sheet = if format == Format::Md { tidied(sheet) } else { sheet.clone() };
        let files = export?.write(&sheet).ok()?;
        Some(files.into_iter().map(|file| file.text).collect::<String>())
    });
    texts.collect()
}

/// A sheet whose rows keep only factors that differ, as in the tool's own table.
fn tidied(sheet: &Sheet) -> Sheet {
    /// What the tool always shows.
    const SHOWN: [&str; 2] = ["backends", "n_threads"];
    let mut sheet = sheet.clone();
    for part in &mut sheet.parts {
        let of_row = |row: &Row| row.factors.within(&part.factors);
        // A repeat differs from its mean only by its number; a failed test has no line.
        part.rows.retain(|row| row.factors.get(key::REPEAT).is_none() && !row.figures.is_empty());
        let all: Vec<Factors> = part.rows.iter().map(of_row).collect();
        let names: BTreeSet<&str> =
            all.iter().flat_map(|one| one.iter().map(|(name, _)| name)).collect();
        let is_constant =
            |name: &&&str| all.windows(2).all(|pair| pair[0].get(name) == pair[1].get(name));
        let named_by_test =
            [key::MODEL, key::TEST, key::DEPTH_TOKENS, key::INPUT_TOKENS, key::OUTPUT_TOKENS];
        let dropped: Vec<&str> = names
            .iter()
            .filter(is_constant)
            .copied()
            .chain([key::QUANTIZATION, "computed", "model_filename"])
            .filter(|name| !named_by_test.contains(name) && !SHOWN.contains(name))
            .collect();
        for row in &mut part.rows {
            row.role = RowRole::Measured;
            row.factors = row.factors.without(&dropped);
        }
        part.factors = part.factors.without(&dropped);
    }
    sheet
}
