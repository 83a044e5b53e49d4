//! Every package that we build or test with may be used under a licence of the list.
//!
//! Read from what cargo resolves for this platform. Of a choice (`OR`) one side must be on the
//! list, of a sum (`AND`) both. An expression that cannot be read counts as not allowed.

use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "licences",
    rule: "every dependency may be used under a permissive licence of the list",
    find,
};

/// The file with the list.
const PAGE: &str = "deny.toml";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let allowed = match workspace.text(PAGE).map(read_list) {
        Some(Ok(allowed)) => allowed,
        Some(Err(text)) => return vec![Finding::new(PAGE, text)],
        None => return vec![Finding::new(PAGE, "missing: it holds the list of licences")],
    };
    let mut findings = Vec::new();
    for package in &workspace.outside {
        let text = match &package.licence {
            None => "names no licence".to_owned(),
            Some(licence) if !is_allowed(licence, &allowed) => {
                format!("licence '{licence}' is not on the list in {PAGE}")
            }
            Some(_) => continue,
        };
        findings.push(Finding::new(package.name.clone(), text));
    }
    findings
}

/// The licences that the page allows.
fn read_list(page: &str) -> Result<Vec<String>, String> {
    let page: toml::Table = page.parse().map_err(|error| format!("cannot be read: {error}"))?;
    let list = page.get("licenses").and_then(|licences| licences.get("allow"));
    let list = list.and_then(toml::Value::as_array).ok_or("has no list licenses.allow")?;
    let names = list.iter().map(|name| name.as_str().map(str::to_owned));
    names.collect::<Option<_>>().ok_or("licenses.allow is not a list of names".to_owned())
}

/// Whether the expression can be fulfilled with licences of the list alone.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words = spaced.split_whitespace().collect();
    let mut parser = Parser { words, at: 0, allowed };
    parser.choice() == Some(true) && parser.at == parser.words.len()
}

/// Recursive descent over the words of an SPDX expression. `None`: it is malformed.
struct Parser<'text> {
    words: Vec<&'text str>,
    at: usize,
    allowed: &'text [String],
}

impl<'text> Parser<'text> {
    /// Sums that are joined by `OR`.
    fn choice(&mut self) -> Option<bool> {
        let mut allowed = self.sum()?;
        while self.take("OR") {
            allowed |= self.sum()?;
        }
        Some(allowed)
    }

    /// Terms that are joined by `AND`.
    fn sum(&mut self) -> Option<bool> {
        let mut allowed = self.term()?;
        while self.take("AND") {
            allowed &= self.term()?;
        }
        Some(allowed)
    }

    /// A licence, with its exception if it has one, or an expression in parentheses.
    fn term(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.choice()?;
            return self.take(")").then_some(allowed);
        }
        let licence = self.next()?;
        if matches!(licence, "AND" | "OR" | "WITH" | ")") {
            return None;
        }
        if self.take("WITH") {
            let exception = self.next()?;
            return Some(self.is_listed(&format!("{licence} WITH {exception}")));
        }
        Some(self.is_listed(licence))
    }

    fn is_listed(&self, licence: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == licence)
    }

    fn next(&mut self) -> Option<&'text str> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::{OutsidePackage, testing::with_files};

    const LIST: &str = "[licenses]\nallow = ['MIT', 'Apache-2.0', 'ISC', 'Unicode-3.0', \
                        'Apache-2.0 WITH LLVM-exception']\n";

    #[test]
    fn expressions_are_read_as_they_are_meant() {
        let allowed = [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR GPL-3.0-only",
            "GPL-2.0-only OR Apache-2.0 AND ISC",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ];
        let refused = [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT AND LGPL-3.0-only) OR SSPL-1.0",
            "GPL-2.0-only WITH Classpath-exception-2.0",
            "MIT OR",
            "(MIT",
            "MIT Apache-2.0",
            "WITH MIT",
        ];
        let list = read_list(LIST).expect("a list");
        for expression in allowed {
            assert!(is_allowed(expression, &list), "{expression}");
        }
        for expression in refused {
            assert!(!is_allowed(expression, &list), "{expression}");
        }
    }

    #[test]
    fn a_package_with_a_strict_licence_or_none_is_found() {
        let package = |name: &str, licence: Option<&str>| OutsidePackage {
            name: name.to_owned(),
            licence: licence.map(str::to_owned),
        };
        let outside =
            vec![package("a", Some("MIT")), package("b", Some("AGPL-3.0")), package("c", None)];
        let findings = find(&Workspace { outside, ..with_files(&[(PAGE, LIST)]) });
        let places: Vec<_> = findings.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["b", "c"]);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_found() {
        let pages = ["[licenses", "[bans]\n", "[licenses]\nallow = [1]\n"];
        for page in pages {
            let findings = find(&with_files(&[(PAGE, page)]));
            assert!(findings.len() == 1 && findings[0].place == PAGE, "{page}: {findings:?}");
        }
        assert!(find(&Workspace::default())[0].text.contains("missing"));
    }
}
