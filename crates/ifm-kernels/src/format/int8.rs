//! `int8`: signed bytes of all rows, then a 32-bit scale for each row.

/// Decodes one row of a matrix.
pub(crate) fn decode_row(bytes: &[u8], rows: usize, columns: usize, row: usize, out: &mut [f32]) {
    let scale = rows * columns + row * 4;
    let scale = [bytes[scale], bytes[scale + 1], bytes[scale + 2], bytes[scale + 3]];
    let scale = f32::from_le_bytes(scale);
    for (out, byte) in out.iter_mut().zip(&bytes[row * columns..][..columns]) {
        *out = f32::from(*byte as i8) * scale;
    }
}

/// The scale of a row is its greatest magnitude over 127.
pub(crate) fn encode(columns: usize, values: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() + values.len() / columns.max(1) * 4);
    let mut scales = Vec::new();
    for row in values.chunks_exact(columns.max(1)) {
        let most = row.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = most / 127.0;
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        bytes.extend(row.iter().map(|value| (value * inverse).round() as i8 as u8));
        scales.extend(scale.to_le_bytes());
    }
    bytes.extend(scales);
    bytes
}
