//! Structure checks: what the compiler does not enforce and a reviewer would forget.
//!
//! One file per check, one line in [`CHECKS`]. A check is a pure function from a [`Workspace`] to
//! findings, so each has a test with a bad sample. `cargo test` makes them all on the real
//! workspace, and `cargo xtask check` prints the same.
//!
//! Not here: style and types, which rustfmt, clippy and rustc see better.

mod edges;
mod imports;
mod length;
mod licences;
mod links;
mod manifests;
mod module_docs;
mod modules;
mod never_run;
mod pinned_actions;
mod placeholders;
mod platform;
mod private_paths;
mod profiles;
mod registries;
mod sorting;
mod source;
mod unsafe_code;
mod words;
mod workspace;

use anyhow::{Result, ensure};
use std::{io::Write, process::ExitCode};
use workspace::Workspace;

/// One check: what it demands, and the function that finds what breaks the demand.
struct Check {
    id: &'static str,
    /// What holds if the check passes.
    rule: &'static str,
    find: fn(&Workspace) -> Vec<Finding>,
}

/// One thing that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// File or package that it is about.
    place: String,
    /// What is wrong and what to do.
    text: String,
}

impl Finding {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { place: place.into(), text: text.into() }
    }
}

/// Every check, in the order in which it is printed. To add one, add its file and a line.
const CHECKS: &[&Check] = &[
    &edges::CHECK,
    &modules::CHECK,
    &manifests::CHECK,
    &profiles::CHECK,
    &licences::CHECK,
    &unsafe_code::CHECK,
    &platform::CHECK,
    &sorting::CHECK,
    &module_docs::CHECK,
    &length::CHECK,
    &registries::CHECK,
    &pinned_actions::CHECK,
    &placeholders::CHECK,
    &never_run::CHECK,
    &private_paths::CHECK,
    &links::CHECK,
    &words::CHECK,
];

/// Makes every check on the workspace and prints the results.
pub fn run(arguments: Vec<String>, out: &mut dyn Write) -> Result<ExitCode> {
    ensure!(arguments.is_empty(), "check takes no arguments, got '{}'", arguments.join(" "));
    let workspace = Workspace::read()?;
    let mut findings_count = 0;
    for check in CHECKS {
        let findings = (check.find)(&workspace);
        let verdict = if findings.is_empty() { "ok  " } else { "FAIL" };
        writeln!(out, "{verdict} {:14} {}", check.id, check.rule)?;
        for finding in &findings {
            writeln!(out, "       {}: {}", finding.place, finding.text)?;
        }
        findings_count += findings.len();
    }
    if findings_count > 0 {
        writeln!(out, "{findings_count} findings")?;
        return Ok(ExitCode::from(crate::EXIT_FAILED));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static WORKSPACE: LazyLock<Workspace> =
        LazyLock::new(|| Workspace::read().expect("a workspace that cargo can read"));

    /// Makes one check on the real workspace.
    fn holds(check: &Check) {
        let findings = (check.find)(&WORKSPACE);
        let lines: Vec<_> =
            findings.iter().map(|finding| format!("{}: {}", finding.place, finding.text)).collect();
        assert!(lines.is_empty(), "{}\n{}", check.rule, lines.join("\n"));
    }

    #[test]
    fn edges_are_those_of_the_architecture_page() {
        holds(&edges::CHECK);
    }

    #[test]
    fn modules_import_each_other_in_one_direction() {
        holds(&modules::CHECK);
    }

    #[test]
    fn manifests_follow_the_house_rules() {
        holds(&manifests::CHECK);
    }

    #[test]
    fn licences_are_free_to_use() {
        holds(&licences::CHECK);
    }

    #[test]
    fn what_is_published_is_optimised() {
        holds(&profiles::CHECK);
    }

    #[test]
    fn unsafe_code_is_fenced_in() {
        holds(&unsafe_code::CHECK);
    }

    #[test]
    fn the_operating_system_is_known_in_one_place() {
        holds(&platform::CHECK);
    }

    #[test]
    fn modules_say_what_they_are() {
        holds(&module_docs::CHECK);
    }

    #[test]
    fn files_stay_short() {
        holds(&length::CHECK);
    }

    #[test]
    fn registries_are_complete() {
        holds(&registries::CHECK);
    }

    #[test]
    fn nothing_is_left_unfinished() {
        holds(&placeholders::CHECK);
    }

    #[test]
    fn no_test_is_never_run() {
        holds(&never_run::CHECK);
    }

    #[test]
    fn no_file_names_a_private_path() {
        holds(&private_paths::CHECK);
    }

    #[test]
    fn links_lead_somewhere() {
        holds(&links::CHECK);
    }

    #[test]
    fn phrases_that_read_as_translated_only_become_fewer() {
        holds(&words::CHECK);
    }

    #[test]
    fn ids_are_unique_and_the_workspace_is_not_empty() {
        let mut ids: Vec<_> = CHECKS.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CHECKS.len());
        assert!(WORKSPACE.packages.len() >= 10 && WORKSPACE.files.len() >= 100);
        assert!(WORKSPACE.outside.len() >= 50);
    }
}
