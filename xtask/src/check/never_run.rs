//! No test is written that nothing runs: a file of tests that its binary does not name, an example in
//! the documentation of a crate whose examples are not run.
//!
//! Running examples means compiling each crate once more, so crates without any switch it off.

use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "never-run",
    rule: "files of tests/it are declared in its main.rs; crates with examples in their docs run them",
    find,
};

/// How a manifest says that examples are not run.
const NOT_RUN: &str = "doctest = false";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let runs = workspace.text(&manifest).is_none_or(|text| !text.contains(NOT_RUN));
        let source = format!("{}/src/", package.folder);
        let of_package = workspace.files.iter().filter(|file| file.path.starts_with(&source));
        for file in of_package.filter(|file| !runs && file.is_rust() && has_example(&file.text)) {
            let text = format!("holds an example, and {manifest} says {NOT_RUN}");
            findings.push(Finding::new(file.path.clone(), text));
        }
    }
    for (folder, name) in workspace.paths.iter().filter_map(|path| file_of_tests(path)) {
        let main = format!("{folder}/main.rs");
        let line = format!("mod {name};");
        if !workspace.text(&main).is_some_and(|text| text.lines().any(|found| found == line)) {
            findings.push(Finding::new(format!("{folder}/{name}"), format!("{main} lacks {line}")));
        }
    }
    findings
}

/// The folder `tests/it` of a crate and the name of the module that a path in it belongs to.
fn file_of_tests(path: &str) -> Option<(&str, &str)> {
    let (_, inside) = path.split_once("/tests/it/")?;
    let folder = path.strip_suffix(inside)?.trim_end_matches('/');
    let name = inside.split('/').next()?.trim_end_matches(".rs");
    (path.ends_with(".rs") && name != "main").then_some((folder, name))
}

/// Whether a block of a documentation comment is Rust code.
fn has_example(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start);
    let mut comments = lines.filter_map(|line| {
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
    });
    let mut is_inside = false;
    comments.any(|line| {
        let Some(kind) = line.strip_prefix("```") else { return false };
        is_inside = !is_inside;
        is_inside && kind != "text"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::{package, with_files};

    #[test]
    fn an_example_that_is_not_run_is_found() {
        for (manifest, text, count) in [
            ("[lib]\ndoctest = false\n", "//! A.\n//!\n//! ```\n//! a();\n//! ```\n", 1),
            ("[lib]\ndoctest = false\n", "/// ```no_run\n/// a();\n/// ```\nfn a() {}\n", 1),
            ("[lib]\ndoctest = false\n", "//! ```text\n//! a -> b\n//! ```\n", 0),
            ("", "//! ```\n//! a();\n//! ```\n", 0),
        ] {
            let files = [("crates/a/Cargo.toml", manifest), ("crates/a/src/lib.rs", text)];
            let workspace = Workspace { packages: vec![package("a", &[])], ..with_files(&files) };
            assert_eq!(find(&workspace).len(), count, "{manifest}{text}");
        }
    }

    #[test]
    fn a_file_of_tests_that_nobody_names_is_found() {
        let main = ("crates/a/tests/it/main.rs", "mod b;\nmod c;\n");
        let files = [main, ("crates/a/tests/it/b.rs", ""), ("crates/a/tests/it/c/d.rs", "")];
        assert_eq!(find(&with_files(&files)), []);
        let found = find(&with_files(&[main, ("crates/a/tests/it/e.rs", "")]));
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("lacks mod e;"), "{found:?}");
    }
}
