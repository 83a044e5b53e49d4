//! Prints the speed of attention: for masks, forward and backward.
//!
//! `cargo run --release -p ifm-kernels --example attention -- [threads [isa [width [tokens [heads [mask]...]]]]]`

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{error::Error, time::Instant};

use ifm_kernels::{
    Isa, Pool,
    attention::{Attention, Element, Method, Setup, Shape},
    mask::Mask,
};

/// The best of some runs by the clock, seconds: for a machine that does nothing else.
fn best(mut run: impl FnMut()) -> f64 {
    run();
    let mut best = f64::MAX;
    for _ in 0..12 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pool = Pool::new(arguments.next().map_or(Ok(1), |text| text.parse())?);
    let isa = arguments.next().map_or(Ok(Isa::best()), |text| text.parse())?;
    let width = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let tokens = arguments.next().map_or(Ok(2048), |text| text.parse())?;
    let heads = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let shape = Shape {
        batch: 1,
        query_heads: heads,
        kv_heads: heads,
        queries: tokens,
        keys: tokens,
        width,
    };
    println!("{tokens} tokens, {heads} heads of {width}, {isa}, {} threads", pool.threads());
    println!(
        "mask, method, type, share of pairs in computed blocks; forward and backward: milliseconds, \
         10^9 operations on these pairs a second (4 a pair and number, 10 backward)"
    );
    let sliding = format!("sliding:{}", tokens / 8);
    let prefix = format!("prefix:{}", tokens / 8);
    let every = "expr:q >= k && (q - k) % 4 == 0";
    let masks = ["full", "causal", &sliding, &prefix, "document:12", "alibi", "softcap:30"];
    let given: Vec<String> = arguments.collect();
    let masks: Vec<&str> = if given.is_empty() {
        masks.into_iter().chain(["softcap-approx:30", every]).collect()
    } else {
        given.iter().map(String::as_str).collect()
    };
    for name in masks {
        let mask = Mask::parse(name)?.place(tokens as u64, tokens as u64, 0)?;
        for (method, element) in [
            (Method::Tiled, Element::F32),
            (Method::Sparse, Element::F32),
            (Method::Sparse, Element::BF16),
        ] {
            let setup = Setup { shape, mask: &mask, method, element, isa, block: 128, seed: 0 };
            let mut attention = Attention::new(&setup)?;
            let share = match method {
                Method::Sparse => {
                    attention.blocks()[0].computed_pairs() as f64 / (tokens * tokens) as f64
                }
                _ => 1.0,
            };
            let operations = 4.0 * share * (heads * tokens * tokens * width) as f64;
            let forward = best(|| attention.forward(&pool));
            let backward = best(|| attention.backward(&pool));
            println!(
                "{name:>20} {:>6} {:>4} {share:.4}  {:8.2} {:6.1}  {:8.2} {:6.1}",
                method.name(),
                element.name(),
                forward * 1e3,
                operations / forward / 1e9,
                backward * 1e3,
                2.5 * operations / backward / 1e9
            );
        }
    }
    Ok(())
}
