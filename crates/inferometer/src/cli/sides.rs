//! Stored runs as the sides of a comparison: finding, reading, and refusing what does not compare.
//!
//! A run is read, its columns are taken, and it is let go before the next one is read: memory holds
//! one run at a time. What is not here: what is computed from the sides.

use super::runs::find;
use crate::exit::{Code, Failure};
use crate::output::check_folder;
use crate::terminal;
use clap::Args;
use ifm_analysis::comparison::{Difference, DifferenceKind, Measure, Member, Settings, Side};
use ifm_core::spec::SloSpec;
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Flags that comparisons, rankings and gates share.
#[derive(Debug, Args)]
pub struct SideArgs {
    /// Compare runs that answer different questions all the same
    #[arg(long)]
    pub even_so: bool,

    /// Seed of the draws behind the intervals
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,

    /// Folder of stored runs [default: .inferometer/runs]
    #[arg(long, value_name = "DIR", env = "INFEROMETER_STORE")]
    pub store: Option<PathBuf>,

    /// One JSON document on standard output
    #[arg(long, conflicts_with = "md")]
    json: bool,

    /// Markdown on standard output
    #[arg(long)]
    md: bool,

    /// File to write: .md or .json; may be repeated [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Vec<PathBuf>,

    /// No colour (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Only ASCII characters
    #[arg(long)]
    ascii: bool,
}

/// A result in the formats that it can be printed and written in.
pub struct Rendered<'a> {
    pub text: &'a dyn Fn(&ifm_report::TerminalStyle) -> String,
    pub json: &'a dyn Fn() -> String,
    pub markdown: &'a dyn Fn() -> String,
}

impl SideArgs {
    /// Finds out before anything is read whether every file can be written.
    ///
    /// # Errors
    /// An ending that names no format, or a folder that is not there.
    pub fn check_files(&self) -> Result<(), Failure> {
        self.out.iter().try_for_each(|path| {
            is_json(path)?;
            check_folder(path)
        })
    }

    /// Prints the result, and writes it where it was asked for.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn tell(&self, rendered: &Rendered) -> Result<(), Failure> {
        for path in &self.out {
            let text = if is_json(path)? { (rendered.json)() } else { (rendered.markdown)() };
            std::fs::write(path, text).map_err(|error| {
                Failure::files(format!("cannot write {}: {error}", path.display()))
            })?;
            terminal::say(&format!("wrote {}", path.display()));
        }
        if self.json {
            terminal::print(&(rendered.json)());
        } else if self.md {
            terminal::print(&(rendered.markdown)());
        } else if self.out.is_empty() {
            let style = terminal::style(self.no_color, self.ascii);
            terminal::print(&(rendered.text)(&style));
        }
        Ok(())
    }

    /// Refuses sides that are unlike, unless told otherwise.
    ///
    /// # Errors
    /// What makes them unlike.
    pub fn refuse_unlike<'a>(
        &self,
        name: &str,
        differences: impl Iterator<Item = &'a Difference>,
    ) -> Result<(), Failure> {
        let unlike = differences.filter(|found| found.kind == DifferenceKind::Unlike);
        let words: Vec<String> = unlike
            .map(|found| {
                let side = |text: &Option<String>| text.clone().unwrap_or("not known".to_owned());
                format!("{} ({} and {})", found.what, side(&found.a), side(&found.b))
            })
            .collect();
        if self.even_so || words.is_empty() {
            return Ok(());
        }
        let words: String = words.join("; ").chars().filter(|c| !c.is_control()).collect();
        let sentence = format!("{name} is unlike the baseline in: {words}");
        Err(Failure::new(Code::Unlike, sentence).hint("--even-so compares them all the same"))
    }
}

/// Whether a file is to hold JSON; otherwise Markdown.
fn is_json(path: &Path) -> Result<bool, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(true),
        Some("md" | "markdown") => Ok(false),
        _ => Err(Failure::usage(format!("{} ends in no format that is known", path.display()))
            .hint("write .md or .json")),
    }
}

/// A side that was named, and its runs as far as their heads tell.
pub struct Named {
    label: String,
    entries: Vec<RunEntry>,
}

impl Named {
    /// The latency target of the first run.
    pub fn slo(&self) -> Option<&SloSpec> {
        let manifest = self.entries.first()?.manifest.as_ref().ok()?;
        Some(&manifest.spec.slo)
    }
}

/// Finds the runs of each side: `base`, or `base1,base2,base3` for repeats of one thing.
///
/// # Errors
/// None or several are meant, or a run stands in two places.
pub fn name_sides(store: &Store, words: &[String]) -> Result<Vec<Named>, Failure> {
    let mut sides: Vec<Named> =
        words.iter().map(|word| name_side(store, word)).collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    for entry in sides.iter().flat_map(|side| &side.entries) {
        if !seen.insert(&entry.path) {
            return Err(Failure::usage(format!("the run {} is named twice", entry.id))
                .hint("a run compared with itself says nothing about how runs differ"));
        }
    }
    tell_apart(&mut sides);
    Ok(sides)
}

/// A side of runs that were made just now.
///
/// # Errors
/// One of them cannot be found.
pub fn name_runs(store: &Store, label: &str, runs: &[String]) -> Result<Named, Failure> {
    let entries = runs.iter().map(|run| find(store, run)).collect::<Result<_, _>>()?;
    Ok(Named { label: label.to_owned(), entries })
}

/// Runs of one name get their ids beside it: two columns of one name could be mistaken for each
/// other.
fn tell_apart(sides: &mut [Named]) {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<String> = sides
        .iter()
        .filter(|side| !seen.insert(side.label.clone()))
        .map(|side| side.label.clone())
        .collect();
    for name in &twice {
        terminal::warn(&format!("several runs are called \"{name}\": their ids stand beside it"));
    }
    for side in sides.iter_mut().filter(|side| twice.contains(&side.label)) {
        let ids: Vec<&str> = side.entries.iter().map(|entry| entry.id.as_str()).collect();
        side.label = format!("{} ({})", side.label, ids.join(", "));
    }
}

fn name_side(store: &Store, word: &str) -> Result<Named, Failure> {
    let entries = match find(store, word) {
        Ok(entry) => vec![entry],
        // A name may hold a comma; only what is no run by itself is a list.
        Err(failure) if !word.contains(',') => return Err(failure),
        Err(_) => {
            let keys = word.split(',').map(str::trim).filter(|key| !key.is_empty());
            keys.map(|key| find(store, key)).collect::<Result<_, _>>()?
        }
    };
    let named = entries.first().and_then(|entry| entry.manifest.as_ref().ok()?.name.clone());
    let label = match (named, entries.as_slice()) {
        (Some(name), [_]) => name,
        _ => word.to_owned(),
    };
    Ok(Named { label, entries })
}

/// Reads the runs of a side.
///
/// # Errors
/// A run cannot be read.
pub fn read_side(
    store: &Store,
    named: &Named,
    measures: &[Measure],
    slo: &SloSpec,
) -> Result<Side, Failure> {
    let member = |entry: &RunEntry| -> Result<Member, Failure> {
        let mut loaded = store.open(entry).map_err(|error| Failure::files(error.to_string()))?;
        if let Some(loss) = &loaded.loss {
            terminal::warn(&format!(
                "the journal of {} ends in {} bytes that hold no whole request",
                entry.id, loss.bytes_dropped
            ));
        }
        // Every side is held against the same target.
        loaded.data.manifest.spec.slo = slo.clone();
        Ok(Member::of(&loaded.data, measures, slo))
    };
    let members = named.entries.iter().map(member).collect::<Result<_, _>>()?;
    Ok(Side { label: named.label.clone(), members })
}

/// Settings of a comparison by these measures.
pub fn settings(args: &SideArgs, measures: Vec<Measure>, slo: SloSpec, threshold: f64) -> Settings {
    Settings { threshold, seed: args.seed, measures, slo, ..Settings::default() }
}

/// Reads a share: `3%` or `0.03`.
///
/// # Errors
/// A sentence on what is expected.
pub fn share(text: &str) -> Result<f64, String> {
    let value = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.trim().parse::<f64>(),
    };
    match value {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err(format!("\"{text}\" is no share from 0 to below 1; write 3% or 0.03")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_both_ways() {
        for (text, expect) in [("3%", 0.03), ("0.03", 0.03), (" 2.5 %", 0.025), ("0", 0.0)] {
            assert!((share(text).expect(text) - expect).abs() < 1e-12, "{text}");
        }
        for text in ["", "x", "-1%", "100%", "nan"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
