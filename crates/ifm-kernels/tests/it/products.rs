//! Every pair of format and activations, with every instruction set of this machine.
//!
//! The reference multiplies the decoded weights by the activations as they are taken:
//! rounded to bytes by the plain formula where the product is one of bytes. What is left
//! is the rounding of 32-bit sums, so an error in one code or one column shows.

use ifm_kernels::{Activations, Format, Isa, Packed, Pool, Stored};

/// The greatest difference allowed, relative to the sum of the products' magnitudes.
const TOLERANCE: f64 = 2e-6;

/// Numbers in -1..1 that follow no pattern.
fn noise(length: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..length).map(|_| next()).collect()
}

/// All pairs with a kernel of their own, and two that fall back.
fn pairs() -> Vec<(Format, Activations, &'static str)> {
    use Activations::{Blocks8, Float, Static8, Token8};
    let int4 = |group, zeros| Format::Int4 { group, zeros };
    vec![
        (Format::F32, Float, "f32 x f32"),
        (Format::F16, Float, "f32 x f16"),
        (Format::BF16, Float, "f32 x bf16"),
        (Format::Int8, Float, "f32 x int8"),
        (int4(128, false), Float, "f32 x int4"),
        (int4(32, true), Float, "f32 x int4"),
        (Format::Int8, Token8, "int8 x int8"),
        (Format::Int8, Static8 { scale: 1.0 / 100.0 }, "int8 x int8"),
        (Format::Q8_0, Blocks8, "int8 x int8"),
        (Format::Q4_0, Blocks8, "int8 x int4"),
        (Format::Q4_1, Blocks8, "int8 x int4"),
        (Format::Q5_0, Blocks8, "int8 x int5"),
        (Format::Q5_1, Blocks8, "int8 x int5"),
        (Format::Q4K, Blocks8, "int8 x int4"),
        (Format::Q5K, Blocks8, "int8 x int5"),
        (Format::Q6K, Blocks8, "int8 x int6"),
        (Format::Q3K, Blocks8, "f32 x f32"),
        (Format::Q8_0, Float, "f32 x f32"),
    ]
}

/// Bytes of a matrix: encoded where that is there, else any, with scales that are small
/// ordinary numbers.
fn stored(format: Format, rows: usize, columns: usize) -> Stored {
    let length = format.bytes(rows, columns);
    let scale_at: &[usize] = match format {
        Format::Q5_0 => &[0],
        Format::Q5_1 | Format::Q5K => &[0, 2],
        Format::Q3K => &[108],
        _ => {
            let values = noise(rows * columns, 3);
            return Stored::encode(format, rows, columns, &values).expect("encodes");
        }
    };
    let mut bytes: Vec<u8> =
        noise(length, 4).iter().map(|value| (value.abs() * 255.9) as u8).collect();
    for block in bytes.chunks_exact_mut(format.block_bytes()) {
        for place in scale_at {
            // A 16-bit float between 1/64 and 1/32.
            block[place + 1] = 0x24 | (block[place + 1] & 3);
        }
    }
    Stored::new(format, rows, columns, bytes).expect("a matrix")
}

/// One row of activations as the product takes them.
fn taken(activations: Activations, is_float: bool, row: &[f32]) -> Vec<f64> {
    let rounded = |values: &[f32], scale: f32| -> Vec<f64> {
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let code = |value: &f32| (value * inverse).clamp(-127.0, 127.0).round_ties_even();
        values.iter().map(|value| f64::from(code(value)) * f64::from(scale)).collect()
    };
    let step = |values: &[f32]| values.iter().fold(0.0_f32, |a, b| a.max(b.abs())) / 127.0;
    match activations {
        _ if is_float => row.iter().map(|value| f64::from(*value)).collect(),
        Activations::Float => row.iter().map(|value| f64::from(*value)).collect(),
        Activations::Blocks8 => {
            row.chunks(32).flat_map(|block| rounded(block, step(block))).collect()
        }
        Activations::Token8 => rounded(row, step(row)),
        Activations::Static8 { scale } => rounded(row, scale),
    }
}

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_here())
}

/// Columns that the format allows, odd where it can.
fn columns(format: Format) -> usize {
    match format.block() {
        1 if format == Format::Int8 => 131,
        1 => 77,
        block => (2 * block).max(96),
    }
}

#[test]
fn products_are_those_of_the_decoded_weights() {
    let pool = Pool::new(2);
    let (outputs, tokens) = (83, 18);
    for (format, activations, computed) in pairs() {
        let columns = columns(format);
        let matrix = stored(format, outputs, columns);
        let mut input = noise(tokens * columns, 8);
        // A row of zeros has no scale.
        input[columns..2 * columns].fill(0.0);
        let taken: Vec<Vec<f64>> = input
            .chunks(columns)
            .map(|row| taken(activations, computed.starts_with("f32"), row))
            .collect();
        for isa in isas() {
            let packed = Packed::new(matrix.clone(), activations, isa).expect("packs");
            assert_eq!(packed.computed(), computed, "{format:?}");
            let mut out = vec![f32::NAN; tokens * outputs];
            packed.multiply(&pool, &input, tokens, &mut out);
            let mut weights = vec![0.0; columns];
            for output in 0..outputs {
                matrix.decode_row(output, &mut weights);
                for token in 0..tokens {
                    let products =
                        || weights.iter().zip(&taken[token]).map(|(w, x)| f64::from(*w) * x);
                    let (sum, size) = (products().sum::<f64>(), products().map(f64::abs).sum());
                    let bound: f64 = TOLERANCE * f64::max(size, 1.0);
                    let got = f64::from(out[token * outputs + output]);
                    let place = format!("{format:?} {activations:?} {isa} {output} {token}");
                    assert!((got - sum).abs() <= bound, "{place}: {got} instead of {sum}");
                }
            }
        }
    }
}

#[test]
fn rows_do_not_depend_on_their_company_or_on_threads() {
    let (outputs, tokens) = (83, 29);
    let pools = [Pool::new(1), Pool::new(5)];
    for (format, activations, _) in pairs() {
        let columns = columns(format);
        let input = noise(tokens * columns, 5);
        for isa in isas() {
            let matrix = stored(format, outputs, columns);
            let packed = Packed::new(matrix, activations, isa).expect("packs");
            let mut together = vec![0.0; tokens * outputs];
            packed.multiply(&pools[1], &input, tokens, &mut together);
            let rows = input.chunks(columns).zip(together.chunks(outputs));
            for (index, (input, expected)) in rows.enumerate() {
                let mut alone = vec![0.0; outputs];
                packed.multiply(&pools[0], input, 1, &mut alone);
                let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(
                    bits(&alone),
                    bits(expected),
                    "{format:?} {activations:?} {isa} {index}"
                );
            }
        }
    }
}

#[test]
fn a_product_knows_nothing_of_the_one_before() {
    let pool = Pool::new(2);
    for isa in isas() {
        let run = |columns: usize, input: &[f32]| {
            let matrix = stored(Format::F32, 40, columns);
            let packed = Packed::new(matrix, Activations::Float, isa).expect("packs");
            let mut out = vec![0.0; 29 * 40];
            packed.multiply(&pool, input, 29, &mut out);
            out
        };
        // An odd number of columns: the last pair has no second column.
        let input = noise(29 * 37, 3);
        let first = run(37, &input);
        assert!(run(64, &[f32::NAN; 29 * 64]).iter().all(|value| value.is_nan()));
        assert_eq!(run(37, &input), first, "{isa}");
    }
}

#[test]
fn the_extremes_of_bytes_do_not_overflow() {
    let columns = 4096;
    let pool = Pool::new(1);
    for (format, activations) in [
        (Format::Int8, Activations::Token8),
        (Format::Q8_0, Activations::Blocks8),
        (Format::Q4_0, Activations::Blocks8),
        (Format::Q4_1, Activations::Blocks8),
    ] {
        for sign in [1.0, -1.0] {
            let mut weights = vec![sign; 16 * columns];
            // A row of nibbles has both ends, so that its codes reach the highest.
            weights.iter_mut().step_by(32).for_each(|weight| *weight = -sign);
            let matrix = Stored::encode(format, 16, columns, &weights).expect("encodes");
            let mut row = vec![0.0; columns];
            matrix.decode_row(0, &mut row);
            let expected = row.iter().map(|value| f64::from(*value)).sum::<f64>();
            for isa in isas() {
                let packed = Packed::new(matrix.clone(), activations, isa).expect("packs");
                let mut out = vec![0.0; 16];
                packed.multiply(&pool, &vec![1.0; columns], 1, &mut out);
                for got in out {
                    let got = f64::from(got);
                    assert!((got - expected).abs() < 0.01, "{format:?} {isa}: {got}, {expected}");
                }
            }
        }
    }
}

#[test]
fn what_the_processor_lacks_is_refused() {
    let missing = Isa::ALL.into_iter().find(|isa| !isa.is_here());
    let matrix = stored(Format::F32, 1, 1);
    if let Some(isa) = missing {
        let error = Packed::new(matrix, Activations::Float, isa).expect_err("not here");
        assert!(error.to_string().contains(isa.name()));
    } else {
        assert!(Packed::new(matrix, Activations::Float, Isa::best()).is_ok());
    }
    assert_eq!("avx2".parse(), Ok(Isa::Avx2));
    assert!("sse9".parse::<Isa>().is_err());
}
