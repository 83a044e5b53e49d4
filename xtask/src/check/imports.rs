//! The modules of a crate and what each imports, read from its source without a compiler.
//!
//! Imports are the `use` declarations and the paths that begin with `crate`, `super` or `self`.
//! Items under `#[cfg(test)]` are left out, with the files that they declare.
//!
//! Not here: where a path leads, and what is wrong with it.

use super::source::code_only;
use std::collections::{BTreeMap, BTreeSet};

/// What a file has instead of a name in `use a::*`.
const GLOB: &str = "*";
/// Words before an item's name.
const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];

/// One module of a crate: a file, or a block in one.
#[derive(Debug, Default)]
pub struct Module {
    /// Its file.
    pub file: String,
    /// What it imports, with names of other crates among it.
    pub imports: Vec<Import>,
    /// Names of the items that it defines.
    defines: BTreeSet<String>,
}

/// A path to a name, where it is written.
#[derive(Debug)]
pub struct Import {
    /// Its segments; the last is `*` for all names of a module.
    pub path: Vec<String>,
    /// Line of the file, from 1.
    pub line: usize,
    /// The name by which the module has it from then on; absent for a path inside code.
    known_as: Option<String>,
}

impl Module {
    /// The paths behind a name that this module has from elsewhere.
    pub fn leads_to<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
        let is_own = self.defines.contains(name);
        let candidates = self.imports.iter().filter(move |_| !is_own);
        candidates.filter_map(move |import| match import.known_as.as_deref() {
            Some(GLOB) => {
                let (_, module) = import.path.split_last()?;
                Some([module, &[name.to_owned()]].concat())
            }
            Some(known) if known == name => Some(import.path.clone()),
            _ => None,
        })
    }
}

/// Reads a crate from its root: the modules by their paths, the root's own being empty.
pub fn read<'a>(
    root: &str,
    text: &dyn Fn(&str) -> Option<&'a str>,
) -> BTreeMap<Vec<String>, Module> {
    let mut modules = BTreeMap::new();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut next = vec![(Vec::new(), root.to_owned(), folder.to_owned())];
    while let Some((path, file, folder)) = next.pop() {
        let Some(source) = text(&file) else { continue };
        let code = code_only(source);
        let mut reader = Reader { tokens: tokens(&code), file: &file, found: BTreeMap::new() };
        reader.module(0..reader.tokens.len(), &path);
        for (declared, name) in reader.found.values().flat_map(|(_, declared)| declared) {
            let inner: Vec<_> = declared.iter().skip(path.len()).map(String::as_str).collect();
            let inside = [&[folder.as_str()], inner.as_slice(), &[name]].concat().join("/");
            let path = [declared.as_slice(), &[name.to_string()]].concat();
            for file in [format!("{inside}.rs"), format!("{inside}/mod.rs")] {
                next.push((path.clone(), file, inside.clone()));
            }
        }
        modules.extend(reader.found.into_iter().map(|(path, (module, _))| (path, module)));
    }
    modules
}

/// A word or a mark of the code, and its line.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Words, `::` and single marks.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut tokens = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|char| !is_word(char)) {
                Some(0) if rest.starts_with("::") => 2,
                Some(0) => first.len_utf8(),
                Some(end) => end,
                None => rest.len(),
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { text, line: index + 1 });
            rest = after.trim_start();
        }
    }
    tokens
}

/// A module, and the modules in files of their own that it declares: their parent, their name.
type Found<'a> = (Module, Vec<(Vec<String>, &'a str)>);

/// One file on its way to modules.
struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    file: &'a str,
    found: BTreeMap<Vec<String>, Found<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads the tokens of one module.
    fn module(&mut self, range: std::ops::Range<usize>, path: &[String]) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut declared = Vec::new();
        let (mut at, mut depth) = (range.start, 0_usize);
        while at < range.end {
            let line = self.line(at);
            match (self.text(at), self.text(at + 1), self.text(at + 2)) {
                ("#", "[", _) if self.is_for_tests(at + 1) => {
                    at = self.item_end(self.closing(at + 1) + 1);
                    continue;
                }
                ("#", "[", _) => at = self.closing(at + 1),
                ("mod", name, ";") => declared.push((path.to_vec(), name)),
                ("mod", name, "{") => {
                    let end = self.closing(at + 2);
                    self.module(at + 3..end, &[path, &[name.to_owned()]].concat());
                    at = end;
                }
                ("pub", "(", "in") => at = self.closing(at + 1),
                ("use", _, _) => {
                    at = self.tree(at + 1, &[], &mut module.imports);
                    continue;
                }
                ("crate" | "super" | "self", "::", _) if !self.continues(at) => {
                    let (path, end) = self.path(at);
                    module.imports.push(Import { path, line, known_as: None });
                    at = end;
                    continue;
                }
                ("{", ..) => depth += 1,
                ("}", ..) => depth = depth.saturating_sub(1),
                (word, name, after) if depth == 0 && ITEMS.contains(&word) => {
                    let name = if name == "!" { after } else { name };
                    module.defines.insert(name.to_owned());
                }
                _ => {}
            }
            at += 1;
        }
        self.found.insert(path.to_vec(), (module, declared));
    }

    /// One branch of a `use` declaration; gives the place of the mark after it.
    fn tree(&self, start: usize, before: &[String], imports: &mut Vec<Import>) -> usize {
        let (mut path, mut at) = (before.to_vec(), start);
        loop {
            match self.text(at) {
                "::" => at += 1,
                "{" => {
                    let end = self.closing(at);
                    at += 1;
                    while at < end {
                        at = self.tree(at, &path, imports) + 1;
                    }
                    return end + 1;
                }
                "," | ";" | "}" | "" => {
                    self.take(start, path, None, imports);
                    return at;
                }
                "as" => {
                    self.take(start, path, Some(self.text(at + 1)), imports);
                    return at + 2;
                }
                segment => {
                    path.push(segment.to_owned());
                    at += 1;
                }
            }
        }
    }

    /// Notes an imported path; `self` at its end is the module before it.
    fn take(
        &self,
        at: usize,
        mut path: Vec<String>,
        alias: Option<&str>,
        imports: &mut Vec<Import>,
    ) {
        if path.len() > 1 {
            path.pop_if(|last| last == "self");
        }
        let known_as = alias.map(str::to_owned).or_else(|| path.last().cloned());
        if known_as.is_some() {
            imports.push(Import { path, line: self.line(at), known_as });
        }
    }

    /// A path inside code, and the place after it.
    fn path(&self, start: usize) -> (Vec<String>, usize) {
        let (mut path, mut at) = (vec![self.text(start).to_owned()], start + 1);
        while self.text(at) == "::" && !matches!(self.text(at + 1), "<" | "{" | "*" | "") {
            path.push(self.text(at + 1).to_owned());
            at += 2;
        }
        (path, at)
    }

    /// Whether the word at a place goes on with a path that began before it.
    fn continues(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| self.text(before) == "::")
    }

    /// Whether the attribute in the brackets leaves the item to tests.
    fn is_for_tests(&self, open: usize) -> bool {
        let has = |word: &str| (open..self.closing(open)).any(|at| self.text(at) == word);
        has("cfg") && has("test") && !has("not")
    }

    /// Where the item that begins here ends: after its `;` or its block.
    fn item_end(&self, start: usize) -> usize {
        let (mut at, mut is_use) = (start, false);
        while at < self.tokens.len() {
            match self.text(at) {
                "use" => is_use = true,
                ";" => return at + 1,
                "{" if !is_use => return self.closing(at) + 1,
                "{" | "(" | "[" => at = self.closing(at),
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// Where the bracket that opens here is closed.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text(at) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn line(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.line)
    }
}
