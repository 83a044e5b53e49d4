//! Packages are named as their folders, are not published, and only the binary has a version.

use super::{Check, Finding, Workspace, workspace::Package};

pub const CHECK: Check = Check {
    id: "manifests",
    rule: "folder is crate name; nothing is published; version 0.0.0 for all but inferometer",
    find,
};

/// The one package that has a version of its own.
const PRODUCT: &str = "inferometer";
/// The version of the others.
const NO_VERSION: &str = "0.0.0";

fn find(workspace: &Workspace) -> Vec<Finding> {
    workspace.packages.iter().flat_map(find_in).collect()
}

fn find_in(package: &Package) -> Vec<Finding> {
    let folder = package.folder.rsplit('/').next().unwrap_or_default();
    let is_product = package.name == PRODUCT;
    let rules = [
        (folder == package.name, format!("folder '{folder}' holds the crate '{}'", package.name)),
        (package.is_private, "lacks publish = false".to_owned()),
        (
            is_product != (package.version == NO_VERSION),
            format!(
                "version {}: only {PRODUCT} has one, others have {NO_VERSION}",
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
        assert_eq!(find_in(&sound), []);
        let product = Package { version: "0.3.0".to_owned(), ..package(PRODUCT, &[]) };
        assert_eq!(find_in(&product), []);

        let spoilt = [
            Package { folder: "crates/b".to_owned(), ..sound.clone() },
            Package { is_private: false, ..sound.clone() },
            Package { version: "0.1.0".to_owned(), ..sound.clone() },
            package(PRODUCT, &[]),
        ];
        for package in spoilt {
            assert_eq!(find_in(&package).len(), 1, "{package:?}");
        }
    }
}
