//! Tables with `|` between cells and `||` where a heading spans several columns.
//!
//! Apart from other tables (`grid`), for whom an empty cell is one without words: here its width says
//! whether it belongs to the heading before it.
//!
//! A heading applies to its own column and to the following columns with nothing between the bars.
//! Columns are identified by all the headings above them, never by their position.

/// The cells of a line of a table; absent for any other line.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let inner = match line.strip_prefix('|') {
        Some(rest) => rest.strip_suffix('|').unwrap_or(rest),
        None => line,
    };
    let cells: Vec<&str> = inner.split('|').collect();
    (cells.len() > 1).then_some(cells)
}

/// Whether a line only draws: `|=====|===|`, `-----|----`, `=======`.
pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() > 4 && line.chars().all(|c| matches!(c, '|' | '=' | '-' | '+'))
}

/// Headings of a row of cells, each for all the columns it spans.
pub(super) fn spread(cells: &[&str]) -> Vec<String> {
    let mut heading = "";
    cells
        .iter()
        .map(|cell| {
            // Only a cell without any width belongs to the one before it.
            if !cell.is_empty() {
                heading = cell.trim();
            }
            heading.to_owned()
        })
        .collect()
}

/// Columns by all their headings from the outermost, without repetitions and empty ones.
pub(super) fn columns(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..width)
        .map(|at| {
            let headings = rows.iter().filter_map(|row| row.get(at));
            headings.filter(|heading| !heading.is_empty()).cloned().collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_span_what_has_no_width() {
        let rows: Vec<Vec<String>> = [
            "| Benchmark | Requests             ||| Input  |",
            "| Strategy  | Concurrency || Per Sec | Per Sec |",
            "|           | Mdn  | Mean | Mean            ||",
        ]
        .iter()
        .map(|line| spread(&cells(line).unwrap()))
        .collect();
        let columns: Vec<String> =
            columns(&rows).iter().map(|headings| headings.join("/")).collect();
        assert_eq!(
            columns,
            [
                "Benchmark/Strategy",
                "Requests/Concurrency/Mdn",
                "Requests/Concurrency/Mean",
                "Requests/Per Sec/Mean",
                "Input/Per Sec/Mean"
            ]
        );
    }

    #[test]
    fn tables_without_outer_bars() {
        let heading = spread(&cells("Metadata | TTFT (ms)   ||| ITL").unwrap());
        assert_eq!(heading, ["Metadata", "TTFT (ms)", "TTFT (ms)", "TTFT (ms)", "ITL"]);
        assert!(is_rule("|====|===|") && is_rule("-----|----") && !is_rule("| - |"));
        assert_eq!(cells("no table"), None);
    }
}
