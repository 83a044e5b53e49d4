//! `cargo xtask same-output OLD NEW [PATH...]`: whether two programs print the same of stored results.
//!
//! A safety net for changes that must not change an answer: every command that only reads is run by both programs over
//! `examples/store`, and over the result files and stores that are given. Text has to be the same byte for byte, and
//! numbers of JSON documents within one unit in the last place, since a sum in another order is the same sum.
//!
//! Not here: snapshots of single screens, which the tests of the program keep.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Folder of stored results that every comparison begins with.
const STORE: &str = "examples/store";
/// Lines of a difference that are shown.
const SHOWN: usize = 6;
/// Commands about one result; `IT` is the result.
const OF_ONE: &[&str] = &[
    "runs show IT",
    "runs show IT --json",
    "report IT",
    "report IT --json",
    "report IT --format md",
    "report IT --format vllm",
    "report IT --format sglang",
    "report IT --json=requests",
    "audit IT",
    "audit -v IT",
    "audit IT --json",
    "audit IT --format markdown",
    "capacity IT --slo ttft:p95<1s",
    "capacity IT --slo ttft:p99<500ms,itl:p99<50ms --json",
    "gate IT --max ttft.p50=1s",
    "gate IT --max itl.p99=50ms --json",
    "gate IT --init",
    "export IT --as vllm",
    "export IT --as guidellm",
    "export IT --as llama-bench-json",
    "export IT --as csv",
    "export IT --as openmetrics",
    "export IT --as otlp",
    "import IT --dry-run",
    "history IT",
    "history IT --json",
];
/// Commands about two results.
const OF_TWO: &[&str] = &[
    "compare IT OTHER",
    "compare -v --even-so IT OTHER",
    "compare --even-so --interpolate IT OTHER --json",
    "rank --even-so IT OTHER",
    "rank --even-so --metric ttft.p99 IT OTHER --json",
    "report IT OTHER",
    "report IT OTHER --json",
    "report IT OTHER --format md",
    "gate IT --baseline OTHER --max itl.p50=+5%",
];
/// Commands about no result.
const OF_NONE: &[&str] = &[
    "runs list",
    "runs list --json",
    "limit --gpu l40s -m llama-3.1-8b",
    "limit --gpu h100-sxm -m llama-3.1-70b --json",
    "predict -m llama-3.1-8b --vary gpu=l40s,h100-sxm -W 256/64 -c 8 --seed 1",
    "predict -m llama-3.1-8b --vary gpu=l40s --price 2 -W 256/64 --seed 1 --json",
    "workload list --json",
    "workload preview -W chat --seed 1 --json",
    "audit --list-rules",
    "capacity --list",
];

/// Runs the command.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<ExitCode> {
    let [old, new, paths @ ..] = arguments else {
        bail!("same-output needs two programs: same-output OLD NEW [PATH...]");
    };
    let programs = [old, new].map(|path| PathBuf::from(path).canonicalize());
    let [old, new] = programs;
    let (old, new) = (old.context("the old program")?, new.context("the new program")?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut groups = vec![Group::of_store(&root.join(STORE))?];
    for path in paths {
        let path = Path::new(path).canonicalize().with_context(|| path.clone())?;
        groups.push(if is_store(&path) {
            Group::of_store(&path)?
        } else {
            Group::of_files(&path)?
        });
    }
    let (mut same, mut changed) = (0_usize, 0_usize);
    for group in &groups {
        for words in group.commands() {
            let [before, after] = [&old, &new].map(|program| group.output(program, &words));
            match difference(&before?, &after?) {
                None => same += 1,
                Some(lines) => {
                    changed += 1;
                    writeln!(out, "{}\n{lines}", words.join(" "))?;
                }
            }
        }
    }
    writeln!(out, "{same} outputs are the same, {changed} differ")?;
    Ok(if changed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a folder holds runs or imports of the program.
fn is_store(path: &Path) -> bool {
    let Ok(entries) = path.read_dir() else { return false };
    entries.flatten().any(|entry| {
        ["manifest.json", "import.json"].iter().any(|name| entry.path().join(name).is_file())
    })
}

/// Results that commands are run over.
struct Group {
    /// A copy of the store, so that nothing is written next to the results.
    store: tempfile::TempDir,
    results: Vec<String>,
    has_store: bool,
}

impl Group {
    fn of_store(path: &Path) -> Result<Group> {
        let store = tempfile::tempdir()?;
        let mut results = Vec::new();
        for entry in sorted(path)? {
            let Some(name) = entry.file_name().and_then(|name| name.to_str()) else { continue };
            let copied = store.path().join(name);
            std::fs::create_dir(&copied)?;
            for file in sorted(&entry)?.iter().filter(|file| file.is_file()) {
                std::fs::copy(file, copied.join(file.file_name().context("a name")?))?;
            }
            results.push(name.to_owned());
        }
        Ok(Group { store, results, has_store: true })
    }

    /// One file, or all files below a folder.
    fn of_files(path: &Path) -> Result<Group> {
        let mut files = BTreeSet::new();
        collect(path, &mut files)?;
        let results = files.into_iter().map(|file| file.display().to_string()).collect();
        Ok(Group { store: tempfile::tempdir()?, results, has_store: false })
    }

    /// Every result by itself, and next to the one before it.
    fn commands(&self) -> Vec<Vec<String>> {
        let filled = |line: &str, it: &str, other: &str| -> Vec<String> {
            let word = |word: &str| match word {
                "IT" => it.to_owned(),
                "OTHER" => other.to_owned(),
                word => word.to_owned(),
            };
            line.split(' ').map(word).collect()
        };
        let mut commands = Vec::new();
        if self.has_store {
            commands.extend(OF_NONE.iter().map(|line| filled(line, "", "")));
        }
        for it in &self.results {
            commands.extend(OF_ONE.iter().map(|line| filled(line, it, "")));
        }
        for (one, other) in self.results.iter().zip(self.results.iter().skip(1)) {
            commands.extend(OF_TWO.iter().map(|line| filled(line, one, other)));
        }
        commands
    }

    /// Exit code, standard output and standard error of a command.
    fn output(&self, program: &Path, words: &[String]) -> Result<[String; 3]> {
        let done = Command::new(program)
            .args(words)
            .current_dir(self.store.path())
            .env("INFEROMETER_STORE", self.store.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env("TZ", "UTC")
            .output()
            .with_context(|| program.display().to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = done.status.code().map_or("a signal".to_owned(), |code| code.to_string());
        Ok([code, text(&done.stdout), text(&done.stderr)])
    }
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.insert(path.to_owned());
    } else if path.is_dir() {
        sorted(path)?.iter().try_for_each(|entry| collect(entry, files))?;
    }
    Ok(())
}

/// The first lines in which two outputs differ; absent where they are the same.
fn difference(before: &[String; 3], after: &[String; 3]) -> Option<String> {
    let named =
        ["exit code", "standard output", "standard error"].iter().zip(before.iter().zip(after));
    let changed = named.filter(|(_, (before, after))| !are_same(before, after));
    let shown: Vec<String> = changed
        .map(|(name, (before, after))| format!("  {name}:\n{}", first_lines(before, after)))
        .collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

/// The same text, or JSON whose numbers differ in the last place at most.
fn are_same(before: &str, after: &str) -> bool {
    if before == after {
        return true;
    }
    let values = |text: &str| {
        let stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        stream.collect::<Result<Vec<Value>, _>>().ok()
    };
    let (Some(before), Some(after)) = (values(before), values(after)) else { return false };
    before.len() == after.len() && before.iter().zip(&after).all(|(one, other)| is_near(one, other))
}

fn is_near(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => one.to_bits().abs_diff(other.to_bits()) <= 1,
            _ => one == other,
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_near(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|it| is_near(one, it)))
        }
        _ => one == other,
    }
}

fn first_lines(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let at = old.iter().zip(&new).position(|(old, new)| old != new);
    let at = at.unwrap_or(old.len().min(new.len()));
    let some = |lines: &[&str], sign: &str| -> Vec<String> {
        lines.iter().skip(at).take(SHOWN / 2).map(|line| format!("    {sign} {line}")).collect()
    };
    [format!("    line {}", at + 1)]
        .into_iter()
        .chain(some(&old, "-"))
        .chain(some(&new, "+"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_another_order_are_the_same_and_another_number_is_not() {
        let sum = 0.1 + 0.2;
        assert_ne!(sum, 0.3);
        let document = |value: f64| format!("{{\"mean\": {value:?}, \"n\": 3}}");
        assert!(are_same(&document(sum), &document(0.3)));
        assert!(!are_same(&document(0.300_1), &document(0.3)));
        assert!(!are_same("{\"a\": 1}", "{\"b\": 1}"));
        assert!(!are_same("{\"a\": 1}", "{\"a\": 1, \"b\": 1}"));
        assert!(!are_same("TTFT 31.0 ms", "TTFT 31 ms"));
    }

    #[test]
    fn a_difference_names_the_stream_and_its_first_line() {
        let output = |text: &str| ["0".to_owned(), text.to_owned(), String::new()];
        assert_eq!(difference(&output("a\nb"), &output("a\nb")), None);
        let found = difference(&output("a\nb"), &output("a\nc")).expect("a difference");
        assert_eq!(found, "  standard output:\n    line 2\n    - b\n    + c");
    }
}
