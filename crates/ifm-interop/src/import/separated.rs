//! Tables of separated values, record by record: the line on which each begins, blank lines before
//! it counted as its own, and its cells.
//!
//! A record may have any number of cells. Not here: what a first record says of the others.

use std::io::{self, Read};

/// Goes through the records of a table. What is not UTF-8 in a cell is replaced.
pub(crate) fn records<'a>(
    reader: impl Read + 'a,
    separator: u8,
) -> impl Iterator<Item = io::Result<(u32, Vec<String>)>> + 'a {
    let records = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(reader)
        .into_byte_records();
    records.map(|record| {
        let record = record?;
        let line = record.position().map_or(0, ::csv::Position::line);
        let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
        Ok((u32::try_from(line).unwrap_or(u32::MAX), cells.collect()))
    })
}

/// Cells without the blanks around them.
pub(crate) fn trimmed(cells: &[String]) -> Vec<String> {
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// What is told of a record that does not fit its table.
pub(crate) fn misfit(cells: usize, columns: usize) -> String {
    format!("{cells} cells for {columns} columns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_their_lines_and_their_cells() {
        let text = b"a,b\n\"1\n,2\" , 3\n\xb1,,\n";
        let all: Vec<(u32, Vec<String>)> =
            records(text.as_slice(), b',').map(|record| record.expect("a record")).collect();
        let lines: Vec<(u32, usize)> =
            all.iter().map(|(line, cells)| (*line, cells.len())).collect();
        assert_eq!(lines, [(1, 2), (2, 2), (4, 3)]);
        assert_eq!(all[1].1, ["1\n,2 ", " 3"]);
        assert_eq!(trimmed(&all[1].1), ["1\n,2", "3"]);
        assert_eq!(all[2].1[0], "\u{fffd}");
    }
}
