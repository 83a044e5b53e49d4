//! Modules of a crate do not import each other in circles.
//!
//! cargo keeps circles between crates away; inside a crate nothing does, and two modules that
//! import each other can be neither read nor moved alone. Siblings are compared, at every level of
//! the tree: a module and its parent may know each other, as a registry and its
//! entries do. A name counts as an import of the module that defines it, so a re-export hides none.
//!
//! Not here: tests, and calls of methods, which name no module.

use super::{Check, Finding, Workspace, imports, imports::Module};
use std::collections::{BTreeMap, BTreeSet};

pub const CHECK: Check =
    Check { id: "modules", rule: "modules of a crate do not import each other in circles", find };

/// Places of an import that a finding names at most.
const PLACES_MAX: usize = 3;

/// The modules of one crate, by path from its root.
type Tree = BTreeMap<Vec<String>, Module>;
/// Who imports whom among the children of one module, and where.
type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<String>>>;

fn find(workspace: &Workspace) -> Vec<Finding> {
    let roots = workspace.packages.iter().flat_map(|package| &package.roots);
    roots.flat_map(|root| circles_of(workspace, root)).collect()
}

/// The circles of one library or binary.
fn circles_of(workspace: &Workspace, root: &str) -> Vec<Finding> {
    let tree = imports::read(root, &|path| workspace.text(path));
    let mut graphs: BTreeMap<&[String], Graph> = BTreeMap::new();
    for (from, module) in &tree {
        for import in &module.imports {
            for to in defined_in(&tree, from, &import.path) {
                let shared = from.iter().zip(to).take_while(|(from, to)| from == to).count();
                let (Some(importer), Some(imported)) = (from.get(shared), to.get(shared)) else {
                    continue;
                };
                let graph = graphs.entry(from.get(..shared).unwrap_or_default()).or_default();
                let places = graph.entry(importer).or_default().entry(imported).or_default();
                let place = format!("{}:{}", module.file, import.line);
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }
    let finding = |graph: &Graph| {
        circles(graph).into_iter().map(|circle| told(graph, &circle)).collect::<Vec<_>>()
    };
    let place = |parent: &[String]| tree.get(parent).map_or(root, |module| &module.file).to_owned();
    let texts = graphs.iter().flat_map(|(parent, graph)| {
        finding(graph).into_iter().map(|text| Finding::new(place(parent), text))
    });
    texts.collect()
}

/// The modules that a path leads through: where its name is defined, and where it is re-exported.
fn defined_in<'a>(tree: &'a Tree, from: &[String], path: &[String]) -> Vec<&'a [String]> {
    let mut found = Vec::new();
    resolve(tree, from, path, &mut found, 0);
    found
}

/// Re-exports that are followed at most.
const HOPS_MAX: usize = 8;

fn resolve<'a>(
    tree: &'a Tree,
    from: &[String],
    path: &[String],
    found: &mut Vec<&'a [String]>,
    hops: usize,
) {
    let Some((mut at, mut rest)) = start(tree, from, path) else { return };
    while let Some((name, after)) = rest.split_first() {
        let child = [at.as_slice(), std::slice::from_ref(name)].concat();
        if !tree.contains_key(&child) {
            break;
        }
        (at, rest) = (child, after);
    }
    let Some((key, module)) = tree.get_key_value(&at) else { return };
    found.push(key);
    if let (Some((name, after)), true) = (rest.split_first(), hops < HOPS_MAX) {
        for target in module.leads_to(name) {
            resolve(tree, &at, &[target.as_slice(), after].concat(), found, hops + 1);
        }
    }
}

/// The module that a path begins in, and what is left of the path; none for another crate.
fn start<'a>(
    tree: &Tree,
    from: &[String],
    path: &'a [String],
) -> Option<(Vec<String>, &'a [String])> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some((Vec::new(), rest)),
        "self" => Some((from.to_vec(), rest)),
        "super" => {
            let parent = from.split_last().map(|(_, parent)| parent.to_vec())?;
            match rest.first().map(String::as_str) {
                Some("super") => start(tree, &parent, rest),
                _ => Some((parent, rest)),
            }
        }
        name => {
            let child = [from, &[name.to_owned()]].concat();
            tree.contains_key(&child).then_some((child, rest))
        }
    }
}

/// The groups of modules of which each reaches every other.
fn circles<'a>(graph: &Graph<'a>) -> Vec<BTreeSet<&'a str>> {
    let reach = |from: &'a str| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(at) = next.pop() {
            let after = graph.get(at).into_iter().flat_map(BTreeMap::keys);
            next.extend(after.copied().filter(|to| reached.insert(*to)));
        }
        reached
    };
    let reached: BTreeMap<&str, _> = graph.keys().map(|from| (*from, reach(from))).collect();
    let mut circles: Vec<BTreeSet<&str>> = Vec::new();
    for (from, to) in reached.iter().filter(|(from, to)| to.contains(*from)) {
        if !circles.iter().any(|circle| circle.contains(from)) {
            let back = |to: &&&str| reached.get(*to).is_some_and(|back| back.contains(from));
            circles.push(to.iter().filter(back).copied().collect());
        }
    }
    circles
}

/// A circle in words: its modules, and each import between two of them, rarest first.
fn told(graph: &Graph, circle: &BTreeSet<&str>) -> String {
    let inside = |name: &str| circle.contains(name);
    let mut edges = Vec::new();
    for (from, targets) in graph.iter().filter(|(from, _)| inside(from)) {
        for (to, places) in targets.iter().filter(|(to, _)| inside(to)) {
            edges.push((places.len(), from, to, places));
        }
    }
    edges.sort();
    let edges = edges.iter().map(|(count, from, to, places)| {
        let shown = places.iter().take(PLACES_MAX).map(String::as_str).collect::<Vec<_>>();
        let more = count.checked_sub(PLACES_MAX).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        format!("\n         {from} → {to} ({}{more})", shown.join(", "))
    });
    let names: Vec<_> = circle.iter().copied().collect();
    format!(
        "{} import each other; move what both need:{}",
        names.join(", "),
        edges.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::{package, with_files};

    /// What is found in a crate of a root and two modules, `b` of one file.
    fn found(root: &str, b: &str, c: &str) -> Vec<String> {
        found_in(&[
            ("crates/a/src/lib.rs", root),
            ("crates/a/src/b.rs", b),
            ("crates/a/src/c/mod.rs", c),
            ("crates/a/src/c/d.rs", "use super::super::b::x;\n"),
        ])
    }

    fn found_in(files: &[(&str, &str)]) -> Vec<String> {
        let mut workspace = with_files(files);
        workspace.packages = vec![package("a", &[])];
        find(&workspace).into_iter().map(|finding| finding.text).collect()
    }

    const ROOT: &str = "mod b;\nmod c;\npub use c::Name;\nuse c::*;\npub struct Own;\n";

    #[test]
    fn imports_in_one_direction_pass() {
        let sound = [
            "pub fn x() {}\n",
            "use crate::Own;\nuse std::fmt;\n",
            "#[cfg(test)]\nmod tests {\n    use crate::c::Name;\n}\n",
            "#[cfg(test)]\nuse crate::c::{Name, d};\npub fn x() {}\n",
            "// crate::c::Name\nconst TEXT: &str = \"crate::c::Name\";\n",
            "pub(in crate::c) fn x() {}\n",
            "use c::Name;\n",
            "#[cfg(test)]\nmod tests;\n",
        ];
        for b in sound {
            assert_eq!(found(ROOT, b, "mod d;\npub struct Name;\n"), [""; 0], "{b}");
        }
    }

    #[test]
    fn a_circle_is_found_by_every_way_of_naming() {
        let circular = [
            "use crate::c::Name;\n",
            "use crate::{\n    Own,\n    c::{self, d},\n};\n",
            "use super::c as other;\n",
            "fn x() -> crate::c::Name { y() }\n",
            "fn x() { for y in super::c::NAMES {} }\n",
            "fn x() {\n    use crate::c::Name;\n}\n",
            "use crate::Name;\n",
            "use crate::from_glob;\n",
            "mod inner {\n    use super::super::c::Name;\n}\n",
            "#[cfg(not(test))]\nuse crate::c::Name;\n",
            "pub(crate) use crate::c::Name;\n",
            "#[cfg(test)]\nuse std::{fmt, io};\nuse crate::c::Name;\n",
            "macro_rules! x { () => { $crate::c::Name } }\n",
        ];
        for b in circular {
            let texts = found(ROOT, b, "mod d;\npub struct Name;\npub fn from_glob() {}\n");
            assert_eq!(texts.len(), 1, "{b}: {texts:?}");
            assert!(texts[0].starts_with("b, c import each other"), "{b}: {texts:?}");
            assert!(texts[0].contains("c → b (crates/a/src/c/d.rs:1)"), "{b}: {texts:?}");
        }
    }

    #[test]
    fn siblings_below_the_root_are_compared_and_every_import_has_its_place() {
        let files = [
            ("crates/a/src/lib.rs", "pub mod c;\n"),
            ("crates/a/src/c.rs", "mod d;\nmod e;\nmod f;\nmod g;\n"),
            ("crates/a/src/c/d.rs", "use super::e;\nfn x() { super::e::y() }\n"),
            ("crates/a/src/c/e.rs", "\nuse super::f::Z;\n"),
            ("crates/a/src/c/f.rs", "use crate::c::d::x;\nuse super::g;\n"),
            ("crates/a/src/c/g.rs", "pub fn x() {}\n"),
        ];
        let texts = found_in(&files);
        assert_eq!(texts.len(), 1, "{texts:?}");
        let expected = "d, e, f import each other; move what both need:\n         \
            e → f (crates/a/src/c/e.rs:2)\n         f → d (crates/a/src/c/f.rs:1)\n         \
            d → e (crates/a/src/c/d.rs:1, crates/a/src/c/d.rs:2)";
        assert_eq!(texts[0], expected);
    }
}
