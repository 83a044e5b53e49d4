//! `cargo xtask examples`: makes the reports under `examples` again from the stored results there,
//! or, with `--check`, says which are not what would be made.
//!
//! The results are in `examples/store`: imports of other people's documents, and one run of the
//! embedded engine. Not here: how they came there, which `examples/README.md` says.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Folder of stored results.
const STORE: &str = "examples/store";
/// Folder of the reports.
const REPORTS: &str = "examples";

/// A report: its name, which is that of its results too, and what is asked besides.
struct Example {
    name: &'static str,
    flags: &'static [&'static str],
}

const EXAMPLES: &[Example] = &[
    Example { name: "embedded-engine", flags: &[] },
    Example { name: "confidential-computing", flags: &["--kind", "grid"] },
    Example { name: "dedicated-gpu", flags: &["--kind", "scenario"] },
    Example { name: "static-batches", flags: &["--kind", "matrix"] },
    Example { name: "base-and-int8", flags: &["--kind", "variant"] },
    Example {
        name: "workstation",
        flags: &["--kind", "note", "--slo", "itl:p99<50ms,ttft:p99<500ms", "--price", "1.80"],
    },
];

/// Endings of the files that are made of each.
const ENDINGS: [&str; 2] = ["html", "md"];

/// Runs the command.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<ExitCode> {
    let is_check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("examples knows one flag: --check"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fresh = tempfile::tempdir().context("a folder for the reports")?;
    for example in EXAMPLES {
        make(&root, fresh.path(), example)?;
    }
    let made = files(fresh.path())?;
    let kept = root.join(REPORTS);
    let mut stale = Vec::new();
    for (name, bytes) in &made {
        let path = kept.join(name);
        if std::fs::read(&path).ok().as_ref() == Some(bytes) {
            continue;
        }
        stale.push(name.clone());
        if !is_check {
            std::fs::create_dir_all(path.parent().unwrap_or(&kept))?;
            std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        }
    }
    let verb = if is_check { "is not what would be made" } else { "made" };
    for name in &stale {
        writeln!(out, "{} {verb}", name.display())?;
    }
    match (is_check, stale.is_empty()) {
        (true, false) => {
            writeln!(out, "make them again: cargo xtask examples")?;
            Ok(ExitCode::FAILURE)
        }
        _ => {
            writeln!(out, "{} files, {} new", made.len(), stale.len())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn make(root: &Path, folder: &Path, example: &Example) -> Result<()> {
    let mut command = Command::new(program()?);
    command.current_dir(root).args(["report", example.name, "--store", STORE]).args(example.flags);
    for ending in ENDINGS {
        command.arg("--out").arg(folder.join(format!("{}.{ending}", example.name)));
    }
    let done = command.output().context("starting inferometer")?;
    if !done.status.success() {
        bail!("{}: {}", example.name, String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}

/// The program built next to this one.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let sibling = own.with_file_name(format!("inferometer{}", std::env::consts::EXE_SUFFIX));
    if !sibling.is_file() {
        bail!("{} is not built: cargo build -p inferometer", sibling.display());
    }
    Ok(sibling)
}

/// Every file below a folder by its name within it.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder)?.to_owned(), std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}
