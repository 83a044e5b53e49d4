//! Every module begins by saying what it is.
//!
//! rustc asks for documentation of public items only; most modules are private.

use super::{Check, Finding, Workspace, workspace::SourceFile};

pub const CHECK: Check = Check {
    id: "module-docs",
    rule: "every Rust file below src begins with //! (after inner attributes, if it has any)",
    find,
};

fn find(workspace: &Workspace) -> Vec<Finding> {
    let undocumented = |file: &&SourceFile| file.is_rust_source() && !begins_with_docs(&file.text);
    let files = workspace.files.iter().filter(undocumented);
    files.map(|file| Finding::new(file.path.clone(), "does not begin with //!")).collect()
}

fn begins_with_docs(source: &str) -> bool {
    let first = source.lines().find(|line| !line.is_empty() && !line.starts_with("#!["));
    let words = first.and_then(|line| line.strip_prefix("//!"));
    words.is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn a_file_without_a_beginning_is_found() {
        let cases = [
            ("crates/a/src/b.rs", "//! What it is.\n", true),
            ("crates/a/src/lib.rs", "#![forbid(unsafe_code)]\n//! What it is.\n", true),
            ("crates/a/src/b.rs", "use std::fmt;\n//! Too late.\n", false),
            ("crates/a/src/b.rs", "// What it is.\n", false),
            ("crates/a/src/b.rs", "//!\n", false),
            ("crates/a/src/b.rs", "", false),
            ("crates/a/tests/b.rs", "", true),
        ];
        for (path, text, is_sound) in cases {
            assert_eq!(find(&with_files(&[(path, text)])).is_empty(), is_sound, "{path}: {text}");
        }
    }
}
