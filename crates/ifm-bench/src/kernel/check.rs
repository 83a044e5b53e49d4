//! Whether a case is correct: its results are compared with 64-bit floats from the definition before
//! any time of it is shown.

use super::masks::Masks;
use super::protocol::{Attention, Case, Operation, Pass, Prepared, Score};
use ifm_core::sheet::kernel::{GEMM, TRANSFERS};
use ifm_kernels::attention::Element;
use ifm_kernels::attention::reference::{APPROXIMATE, Given, Inputs, Reference, WORK, tolerance};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Greatest relative errors of types that our own attention does not have: inputs are the rounded ones on
/// both sides, so that what is left is rounding inside. tf32 rounds operands to 11 bits, fp8 and int8
/// products may round what they are given.
const TOLERANCES: [(&str, f64); 6] =
    [("f64", 1e-12), ("tf32", 2e-3), ("int8", 2e-2), ("q8_0", 2e-2), ("q4_0", 2e-2), ("fp8", 1e-1)];
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

/// The greater of two errors; one that is not a number is the greatest.
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
    let mut tolerance = of_type(&case.kind)?;
    let errors = match &case.operation {
        Operation::Attention(of) => {
            let computes = prepared.computes.clone();
            let of = computes.map_or_else(|| of.clone(), |mask| of.clone().under(mask));
            if matches!(of.mask.score, Score::SoftcapApprox { .. }) {
                tolerance += APPROXIMATE;
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

/// The greatest error of a type that is taken.
fn of_type(kind: &str) -> Result<f64, String> {
    if let Ok(element) = kind.parse::<Element>() {
        return Ok(tolerance(element, ifm_kernels::mask::Score::Plain));
    }
    let known = TOLERANCES.iter().find(|(name, _)| *name == kind);
    known.map(|(_, tolerance)| *tolerance).ok_or_else(|| format!("no type {kind} is known"))
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
    let inputs = Inputs {
        q: &q,
        k: &k,
        v: &v,
        dout: backward.then_some(&dout[..]),
        width: of.width as usize,
        first_head: (of.check_kv_head * group) as usize,
        query_heads: of.query_heads as usize,
    };
    let threads = ifm_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len());
    let reference =
        Reference::new(&placed, &inputs, WORK, threads).map_err(|error| error.to_string())?;
    let gradient = |of: Vec<f32>| backward.then_some(of);
    let [dq, dk, dv] = [dq, dk, dv].map(gradient);
    let given = Given { out: &out, dq: dq.as_deref(), dk: dk.as_deref(), dv: dv.as_deref() };
    let found = reference.check(&given).map_err(|error| error.to_string())?;
    let gradients = [("dq", found.dq), ("dk", found.dk), ("dv", found.dv)];
    let gradients = gradients.into_iter().filter_map(|(name, error)| Some((name, error?)));
    Ok(std::iter::once(("out", found.out)).chain(gradients).collect())
}

/// The arrays of a file with the given numbers of elements: 32-bit floats, little-endian.
fn read<const N: usize>(file: &Path, counts: [u64; N]) -> Result<[Vec<f32>; N], String> {
    let bytes = std::fs::read(file).map_err(|error| {
        format!("the provider wrote no file to check its results by ({error}); it is not timed")
    })?;
    let wanted = 4 * counts.iter().sum::<u64>();
    if bytes.len() as u64 != wanted {
        let told = bytes.len();
        return Err(format!(
            "the provider wrote {told} bytes to check its results, expected {wanted}; it is not timed"
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
