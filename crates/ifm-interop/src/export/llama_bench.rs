//! The Markdown table of `llama-bench`, for engines that were called without a server.

use super::{Export, Exported, rows};
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, PartKind, Quantity, Row, Statistic, key};

pub(super) const EXPORT: Export = Export {
    id: "llama-bench",
    title: "llama-bench, Markdown",
    definitions: None,
    write,
    holds: "prompt and generation speeds of an engine without a server",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let lines: Vec<String> = rows(sheet, |part| part.kind == PartKind::Engine)
        .filter_map(|(row, factors)| line(row, &factors))
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "| {:<30} | {:>15} | {:>20} |\n| {} | {}: | {}: |\n",
        "model",
        "test",
        "t/s",
        "-".repeat(30),
        "-".repeat(14),
        "-".repeat(19)
    );
    vec![Exported { stem: String::new(), ending: "md", text: head + &lines.concat() }]
}

fn line(row: &Row, factors: &Factors) -> Option<String> {
    let speed = [Quantity::PrefillRate, Quantity::DecodeRate, Quantity::TotalRate]
        .into_iter()
        .find_map(|quantity| {
            let mean = row
                .value(&quantity, Statistic::Mean)
                .or_else(|| row.value(&quantity, Statistic::Value))?;
            let is_spread =
                |statistic| matches!(statistic, Statistic::Std(_) | Statistic::HalfWidth);
            let spread = row
                .figures
                .iter()
                .find(|figure| figure.quantity == quantity && is_spread(figure.statistic))
                .and_then(ifm_core::sheet::Figure::canonical);
            Some(match spread {
                Some(spread) => format!("{mean:.2} ± {spread:.2}"),
                None => format!("{mean:.2}"),
            })
        })?;
    // A name with a bar would end its cell.
    let model = factors.get(key::MODEL).unwrap_or("?").replace('|', "/");
    let test = factors.get(key::TEST).unwrap_or("?").replace('|', "/");
    Some(format!("| {model:<30} | {test:>15} | {speed:>20} |\n"))
}
