//! Phrases that read as translated do not come back.
//!
//! Counts the phrases that the section "Writing style" of CONTRIBUTING.md rules out, in comments and
//! strings of Rust source and in all other text files that people write. Some uses are right ("stands
//! for", a quotation), so the check compares the number with [`COUNT`], which may only fall.

use super::{Check, Finding, Workspace, source::code_only, workspace::SourceFile};
use std::collections::BTreeMap;

pub const CHECK: Check = Check {
    id: "words",
    rule: "the number of phrases that read as translated only falls",
    find: |workspace| find(workspace, COUNT),
};

/// How many of the phrases the repository contains. Lower it whenever the check asks for that.
const COUNT: usize = 403;

/// The phrases, as words in lower case, in groups with what to write instead.
const PHRASES: &[&[&str]] = &[
    // Name the person or the program.
    &["nobody"],
    &["somebody"],
    // "reports", "prints", "is reported".
    &["is", "told"],
    &["are", "told"],
    &["was", "told"],
    &["were", "told"],
    &["be", "told"],
    &["been", "told"],
    &["tells"],
    // "is", "follows", "is listed".
    &["stand"],
    &["stands"],
    // "after", "next to", "in addition to".
    &["beside"],
    &["in", "place", "of"],
    &["those", "of"],
    &["of", "others"],
    &["what", "of"],
    &["the", "former"],
    &["a", "thing"],
    &["as", "such"],
    &["all", "the", "same"],
    &["so", "many"],
    // "is missing", "has no".
    &["is", "none"],
    &["goes", "without"],
    // "needs", "requires".
    &["wants"],
    // "manually".
    &["by", "hand"],
    // "compared with", "repaired", "regenerated", "distorts", "arrives".
    &["held", "against"],
    &["mend"],
    &["mends"],
    &["mended"],
    &["mending"],
    &["made", "again"],
    &["spoil"],
    &["spoils"],
    &["is", "called"],
    &["is", "headed", "by"],
    &["comes", "in"],
];

/// Folders of data and of files that a command writes from sources that are counted.
const NOT_WRITTEN: [&str; 3] = ["examples/", "docs/reference/cli/", "docs/reference/schema/"];
/// The same, anywhere in a path.
const DATA: [&str; 2] = ["tests/data/", "/snapshots/"];
/// Endings of files that people write.
const ENDINGS: [&str; 10] =
    [".rs", ".md", ".toml", ".py", ".html", ".js", ".css", ".sh", ".yml", ".yaml"];
/// This file, which lists the phrases.
const SELF: &str = "xtask/src/check/words.rs";
/// Most files that the check names.
const NAMED_MAX: usize = 10;

fn find(workspace: &Workspace, expected: usize) -> Vec<Finding> {
    let counts: BTreeMap<&str, usize> = workspace
        .files
        .iter()
        .filter(|file| is_written(&file.path))
        .map(|file| (file.path.as_str(), count(&prose(file))))
        .collect();
    let total: usize = counts.values().sum();
    if total < expected {
        let text = format!("COUNT is {expected}, and {total} phrases are left: set it to {total}");
        return vec![Finding::new(SELF, text)];
    }
    if total == expected {
        return Vec::new();
    }
    let mut most: Vec<(&str, usize)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut findings = vec![Finding::new(
        SELF,
        format!(
            "{total} phrases instead of {expected}: rewrite the new ones (CONTRIBUTING.md, \"Writing style\")"
        ),
    )];
    let named = most.into_iter().take(NAMED_MAX);
    findings.extend(named.map(|(path, count)| Finding::new(path, format!("{count} phrases"))));
    findings
}

fn is_written(path: &str) -> bool {
    path != SELF
        && ENDINGS.iter().any(|ending| path.ends_with(ending))
        && !NOT_WRITTEN.iter().any(|folder| path.starts_with(folder))
        && !DATA.iter().any(|part| path.contains(part))
}

/// What people read of a file: of Rust source its comments and strings.
fn prose(file: &SourceFile) -> String {
    if !file.is_rust() {
        return file.text.clone();
    }
    let code = code_only(&file.text);
    let all = file.text.chars();
    all.zip(code.chars()).map(|(char, code)| if code == char { ' ' } else { char }).collect()
}

/// How many phrases a text contains. Not counted: `None` of a programming language, and a stand-in.
fn count(prose: &str) -> usize {
    let words: Vec<String> = prose
        .split(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
        .map(|word| if word == "None" { word.to_owned() } else { word.to_lowercase() })
        .collect();
    let is_at = |at: usize, phrase: &[&str]| {
        words.get(at..at + phrase.len()).is_some_and(|found| found == phrase)
    };
    let is_stand_in = |at: usize| is_at(at, &["stand", "in"]);
    (0..words.len())
        .filter(|at| !is_stand_in(*at) && PHRASES.iter().any(|phrase| is_at(*at, phrase)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn counts_phrases_in_comments_strings_and_pages() {
        let rust = "/// Nobody is\n/// told.\nfn stands() { say(\"it stands\") } // fine\n";
        let workspace = with_files(&[
            ("a/src/b.rs", rust),
            ("docs/page.md", "A row beside\nthose of the others"),
            ("examples/page.md", "nobody"),
            ("a/tests/data/b.md", "nobody"),
            ("a/src/snapshots/b.rs", "// nobody"),
        ]);
        assert!(find(&workspace, 5).is_empty());
        let more = find(&workspace, 4);
        assert_eq!(more.len(), 3, "{more:?}");
        assert!(more[0].text.starts_with("5 phrases instead of 4"), "{}", more[0].text);
        assert_eq!(more[1], Finding::new("a/src/b.rs", "3 phrases"));
        let fewer = find(&workspace, 6);
        assert!(fewer[0].text.ends_with("set it to 5"), "{}", fewer[0].text);
    }

    #[test]
    fn leaves_parts_of_words_alone() {
        assert_eq!(
            count("standard, understands, amended, tell, is_told, a stand-in, x is None"),
            0
        );
        assert_eq!(count("there is none; it stands"), 2);
    }
}
