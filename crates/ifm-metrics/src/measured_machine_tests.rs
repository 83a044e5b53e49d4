//! Ceilings found in constructed sheets.

use super::*;
use ifm_core::sheet::{Figure, Part, Place, Unit};
use ifm_roofline::Confidence;

const EPYC: &str = "AMD EPYC, 64-Core";
const H100: &str = "NVIDIA H100 80GB HBM3";

/// A document of a processor: rows of kernel, type, size, threads and figure.
fn sheet(hardware: &str, rows: &[(&str, &str, &str, u32, f64)]) -> Sheet {
    let mut part = Part::new(PartKind::Kernel, Place::default());
    part.tool = Some(TOOL.to_owned());
    part.factors.set(key::HARDWARE, hardware);
    for (kernel, of, size, threads, value) in rows {
        let mut row = Row::new(RowRole::Measured, Place::default());
        let on = |device: &str| Factors::default().with("device", device);
        row.factors = if hardware == H100 { on(H100) } else { on(CPU) }
            .with("kernel", kernel)
            .with("type", of)
            .with("size", size)
            .with("threads", threads)
            .with("provider", "native");
        let (quantity, unit) = match *kernel == GEMM {
            true => (Metric::FlopRate, Unit::TflopPerS),
            false => (Metric::Bandwidth, Unit::GbPerS),
        };
        row.figures.push(Figure::new(quantity, Statistic::Median, *value, unit));
        part.rows.push(row);
    }
    Sheet { parts: vec![part], ..Sheet::default() }
}

const LARGE: &str = "268435456";

fn gemm() -> Sheet {
    let small = ("gemm", "f32", "512x512x512", 2, 0.18);
    sheet(
        EPYC,
        &[small, ("gemm", "f32", "2048x2048x2048", 2, 0.2), ("gemm", "int8", "1x1x1", 2, 0.7)],
    )
}

fn bandwidth(value: f64) -> Sheet {
    sheet(
        EPYC,
        &[
            ("read", "f32", "1048576", 2, 400.0),
            ("read", "f32", LARGE, 1, value / 2.0),
            ("triad", "f32", LARGE, 2, value),
        ],
    )
}

fn host() -> Device {
    Device {
        name: EPYC.to_owned(),
        is_cpu: true,
        cache_bytes: Some(f64::from(32 << 20)),
        memory_bytes: Some(f64::from(1 << 30) * 8.0),
        threads: Some(2),
    }
}

fn found(sheets: &[(&str, &[Sheet])], device: &Device) -> Result<MeasuredMachine, String> {
    let stored: Vec<Stored<'_>> =
        sheets.iter().map(|(id, sheets)| Stored { id, date: "2026-11-25", sheets }).collect();
    measured_machine(&stored, device).map_err(|error| error.to_string())
}

#[test]
fn the_best_rows_of_large_arrays_are_the_ceilings() {
    let found = found(&[("a", &[gemm()]), ("b", &[bandwidth(42.0)])], &host()).expect("ceilings");
    let rates: Vec<(&str, f64)> =
        found.arithmetic.iter().map(|one| (one.of.as_str(), one.per_s)).collect();
    assert_eq!(rates, [("f32", 0.2e12), ("int8", 0.7e12)]);
    assert_eq!(found.arithmetic[0].size, "2048x2048x2048");
    let memory = &found.bandwidth;
    assert_eq!((memory.of.as_str(), memory.per_s, memory.size.as_str()), ("triad", 42e9, LARGE));
    assert_eq!((memory.by.as_str(), memory.document.as_str()), ("native on 2 threads", "b"));

    let machine = Machine::parse(&found.description().expect("a type")).expect("a machine");
    assert_eq!((machine.bandwidth_gb_s, machine.bf16_tflops), (42.0, 0.2));
    assert_eq!((machine.int8_tops, machine.fp16_tflops), (Some(0.7), None));
    assert_eq!((machine.cache_mib, machine.memory_gib), (Some(32.0), Some(8.0)));
    assert_eq!(
        (machine.name.as_str(), machine.confidence),
        ("AMD EPYC  64-Core", Confidence::Measured)
    );
    assert_eq!(machine.source, "here on 2026-11-25 by a and on 2026-11-25 by b");
}

#[test]
fn reports_what_is_missing_in_one_sentence() {
    let none = found(&[], &host()).expect_err("nothing");
    assert_eq!(
        none,
        "no `kernel gemm` and `kernel bandwidth` result of AMD EPYC, 64-Core is in the store; run \
         `inferometer kernel gemm` and `inferometer kernel bandwidth`"
    );
    let one = found(&[("a", &[gemm()])], &host()).expect_err("no bandwidth");
    assert!(one.starts_with("no `kernel bandwidth` result") && !one.contains("gemm"), "{one}");
    let one = found(&[("a", &[bandwidth(42.0)])], &host()).expect_err("no products");
    assert!(one.starts_with("no `kernel gemm` result") && !one.contains("bandwidth"), "{one}");
}

#[test]
fn results_of_other_hardware_do_not_count() {
    let others = [("a", &[gemm(), bandwidth(42.0)][..])];
    let other = Device { name: "Acme Z9".to_owned(), ..host() };
    assert!(found(&others, &other).expect_err("another").contains("of Acme Z9"));
    // The same name with fewer processors is another machine.
    let single = Device { threads: Some(1), ..host() };
    assert!(found(&others, &single).is_err());
    let gpu = Device { name: H100.to_owned(), ..Device::default() };
    assert!(found(&others, &gpu).is_err());
    let mut foreign = gemm();
    foreign.parts[0].tool = Some("another tool".to_owned());
    assert!(found(&[("a", &[foreign, bandwidth(42.0)])], &host()).is_err());
}

#[test]
fn ignores_arrays_that_fit_in_caches() {
    let cached = sheet(EPYC, &[("triad", "f32", "134217727", 2, 300.0)]);
    let error = found(&[("a", &[gemm(), cached.clone()])], &host()).expect_err("only caches");
    assert!(error.contains("smaller than 128 MiB"), "{error}");
    // A newer document without memory results does not hide an older one that has them.
    let both = found(&[("new", &[cached]), ("old", &[gemm(), bandwidth(42.0)])], &host());
    assert_eq!(both.expect("ceilings").bandwidth.document, "old");
    // Where no cache is known, the largest size counts.
    let unknown = Device { cache_bytes: None, ..host() };
    let found = found(&[("a", &[gemm(), bandwidth(42.0)])], &unknown).expect("ceilings");
    assert_eq!(found.bandwidth.per_s, 42e9);
}

#[test]
fn newest_document_counts_for_what_it_contains() {
    let newer = sheet(EPYC, &[("gemm", "f32", "512x512x512", 2, 0.1)]);
    let stored = [("new", &[newer, bandwidth(30.0)][..]), ("old", &[gemm(), bandwidth(42.0)][..])];
    let found = found(&stored, &host()).expect("ceilings");
    let from: Vec<(&str, &str, f64)> = found
        .arithmetic
        .iter()
        .map(|one| (one.of.as_str(), one.document.as_str(), one.per_s))
        .collect();
    assert_eq!(from, [("f32", "new", 0.1e12), ("int8", "old", 0.7e12)]);
    assert_eq!((found.bandwidth.document.as_str(), found.bandwidth.per_s), ("new", 30e9));
}

#[test]
fn type_without_a_machine_figure_is_kept_but_makes_no_machine() {
    let odd = sheet(EPYC, &[("gemm", "posit", "512x512x512", 2, 0.1)]);
    let found = found(&[("a", &[odd, bandwidth(42.0)])], &host()).expect("ceilings");
    assert_eq!(found.arithmetic[0].of, "posit");
    let error = found.description().expect_err("no figure");
    assert!(error.to_string().contains("such as bf16 or f32"), "{error}");
}

#[test]
fn a_gpu_keeps_its_row_of_the_table() {
    let one = sheet(
        H100,
        &[("gemm", "bf16", "8192x8192x8192", 0, 700.0), ("copy", "f32", "4294967296", 0, 3000.0)],
    );
    let sheets = [one];
    let stored = [Stored { id: "a", date: "2026-11-25", sheets: &sheets }];
    let devices = devices(&stored);
    let [device] = &devices[..] else { panic!("{devices:?}") };
    assert_eq!((device.name.as_str(), device.is_cpu), (H100, false));
    let found = measured_machine(&stored, device).expect("ceilings");
    let machine = Machine::parse(&found.description().expect("a type")).expect("a machine");
    assert_eq!((machine.id.as_str(), machine.fp8_tflops), ("h100-sxm", None));
    assert_eq!((machine.bf16_tflops, machine.bandwidth_gb_s), (700.0, 3000.0));
}
