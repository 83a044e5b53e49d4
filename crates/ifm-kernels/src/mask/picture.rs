//! Blocks as a picture in text.
//!
//! Not here: what a block has (`blocks`).

use super::blocks::{Block, Blocks};

impl Blocks {
    /// The blocks as lines of text, as torch draws a `BlockMask`: each cell, of two characters, is a
    /// square of blocks, `ceil(n / most_cells)` a side, so that there are at most `most_cells` a
    /// side. `██` where all of them are computed, whether full or partial, `░░` where some are,
    /// blank where none is. Blanks at the end of a line are left out.
    pub fn draw(&self, most_cells: usize) -> String {
        let step = |blocks: usize| blocks.div_ceil(most_cells.max(1)).max(1);
        let (row_step, column_step) = (step(self.rows()), step(self.columns()));
        let mut picture = String::new();
        for first_row in (0..self.rows()).step_by(row_step) {
            let rows = first_row..(first_row + row_step).min(self.rows());
            let mut line = String::new();
            for first_column in (0..self.columns()).step_by(column_step) {
                let columns = first_column..(first_column + column_step).min(self.columns());
                let all = rows.len() * columns.len();
                let kinds = rows
                    .clone()
                    .flat_map(|row| columns.clone().map(move |column| self.kind(row, column)));
                let computed = kinds.filter(|kind| *kind != Block::Empty).count();
                line.push_str(match computed {
                    0 => "  ",
                    some if some < all => "░░",
                    _ => "██",
                });
            }
            picture.push_str(line.trim_end());
            picture.push('\n');
        }
        picture
    }
}
