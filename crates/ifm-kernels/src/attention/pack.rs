//! Inputs as kernels take them: widened, scaled, in padded rows, or in panels with a column for each
//! key.
//!
//! Not here: products.

use super::{
    buffer::{Buffer, Shared},
    element::Numbers,
    plan::{PANEL, Plan},
};
use crate::Pool;

/// Rows of all heads, `stride` floats from one to the next, times `scale`; what is beyond the width
/// stays as it is, 0.
pub(super) fn rows(
    (pool, plan): (&Pool, &Plan),
    numbers: &Numbers,
    count: usize,
    scale: f32,
    out: &mut Buffer,
) {
    let (width, stride) = (plan.shape.width, plan.stride);
    pool.rows(&mut out[..count * stride], stride, |row, out| {
        let out = &mut out[..width];
        numbers.widen(row * width, out);
        if scale != 1.0 {
            out.iter_mut().for_each(|value| *value *= scale);
        }
    });
}

/// Packs rows of keys into panels: each number of up to [`PANEL`] keys side by side, 0 where there
/// is no key.
pub(super) fn panels((pool, plan): (&Pool, &Plan), rows: &Buffer, heads: usize, out: &mut Buffer) {
    let (width, stride) = (plan.shape.width, plan.stride);
    let size = width * PANEL;
    let panels = plan.panels.len();
    let out = Shared::new(out);
    pool.run(heads * panels, |range| {
        for item in range {
            let (head, panel) = (item / panels, &plan.panels[item % panels]);
            // SAFETY: each item is its own part.
            let out = unsafe { out.part(item * size, size) };
            let first = (head * plan.shape.keys + panel.first) * stride;
            let rows = &rows[first..][..panel.count * stride];
            for (key, row) in rows.chunks_exact(stride).enumerate() {
                for (value, out) in row[..width].iter().zip(out.chunks_exact_mut(PANEL)) {
                    out[key] = *value;
                }
            }
        }
    });
}
