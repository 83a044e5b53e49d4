//! Packages are named as their folders, are not published, and all have the version of the program.

use super::{Check, Finding, Workspace, workspace::Package};

pub const CHECK: Check = Check {
    id: "manifests",
    rule: "folder is crate name; nothing is published; all have the version of inferometer",
    find,
};

/// The package that people run.
const PRODUCT: &str = "inferometer";

fn find(workspace: &Workspace) -> Vec<Finding> {
    let product = workspace.packages.iter().find(|package| package.name == PRODUCT);
    let version = product.map_or("", |product| product.version.as_str());
    workspace.packages.iter().flat_map(|package| find_in(package, version)).collect()
}

fn find_in(package: &Package, version: &str) -> Vec<Finding> {
    let folder = package.folder.rsplit('/').next().unwrap_or_default();
    let rules = [
        (folder == package.name, format!("folder '{folder}' holds the crate '{}'", package.name)),
        (package.is_private, "lacks publish = false".to_owned()),
        (
            package.version == version,
            format!(
                "version {}, where {PRODUCT} has {version}: write version.workspace = true",
                package.version
            ),
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    broken.map(|(_, text)| Finding::new(format!("{}/Cargo.toml", package.folder), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::workspace::testing::package;

    #[test]
    fn every_rule_can_be_broken() {
        let sound = package("a", &[]);
        let version = sound.version.clone();
        assert_eq!(find_in(&sound, &version), []);

        let spoilt = [
            Package { folder: "crates/b".to_owned(), ..sound.clone() },
            Package { is_private: false, ..sound.clone() },
            Package { version: format!("{version}.1"), ..sound.clone() },
        ];
        for package in spoilt {
            assert_eq!(find_in(&package, &version).len(), 1, "{package:?}");
        }
    }
}
