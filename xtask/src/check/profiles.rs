//! The profiles that people build and publish with are ordinary: everything is optimized, a panic can unwind, and
//! the list of exceptions stays short.

use super::{Check, Finding, Workspace};
use toml::{Table, Value};

pub const CHECK: Check =
    Check { id: "profiles", rule: "release and dist optimize everything and can unwind", find };

/// Where the profiles are.
const MANIFEST: &str = "Cargo.toml";
/// Package of the program.
const PROGRAM: &str = "inferometer";
/// Profiles of programs that people use.
const PROFILES: [&str; 2] = ["release", DIST];
/// Profile of the published program.
const DIST: &str = "dist";
/// Most packages with settings of their own in one profile.
const PACKAGES_MAX: usize = 12;

fn find(workspace: &Workspace) -> Vec<Finding> {
    let finding = |text: String| Finding::new(MANIFEST, text);
    let manifest = match workspace.text(MANIFEST).unwrap_or_default().parse::<Table>() {
        Ok(manifest) => manifest,
        Err(error) => return vec![finding(error.to_string())],
    };
    let profile = |name: &str| manifest.get("profile")?.get(name)?.as_table();
    let texts = PROFILES.iter().flat_map(|name| match profile(name) {
        Some(settings) => faults(name, settings),
        None => vec![format!("has no [profile.{name}]")],
    });
    texts.map(finding).collect()
}

fn faults(name: &str, profile: &Table) -> Vec<String> {
    let mut faults = Vec::new();
    if profile.get("panic").is_some_and(|panic| panic.as_str() != Some("unwind")) {
        faults
            .push(format!("[profile.{name}] cannot unwind: a panic in a library ends the program"));
    }
    let packages = profile.get("package").and_then(Value::as_table);
    let packages: Vec<(&str, &Value)> =
        packages.into_iter().flatten().map(|(name, settings)| (name.as_str(), settings)).collect();
    if packages.len() > PACKAGES_MAX {
        let count = packages.len();
        faults
            .push(format!("[profile.{name}.package] has {count} entries; maximum {PACKAGES_MAX}"));
    }
    // Cargo then passes `strip = "debuginfo"`, and the names of all functions stay in the program. The
    // linker that publishes it removes them.
    if name != DIST && packages.iter().any(|(package, _)| *package == PROGRAM) {
        faults.push(format!(
            "[profile.{name}.package] has an entry for {PROGRAM}: it is not stripped"
        ));
    }
    let whole = Value::Table(profile.clone());
    let all = packages.into_iter().chain([("everything", &whole)]);
    let plain = all.filter(|(_, settings)| is_unoptimized(settings));
    faults
        .extend(plain.map(|(package, _)| format!("[profile.{name}] leaves {package} unoptimized")));
    faults
}

fn is_unoptimized(settings: &Value) -> bool {
    settings.get("opt-level").and_then(Value::as_integer) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    fn found(release: &str) -> Vec<String> {
        let text =
            format!("[profile.release]\n{release}\n[profile.dist]\ninherits = \"release\"\n");
        let found = find(&with_files(&[(MANIFEST, &text)]));
        found.into_iter().map(|finding| format!("{finding:?}")).collect()
    }

    #[test]
    fn accepts_an_ordinary_profile() {
        assert_eq!(
            found("strip = \"symbols\"\n[profile.release.package]\na = { opt-level = \"s\" }"),
            [""; 0]
        );
    }

    #[test]
    fn finds_unoptimized_code_aborts_and_long_lists() {
        let one = |release: &str, words: &str| {
            let found = found(release);
            assert!(found.len() == 1 && found[0].contains(words), "{release}: {found:?}");
        };
        one("panic = \"abort\"", "cannot unwind");
        one("[profile.release.package]\ninferometer = { opt-level = \"s\" }", "not stripped");
        one("opt-level = 0", "leaves everything unoptimized");
        one("[profile.release.package]\na = { opt-level = 0 }", "leaves a unoptimized");
        let many: String =
            (0..13).map(|place| format!("p{place} = {{ opt-level = 3 }}\n")).collect();
        one(&format!("[profile.release.package]\n{many}"), "has 13 entries");
    }

    #[test]
    fn finds_a_manifest_without_profiles() {
        assert_eq!(find(&with_files(&[(MANIFEST, "[workspace]\n")])).len(), 2);
    }
}
