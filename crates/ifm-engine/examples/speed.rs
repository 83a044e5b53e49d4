//! Prints prompt and decoding speed of a model, per second and per CPU second.
//!
//! `cargo run --release --example speed -p ifm-engine -- tiny q8_0 [repeats [threads [isa [part]]]]`
//! for a preset, or a GGUF file instead of `tiny` for the model in that file (the second word is then
//! ignored). `part` is the beginning of the names of what is run, such as `pp512`.
//! CPU seconds are of the whole process, from `/proc/self/stat`, in hundredths, so
//! the parts below run for seconds.

// Printing is what this program is for.
#![allow(clippy::print_stdout)]

use std::{error::Error, time::Instant};

use ifm_engine::{Compute, Isa, Model, ModelSource, StaticBatch};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "tiny".to_owned());
    let quantization = arguments.next().unwrap_or_else(|| "q8_0".to_owned());
    let repeats: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let isa = arguments.next().map_or(Ok(Isa::best()), |text| text.parse())?;
    let part = arguments.next().unwrap_or_default();
    let source = if name.ends_with(".gguf") {
        ModelSource::Gguf { path: name.into() }
    } else {
        let (preset, quantization) = (name.parse()?, quantization.parse()?);
        ModelSource::Preset { preset, quantization, seed: 1 }
    };
    let model =
        Model::load_on(&source, Some(4096), Compute { isa, ..Compute::on_threads(threads) })?;
    let info = model.info();
    println!(
        "{} {} {} threads {}: ready after {:.0} ms",
        info.name,
        info.stored_dtype,
        info.instruction_set,
        info.threads,
        info.load_ns as f64 / 1e6
    );
    for (prompt_tokens, prefill_chunk) in
        [(128, 128), (512, 512), (2048, 512), (2048, 128), (2048, 64), (2048, 32)]
    {
        let batch = StaticBatch {
            sequences: 1,
            depth_tokens: 0,
            prompt_tokens,
            generated_tokens: 0,
            prefill_chunk,
        };
        let name = format!("pp{prompt_tokens} / {prefill_chunk}");
        if !name.starts_with(&part) {
            continue;
        }
        report(&name, repeats * prompt_tokens, || {
            (0..repeats).try_for_each(|_| model.time_static_batch(batch).map(|_| ()))
        })?;
    }
    for sequences in [1, 2, 4, 8, 16, 32] {
        let batch = StaticBatch {
            sequences,
            depth_tokens: 0,
            prompt_tokens: 1,
            generated_tokens: 128,
            prefill_chunk: 512,
        };
        let name = format!("tg128 x {sequences}");
        if !name.starts_with(&part) {
            continue;
        }
        report(&name, repeats * sequences * 129, || {
            (0..repeats).try_for_each(|_| model.time_static_batch(batch).map(|_| ()))
        })?;
    }
    Ok(())
}

fn report<E: Error + 'static>(
    name: &str,
    tokens: usize,
    work: impl FnOnce() -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let (wall, cpu) = (Instant::now(), cpu_seconds()?);
    work()?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    let tokens = tokens as f64;
    println!("{name:>12}: {:8.0} tok/s {:8.0} tok/CPU s", tokens / wall, tokens / cpu);
    Ok(())
}

/// User and system time of this process: fields 14 and 15, in hundredths.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
