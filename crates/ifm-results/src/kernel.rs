//! Kernels under masks: times of each, forward and backward, and what the mask leaves empty.

use super::{Point, Results};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::kernel::{
    self, COMPUTES, GEMM, KERNEL, MASK, PASS, SHAPE, SIZE, TRANSFERS, TYPE,
};
use ifm_core::sheet::{PartKind, Statistic, StdKind};
use std::collections::{BTreeMap, BTreeSet};

/// Word of a kernel, or of a mask, that looks back only.
const CAUSAL: &str = "causal";

/// A mask and the kernels that ran under it.
#[derive(Debug, Clone)]
pub struct KernelMask<'a> {
    /// Its name, with type and size where there are several of one name.
    pub name: String,
    /// Type and size, if stated.
    pub size: Option<String>,
    /// Share of its blocks that are empty, 0 to 1; absent if not stated.
    pub sparsity: Option<f64>,
    /// Sides of the tensor that it is for, as they were written: `1, 1, 8192, 8192`.
    pub shape: Option<String>,
    /// Its blocks as they were drawn.
    pub drawing: Option<&'a str>,
    /// Position of its table: source and part.
    pub part: (usize, usize),
    /// The times, in the order of the document.
    pub times: Vec<KernelTime>,
}

/// One kernel in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTime {
    /// The kernel.
    pub kernel: String,
    /// `forward` or `backward`.
    pub pass: String,
    /// Time of a call, ms.
    pub ms: f64,
    /// Arithmetic rate, by the count of the tool.
    pub flop_per_s: Option<f64>,
    /// The same by the rule of the tool that the kernel is known from, if stated too.
    pub own_flop_per_s: Option<f64>,
    /// Deviation of the calls, ms, and how many there were.
    pub std_ms: Option<f64>,
    /// See `std_ms`.
    pub calls: Option<u64>,
    /// The mask that it computes, if it differs from the requested one.
    pub computes: Option<String>,
    /// Greatest relative error against 64-bit floats.
    pub error: Option<f64>,
    /// Share of the roofline.
    pub roofline: Option<f64>,
    /// How many times as fast as itself under the full mask.
    pub over_full: Option<f64>,
    /// How many times as fast as the reference under this mask.
    pub over_reference: Option<f64>,
}

/// What a machine was measured to do at most: a product, or a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct CeilingTime<'a> {
    /// The point that it comes from.
    pub point: &'a Point,
    /// `gemm`, or the name of the transfer.
    pub kernel: &'a str,
    /// Operations per second, of a product.
    pub flop_per_s: Option<f64>,
    /// Bytes per second, of a transfer.
    pub bytes_per_s: Option<f64>,
}

impl KernelMask<'_> {
    /// Kernels that compute this mask with their times in a direction, the fastest first.
    pub fn ranked(&self, pass: &str) -> Vec<(&str, f64)> {
        let is_fit =
            |time: &&KernelTime| time.pass == pass && time.ms > 0.0 && self.computes(&time.kernel);
        let mut times: Vec<(&str, f64)> =
            self.times.iter().filter(is_fit).map(|time| (time.kernel.as_str(), time.ms)).collect();
        times.order_by(|a, b| a.1.total_cmp(&b.1));
        times
    }

    /// Tokens of its keys; absent if not stated.
    pub fn tokens(&self) -> Option<u64> {
        self.shape.as_ref()?.rsplit(',').next()?.trim().parse().ok()
    }

    /// How many times as fast a kernel is as another, whether it computes the mask or not.
    pub fn ratio(&self, kernel: &str, other: &str, pass: &str) -> Option<f64> {
        let ms = |name: &str| {
            let is = |time: &&KernelTime| time.pass == pass && time.kernel == name;
            self.times.iter().find(is).map(|time| time.ms).filter(|ms| *ms > 0.0)
        };
        Some(ms(other)? / ms(kernel)?)
    }

    /// The kernel that takes longest over all masks together.
    pub fn slowest(masks: &[KernelMask], pass: &str) -> Option<String> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for time in masks.iter().flat_map(|mask| mask.times.iter().filter(|of| of.pass == pass)) {
            *sums.entry(&time.kernel).or_default() += time.ms;
        }
        let (kernel, _) = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(kernel.to_owned())
    }

    /// Whether a kernel computes this mask: one that is named causal computes no other.
    pub fn computes(&self, kernel: &str) -> bool {
        let says = |name: &str| name.to_lowercase().contains(CAUSAL);
        // A prefix before the causal part is another mask than the causal one alone.
        let is_plain = self.name.to_lowercase().trim().starts_with(CAUSAL);
        let mut others = self.times.iter().filter(|time| time.kernel == kernel);
        match others.any(|time| time.computes.is_some()) {
            true => false,
            false => !says(kernel) || is_plain,
        }
    }
}

impl Results {
    /// The masks, in the order of the documents.
    pub fn kernels(&self) -> Vec<KernelMask<'_>> {
        let mut masks: Vec<KernelMask> = Vec::new();
        for point in self.measured(PartKind::Kernel).filter(|point| !is_ceiling(point)) {
            let part = (point.source, point.part);
            let known = masks.iter().position(|mask| mask.part == part);
            let index = known.unwrap_or_else(|| {
                let name = point.setting.get(MASK).unwrap_or("no mask").to_owned();
                masks.push(KernelMask {
                    name,
                    size: size(point),
                    sparsity: None,
                    shape: None,
                    drawing: None,
                    part,
                    times: Vec::new(),
                });
                masks.len() - 1
            });
            if let Some(mask) = masks.get_mut(index) {
                add(mask, point);
            }
        }
        masks.retain(|mask| !mask.times.is_empty());
        let mut seen = BTreeSet::new();
        let several: BTreeSet<String> = masks
            .iter()
            .filter(|mask| !seen.insert(mask.name.clone()))
            .map(|mask| mask.name.clone())
            .collect();
        for mask in masks.iter_mut().filter(|mask| several.contains(&mask.name)) {
            if let Some(size) = &mask.size {
                mask.name = format!("{}, {size}", mask.name);
            }
        }
        masks
    }

    /// Products and transfers, in the order of the documents.
    pub fn ceilings(&self) -> Vec<CeilingTime<'_>> {
        let all = self.measured(PartKind::Kernel).filter(|point| is_ceiling(point));
        all.map(|point| CeilingTime {
            point,
            kernel: point.setting.get(KERNEL).unwrap_or_default(),
            flop_per_s: point.central(Metric::FlopRate).map(|rate| rate.value),
            bytes_per_s: point.central(Metric::Bandwidth).map(|rate| rate.value),
        })
        .collect()
    }
}

/// Whether it is a product or a transfer, and no kernel of attention.
fn is_ceiling(point: &Point) -> bool {
    let kernel = point.setting.get(KERNEL);
    kernel.is_some_and(|name| name == GEMM || TRANSFERS.contains(&name))
}

fn size(point: &Point) -> Option<String> {
    let (kind, size) = (point.setting.get(TYPE)?, point.setting.get(SIZE)?);
    Some(format!("{kind} {size}"))
}

fn add<'a>(mask: &mut KernelMask<'a>, point: &'a Point) {
    if let Some(share) = point.value(Metric::Sparsity, Statistic::Value) {
        mask.sparsity = Some(share);
        mask.drawing = point.text.as_deref();
        mask.shape = point.setting.get(SHAPE).map(str::to_owned);
        return;
    }
    let name = point.setting.get(KERNEL).map(str::to_owned).or_else(|| point.label.clone());
    let Some(ms) = point.central(Metric::Kernel).map(|time| time.value) else { return };
    mask.times.push(KernelTime {
        kernel: name.unwrap_or_else(|| "kernel".to_owned()),
        pass: point.setting.get(PASS).unwrap_or("forward").to_owned(),
        ms,
        flop_per_s: point.central(Metric::FlopRate).map(|rate| rate.value),
        own_flop_per_s: point
            .value(kernel::own_operations(), Statistic::Value)
            .filter(|_| ms > 0.0)
            .map(|operations| operations / ms * 1e3),
        std_ms: point.value(Metric::Kernel, Statistic::Std(StdKind::Sample)),
        calls: point.central(Metric::Kernel).and_then(|time| time.n),
        computes: point.setting.get(COMPUTES).map(str::to_owned),
        error: point.value(kernel::error(), Statistic::Max),
        roofline: point.value(kernel::roofline(), Statistic::Value),
        over_full: point.value(kernel::over_full(), Statistic::Value),
        over_reference: point.value(kernel::over_reference(), Statistic::Value),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mask;

    #[test]
    fn a_mask_has_its_times_and_its_drawing() {
        let mut points = mask(0, "Causal Mask", 0.4922, [6.6376, 34.8769, 10.0974]);
        points.extend(mask(1, "Sliding Window 1024", 0.8682, [6.899, 34.3567, 3.3248]));
        let results = Results { sources: Vec::new(), points };
        let masks = results.kernels();
        assert_eq!((masks.len(), masks[1].times.len()), (2, 3));
        let ranked = masks[1].ranked("forward");
        assert_eq!(ranked, [("flexattention", 3.3248), ("F.sdpa + mask", 34.3567)]);
        assert_eq!(KernelMask::slowest(&masks, "forward").as_deref(), Some("F.sdpa + mask"));
        let ratio = masks[0].ratio("flexattention", "causal FA2", "forward").expect("both ran");
        assert!((ratio - 0.657_36).abs() < 1e-4);
        assert_eq!((masks[1].sparsity, masks[1].drawing), (Some(0.8682), Some("██░░\n  ██")));
        assert!(masks[0].computes("causal FA2") && !masks[1].computes("causal FA2"));
        assert!(masks[1].computes("flexattention"));
        assert!(Results::default().kernels().is_empty());
    }
}
