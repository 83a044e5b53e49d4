//! Tells the tests whether the published documents are at hand that some of them read: `cfg(documents)`,
//! and the folder in `IFM_DOCUMENTS`. Without them those tests are ignored, and say so.
//!
//! The documents are not part of this repository: they are those of the folder that `IFM_SEEDS` names,
//! or of `../shared/seeds` beside the workspace, each by the first three characters of its name.
//! Not here: anything that changes what is built besides the tests.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

const NUMBERS: [&str; 5] = ["000", "001", "002", "003", "004"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=IFM_SEEDS");
    println!("cargo::rustc-check-cfg=cfg(documents)");
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds");
    let folder = std::env::var_os("IFM_SEEDS").map_or_else(beside, PathBuf::from);
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names: Vec<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    if NUMBERS.iter().all(|number| names.iter().any(|name| name.starts_with(number))) {
        // Watched only where it is: a path that is missing would build everything anew each time.
        println!("cargo::rerun-if-changed={}", folder.display());
        println!("cargo::rustc-env=IFM_DOCUMENTS={}", folder.display());
        println!("cargo::rustc-cfg=documents");
    }
}
