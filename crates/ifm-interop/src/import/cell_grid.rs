//! A table as cells, whatever it was written as.

use super::bounds::{self, Room};

/// A table as cells.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Headers of the columns; headers that span several lines are joined.
    pub head: Vec<String>,
    /// The last line of the heads.
    pub head_line: u32,
    /// Line and cells of each row.
    pub rows: Vec<(u32, Vec<String>)>,
    /// Last line.
    pub last_line: u32,
    /// Rows that are not kept: there were too many.
    pub more: u32,
    /// Lines between the rows that are none.
    pub strays: Vec<u32>,
    /// What the table itself says that it shows.
    pub caption: Option<String>,
    /// Memory for more rows.
    pub room: Room,
}

impl Default for Grid {
    fn default() -> Grid {
        Grid {
            head: Vec::new(),
            head_line: 0,
            rows: Vec::new(),
            last_line: 0,
            more: 0,
            strays: Vec::new(),
            caption: None,
            room: Room::new(bounds::CELLS_MEMORY_MAX),
        }
    }
}

/// Rows that are kept of one table.
pub(crate) const ROWS_MAX: usize = 200_000;

impl Grid {
    /// Keeps a row, or counts it where there are too many.
    pub fn push(&mut self, line: u32, cells: Vec<String>) {
        let has_room = self.more == 0
            && self.rows.len() < ROWS_MAX
            && self.room.take(bounds::cells_memory(&cells));
        match has_room {
            true => self.rows.push((line, cells)),
            false => self.more = self.more.saturating_add(1),
        }
    }

    /// Joins labels that go on in the next line, whose other cells are empty.
    pub fn with_whole_labels(mut self) -> Grid {
        let mut rows: Vec<(u32, Vec<String>)> = Vec::with_capacity(self.rows.len());
        for (line, cells) in self.rows {
            match (rows.last_mut().and_then(|(_, above)| above.first_mut()), cells.split_first()) {
                (Some(label), Some((rest, others))) if others.iter().all(String::is_empty) => {
                    label.push(' ');
                    label.push_str(rest);
                }
                _ => rows.push((line, cells)),
            }
        }
        self.rows = rows;
        self
    }
}
