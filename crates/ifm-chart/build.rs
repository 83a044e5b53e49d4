//! Compresses the large files that few commands use: the library that draws charts, and the fonts.
//! `src/packed.rs` inflates them when they are first used. Not here: anything that changes them.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

/// Files below `assets`.
const FILES: [&str; 3] =
    ["echarts/echarts.min.js", "font/Inter-Regular.ttf", "font/Inter-SemiBold.ttf"];
/// The best that is still quick: the build is slower by about a second.
const LEVEL: u8 = 9;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for file in FILES {
        let path = PathBuf::from("assets").join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        let packed = miniz_oxide::deflate::compress_to_vec(&std::fs::read(&path)?, LEVEL);
        let name = path.file_name().unwrap_or_default();
        std::fs::write(folder.join(name), packed)?;
    }
    Ok(())
}
