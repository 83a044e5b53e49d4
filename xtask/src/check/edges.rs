//! The edges between our crates are those that ARCHITECTURE.md lists, no more and no fewer.
//!
//! The list exists only on that page: a fenced block with the info string `edges`,
//! one line for each crate. The check reads it from there, so the page cannot lie.

use super::{Check, Finding, Workspace};
use std::collections::{BTreeMap, BTreeSet};

pub const CHECK: Check = Check {
    id: "edges",
    rule: "normal dependencies between our crates are those in the edges block of ARCHITECTURE.md",
    find,
};

const PAGE: &str = "ARCHITECTURE.md";
const FENCE_OPEN: &str = "```edges";
const FENCE_CLOSE: &str = "```";
/// Written for an empty list.
const NONE: &str = "nothing";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let Some(page) = workspace.text(PAGE) else {
        return vec![Finding::new(PAGE, "missing: it holds the list of edges")];
    };
    let allowed = match parse(page) {
        Ok(allowed) => allowed,
        Err(text) => return vec![Finding::new(PAGE, text)],
    };
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let Some(listed) = allowed.get(package.name.as_str()) else {
            findings.push(Finding::new(PAGE, format!("no line for the crate {}", package.name)));
            continue;
        };
        let manifest = format!("{}/Cargo.toml", package.folder);
        for name in package.depends_on.iter().filter(|name| !listed.contains(name.as_str())) {
            let text = format!("depends on {name}, an edge that {PAGE} does not list");
            findings.push(Finding::new(manifest.clone(), text));
        }
        for name in listed.iter().filter(|name| !package.depends_on.contains(**name)) {
            let text = format!("lists the edge {} → {name}, which does not exist", package.name);
            findings.push(Finding::new(PAGE, text));
        }
    }
    let exists = |name: &str| workspace.packages.iter().any(|package| package.name == name);
    for name in allowed.keys().filter(|name| !exists(name)) {
        findings.push(Finding::new(PAGE, format!("lists {name}, which is no crate of ours")));
    }
    findings
}

/// Reads the edges block of the page.
fn parse(page: &str) -> Result<BTreeMap<&str, BTreeSet<&str>>, String> {
    let mut lines = page.lines().skip_while(|line| *line != FENCE_OPEN);
    lines.next().ok_or(format!("no block that begins with {FENCE_OPEN}"))?;
    let mut edges = BTreeMap::new();
    for line in lines.take_while(|line| *line != FENCE_CLOSE) {
        let (name, list) =
            line.split_once('→').ok_or(format!("cannot read the edges line '{line}'"))?;
        let list = list.split(',').map(str::trim).filter(|name| *name != NONE);
        if edges.insert(name.trim(), list.collect()).is_some() {
            return Err(format!("two edges lines for {}", name.trim()));
        }
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::{package, with_files};

    fn found(block: &str) -> Vec<String> {
        let page = format!("# Page\n\n```edges\n{block}\n```\n\na → b\n");
        let mut workspace = with_files(&[(PAGE, &page)]);
        workspace.packages = vec![package("a", &[]), package("b", &["a"])];
        find(&workspace).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_page_that_tells_the_truth_passes() {
        assert_eq!(found("a → nothing\nb → a"), [""; 0]);
    }

    #[test]
    fn every_way_to_differ_is_found() {
        let cases = [
            ("a → nothing\nb → nothing", "depends on a"),
            ("a → b\nb → a", "the edge a → b, which does not exist"),
            ("a → nothing", "no line for the crate b"),
            ("a → nothing\nb → a\nc → a", "lists c"),
            ("a → nothing\na → nothing\nb → a", "two edges lines for a"),
            ("a: nothing\nb → a", "cannot read the edges line"),
        ];
        for (block, expected) in cases {
            let texts = found(block);
            assert!(texts.len() == 1 && texts[0].contains(expected), "{block}: {texts:?}");
        }
        assert!(find(&with_files(&[]))[0].text.contains("missing"));
        assert!(find(&with_files(&[(PAGE, "# Page\n")]))[0].text.contains("no block"));
    }
}
