//! Prints the speed of products, in billions of multiplications a second: for each format,
//! with many tokens (the sums count) and with one (the memory counts).
//!
//! `cargo run --release -p ifm-kernels --example products -- [threads [isa [rows [columns]]]]`

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{error::Error, time::Instant};

use ifm_kernels::{Activations, Format, Isa, Packed, Pool, Stored};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pool = Pool::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    let isa = arguments.next().map_or(Ok(Isa::best()), |text| text.parse())?;
    let rows = arguments.next().map_or(Ok(3072), |text| text.parse())?;
    let columns = arguments.next().map_or(Ok(512), |text| text.parse())?;
    println!("{rows} x {columns}, {isa}, {} threads: 10^9 products a second", pool.threads());
    let int4 = Format::Int4 { group: 128, zeros: false };
    for (format, activations) in [
        (Format::F32, Activations::Float),
        (Format::F16, Activations::Float),
        (Format::BF16, Activations::Float),
        (Format::Int8, Activations::Float),
        (int4, Activations::Float),
        (Format::Int8, Activations::Token8),
        (Format::Q8_0, Activations::Blocks8),
        (Format::Q4_0, Activations::Blocks8),
        (Format::Q4K, Activations::Blocks8),
        (Format::Q6K, Activations::Blocks8),
    ] {
        let weights = (0..rows * columns).map(|index| (index * 37 % 101) as f32 / 50.0 - 1.0);
        let weights: Vec<f32> = weights.collect();
        let stored = Stored::encode(format, rows, columns, &weights)?;
        let packed = Packed::new(stored, activations, isa)?;
        print!("{:>6} {:>12}", format.name(), packed.computed());
        for tokens in [512, 4, 1] {
            let input: Vec<f32> =
                (0..tokens * columns).map(|index| (index * 31 % 97) as f32 / 48.0 - 1.0).collect();
            let mut out = vec![0.0; tokens * rows];
            let mut best = f64::MAX;
            for _ in 0..(if tokens == 512 { 5 } else { 200 }) {
                let start = Instant::now();
                packed.multiply(&pool, &input, tokens, &mut out);
                best = best.min(start.elapsed().as_secs_f64());
            }
            let products = (tokens * rows * columns) as f64;
            print!("  {tokens:>4}: {:6.1}", products / best / 1e9);
        }
        println!();
    }
    Ok(())
}
