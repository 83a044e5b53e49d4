//! The standard library's stable sort is compiled separately for every type and comparison, which made a
//! twentieth of the program: lists are sorted by `ifm_core::order`.
//!
//! Not here: unstable sorts, which populations of requests and tokens take.

use super::source::code_only;
use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "sorting",
    rule: "lists are sorted by ifm_core::order, populations by an unstable sort",
    find,
};

const CALLS: [&str; 3] = [".sort_by(", ".sort_by_key(", ".sort_by_cached_key("];
/// The one sort, and crates that do not use it.
const EXEMPT: [&str; 3] =
    ["crates/ifm-core/src/order.rs", "crates/ifm-roofline/", "crates/ifm-tokenizer/"];

fn find(workspace: &Workspace) -> Vec<Finding> {
    let is_ours = |path: &str| {
        let is_exempt = EXEMPT.iter().any(|exempt| path.starts_with(exempt));
        path.starts_with("crates/") && path.contains("/src/") && !is_exempt
    };
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| file.is_rust() && is_ours(&file.path)) {
        let code = code_only(&file.text);
        for call in CALLS.iter().filter(|call| code.contains(**call)) {
            let text = format!("has {call}…): order_by or order_by_key of ifm_core::order");
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
    fn a_stable_sort_of_the_standard_library_is_found() {
        for (path, text, count) in [
            ("crates/a/src/lib.rs", "fn a() { b.sort_by(|a, b| a.cmp(b)); }\n", 1),
            ("crates/a/src/lib.rs", "fn a() { b.sort_by_key(c); d.sort_by_cached_key(e); }\n", 2),
            ("crates/a/src/lib.rs", "fn a() { b.sort_unstable_by(f64::total_cmp); }\n", 0),
            ("crates/a/src/lib.rs", "// b.sort_by(c)\nfn a() { b.sort(); }\n", 0),
            ("crates/a/tests/it/b.rs", "fn a() { b.sort_by_key(c); }\n", 0),
            ("crates/ifm-core/src/order.rs", "fn a() { b.sort_by(c); }\n", 0),
        ] {
            assert_eq!(find(&with_files(&[(path, text)])).len(), count, "{path}: {text}");
        }
    }
}
