//! Tells the tests whether the published documents are at hand that some of them read: `cfg(documents)`,
//! and the folder in `IFM_DOCUMENTS`. Without them those tests are ignored, and say so.
//!
//! And tells the program what it is built for, and by which compiler: `IFM_TARGET`, `IFM_RUSTC`, `IFM_PROFILE`.
//!
//! The documents are not part of this repository: they are those of the folder that `IFM_SEEDS` names,
//! or of `../shared/seeds` beside the workspace, each by the first three characters of its name.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

const NUMBERS: [&str; 5] = ["000", "001", "002", "003", "004"];

fn main() {
    // By its full path: the program has this script too, and no file of that name.
    println!(
        "cargo::rerun-if-changed={}",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/build.rs").display()
    );
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
    tell_the_build();
}

fn tell_the_build() {
    let told = |name| std::env::var(name).unwrap_or_default();
    let version = Command::new(told("RUSTC")).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    // Cargo names only the profile that a profile is made of. The folder has its own name:
    // .../PROFILE/build/CRATE-HASH/out.
    let out = told("OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile =
        profile.map_or_else(|| told("PROFILE"), |name| name.to_string_lossy().into_owned());
    println!("cargo::rustc-env=IFM_TARGET={}", told("TARGET"));
    println!("cargo::rustc-env=IFM_RUSTC={}", version.unwrap_or_else(|_| "not known".to_owned()));
    println!("cargo::rustc-env=IFM_PROFILE={profile}");
    println!("cargo::rerun-if-env-changed=IFM_COMMIT");
}
