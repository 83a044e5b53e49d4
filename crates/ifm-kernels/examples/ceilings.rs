//! Prints what these threads reach: products in 10^9 operations a second, by sizes or types, and
//! memory in 10^9 bytes a second. Medians of runs for a second each.
//!
//! `cargo run --release -p ifm-kernels --example ceilings -- [threads [type | MiB]]`

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{error::Error, time::Instant};

use ifm_kernels::{Bandwidth, Gemm, GemmType, Isa, Motion, Pool};

/// Products: rows, columns, depth.
const SIZES: [(usize, usize, usize); 4] =
    [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 512)];

fn median_s(mut run: impl FnMut()) -> f64 {
    let (mut times, begun) = (Vec::new(), Instant::now());
    run();
    while times.len() < 5 || begun.elapsed().as_secs_f64() < 1.0 {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pool = Pool::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    let isa = Isa::best();
    let what = arguments.next().unwrap_or_else(|| "f32".to_owned());
    if let Ok(mebibytes) = what.parse::<usize>() {
        for motion in Motion::ALL {
            let mut moved = Bandwidth::new(motion, mebibytes << 20, isa)?;
            let seconds = median_s(|| moved.run(&pool));
            let rate = moved.bytes_per_run() as f64 / seconds / 1e9;
            println!("{motion:>5} {mebibytes} MiB: {rate:.1} GB/s, right: {}", moved.is_right());
        }
        return Ok(());
    }
    for (m, n, k) in SIZES {
        let mut gemm = Gemm::new(what.parse::<GemmType>()?, m, n, k, isa, 1)?;
        let rate = gemm.operations() / median_s(|| gemm.run(&pool)) / 1e9;
        let (computed, error) = (gemm.computed(), gemm.worst_error(100));
        println!("{m}x{n}x{k} {computed}: {rate:.1} GFLOP/s, error {error:.1e}");
    }
    Ok(())
}
