//! The workspace as the checks see it: packages, outside dependencies, text files.
//!
//! Reading is the only thing here that touches the world; what a file or a manifest ought to say
//! is for the checks.

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, TargetKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Files larger than this are data and are not looked into, bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Where files that git does not know yet are looked at too, so that a forgotten registry line
/// shows before the commit: the project's folders, and pages and settings at the root.
const OWN_PATHS: [&str; 5] = ["crates", "xtask", "docs", ":(glob)*.md", ":(glob)*.toml"];
/// Folders that a source tree without git may hold and that are not source.
const SKIPPED_FOLDERS: [&str; 3] = ["target", ".git", ".inferometer"];

/// Everything that the checks examine.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Members of the workspace, by name.
    pub packages: Vec<Package>,
    /// Packages from elsewhere that are built or tested with, by name.
    pub outside: Vec<OutsidePackage>,
    /// Text files, by path.
    pub files: Vec<SourceFile>,
    /// Paths of all files, text or not.
    pub paths: BTreeSet<String>,
}

/// A member of the workspace.
#[derive(Debug, Clone, Default)]
pub struct Package {
    /// Name, as in its manifest.
    pub name: String,
    /// Folder below the workspace root.
    pub folder: String,
    /// Version, as in its manifest.
    pub version: String,
    /// Whether `cargo publish` would refuse it.
    pub is_private: bool,
    /// Members that it depends on in normal builds, in order of name.
    pub depends_on: BTreeSet<String>,
    /// Paths of the roots of its libraries and binaries.
    pub roots: Vec<String>,
}

/// A package from elsewhere.
#[derive(Debug, Clone)]
pub struct OutsidePackage {
    /// Name and version.
    pub name: String,
    /// SPDX expression; absent where the manifest names none.
    pub licence: Option<String>,
}

/// A text file of the repository.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path below the workspace root, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl SourceFile {
    /// Whether it is a Rust file below a `src` folder.
    pub fn is_rust_source(&self) -> bool {
        self.is_rust() && self.path.split('/').any(|part| part == "src")
    }

    /// Whether it is a Rust file.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

impl Workspace {
    /// Reads the workspace that this program belongs to.
    ///
    /// # Errors
    /// When cargo cannot describe it, as with a lock file that is out of date, or when a file
    /// cannot be read.
    pub fn read() -> Result<Workspace> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("the folder of xtask has no parent")?;
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .other_options(["--locked".into(), "--filter-platform".into(), host_triple()?])
            .exec()
            .context("cargo cannot describe the workspace")?;
        let paths = list_files(root)?;
        Ok(Workspace {
            packages: members(&metadata, root)?,
            outside: outside(&metadata),
            files: read_files(root, &paths)?,
            paths,
        })
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

/// The platform of the installed compiler: what it builds is what has been downloaded.
fn host_triple() -> Result<String> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&compiler)
        .arg("-vV")
        .output()
        .with_context(|| format!("cannot run {}", compiler.display()))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc -vV names no host")
}

fn members(metadata: &Metadata, root: &Path) -> Result<Vec<Package>> {
    let relative = |path: &Path| -> Result<String> {
        let inside = path.strip_prefix(root);
        let inside = inside.with_context(|| format!("{} is outside", path.display()))?;
        Ok(inside.to_string_lossy().replace('\\', "/"))
    };
    let packages = metadata.workspace_packages();
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut members = Vec::new();
    for package in &packages {
        let folder = package.manifest_path.parent().context("a manifest has no folder")?;
        let is_root = |kind: &TargetKind| matches!(kind, TargetKind::Lib | TargetKind::Bin);
        let roots = package.targets.iter().filter(|target| target.kind.iter().any(is_root));
        members.push(Package {
            name: package.name.to_string(),
            folder: relative(folder.as_std_path())?,
            version: package.version.to_string(),
            is_private: package.publish.as_ref().is_some_and(Vec::is_empty),
            depends_on: package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind == DependencyKind::Normal)
                .filter(|dependency| names.contains(dependency.name.as_str()))
                .map(|dependency| dependency.name.clone())
                .collect(),
            roots: roots
                .map(|target| relative(target.src_path.as_std_path()))
                .collect::<Result<_>>()?,
        });
    }
    members.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(members)
}

fn outside(metadata: &Metadata) -> Vec<OutsidePackage> {
    // Only what is resolved for this platform; the list of packages holds the others too.
    let resolved = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let ids: BTreeSet<_> = resolved.map(|node| &node.id).collect();
    let mut named = BTreeMap::new();
    for package in &metadata.packages {
        if ids.contains(&package.id) && !metadata.workspace_members.contains(&package.id) {
            let name = format!("{} {}", package.name, package.version);
            named.insert(name, package.license.clone());
        }
    }
    named.into_iter().map(|(name, licence)| OutsidePackage { name, licence }).collect()
}

/// Paths of the files of the repository: those that git knows, and new ones in the project's folders.
/// In a tree without git, every file.
fn list_files(root: &Path) -> Result<BTreeSet<String>> {
    let Some(mut paths) = git_files(root, &["--cached"]) else {
        let mut paths = BTreeSet::new();
        walk(root, Path::new(""), &mut paths)?;
        return Ok(paths);
    };
    let new = ["--others", "--exclude-standard", "--"].into_iter().chain(OWN_PATHS);
    paths.extend(git_files(root, &new.collect::<Vec<_>>()).unwrap_or_default());
    paths.retain(|path| root.join(path).is_file());
    Ok(paths)
}

/// What `git ls-files` lists, or nothing where there is no git, no repository, or an empty one.
fn git_files(root: &Path, options: &[&str]) -> Option<BTreeSet<String>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["ls-files", "-z"])
        .args(options)
        .output()
        .ok()
        .filter(|output| output.status.success() && !output.stdout.is_empty())?;
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &Path, paths: &mut BTreeSet<String>) -> Result<()> {
    let at = root.join(folder);
    let entries = fs::read_dir(&at).with_context(|| format!("cannot read {}", at.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let path: PathBuf = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_file() {
            paths.insert(path.to_string_lossy().replace('\\', "/"));
        } else if kind.is_dir() && !SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped) {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

fn read_files(root: &Path, paths: &BTreeSet<String>) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(path);
        let size = fs::metadata(&full).with_context(|| format!("cannot read {path}"))?.len();
        ensure!(
            size <= FILE_BYTES_MAX || !path.ends_with(".rs"),
            "{path} has {size} bytes: too large for a source file"
        );
        if size > FILE_BYTES_MAX {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.clone(), text });
        }
    }
    Ok(files)
}

#[cfg(test)]
pub mod testing {
    //! Made-up workspaces for the tests of the checks.

    use super::{Package, SourceFile, Workspace};

    /// A workspace of the given files, path and text.
    pub fn with_files(files: &[(&str, &str)]) -> Workspace {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Workspace {
            files: files.iter().map(file).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            ..Workspace::default()
        }
    }

    /// A member with nothing to object to.
    pub fn package(name: &str, depends_on: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            version: "0.0.0".to_owned(),
            is_private: true,
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            roots: vec![format!("crates/{name}/src/lib.rs")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_git_is_walked() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = BTreeSet::new();
        walk(here, Path::new(""), &mut paths).expect("a readable folder");
        assert!(paths.contains("Cargo.toml") && paths.contains("src/check/workspace.rs"));
        let mut inside = BTreeSet::new();
        walk(here, Path::new("src"), &mut inside).expect("a readable folder");
        assert!(inside.contains("src/main.rs"), "{inside:?}");
    }

    #[test]
    fn members_and_their_edges_are_read() {
        let workspace = Workspace::read().expect("a workspace that cargo can read");
        let find = |name: &str| workspace.packages.iter().find(|package| package.name == name);
        let drive = find("ifm-drive").expect("a member");
        assert!(drive.depends_on.contains("ifm-wire"));
        assert!(!drive.depends_on.contains("ifm-truth"), "a dev-dependency is not an edge");
        assert_eq!(drive.roots, ["crates/ifm-drive/src/lib.rs"]);
        assert!(workspace.text("xtask/src/check/workspace.rs").is_some());
        let rustls = workspace.outside.iter().find(|outside| outside.name.starts_with("rustls "));
        assert!(rustls.is_some_and(|outside| outside.licence.is_some()));
    }
}
