//! The numbers of a page as one CSV: every table and every chart, a line for each number.
//!
//! Long rather than wide, so that tables of different shape fit into one file that a program can
//! read: its place, the number and the words of its row, its column, its value with all digits,
//! its unit where head and text do not say it, and how it is written. Quoting follows RFC 4180.

use super::{Block, Page, Section, Table};
use ifm_core::delimited::csv_cell;

const HEAD: &str = "section,table,line,row,column,value,unit,text,note\n";

/// Every number of the page.
pub fn csv(page: &Page) -> String {
    let page = page.clone().with_unique_ids();
    let mut out = String::from(HEAD);
    for section in &page.sections {
        blocks(&section.blocks, section, &mut out);
    }
    out
}

fn blocks(all: &[Block], section: &Section, out: &mut String) {
    let mut tables = 0;
    for block in all {
        match block {
            Block::Table(table) => {
                tables += 1;
                lines(table, section, tables, out);
            }
            Block::Details(_, inner) => blocks(inner, section, out),
            _ => {}
        }
    }
}

fn lines(table: &Table, section: &Section, number: usize, out: &mut String) {
    for (line, row) in (1..).zip(&table.rows) {
        let is_name = |index: usize, cell: &super::Cell| {
            cell.is_head || table.heads.get(index).is_some_and(|head| head.is_text)
        };
        let words: Vec<&str> = row
            .iter()
            .enumerate()
            .filter(|(index, cell)| is_name(*index, cell))
            .map(|(_, cell)| cell.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        for (cell, head) in row.iter().zip(&table.heads).filter(|(cell, _)| !cell.is_head) {
            let Some(value) = cell.value else { continue };
            let fields = [
                section.id.clone(),
                number.to_string(),
                i32::to_string(&line),
                words.join(" | "),
                head.name.clone(),
                value.to_string(),
                cell.unit.unwrap_or_default().to_owned(),
                cell.text.clone(),
                cell.note.clone().unwrap_or_default(),
            ];
            let fields: Vec<String> = fields.iter().map(|field| csv_cell(field)).collect();
            out.push_str(&format!("{}\n", fields.join(",")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;
    use super::*;

    #[test]
    fn a_line_for_each_number() {
        let text = csv(&page());
        assert_eq!(text, format!("{HEAD}a-chapter,1,1,one,\"ITL, ms\",41.25,,41.2,n=3\n"));
    }
}
