//! No file names a path of the machine that it was written on.

use super::{Check, Finding, Workspace};

pub const CHECK: Check =
    Check { id: "private-paths", rule: "no file names a path of one machine", find };

/// How such paths begin. Joined from parts, since this file is looked at too.
const BEGINNINGS: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "target"),
    concat!("/tmp/", "bash_jobs"),
];

fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &workspace.files {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(path) = BEGINNINGS.iter().find(|path| names(line, path)) {
                let place = format!("{}:{}", file.path, number + 1);
                findings.push(Finding::new(place, format!("names {path}, a path of one machine")));
            }
        }
    }
    findings
}

/// Whether the line contains an absolute path with that beginning.
fn names(line: &str, beginning: &str) -> bool {
    line.match_indices(beginning).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        // After a letter or a dot it is a part of a relative path or of an address.
        !before.is_some_and(|char| char.is_alphanumeric() || matches!(char, '.' | '-' | '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    #[test]
    fn a_path_of_one_machine_is_found_with_its_line() {
        for beginning in BEGINNINGS {
            let text = format!("a\nsee `{beginning}x`\n");
            let findings = find(&with_files(&[("docs/a.md", &text)]));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].place, "docs/a.md:2");
        }
    }

    #[test]
    fn relative_paths_and_addresses_are_left_alone() {
        let beginning = BEGINNINGS[0];
        let text = format!("net{beginning}x https://example.org{beginning}x .{beginning}x\n");
        assert_eq!(find(&with_files(&[("docs/a.md", &text)])), []);
    }
}
