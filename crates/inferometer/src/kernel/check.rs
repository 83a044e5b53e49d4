//! Whether a case is right: what it computed, held against 64-bit floats from the definition, before
//! any time of it is shown.

use super::masks::Masks;
use super::protocol::{Attention, Case, Operation, Pass, Prepared, Score};
use super::stub::{Given, Reference};
use ifm_core::sheet::kernel::{GEMM, TRANSFERS};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Greatest relative errors that are taken, by the type of the numbers. Inputs are the rounded ones on
/// both sides, so that what is left is rounding inside: some ten to a hundred units in the last place
/// of 32-bit floats; of shorter types the outputs' own rounding (2^-11 and 2^-8) and that of the
/// probabilities, which many implementations keep in the type.
const TOLERANCES: [(&str, f64); 8] = [
    ("f64", 1e-12),
    ("f32", 1e-5),
    ("tf32", 5e-3),
    ("f16", 5e-3),
    ("bf16", 4e-2),
    ("q8_0", 5e-2),
    ("int8", 2e-2),
    ("fp8", 1e-1),
];
/// A quick tanh is taken to be within 2^-11 (the PTX manual's bound for `tanh.approx.f32`), which a cap
/// of 30 makes an error of 0.015 of a score, and 1.5 % of a weight.
const APPROXIMATE: f64 = 5e-2;
/// Rows and columns of a product that are looked at, and numbers of a transfer.
const CORNER: u64 = 16;
const MOVED: u64 = 256;
/// The factor of a triad.
const FACTOR: f64 = 3.0;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Greatest error over greatest value, by tensor.
    pub errors: BTreeMap<&'static str, f64>,
    /// Up to here they are taken.
    pub tolerance: f64,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is not, in one sentence.
    Wrong(String),
}

impl Check {
    /// The greatest error of all.
    pub fn worst(&self) -> f64 {
        self.errors.values().copied().fold(0.0, worse)
    }

    /// The greatest error of what a pass gives.
    pub fn of_pass(&self, pass: Pass) -> f64 {
        let is_gradient = |name: &str| name.starts_with('d');
        let of =
            self.errors.iter().filter(|(name, _)| is_gradient(name) == (pass == Pass::Backward));
        of.map(|(_, error)| *error).fold(0.0, worse)
    }

    /// Whether it is right.
    pub fn verdict(&self) -> Verdict {
        let is_worse = |error: f64| error.is_nan() || error > self.tolerance;
        match self.errors.iter().find(|(_, error)| is_worse(**error)) {
            None => Verdict::Right,
            Some((name, error)) => Verdict::Wrong(format!(
                "wrong: the relative error of {name} is {error:.1e}, and {:.0e} is the most that is \
                 taken; it is not timed",
                self.tolerance
            )),
        }
    }
}

/// The greater of two errors; one that is no number is the greatest.
fn worse(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

/// Checks what a provider wrote.
///
/// # Errors
/// The file is not what was agreed, in one sentence.
pub fn check(
    masks: &Masks,
    case: &Case,
    prepared: &Prepared,
    backward: bool,
    file: &Path,
) -> Result<Check, String> {
    let mut tolerance = tolerance(&case.kind)?;
    let errors = match &case.operation {
        Operation::Attention(of) => {
            let computes = prepared.computes.clone();
            let of = computes.map_or_else(|| of.clone(), |mask| of.clone().under(mask));
            if matches!(of.mask.score, Score::SoftcapApprox { .. }) {
                tolerance = tolerance.max(APPROXIMATE);
            }
            attention(masks, &of, backward, file)?
        }
        Operation::Gemm { m, n, k } => {
            let (m, n) = ((*m).min(CORNER), (*n).min(CORNER));
            let [a, b, out] = read(file, [m * k, n * k, m * n])?;
            [(GEMM, product(&a, &b, &out, *k as usize))].into()
        }
        Operation::Bandwidth { bytes } => transfer(&case.implementation, *bytes, file)?,
    };
    Ok(Check { errors, tolerance })
}

fn tolerance(kind: &str) -> Result<f64, String> {
    let known = TOLERANCES.iter().find(|(name, _)| *name == kind);
    known.map(|(_, tolerance)| *tolerance).ok_or_else(|| {
        let names: Vec<&str> = TOLERANCES.iter().map(|(name, _)| *name).collect();
        format!("no type {kind}; there are {}", names.join(", "))
    })
}

fn attention(
    masks: &Masks,
    of: &Attention,
    backward: bool,
    file: &Path,
) -> Result<BTreeMap<&'static str, f64>, String> {
    let placed = masks.placed(of).ok_or_else(|| format!("no mask {}", of.mask.name))?;
    let group = of.query_heads / of.kv_heads;
    let (queries, keys) = (group * of.queries * of.width, of.keys * of.width);
    let gradients = |numbers: u64| if backward { numbers } else { 0 };
    let [q, k, v, dout, out, dq, dk, dv] = read(
        file,
        [
            queries,
            keys,
            keys,
            queries,
            queries,
            gradients(queries),
            gradients(keys),
            gradients(keys),
        ],
    )?;
    let given = Given {
        heads: (of.query_heads as usize, (of.check_kv_head * group) as usize),
        width: of.width as usize,
        inputs: [&q, &k, &v, &dout],
    };
    let reference = Reference::new(&placed, &given, backward);
    let errors = reference.errors(&out, backward.then_some([&dq[..], &dk[..], &dv[..]]));
    Ok(errors.into_iter().collect())
}

/// The arrays of a file, so many numbers each: 32-bit floats, the least byte first.
fn read<const N: usize>(file: &Path, counts: [u64; N]) -> Result<[Vec<f32>; N], String> {
    let bytes = std::fs::read(file).map_err(|error| {
        format!("the provider wrote no file to check its results by ({error}); it is not timed")
    })?;
    let wanted = 4 * counts.iter().sum::<u64>();
    if bytes.len() as u64 != wanted {
        let told = bytes.len();
        return Err(format!(
            "the provider wrote {told} bytes to check its results by, and not {wanted}; it is not timed"
        ));
    }
    let mut numbers = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Ok(counts.map(|count| numbers.by_ref().take(count as usize).collect()))
}

/// The error of the corner of a product: rows of `a`, columns of `b`.
fn product(a: &[f32], b: &[f32], out: &[f32], depth: usize) -> f64 {
    let columns = b.len() / depth.max(1);
    let expected = a.chunks_exact(depth).flat_map(|row| {
        b.chunks_exact(depth).map(move |column| {
            row.iter().zip(column).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
        })
    });
    debug_assert_eq!(out.len(), columns * (a.len() / depth.max(1)));
    relative(expected.collect::<Vec<_>>().iter().copied(), out)
}

/// The error of a transfer.
fn transfer(kernel: &str, bytes: u64, file: &Path) -> Result<BTreeMap<&'static str, f64>, String> {
    let known = TRANSFERS.iter().find(|known| **known == kernel);
    let name: &'static str = known.ok_or_else(|| format!("no transfer {kernel}"))?;
    let error = match name {
        "triad" => {
            let [a, b, c] = read(file, [MOVED; 3])?;
            let expected = b.iter().zip(&c).map(|(b, c)| f64::from(*b) + FACTOR * f64::from(*c));
            relative(expected, &a)
        }
        "copy" => {
            let [a, b] = read(file, [MOVED; 2])?;
            relative(b.iter().map(|b| f64::from(*b)), &a)
        }
        "write" => {
            let [a, value] = read(file, [MOVED, 1])?;
            relative(a.iter().map(|_| f64::from(value[0])), &a)
        }
        // The array holds the numbers from 0 to 7 over and over, and what was read is their sum.
        _ => {
            let [sum] = read(file, [1])?;
            let numbers = bytes / 4;
            let rest = numbers % 8;
            let expected = 28 * (numbers / 8) + rest * rest.saturating_sub(1) / 2;
            relative(std::iter::once(expected as f64), &sum)
        }
    };
    Ok([(name, error)].into())
}

/// Greatest difference over greatest expected value.
fn relative(expected: impl Iterator<Item = f64>, found: &[f32]) -> f64 {
    let (mut difference, mut size) = (0.0, 0.0_f64);
    for (expected, found) in expected.zip(found) {
        difference = worse((expected - f64::from(*found)).abs(), difference);
        size = size.max(expected.abs());
    }
    difference / size.max(f64::MIN_POSITIVE)
}
