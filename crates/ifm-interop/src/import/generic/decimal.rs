//! Tables whose numbers have a decimal comma: `86,1` and `1.234,5`.
//!
//! One number can mean two things: `1,234` is 1234, or 1.234. The other numbers of the table decide:
//! where some can only have a decimal comma and none has a decimal point, all are read so.

use super::super::grid::Grid;

/// Rows that are looked at.
const SAMPLE_ROWS: usize = 1000;

/// What the separators of a number say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separators {
    Comma,
    Point,
    /// None, or what means two things.
    Open,
}

/// The table with decimal points.
pub(super) fn with_points(mut grid: Grid) -> Grid {
    let sample = grid.rows.iter().take(SAMPLE_ROWS).flat_map(|(_, cells)| cells);
    let mut has_comma = false;
    for number in sample.filter_map(|cell| number_in(cell)) {
        match separators(number) {
            Separators::Comma => has_comma = true,
            Separators::Point => return grid,
            Separators::Open => {}
        }
    }
    if has_comma {
        for cell in grid.rows.iter_mut().flat_map(|(_, cells)| cells) {
            if number_in(cell).is_some() {
                *cell = pointed(cell);
            }
        }
    }
    grid
}

/// The number that a cell begins with, after marks.
fn number_in(cell: &str) -> Option<&str> {
    let number = cell.trim_start_matches(|c: char| !c.is_alphanumeric());
    let length = number.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
    let number = number.get(..length.unwrap_or(number.len()))?.trim_end_matches(['.', ',']);
    (!number.is_empty()).then_some(number)
}

fn separators(number: &str) -> Separators {
    let digits_behind =
        |separator: char| number.rsplit_once(separator).map_or(0, |(_, behind)| behind.len());
    let count = |separator: char| number.matches(separator).count();
    let leads_with_zero = number.starts_with("0,") || number.starts_with("0.");
    match (count(','), count('.')) {
        (0, 0) => Separators::Open,
        (1, 0) if digits_behind(',') != 3 || leads_with_zero => Separators::Comma,
        (0, 1) if digits_behind('.') != 3 || leads_with_zero => Separators::Point,
        (1, points) if points > 0 && number.find(',') > number.rfind('.') => Separators::Comma,
        (commas, 1) if commas > 0 && number.find('.') > number.rfind(',') => Separators::Point,
        (commas, 0) if commas > 1 => Separators::Point,
        (0, points) if points > 1 => Separators::Comma,
        _ => Separators::Open,
    }
}

/// A cell whose numbers have a decimal point and no separator of thousands.
fn pointed(cell: &str) -> String {
    let chars: Vec<char> = cell.chars().collect();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let mut out = String::with_capacity(cell.len());
    for (at, c) in chars.iter().enumerate() {
        let is_inside = is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        match c {
            '.' if is_inside => {}
            ',' if is_inside => out.push('.'),
            c => out.push(*c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Vec<String> {
        let rows = cells.iter().map(|cell| (1, vec![(*cell).to_owned()])).collect();
        let grid = with_points(Grid { rows, ..Grid::default() });
        grid.rows.into_iter().flat_map(|(_, cells)| cells).collect()
    }

    #[test]
    fn other_numbers_of_the_table_decide_what_a_comma_is() {
        assert_eq!(
            read(&["86,1", "1,234", "1.234", "**0,5** ms"]),
            ["86.1", "1.234", "1234", "**0.5** ms"]
        );
        assert_eq!(read(&["1.234,5 ± 0,1", "7"]), ["1234.5 ± 0.1", "7"]);
        assert_eq!(read(&["1,234", "86.1"]), ["1,234", "86.1"]);
        assert_eq!(read(&["1,234", "12,345"]), ["1,234", "12,345"]);
        assert_eq!(read(&["86,1", "86.1"]), ["86,1", "86.1"]);
        assert_eq!(read(&["86,1", "Qwen2.5 7B"]), ["86.1", "Qwen2.5 7B"]);
    }
}
