//! A file in a folder with a registry has its line in that registry.
//!
//! A data set, a check or a command that is not listed compiles and is never run. The compiler
//! warns of dead code at best; this check names the file.

use super::{
    Check, Finding, Workspace,
    source::{code_only, words},
};
use std::collections::BTreeSet;

pub const CHECK: Check = Check {
    id: "registries",
    rule: "every file in a folder with a registry is listed in it",
    find,
};

/// A folder and the item that lists its files.
struct Registry {
    folder: &'static str,
    /// File that holds the item, within the folder or next to it.
    file: &'static str,
    /// Words that begin the item.
    item: &'static str,
    /// Modules of the folder that are shared by the others and are not listed.
    shared: &'static [&'static str],
}

/// Every registry of the workspace.
const REGISTRIES: &[Registry] = &[
    Registry {
        folder: "crates/ifm-workload/src/dataset",
        file: "crates/ifm-workload/src/dataset/mod.rs",
        item: "const DATASETS",
        shared: &[],
    },
    Registry {
        folder: "crates/ifm-metrics/src/warning",
        file: "crates/ifm-metrics/src/warning/mod.rs",
        item: "const CHECKS",
        shared: &[],
    },
    Registry {
        folder: "crates/ifm-rules/src/audit/rule",
        file: "crates/ifm-rules/src/audit/rule/mod.rs",
        item: "const RULES",
        shared: &[],
    },
    Registry {
        folder: "crates/ifm-interop/src/import/format",
        file: "crates/ifm-interop/src/import/format/mod.rs",
        item: "const FORMATS",
        shared: &[],
    },
    Registry {
        folder: "crates/ifm-interop/src/import/block",
        file: "crates/ifm-interop/src/import/block/mod.rs",
        item: "const BLOCKS",
        shared: &["answer", "boxes", "joining", "spans", "table"],
    },
    Registry {
        folder: "crates/ifm-interop/src/export",
        file: "crates/ifm-interop/src/export/mod.rs",
        item: "pub const EXPORTS",
        shared: &["fields", "options"],
    },
    Registry {
        folder: "crates/inferometer/src/push",
        file: "crates/inferometer/src/push/mod.rs",
        item: "pub const PUSHES",
        shared: &["target"],
    },
    Registry {
        folder: "crates/ifm-telemetry/src/engine",
        file: "crates/ifm-telemetry/src/engine/mod.rs",
        item: "const ENGINES",
        shared: &[],
    },
    Registry {
        folder: "xtask/src/check",
        file: "xtask/src/check/mod.rs",
        item: "const CHECKS",
        shared: &["imports", "source", "workspace"],
    },
];

fn find(workspace: &Workspace) -> Vec<Finding> {
    REGISTRIES.iter().flat_map(|registry| find_in(registry, workspace)).collect()
}

fn find_in(registry: &Registry, workspace: &Workspace) -> Vec<Finding> {
    let Some(source) = workspace.text(registry.file) else {
        return vec![Finding::new(registry.file, "missing: it holds a registry")];
    };
    let code = code_only(source);
    let Some(listed) = modules_in_item(&code, registry.item) else {
        let text = format!("no item that begins with '{}'", registry.item);
        return vec![Finding::new(registry.file, text)];
    };
    let mut findings = Vec::new();
    for name in modules_of(registry.folder, workspace) {
        if !listed.contains(name) && !registry.shared.contains(&name) {
            let place = format!("{}/{name}", registry.folder);
            let text = format!("is not listed in '{}' of {}", registry.item, registry.file);
            findings.push(Finding::new(place, text));
        }
    }
    findings
}

/// Names of the modules in a folder: its files and its folders, except `mod.rs` and tests.
fn modules_of<'a>(folder: &str, workspace: &'a Workspace) -> BTreeSet<&'a str> {
    let inside = workspace.paths.iter().filter_map(|path| path.strip_prefix(folder));
    let inside = inside.filter_map(|path| path.strip_prefix('/'));
    let names = inside.map(|path| path.split('/').next().unwrap_or_default());
    let names = names.map(|name| name.strip_suffix(".rs").unwrap_or(name));
    names.filter(|name| !matches!(*name, "mod" | "tests" | "testing")).collect()
}

/// The words of an item: from its first words to the end of its brackets.
fn modules_in_item<'a>(code: &'a str, item: &str) -> Option<BTreeSet<&'a str>> {
    let start = code.find(item)?;
    let rest = code.get(start..)?;
    let mut depth = 0_i32;
    for (at, char) in rest.char_indices() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(char, ';' | '}') {
            return rest.get(..at).map(|item| words(item).collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    const SAMPLE: Registry =
        Registry { folder: "k", file: "k/mod.rs", item: "const KINDS", shared: &["words"] };

    fn places(registry: &Registry, files: &[(&str, &str)]) -> Vec<String> {
        let findings = find_in(registry, &with_files(files));
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_forgotten_line_is_found() {
        let list = "mod b;\nmod c;\nconst KINDS: [&Kind; 1] = [&a::KIND];\nfn f() { b::g(c) }\n";
        let files = [
            ("k/mod.rs", list),
            ("k/a.rs", ""),
            ("k/b.rs", ""),
            ("k/c/mod.rs", ""),
            ("k/words.rs", ""),
            ("k/tests.rs", ""),
            ("kk/d.rs", ""),
        ];
        assert_eq!(places(&SAMPLE, &files), ["k/b", "k/c"]);
    }

    #[test]
    fn a_function_can_be_the_list_and_a_comment_cannot() {
        let registry = Registry { item: "fn all", ..SAMPLE };
        let list = "// a\nfn all() -> Vec<Kind> {\n    vec![a::KIND] // b\n}\nfn f() { b::g() }\n";
        assert_eq!(
            places(&registry, &[("k/mod.rs", list), ("k/a.rs", ""), ("k/b.rs", "")]),
            ["k/b"]
        );
    }

    #[test]
    fn a_registry_that_is_gone_is_found() {
        assert_eq!(places(&SAMPLE, &[]), ["k/mod.rs"]);
        assert_eq!(places(&SAMPLE, &[("k/mod.rs", "const OTHERS: [u8; 0] = [];")]), ["k/mod.rs"]);
    }
}
