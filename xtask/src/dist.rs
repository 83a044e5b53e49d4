//! Makes what is published: a wheel that holds the program, archives, their checksums, a bill of materials.
//!
//! The same here and in the release workflow. Programs of Linux are linked by zig, against a glibc that
//! old hosts have, or with musl inside; wheels are built by maturin. Not here: where files go afterwards
//! (`.github/workflows/release.yml`), recipes of other package managers (`packaging`).

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const PROFILE: &str = "dist";
/// Level at which link-time optimization runs. It follows the last crate, which is compiled for size; without this
/// flag the kernels would be put together for size too, and prompts take a third longer. Crates compiled for size
/// stay so.
const WHOLE: &str = "-Copt-level=3";
const NEEDS: &str =
    "hint: pip install maturin cargo-zigbuild ziglang, and rustup target add TARGET";

/// Shells, and the name under which each looks for a file of completions.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "inferometer.bash"), ("zsh", "_inferometer"), ("fish", "inferometer.fish")];

/// What can be made.
pub struct Target {
    /// What the compiler calls it.
    pub triple: &'static str,
    /// Oldest glibc that it runs with, passed to zig; nothing where the C library is inside, or a Mac's.
    glibc: Option<&'static str>,
    /// Whether a wheel is made of it.
    wheel: bool,
    /// Whether a program without engine and charts is made too, for images of CI.
    slim: bool,
}

impl Target {
    /// Whether its programs run on this machine.
    pub fn is_here(&self) -> bool {
        let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
        let system = if os == "macos" { "apple-darwin" } else { os };
        self.triple.starts_with(arch) && self.triple.contains(system)
    }
}

/// All that is published.
pub const TARGETS: [Target; 5] = [
    Target { triple: "x86_64-unknown-linux-gnu", glibc: Some("2.17"), wheel: true, slim: false },
    Target { triple: "x86_64-unknown-linux-musl", glibc: None, wheel: false, slim: true },
    Target { triple: "aarch64-unknown-linux-gnu", glibc: Some("2.17"), wheel: true, slim: false },
    Target { triple: "aarch64-unknown-linux-musl", glibc: None, wheel: false, slim: true },
    Target { triple: "aarch64-apple-darwin", glibc: None, wheel: true, slim: false },
];

/// Runs the command.
///
/// # Errors
/// Unknown flags; tools that are missing, with their names; a build that fails, or is too large.
pub fn run(arguments: Vec<String>, out: &mut dyn Write) -> Result<ExitCode> {
    let Some(request) = parse(arguments)? else {
        write!(out, "{}", usage())?;
        return Ok(ExitCode::SUCCESS);
    };
    let metadata = MetadataCommand::new().exec().context("cargo metadata failed")?;
    let root = metadata.workspace_root.clone().into_std_path_buf();
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "inferometer");
    let version = package.context("the program is no member")?.version.to_string();
    let folder = request.out.unwrap_or_else(|| root.join("target/published"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = fs::canonicalize(&folder).context("the folder cannot be found")?;
    let build = Build { root, version, folder, commit: commit()? };
    for target in request.targets {
        build.target(target)?;
    }
    build.bill(&metadata)?;
    let sums = build.sums()?;
    for Sum { name, bytes, .. } in &sums {
        writeln!(out, "{:>8.1} MB  {name}", *bytes as f64 / 1e6)?;
    }
    if let Some(releases) = &request.releases {
        build.recipes(releases, &sums)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Request {
    targets: Vec<&'static Target>,
    out: Option<PathBuf>,
    /// Where archives will be found: for recipes of package managers.
    releases: Option<String>,
}

/// A file that is published.
struct Sum {
    name: String,
    bytes: u64,
    sha256: String,
}

fn usage() -> String {
    let mut text = String::from(
        "Usage: cargo xtask dist [--target TARGET]... [--out DIR] [--releases URL] [--only-lists]\n\n\
         --releases URL   also fill the recipes of packaging/ for archives below that URL\n\
         --only-lists     build nothing; bill, checksums and recipes of what is in DIR\n\n\
         Targets (default: this machine's processor and system):\n",
    );
    for target in &TARGETS {
        text.push_str(&format!("  {}\n", target.triple));
    }
    text.push_str(&format!("\n{NEEDS}\n"));
    text
}

fn parse(arguments: Vec<String>) -> Result<Option<Request>> {
    let mut request = Request { targets: Vec::new(), out: None, releases: None };
    let mut only_lists = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let text = format!("{argument} needs a value; see cargo xtask dist --help");
            arguments.next().context(text)
        };
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--out" => request.out = Some(value()?.into()),
            "--releases" => request.releases = Some(value()?),
            "--only-lists" => only_lists = true,
            "--target" => {
                let triple = value()?;
                let known = TARGETS.iter().find(|target| target.triple == triple);
                let text = format!("unknown target '{triple}'; see cargo xtask dist --help");
                request.targets.push(known.context(text)?);
            }
            other => bail!("unknown flag '{other}'; see cargo xtask dist --help"),
        }
    }
    if only_lists {
        ensure!(request.targets.is_empty(), "--only-lists builds nothing; leave out --target");
        return Ok(Some(request));
    }
    if request.targets.is_empty() {
        request.targets.extend(TARGETS.iter().filter(|target| target.is_here()));
    }
    ensure!(!request.targets.is_empty(), "nothing is published for this machine; name a --target");
    Ok(Some(request))
}

/// The commit, and whether files differ from it.
fn commit() -> Result<String> {
    let git = |words: &[&str]| -> Result<String> {
        let output = Command::new("git").args(words).output().context("git cannot be run")?;
        ensure!(output.status.success(), "git {} failed", words.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let differs = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    let head = git(&["rev-parse", "--short=12", "HEAD"])?;
    Ok(if differs { format!("{head} with changes") } else { head })
}

struct Build {
    root: PathBuf,
    version: String,
    folder: PathBuf,
    commit: String,
}

impl Build {
    /// Makes the files of a target.
    fn target(&self, target: &Target) -> Result<()> {
        let program = if target.wheel {
            self.program_of(&self.wheel(target)?)?
        } else {
            self.program(target, &[])?
        };
        self.archive(target, &program, "")?;
        if target.slim {
            let program = self.program(target, &["--no-default-features"])?;
            self.archive(target, &program, "-slim")?;
        }
        Ok(())
    }

    /// Builds the program alone.
    fn program(&self, target: &Target, features: &[&str]) -> Result<PathBuf> {
        let mut cargo = Command::new("cargo-zigbuild");
        cargo.args(["rustc", "--locked", "-p", "inferometer", "--bin", "inferometer"]);
        cargo.args(["--profile", PROFILE]).args(features);
        cargo.args(["--target", &format!("{}{}", target.triple, suffix(target))]);
        cargo.args(["--", WHOLE]);
        self.finish(cargo.env("RUSTFLAGS", self.flags()))?;
        Ok(self.root.join("target").join(target.triple).join(PROFILE).join("inferometer"))
    }

    /// Builds the program into a wheel.
    fn wheel(&self, target: &Target) -> Result<PathBuf> {
        let made = tempfile::tempdir_in(&self.folder).context("no folder can be made")?;
        let mut maturin = Command::new("maturin");
        maturin.args(["build", "--locked"]);
        maturin.args(["--profile", PROFILE, "--target", target.triple, "--out"]).arg(made.path());
        if let Some(glibc) = target.glibc {
            let tag = format!("manylinux_{}", glibc.replace('.', "_"));
            maturin.args(["--zig", "--compatibility", &tag]);
        }
        maturin.args(["--", WHOLE]);
        // The package's metadata is in that folder.
        self.finish_in("python", maturin.env("RUSTFLAGS", self.flags()))?;
        let wheel = fs::read_dir(made.path())?.filter_map(|file| Some(file.ok()?.path())).next();
        let wheel = wheel.context("maturin made no wheel")?;
        let kept = self.folder.join(wheel.file_name().unwrap_or_default());
        fs::rename(&wheel, &kept).context("the wheel cannot be moved")?;
        Ok(kept)
    }

    /// The program inside a wheel, copied to a folder that is not published.
    fn program_of(&self, wheel: &Path) -> Result<PathBuf> {
        let inside = self.root.join("target/published.inside");
        // Whatever an earlier call left there.
        let _ = fs::remove_dir_all(&inside);
        let mut python = Command::new("python3");
        python.args(["-m", "zipfile", "-e"]).arg(wheel).arg(&inside);
        self.finish(&mut python)?;
        Ok(inside.join(format!("inferometer-{}.data/scripts/inferometer", self.version)))
    }

    /// An archive with the program and what belongs to it; the same bytes for the same commit.
    fn archive(&self, target: &Target, program: &Path, kind: &str) -> Result<()> {
        let name = format!("inferometer-{}-{}{kind}", self.version, target.triple);
        let stage = tempfile::tempdir().context("no temporary folder can be made")?;
        let inside = stage.path().join(&name);
        fs::create_dir(&inside).context("no folder can be made")?;
        let copied = inside.join("inferometer");
        fs::copy(program, &copied).context("the program cannot be copied")?;
        self.finish(Command::new("chmod").arg("755").arg(&copied))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(self.root.join(file), inside.join(file)).with_context(|| file.to_owned())?;
        }
        self.pages(target, &copied, &inside)?;
        let file = self.folder.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
        tar.args(["--use-compress-program=gzip -9n", "-C"]).arg(stage.path());
        self.finish(tar.arg("-cf").arg(&file).arg(&name))
    }

    /// Manual pages and completions of shells, as the program prints them; one for another machine is
    /// stood in for by one that is built for this.
    fn pages(&self, target: &Target, program: &Path, inside: &Path) -> Result<()> {
        let program = if target.is_here() {
            program.to_owned()
        } else {
            let mut cargo = Command::new(env!("CARGO"));
            self.finish(cargo.args(["build", "--locked", "-p", "inferometer"]))?;
            self.root.join("target/debug/inferometer")
        };
        let pages = inside.join("man/man1");
        fs::create_dir_all(&pages).context("no folder can be made")?;
        self.finish(Command::new(&program).args(["man", "--out"]).arg(&pages))?;
        let completions = inside.join("completions");
        fs::create_dir(&completions).context("no folder can be made")?;
        for (shell, file) in COMPLETIONS {
            let file = fs::File::create(completions.join(file)).context("no file can be made")?;
            self.finish(Command::new(&program).args(["completions", shell]).stdout(file))?;
        }
        Ok(())
    }

    /// The bill of materials: every crate that is in the program, as CycloneDX 1.5.
    fn bill(&self, metadata: &Metadata) -> Result<()> {
        let file = self.folder.join(format!("inferometer-{}.cdx.json", self.version));
        let text = serde_json::to_string_pretty(&bill(metadata, &self.version)?)?;
        fs::write(&file, text).context("the bill of materials cannot be written")
    }

    /// The checksums of all files in the folder, which are also written there.
    fn sums(&self) -> Result<Vec<Sum>> {
        const LIST: &str = "SHA256SUMS";
        let mut sums = Vec::new();
        for file in fs::read_dir(&self.folder).context("the folder cannot be read")? {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !path.is_file() || name == LIST {
                continue;
            }
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let digest = Sha256::digest(&bytes);
            let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            sums.push(Sum { name, bytes: bytes.len() as u64, sha256 });
        }
        sums.sort_by(|a, b| a.name.cmp(&b.name));
        let lines: Vec<String> =
            sums.iter().map(|sum| format!("{}  {}\n", sum.sha256, sum.name)).collect();
        fs::write(self.folder.join(LIST), lines.concat()).context("cannot write the checksums")?;
        Ok(sums)
    }

    /// Fills the recipes of other package managers.
    fn recipes(&self, releases: &str, sums: &[Sum]) -> Result<()> {
        for name in ["homebrew.rb", "conda.yaml"] {
            let text = fs::read_to_string(self.root.join("packaging").join(name)).context(name)?;
            let filled = fill(&text, &self.version, releases, sums).context(name)?;
            fs::write(self.folder.join(name), filled).context(name)?;
        }
        Ok(())
    }

    /// Flags of the compiler: no path of this machine in the program.
    fn flags(&self) -> String {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let mut flags = format!("--remap-path-prefix={}=.", self.root.display());
        if let Some(home) = home {
            flags += &format!(" --remap-path-prefix={}=cargo", home.display());
        }
        flags
    }

    fn finish(&self, command: &mut Command) -> Result<()> {
        self.finish_in("", command)
    }

    /// Runs a command in a folder of the workspace.
    fn finish_in(&self, folder: &str, command: &mut Command) -> Result<()> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.current_dir(self.root.join(folder)).env("IFM_COMMIT", &self.commit);
        let status = command.status().with_context(|| format!("{name} cannot be run; {NEEDS}"))?;
        ensure!(status.success(), "{name} failed; {NEEDS}");
        Ok(())
    }
}

/// A recipe with its placeholders in braces filled in.
fn fill(recipe: &str, version: &str, releases: &str, sums: &[Sum]) -> Result<String> {
    let releases = releases.trim_end_matches('/');
    let homepage = releases.trim_end_matches("/releases/download");
    let mut text = recipe
        .replace("{version}", version)
        .replace("{releases}", releases)
        .replace("{homepage}", homepage);
    for target in &TARGETS {
        let place = format!("{{sha256:{}}}", target.triple);
        if !text.contains(&place) {
            continue;
        }
        let name = format!("inferometer-{version}-{}.tar.gz", target.triple);
        let sum = sums.iter().find(|sum| sum.name == name);
        text = text.replace(&place, &sum.with_context(|| format!("{name} is not there"))?.sha256);
    }
    Ok(text)
}

fn suffix(target: &Target) -> String {
    target.glibc.map(|glibc| format!(".{glibc}")).unwrap_or_default()
}

/// Every crate that the program is built of, except crates of build scripts and tests.
fn bill(metadata: &Metadata, version: &str) -> Result<Value> {
    let resolve = metadata.resolve.as_ref().context("cargo resolved nothing")?;
    let root = metadata.packages.iter().find(|package| package.name.as_str() == "inferometer");
    let root = root.context("the program is no member")?;
    let (mut seen, mut open) = (BTreeSet::new(), vec![root.id.clone()]);
    while let Some(id) = open.pop() {
        let node = resolve.nodes.iter().find(|node| node.id == id);
        for dependency in &node.context("a crate was not resolved")?.deps {
            let is_inside =
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if is_inside && seen.insert(dependency.pkg.clone()) {
                open.push(dependency.pkg.clone());
            }
        }
    }
    let inside = metadata.packages.iter().filter(|package| seen.contains(&package.id));
    let components: Vec<Value> = inside
        .map(|package| {
            let (name, version) = (package.name.as_str(), package.version.to_string());
            let mut component = json!({
                "type": "library",
                "name": name,
                "version": version,
                "bom-ref": format!("{name}@{version}"),
            });
            if package.source.is_some() {
                component["purl"] = format!("pkg:cargo/{name}@{version}").into();
            }
            if let Some(licence) = &package.license {
                // Older crates write a slash for "or".
                let expression = licence.replace('/', " OR ").replace("  ", " ");
                component["licenses"] = json!([{ "expression": expression }]);
            }
            component
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": "inferometer",
            "version": version,
            "purl": format!("pkg:cargo/inferometer@{version}"),
        } },
        "components": components,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_what_is_inside_and_nothing_else() {
        let metadata = MetadataCommand::new().exec().expect("the workspace");
        let bill = bill(&metadata, "1.2.3").expect("a bill");
        let names: Vec<&str> = bill["components"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|component| component["name"].as_str())
            .collect();
        for name in ["serde", "tokio", "ifm-core"] {
            assert!(names.contains(&name), "{name} is inside");
        }
        for name in ["insta", "proptest", "xtask"] {
            assert!(!names.contains(&name), "{name} is for tests");
        }
    }

    #[test]
    fn recipes_are_filled_from_archives_that_are_there() {
        let sum = |triple: &str| Sum {
            name: format!("inferometer-1.2.3-{triple}.tar.gz"),
            bytes: 1,
            sha256: format!("sum of {triple}"),
        };
        let sums: Vec<Sum> = TARGETS.iter().map(|target| sum(target.triple)).collect();
        let url = "https://host.example/a/b/releases/download/";
        for recipe in [
            include_str!("../../packaging/homebrew.rb"),
            include_str!("../../packaging/conda.yaml"),
        ] {
            let filled = fill(recipe, "1.2.3", url, &sums).expect("all are there");
            // Its own words and Ruby's interpolation aside, nothing is left to be filled in.
            let left = ["{version}", "{releases}", "{homepage}", "{sha256:"];
            assert!(left.iter().all(|place| !filled.contains(place)), "{filled}");
            assert!(filled.contains("\"https://host.example/a/b\""), "{filled}");
            assert!(filled.contains("\"sum of x86_64-unknown-linux-gnu\""), "{filled}");
            assert!(fill(recipe, "1.2.3", url, &sums[1..]).is_err(), "one is missing");
        }
    }

    #[test]
    fn a_target_that_is_not_published_is_refused() {
        let refused = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            parse(words).err().map(|error| error.to_string())
        };
        let unknown = refused(&["--target", "sparc"]).expect("unknown");
        assert!(unknown.contains("sparc"), "{unknown}");
        assert!(refused(&["--target"]).expect("no value").contains("needs a value"));
        assert!(refused(&["--fast"]).expect("a flag").contains("--fast"));
        assert_eq!(refused(&["--target", "aarch64-apple-darwin"]), None);
    }
}
