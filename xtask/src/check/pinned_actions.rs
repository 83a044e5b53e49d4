//! Each action of a workflow is pinned by its commit. A tag can be moved to other code later, and release jobs may
//! write releases and sign files.

use super::{Check, Finding, Workspace};

pub const CHECK: Check = Check {
    id: "pinned-actions",
    rule: "each action of a workflow is pinned by the hash of a commit",
    find,
};

/// Hexadecimal digits of a commit.
const HASH_LENGTH: usize = 40;

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_yaml = |path: &str| path.ends_with(".yml") || path.ends_with(".yaml");
    for file in workspace.files.iter().filter(|file| is_yaml(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(action) = action(line).filter(|action| !is_pinned(action)) {
                let place = format!("{}:{}", file.path, number + 1);
                findings.push(Finding::new(place, format!("{action} is not pinned by a commit")));
            }
        }
    }
    findings
}

/// The action or reusable workflow that a line uses.
fn action(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("- ").trim_start();
    let value = line.strip_prefix("uses:")?.split(" #").next()?;
    Some(value.trim().trim_matches(['"', '\'']))
}

fn is_pinned(action: &str) -> bool {
    // Code of this repository has no version, and an image has a digest instead.
    if action.starts_with("./") {
        return true;
    }
    if let Some(image) = action.strip_prefix("docker://") {
        return image.contains("@sha256:");
    }
    let hash = action.rsplit_once('@').map_or("", |(_, hash)| hash);
    hash.len() == HASH_LENGTH && hash.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn finds_actions_by_tag_and_accepts_commits() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        for (uses, is_found) in [
            (format!("actions/checkout@{hash} # v4.4.0"), false),
            (format!("\"actions/checkout@{hash}\""), false),
            ("./.github/actions/x".to_owned(), false),
            ("docker://alpine@sha256:abc".to_owned(), false),
            ("actions/checkout@v4".to_owned(), true),
            ("actions/checkout@v4.4.0 # pinned".to_owned(), true),
            ("actions/checkout".to_owned(), true),
            (format!("actions/checkout@{}", &hash[1..]), true),
            (format!("owner/{hash}@main"), true),
            ("docker://alpine:3".to_owned(), true),
        ] {
            for begin in ["      - uses: ", "        uses: "] {
                let text = format!("jobs:\n{begin}{uses}\n");
                let findings = find(&with_files(&[(".github/workflows/a.yml", &text)]));
                assert_eq!(findings.len(), usize::from(is_found), "{uses}");
            }
        }
        assert_eq!(find(&with_files(&[("docs/a.md", "- uses: actions/checkout@v4\n")])), []);
    }
}
