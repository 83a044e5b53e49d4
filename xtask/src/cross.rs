//! Builds the program for other machines, and runs here what an emulator can run of it.
//!
//! zig links and compiles C for all of them. Only tests that measure nothing run: text, numbers and
//! kernels. A Mac's program is linked where `SDKROOT` names Apple's SDK, and otherwise only checked. This
//! is not part of CI: the release workflow builds each on a runner of its own.

use crate::dist::{TARGETS, Target};
use anyhow::{Context as _, Result, bail, ensure};
use std::{
    io::Write,
    process::{Command, ExitCode},
};

/// Crates whose tests ask nothing of the machine but that it computes right.
const CRATES: [&str; 7] = [
    "ifm-core",
    "ifm-engine",
    "ifm-kernels",
    "ifm-roofline",
    "ifm-sim",
    "ifm-tokenizer",
    "ifm-wire",
];
const NEEDS: &str = "hint: pip install cargo-zigbuild ziglang, rustup target add TARGET, and for tests on \
                     another processor Debian's qemu-user-static";

/// How far a target goes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Compiled, not linked.
    Checked,
    /// Linked.
    Built,
    /// Linked, and tests ran.
    Tested,
}

impl Reach {
    fn of(target: &Target, has_sdk: bool) -> Self {
        let is_mac = target.triple.ends_with("apple-darwin");
        // A program that is linked dynamically needs the other machine's libraries to be emulated.
        let is_alone = target.triple.ends_with("musl");
        match () {
            () if target.is_here() || is_alone => Self::Tested,
            () if is_mac && !has_sdk => Self::Checked,
            () => Self::Built,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::Checked => "compiles; not linked (SDKROOT names no SDK), not run",
            Self::Built => "links; not run",
            Self::Tested => "links; tests that measure nothing pass",
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown targets; tools that are missing, with their names; a build or a test that fails.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<ExitCode> {
    let known = || TARGETS.iter().map(|target| target.triple).collect::<Vec<_>>().join(", ");
    for name in arguments {
        let is_known = TARGETS.iter().any(|target| target.triple == name);
        ensure!(is_known, "unknown target '{name}'; there are {}", known());
    }
    let is_wanted = |target: &&Target| {
        arguments.is_empty() || arguments.iter().any(|name| name == target.triple)
    };
    for target in TARGETS.iter().filter(is_wanted) {
        let reach = Reach::of(target, std::env::var_os("SDKROOT").is_some());
        let verb = if reach == Reach::Checked { "check" } else { "zigbuild" };
        finish(cargo(verb, target).args(["-p", "inferometer"]))?;
        if reach == Reach::Tested {
            let mut test = cargo("test", target);
            test.args(CRATES.iter().flat_map(|name| ["-p", name]));
            if !target.is_here() {
                let (processor, _) = target.triple.split_once('-').context("a triple")?;
                let name = target.triple.to_uppercase().replace('-', "_");
                test.env(format!("CARGO_TARGET_{name}_RUNNER"), format!("qemu-{processor}-static"));
            }
            finish(&mut test)?;
        }
        writeln!(out, "{:<28} {}", target.triple, reach.told())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cargo(verb: &str, target: &Target) -> Command {
    let mut command = Command::new("cargo-zigbuild");
    command.args([verb, "--locked", "--target", target.triple]);
    command
}

fn finish(command: &mut Command) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => bail!("a command failed: {command:?}; {NEEDS}"),
        Err(error) => bail!("cargo-zigbuild cannot be run: {error}; {NEEDS}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_run_is_not_called_tested() {
        let reach = |triple: &str, has_sdk: bool| {
            let target = TARGETS.iter().find(|target| target.triple == triple).expect("a target");
            Reach::of(target, has_sdk)
        };
        assert_eq!(reach("aarch64-unknown-linux-musl", false), Reach::Tested);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(reach("aarch64-unknown-linux-gnu", false), Reach::Built);
            assert_eq!(reach("aarch64-apple-darwin", false), Reach::Checked);
            assert_eq!(reach("aarch64-apple-darwin", true), Reach::Built);
        }
        let unknown = run(&["sparc".to_owned()], &mut Vec::new()).expect_err("no target");
        assert!(unknown.to_string().contains("sparc"), "{unknown}");
    }
}
