//! Code for a particular operating system is in one crate: elsewhere no code asks which it is.
//!
//! Not here: processors, whose instructions are `ifm-kernels`' own affair.

use super::source::{code_only, has_word};
use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "platform",
    rule: "code for a particular operating system belongs in crates/ifm-sys",
    find,
};

/// The crate that knows the operating system.
const SEAM: &str = "crates/ifm-sys/";
/// Words that ask which one it is, and paths that only one has.
const WORDS: [&str; 2] = ["target_os", "target_vendor"];
const PATHS: [&str; 3] = ["std::os::linux", "std::os::macos", "std::os::windows"];

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let outside = |path: &str| !path.starts_with(SEAM);
    for file in workspace.files.iter().filter(|file| file.is_rust() && outside(&file.path)) {
        let code = code_only(&file.text);
        let words = WORDS.iter().filter(|word| has_word(&code, word));
        for word in words.chain(PATHS.iter().filter(|path| code.contains(**path))) {
            let text = format!("has {word}: ask ifm-sys, which does without where it has to");
            findings.push(Finding::new(file.path.clone(), text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn only_the_seam_asks_for_the_operating_system() {
        for (path, text, count) in [
            ("crates/a/src/lib.rs", "#[cfg(target_os = \"linux\")]\nfn a() {}\n", 1),
            ("crates/a/tests/it/b.rs", "use std::os::linux::fs::MetadataExt;\n", 1),
            (
                "crates/a/src/lib.rs",
                "// target_os is asked elsewhere.\n#[cfg(unix)]\nfn a() {}\n",
                0,
            ),
            ("crates/ifm-sys/src/lib.rs", "#[cfg(target_os = \"linux\")]\nmod a;\n", 0),
        ] {
            assert_eq!(find(&with_files(&[(path, text)])).len(), count, "{path}: {text}");
        }
    }
}
