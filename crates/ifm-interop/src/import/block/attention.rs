//! What attention-gym's benchmark prints: for each mask a title in a box, a table of forward and
//! backward times of several kernels, and the mask of blocks drawn in characters.
//!
//! Forward and backward are rows of their own: both are times of a kernel.

use super::super::Recognised;
use super::super::grid::{Grid, grid, stray};
use super::super::measure::{Cell, name_and_unit, plain};
use super::super::text::{Line, Text};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Row, RowRole, Statistic, Unit};
use serde_json::{Map, Value, json};

pub(super) struct Attention;

/// Lines between a title and its table, or a table and its mask, at most.
const GAP_LINES_MAX: u32 = 8;
/// Lines of a drawn mask at most.
const MASK_LINES_MAX: usize = 4096;
/// Names of the factors for the mask, the kernel, and the direction.
const MASK: &str = "mask";
const KERNEL: &str = "kernel";
const PASS: &str = "pass";

impl Block for Attention {
    fn about(&self) -> Recognised {
        Recognised { id: "attention-gym", title: "attention-gym benchmark, printed" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        let trimmed = first.text.trim_start();
        if trimmed.starts_with("BlockMask(") {
            let (row, last_line) = mask(first, text)?;
            return Some(found(first.number, last_line, vec![row], Factors::default(), Map::new()));
        }
        let title = if trimmed.starts_with('╔') { Some(title(first, text)?) } else { None };
        if title.is_none() && !trimmed.starts_with("+-") {
            return None;
        }
        let mut unknown = Map::new();
        let begin = if title.is_some() { first.number + 3 } else { first.number };
        let (table, passes) = table(begin, title.is_some(), text, &mut unknown)?;
        let mut rows = rows(&table, &passes);
        let mut last_line = table.last_line;
        if let Some((row, line)) = following_mask(last_line + 1, text) {
            rows.extend(row);
            last_line = line;
        }
        let factors =
            title.map_or(Factors::default(), |title| Factors::default().with(MASK, title));
        let mut found = found(first.number, last_line, rows, factors, unknown);
        found.remarks.extend(table.strays.iter().copied().map(stray));
        Some(found)
    }
}

fn found(
    place: u32,
    last_line: u32,
    rows: Vec<Row>,
    factors: Factors,
    unknown: Map<String, Value>,
) -> Found {
    let part = Part {
        kind: PartKind::Kernel,
        tool: Some("attention-gym".to_owned()),
        headings: Vec::new(),
        place: Place::line(place),
        factors,
        rows,
        unknown,
    };
    Found { parts: vec![part], last_line, remarks: Vec::new() }
}

/// The words in a box of one cell.
fn title(first: Line<'_>, text: &Text) -> Option<String> {
    let middle = text.line(first.number + 1)?.text.trim();
    let inner = middle.strip_prefix('║')?.strip_suffix('║')?.trim();
    let closed = text.line(first.number + 2)?.text.trim_start().starts_with('╚');
    (closed && !inner.contains('║') && !inner.is_empty()).then(|| inner.to_owned())
}

/// A direction and what a column measures in it.
struct Pass {
    column: usize,
    direction: &'static str,
    quantity: Metric,
    unit: Unit,
}

/// The table of times that begins here, or after lines that say whether the result was right.
fn table(
    begin: u32,
    titled: bool,
    text: &Text,
    unknown: &mut Map<String, Value>,
) -> Option<(Grid, Vec<Pass>)> {
    let gap = if titled { GAP_LINES_MAX } else { 1 };
    for line in text.from(begin).take(usize::try_from(gap).unwrap_or(1)) {
        let words = line.text.trim();
        if words.starts_with("+-") {
            let grid = grid(line, text)?;
            let passes: Vec<Pass> =
                grid.head.iter().enumerate().filter_map(|(at, head)| pass(at, head)).collect();
            let timed = passes.iter().any(|pass| pass.quantity == Metric::Kernel);
            return timed.then_some((grid, passes));
        }
        if words.starts_with('╔') {
            return None;
        }
        if let Some(verdict) = words.to_lowercase().strip_prefix("correctness check ") {
            let verdict = verdict.split_whitespace().next().unwrap_or_default();
            unknown.insert("correctness_check".to_owned(), Value::from(verdict));
        }
    }
    None
}

fn pass(column: usize, head: &str) -> Option<Pass> {
    let lower = head.to_lowercase();
    let (word, rest) = lower.split_once([' ', '_'])?;
    let direction = match word {
        "fw" | "fwd" | "forward" => "forward",
        "bw" | "bwd" | "backward" => "backward",
        _ => return None,
    };
    let unit = name_and_unit(head).1;
    let (quantity, usual) = if rest.starts_with("time") || rest.starts_with("latency") {
        (Metric::Kernel, Unit::Other(String::new()))
    } else if rest.contains("flop") {
        (Metric::FlopRate, Unit::Other(String::new()))
    } else {
        return None;
    };
    Some(Pass { column, direction, quantity, unit: unit.unwrap_or(usual) })
}

fn rows(table: &Grid, passes: &[Pass]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, cells) in &table.rows {
        let name = cells.first().map(|cell| plain(cell)).unwrap_or_default();
        for direction in ["forward", "backward"] {
            let mut row = Row::new(RowRole::Measured, Place::line(*line));
            row.label = Some(name.clone());
            row.factors = Factors::default().with(KERNEL, &name).with(PASS, direction);
            for pass in passes.iter().filter(|pass| pass.direction == direction) {
                let Some(cell) = cells.get(pass.column) else { continue };
                match Cell::read(cell) {
                    Cell::Number { value, printed, .. } => row.figures.push(
                        Figure::new(pass.quantity, Statistic::Value, value, pass.unit.clone())
                            .as_printed(printed),
                    ),
                    Cell::Missing => {
                        let mut figure = Figure::new(
                            pass.quantity,
                            Statistic::Value,
                            f64::NAN,
                            pass.unit.clone(),
                        );
                        figure.printed = Some(cell.clone()).filter(|cell| !cell.is_empty());
                        row.figures.push(figure);
                    }
                    Cell::Range { .. } | Cell::Bound | Cell::Text => {
                        let head = table.head.get(pass.column).cloned().unwrap_or_default();
                        row.unknown.insert(head, Value::from(cell.as_str()));
                    }
                }
            }
            if !row.figures.is_empty() {
                rows.push(row);
            }
        }
    }
    rows
}

/// The mask below a table: drawn, or said to be none.
fn following_mask(from: u32, text: &Text) -> Option<(Option<Row>, u32)> {
    let near = || text.from(from).take(usize::try_from(GAP_LINES_MAX).unwrap_or(0));
    let label = near().find(|line| !line.text.trim().is_empty())?;
    if !label.text.trim().eq_ignore_ascii_case("block mask:") {
        return None;
    }
    let next = text.line(label.number + 1)?;
    if next.text.trim() == "None" {
        return Some((None, next.number));
    }
    let (row, last_line) = mask(next, text)?;
    Some((Some(row), last_line))
}

/// A drawn mask: `BlockMask(shape=(…), sparsity=…%,`, pictures, `)`.
fn mask(first: Line<'_>, text: &Text) -> Option<(Row, u32)> {
    let head = first.text.trim().strip_prefix("BlockMask(")?;
    let (_, shape) = head.split_once("shape=(")?;
    let (shape, rest) = shape.split_once(')')?;
    let shape: Vec<u64> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    let sparsity = rest.split_once("sparsity=").and_then(|(_, rest)| rest.split_once('%'));
    let mut row = Row::new(RowRole::Measured, Place::line(first.number));
    row.label = Some("block mask".to_owned());
    if let Some((printed, _)) = sparsity
        && let Ok(value) = printed.trim().parse()
    {
        row.figures.push(
            Figure::new(Metric::Sparsity, Statistic::Value, value, Unit::Percent)
                .as_printed(printed.trim()),
        );
    }
    let mut last_line = first.number;
    let mut pictures: Vec<Vec<&str>> = Vec::new();
    for line in text.from(first.number + 1).take(MASK_LINES_MAX) {
        let drawn = line.text.trim_end();
        if drawn.trim() == ")" {
            last_line = line.number;
            break;
        }
        if drawn.starts_with('(') {
            pictures.push(Vec::new());
        } else if drawn.chars().all(|c| matches!(c, '█' | '░' | ' ')) {
            if let Some(picture) = pictures.last_mut() {
                picture.push(drawn);
            }
        } else {
            break;
        }
        last_line = line.number;
    }
    let lines: Vec<&str> = pictures.iter().flatten().copied().collect();
    row.text = (!lines.is_empty()).then(|| lines.join("\n"));
    if let [picture] = pictures.as_slice() {
        row.unknown.insert("drawn".to_owned(), drawn(picture, &shape));
    }
    row.unknown.insert("shape".to_owned(), Value::from(shape));
    Some((row, last_line))
}

/// The contents of a picture: cells by kind and, if all have one size, the bounds that they set for
/// the share of empty blocks. A half-filled cell may represent several blocks.
fn drawn(picture: &[&str], shape: &[u64]) -> Value {
    let rows = picture.len();
    let widest = picture.iter().map(|line| line.chars().count().div_ceil(2)).max().unwrap_or(0);
    let (queries, keys) = match shape {
        [.., queries, keys] => (*queries, *keys),
        _ => (0, 0),
    };
    // Empty cells at the end of all lines are not to be seen: a square has as many as it has rows.
    let columns = if queries == keys { widest.max(rows) } else { widest };
    let of = |wanted: char| -> usize {
        picture.iter().map(|line| line.chars().filter(|&c| c == wanted).count().div_ceil(2)).sum()
    };
    let (full, partial) = (of('█'), of('░'));
    let total = rows * columns;
    let empty = total.saturating_sub(full + partial);
    let mut cells = json!({
        "rows": rows, "columns": columns, "full": full, "partial": partial, "empty": empty,
    });
    let even = |side: u64, cells: usize| cells > 0 && side > 0 && side.is_multiple_of(cells as u64);
    if total > 0 && even(queries, rows) && even(keys, columns) {
        cells["sparsity_at_least"] = json!(empty as f64 / total as f64);
        cells["sparsity_at_most"] = json!((empty + partial) as f64 / total as f64);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "╔═══════════╗\n║ Some Mask ║\n╚═══════════╝\nCorrectness check passed ✅\n\
        +------+----------------+-----------------+----------------+\n\
        | Op   |   FW Time (ms) | FW FLOPS (TF/s) |   BW Time (ms) |\n\
        +======+================+=================+================+\n\
        | sdpa |          4.5   |         100.25  |           9    |\n\
        +------+----------------+-----------------+----------------+\n\n\
        Block Mask:\nBlockMask(shape=(1, 1, 512, 512), sparsity=37.50%,\n(0, 0)\n░░\n██░░\n████░░\n██████░░\n)\nend\n";

    #[test]
    fn tables_and_masks_are_read() {
        let text = Text::new(PRINTED.as_bytes());
        let found = Attention.read(text.line(1).unwrap(), &text).unwrap();
        let part = &found.parts[0];
        assert_eq!(found.last_line, 18);
        assert_eq!(part.factors.get(MASK), Some("Some Mask"));
        assert_eq!(part.unknown["correctness_check"], "passed");
        assert_eq!(part.rows.len(), 3);
        assert_eq!(part.rows[0].value(Metric::Kernel, Statistic::Value), Some(4.5));
        assert_eq!(part.rows[0].value(Metric::FlopRate, Statistic::Value), Some(100.25e12));
        assert_eq!(part.rows[1].factors.get(PASS), Some("backward"));
        let mask = &part.rows[2];
        assert_eq!(mask.text.as_deref(), Some("░░\n██░░\n████░░\n██████░░"));
        assert_eq!(mask.unknown["drawn"]["empty"], 6);
        assert_eq!(mask.unknown["drawn"]["sparsity_at_least"], 0.375);
        assert_eq!(mask.value(Metric::Sparsity, Statistic::Value), Some(0.375));
    }

    #[test]
    fn other_boxes_are_none() {
        for text in
            ["╔══╗\n║ x ║\n╚══╝\ntext\n", "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n"]
        {
            let text = Text::new(text.as_bytes());
            assert!(Attention.read(text.line(1).unwrap(), &text).is_none());
        }
    }
}
