//! The formats against ggml's own reader and writer, and against what a step of each
//! allows.
//!
//! `decoded.bin` and `encoded.bin` were made with quants.py of the Python package `gguf`
//! 0.17 (llama.cpp): random blocks with scales around 0.1, each row followed by what that
//! package decodes it to as 32-bit floats; and 256 normal values, the last 32 of them 0,
//! followed by what that package encodes them to.

use crate::{Format, Stored};

const DECODED: &[u8] = include_bytes!("../../tests/data/decoded.bin");
const ENCODED: &[u8] = include_bytes!("../../tests/data/encoded.bin");

/// Every format with its bits for a weight in rows of 512.
const ALL: [(Format, f64); 17] = [
    (Format::F32, 32.0),
    (Format::F16, 16.0),
    (Format::BF16, 16.0),
    (Format::Q4_0, 4.5),
    (Format::Q4_1, 5.0),
    (Format::Q5_0, 5.5),
    (Format::Q5_1, 6.0),
    (Format::Q8_0, 8.5),
    (Format::Q2K, 2.625),
    (Format::Q3K, 3.4375),
    (Format::Q4K, 4.5),
    (Format::Q5K, 5.5),
    (Format::Q6K, 6.5625),
    (Format::Int8, 8.0625),
    (Format::Int4 { group: 128, zeros: false }, 4.125),
    (Format::Int4 { group: 128, zeros: true }, 4.1875),
    (Format::Int4 { group: 32, zeros: true }, 4.75),
];

fn floats(bytes: &[u8]) -> Vec<f32> {
    let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.chunks_exact(4).map(number).collect()
}

/// Values between -1 and 1 by a linear congruence; the same in every run.
fn values(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn decode(stored: &Stored) -> Vec<f32> {
    let mut out = vec![0.0; stored.rows() * stored.columns()];
    for (row, out) in out.chunks_exact_mut(stored.columns()).enumerate() {
        stored.decode_row(row, out);
    }
    out
}

#[test]
fn blocks_of_gguf_are_decoded_as_ggml_decodes_them() {
    let blocks = ALL.map(|(format, _)| format).into_iter().filter(|format| format.block() >= 32);
    let mut rest = DECODED;
    for format in blocks.filter(|format| !matches!(format, Format::Int4 { .. })) {
        let columns = if format.block() == 32 { 256 } else { 512 };
        let (bytes, after) = rest.split_at(format.row_bytes(columns));
        let (expected, after) = after.split_at(columns * 4);
        rest = after;
        let stored = Stored::new(format, 1, columns, bytes.to_vec()).expect("a row");
        for (index, (got, expected)) in decode(&stored).iter().zip(floats(expected)).enumerate() {
            // A product and a sum may be rounded in another order.
            let tolerance = 1e-6 * expected.abs().max(0.1);
            assert!((got - expected).abs() <= tolerance, "{format:?} {index}: {got}, {expected}");
        }
    }
    assert!(rest.is_empty());
}

#[test]
fn blocks_of_gguf_are_encoded_as_ggml_encodes_them() {
    let (values, mut rest) = ENCODED.split_at(256 * 4);
    for format in [Format::F16, Format::BF16, Format::Q4_0, Format::Q4_1, Format::Q8_0] {
        let (expected, after) = rest.split_at(format.row_bytes(256));
        rest = after;
        let stored = Stored::encode(format, 1, 256, &floats(values)).expect("encoded");
        assert_eq!(stored.bytes(), expected, "{format:?}");
    }
    assert!(rest.is_empty());
}

/// The root mean square of what is lost, over that of the values.
fn loss(format: Format, values: &[f32], columns: usize) -> f64 {
    let stored = Stored::encode(format, values.len() / columns, columns, values).expect("encoded");
    let square = |x: f32| f64::from(x) * f64::from(x);
    let lost: f64 = decode(&stored).iter().zip(values).map(|(a, b)| square(a - b)).sum();
    (lost / values.iter().map(|value| square(*value)).sum::<f64>()).sqrt()
}

#[test]
fn what_is_encoded_loses_no_more_than_a_step_of_the_format() {
    // A value is off by step / sqrt(12) on average where all places within a step are as
    // likely. The values are uniform from -1 to 1: their root mean square is 1 / sqrt(3),
    // and a step is 2 / levels, so the loss is 1 / levels; groups whose range is smaller
    // lose less, scales that are rounded to few bits a little more.
    let (int4, int4_zeros) = (ALL[14].0, ALL[15].0);
    let bounds = [
        (Format::F16, 0.0, 3e-4),
        (Format::BF16, 5e-4, 2.5e-3),
        (Format::Q8_0, 0.9 / 254.0, 1.0 / 254.0),
        (Format::Int8, 0.98 / 254.0, 1.01 / 254.0),
        (Format::Q6K, 0.7 / 64.0, 1.0 / 64.0),
        // The value opposite of the largest is half a step out of reach.
        (Format::Q4_0, 0.9 / 16.0, 1.06 / 16.0),
        (Format::Q4_1, 0.8 / 15.0, 1.0 / 15.0),
        (Format::Q4K, 0.8 / 15.0, 1.0 / 15.0),
        (int4, 0.95 / 15.0, 1.02 / 15.0),
        (int4_zeros, 0.95 / 15.0, 1.02 / 15.0),
    ];
    for (format, least, most) in bounds {
        let loss = loss(format, &values(64 * 512), 512);
        assert!((least..=most).contains(&loss), "{format:?}: {loss:.6} not in {least}..{most}");
    }
}

#[test]
fn the_search_for_scales_pays() {
    // ggml's own encoder (llama.cpp as in llama-cpp-python 0.3.36, without weights for the
    // columns) loses 0.0709 in q4_k and 0.0176 in q6_k of these very values.
    let normal: Vec<f32> =
        values(12 * 16 * 512).chunks_exact(12).map(|twelve| twelve.iter().sum()).collect();
    for (format, most) in [(Format::Q4K, 0.072), (Format::Q6K, 0.0178)] {
        let loss = loss(format, &normal, 512);
        assert!(loss < most, "{format:?}: {loss}");
    }
}

#[test]
fn odd_values_are_kept() {
    for (format, _) in ALL {
        // Nothing at all; one value; a constant, which kinds without a minimum keep too.
        for (fill, peak) in [(0.0, 0.0), (0.0, 1.5), (-0.25, -0.25)] {
            let mut values = vec![fill; 512];
            values[100] = peak;
            let Ok(stored) = Stored::encode(format, 1, 512, &values) else { continue };
            for (got, expected) in decode(&stored).iter().zip(&values) {
                let tolerance = peak.abs() / 12.0;
                assert!((got - expected).abs() <= tolerance, "{format:?}: {got}, {expected}");
            }
        }
    }
}

#[test]
fn zero_points_make_room_where_all_values_are_on_one_side() {
    let values: Vec<f32> = values(512).iter().map(|value| value * 0.5 + 0.5).collect();
    let loss = |zeros| loss(Format::Int4 { group: 128, zeros }, &values, 512);
    assert!(loss(true) < 0.6 * loss(false), "{} {}", loss(true), loss(false));
}

#[test]
fn sizes_are_those_of_the_blocks() {
    for (format, bits) in ALL {
        assert_eq!((format.bytes(3, 512) * 8) as f64, bits * 3.0 * 512.0, "{format:?}");
        let short = vec![0; format.bytes(3, 512) - 1];
        assert!(Stored::new(format, 3, 512, short).is_err(), "{format:?}");
    }
    let only_read = Stored::encode(Format::Q5K, 1, 256, &[0.0; 256]).expect_err("not made");
    assert!(only_read.to_string().contains("q5_k"), "{only_read}");
}
