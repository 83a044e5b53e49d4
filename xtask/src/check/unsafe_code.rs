//! Unsafe code stays inside its fences: `ifm-sys`, `ifm-kernels`, and counting allocators of tests.
//!
//! Roots of libraries and binaries forbid it, which the compiler then enforces; what the compiler
//! does not see is a root without the attribute, or a test that goes beyond a counting allocator.

use super::{
    Check, Finding, Workspace,
    source::{code_only, has_word},
};

pub const CHECK: Check = Check {
    id: "unsafe-code",
    rule: "crates forbid unsafe code; only ifm-sys, ifm-kernels and counting allocators of tests hold it",
    find,
};

/// The crate that wraps the host's calls, and the one of vector instructions.
const FENCED: [&str; 2] = ["ifm-sys", "ifm-kernels"];
const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in
        workspace.packages.iter().filter(|package| !FENCED.contains(&package.name.as_str()))
    {
        for root in &package.roots {
            if !workspace.text(root).is_some_and(forbids_unsafe) {
                findings.push(Finding::new(root.clone(), format!("lacks {ATTRIBUTE} at its top")));
            }
        }
    }
    let fences = FENCED.map(|name| format!("crates/{name}/"));
    let outside = |path: &str| !fences.iter().any(|fence| path.starts_with(fence));
    for file in workspace.files.iter().filter(|file| file.is_rust() && outside(&file.path)) {
        let code = code_only(&file.text);
        let is_allocator = has_word(&code, "GlobalAlloc") && file.path.contains("/tests/");
        if has_word(&code, "unsafe") && !is_allocator {
            let text = format!("holds unsafe code; move it to {}", FENCED.join(" or "));
            findings.push(Finding::new(file.path.clone(), text));
        }
    }
    findings
}

/// Whether the attribute comes before the first item.
fn forbids_unsafe(source: &str) -> bool {
    let code = code_only(source);
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take_while(|line| line.starts_with("#![")).any(|line| line == ATTRIBUTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::{package, with_files};

    #[test]
    fn a_root_must_forbid_it_before_anything_else() {
        let cases = [
            ("//! A.\n#![forbid(unsafe_code)]\nmod b;\n", true),
            ("#![allow(missing_docs)]\n#![forbid(unsafe_code)]\n//! A.\n", true),
            ("//! A.\nmod b;\n", false),
            ("//! #![forbid(unsafe_code)]\nmod b;\n", false),
            ("#![deny(unsafe_code)]\nmod b;\n", false),
        ];
        for (root, is_sound) in cases {
            let mut workspace = with_files(&[("crates/a/src/lib.rs", root)]);
            workspace.packages = vec![package("a", &[])];
            assert_eq!(find(&workspace).is_empty(), is_sound, "{root}");
        }
    }

    #[test]
    fn the_word_is_found_in_code_outside_the_fence() {
        let cases = [
            ("crates/a/src/b.rs", "let x = unsafe { y() };", false),
            ("crates/a/src/b.rs", "// unsafe is a word here\n", true),
            ("crates/ifm-sys/src/b.rs", "let x = unsafe { y() };", true),
            ("crates/ifm-kernels/src/b.rs", "let x = unsafe { y() };", true),
            ("crates/ifm-kernels-b/src/b.rs", "let x = unsafe { y() };", false),
            ("crates/a/tests/b.rs", "let x = unsafe { y() };", false),
            ("crates/a/tests/b.rs", "unsafe impl GlobalAlloc for Counting {}", true),
            ("crates/a/src/b.rs", "unsafe impl GlobalAlloc for Counting {}", false),
        ];
        for (path, text, is_sound) in cases {
            assert_eq!(find(&with_files(&[(path, text)])).is_empty(), is_sound, "{path}: {text}");
        }
    }
}
