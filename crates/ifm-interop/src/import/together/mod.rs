//! What files that were read together say of each other: which of them hold the same measurement.
//!
//! A tool writes one run several times, as JSON, as a table and on the screen, and its single requests
//! into a file of their own. Each measurement is to be counted once. Names of sheets are paths, as they were
//! given. Not here: reading a file (the folder above).

mod forms;
mod requests;

use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Part, Place, Remark, RemarkKind, Row};

/// Leaves out rows that other files of the same folder also contain, and adds single requests to
/// the figures that they belong to. The file that lost rows gets a remark. Repeated calls change
/// nothing.
pub fn settle_together<'a>(sheets: impl IntoIterator<Item = &'a mut Sheet>) {
    let mut sheets: Vec<&mut Sheet> = sheets.into_iter().collect();
    forms::leave_out(&mut sheets);
    requests::join(&mut sheets);
}

/// Position of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    sheet: usize,
    part: usize,
    row: usize,
}

impl At {
    /// What was set there, of the row and of its part.
    fn settings(self, sheets: &[&mut Sheet]) -> Factors {
        let part = sheets.get(self.sheet).and_then(|sheet| sheet.parts.get(self.part));
        let row =
            part.and_then(|part| Some(part.rows.get(self.row)?.factors.within(&part.factors)));
        row.unwrap_or_default()
    }

    /// The row there.
    fn row<'r>(self, sheets: &'r mut [&mut Sheet]) -> Option<&'r mut Row> {
        sheets.get_mut(self.sheet)?.parts.get_mut(self.part)?.rows.get_mut(self.row)
    }
}

/// A row with its place, the tool that wrote it, and the part that it is in.
struct Found<'r> {
    at: At,
    tool: Option<&'r str>,
    part: &'r Part,
    row: &'r Row,
}

fn rows<'r>(sheets: &'r [&mut Sheet]) -> impl Iterator<Item = Found<'r>> {
    sheets.iter().enumerate().flat_map(|(sheet, read)| {
        read.parts.iter().enumerate().flat_map(move |(number, part)| {
            let tool = part.tool.as_deref().or(read.source.tool.as_deref());
            let rows = part.rows.iter().enumerate();
            rows.map(move |(row, found)| Found {
                at: At { sheet, part: number, row },
                tool,
                part,
                row: found,
            })
        })
    })
}

/// Takes rows out, and the parts that then have none.
fn take_out(sheets: &mut [&mut Sheet], mut places: Vec<At>) {
    places.sort_unstable();
    // From the back, so that places stay those that were found.
    for at in places.into_iter().rev() {
        let Some(parts) = sheets.get_mut(at.sheet).map(|sheet| &mut sheet.parts) else { continue };
        let Some(table) = parts.get_mut(at.part) else { continue };
        table.rows.remove(at.row);
        if table.rows.is_empty() {
            parts.remove(at.part);
        }
    }
}

fn remark(sheets: &mut [&mut Sheet], sheet: usize, kind: RemarkKind, text: String) {
    if let Some(sheet) = sheets.get_mut(sheet) {
        sheet.remarks.push(Remark { kind, place: Place::default(), text });
    }
}

/// The folder of a file, with the sign behind it.
fn folder(name: &str) -> &str {
    name.rfind(['/', '\\']).and_then(|at| name.get(..=at)).unwrap_or_default()
}
