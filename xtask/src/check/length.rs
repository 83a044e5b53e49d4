//! Files stay short enough to be read at one go.

use super::{Check, Finding, Workspace};

pub const CHECK: Check =
    Check { id: "length", rule: "no Rust file below src has more than 700 lines", find };

/// Lines of one file at most, tests included.
const LINES_MAX: usize = 700;

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| file.is_rust_source()) {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            let text = format!("has {lines} lines; split it by idea");
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
    fn one_line_too_many_is_found() {
        let (full, over) = ("x\n".repeat(LINES_MAX), "x\n".repeat(LINES_MAX + 1));
        assert_eq!(find(&with_files(&[("crates/a/src/b.rs", &full)])), []);
        assert_eq!(find(&with_files(&[("crates/a/src/b.rs", &over)])).len(), 1);
        assert_eq!(find(&with_files(&[("crates/a/data/b.txt", &over)])), []);
    }
}
