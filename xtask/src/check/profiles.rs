//! What is quick to build from source is still optimised where it is published.
//!
//! The profile `dist` takes over the packages of `release`, those that are not optimised too.

use super::{Check, Finding, Workspace};
use toml::{Table, Value};

pub const CHECK: Check =
    Check { id: "profiles", rule: "what a release leaves unoptimised is optimised in dist", find };

/// Where the profiles are.
const MANIFEST: &str = "Cargo.toml";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let finding = |text: String| Finding::new(MANIFEST, text);
    let manifest = workspace.text(MANIFEST).unwrap_or_default().parse::<Table>();
    let (release, dist) = match &manifest {
        Ok(manifest) => (packages(manifest, "release"), packages(manifest, "dist")),
        Err(error) => return vec![finding(error.to_string())],
    };
    let Some(release) = release else {
        return vec![finding("has no [profile.release.package]".to_owned())];
    };
    let plain = release.iter().filter(|(_, settings)| is_plain(settings));
    let missing = plain.filter(|(name, _)| {
        dist.and_then(|dist| dist.get(*name))
            .is_none_or(|settings| settings.get("opt-level").is_none() || is_plain(settings))
    });
    let text = |name| format!("{name} is published unoptimised: add it to [profile.dist.package]");
    missing.map(|(name, _)| finding(text(name))).collect()
}

fn packages<'a>(manifest: &'a Table, profile: &str) -> Option<&'a Table> {
    manifest.get("profile")?.get(profile)?.get("package")?.as_table()
}

fn is_plain(settings: &Value) -> bool {
    settings.get("opt-level").and_then(Value::as_integer) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::with_files;

    fn found(dist: &str) -> usize {
        let text = format!(
            "[profile.release.package]\na = {{ opt-level = 0 }}\nb = {{ opt-level = 3 }}\n{dist}"
        );
        find(&with_files(&[(MANIFEST, &text)])).len()
    }

    #[test]
    fn a_package_that_dist_forgets_is_found() {
        assert_eq!(found(""), 1);
        assert_eq!(found("[profile.dist.package]\nb = { opt-level = \"z\" }\n"), 1);
        assert_eq!(found("[profile.dist.package]\na = { opt-level = 0 }\n"), 1);
        assert_eq!(found("[profile.dist.package]\na = { codegen-units = 1 }\n"), 1);
        assert_eq!(found("[profile.dist.package]\na = { opt-level = \"z\" }\n"), 0);
    }

    #[test]
    fn a_manifest_without_profiles_is_a_finding() {
        assert_eq!(find(&with_files(&[(MANIFEST, "[workspace]\n")])).len(), 1);
    }
}
