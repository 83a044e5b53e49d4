//! Results as the sides of a comparison: finds them, reads them, and refuses those that cannot be
//! compared.
//!
//! A side is a run or an import, a file or folder of another tool, `-`, or several of them
//! separated by commas. Documents are read first, since runs are then computed by their tools'
//! definitions. Each run is read, reduced to its columns and dropped before the next one is read:
//! memory contains one run at a time.
//!
//! Not here: what is computed from the sides.

use super::runs;
use crate::cli::args::page::PageArgs;
use crate::exit::{Code, Failure};
use crate::inputs::copies::{Copied, Originals};
use crate::inputs::{self, Subject};
use crate::output::OwnFormats;
use crate::terminal;
use clap::Args;
use ifm_compare::comparison::{
    Difference, DifferenceKind, Measure, Member, NO_COMMON_LOAD, Settings, Side,
};
use ifm_core::spec::SloSpec;
use ifm_core::{Manifest, RunData, Sheet};
use ifm_report::page::Page;
use ifm_results::distinct_words;
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Flags that comparisons, rankings and gates share.
#[derive(Debug, Args)]
pub struct SideArgs {
    /// Compare even if workloads, settings or definitions differ
    #[arg(long)]
    pub even_so: bool,

    /// Random seed for the intervals
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

    #[command(flatten)]
    files: PageArgs,

    /// Print without color (also: NO_COLOR)
    #[arg(long)]
    no_color: bool,

    /// Print only ASCII characters (default on terminals without UTF-8)
    #[arg(long)]
    ascii: bool,

    /// Show long lists in full, such as why each row is inconclusive
    #[arg(short, long)]
    verbose: bool,
}

/// A result in its output formats.
pub struct Rendered<'a> {
    pub text: &'a dyn Fn(&ifm_report::TerminalStyle) -> String,
    pub json: &'a dyn Fn() -> String,
    pub markdown: &'a dyn Fn() -> String,
    pub page: &'a dyn Fn() -> Page,
}

impl SideArgs {
    /// Checks, before anything is read, whether every file can be written.
    ///
    /// # Errors
    /// An extension of no known format, or a missing folder.
    pub fn check_files(&self) -> Result<(), Failure> {
        self.files.check()
    }

    /// Prints the result, and writes it to the requested files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn tell(&self, rendered: &Rendered) -> Result<(), Failure> {
        let own = OwnFormats::json(rendered.json);
        self.files.write(|| Ok((rendered.page)()), &own)?;
        if self.json {
            terminal::print(&(rendered.json)());
        } else if self.md {
            terminal::print(&(rendered.markdown)());
        } else if self.files.out.is_empty() {
            let style = terminal::style(self.no_color, self.ascii).verbose(self.verbose);
            terminal::print(&(rendered.text)(&style));
        }
        Ok(())
    }

    /// Refuses sides that cannot be compared, unless overridden.
    ///
    /// # Errors
    /// The reason.
    pub fn refuse_unlike<'a>(
        &self,
        name: &str,
        differences: impl Iterator<Item = &'a Difference>,
    ) -> Result<(), Failure> {
        self.refuse(name, differences.filter(|found| found.kind == DifferenceKind::Unlike), "")
    }

    /// Refuses a side that shares no load with the baseline: nothing is left to compare, whatever the
    /// flags.
    ///
    /// # Errors
    /// The loads of both sides.
    pub fn refuse_no_common_load(
        &self,
        name: &str,
        differences: &[Difference],
    ) -> Result<(), Failure> {
        let Some(found) = differences.iter().find(|found| found.what == NO_COMMON_LOAD) else {
            return Ok(());
        };
        let loads = |side: &Option<String>| side.clone().unwrap_or("unknown loads".to_owned());
        let sentence = format!(
            "{name} and the baseline have no load in common: the baseline has {}, {name} has {}",
            loads(&found.a),
            loads(&found.b)
        );
        Err(Failure::new(Code::Unlike, sentence).hint(
            "measure both at the same load, with -c or --rate: inferometer rerun RUN -c USERS; \
             --interpolate needs a load between two loads of the other side",
        ))
    }

    /// The error that several results share no load, with the loads of each.
    pub fn no_common_load(loads: &[(String, String)]) -> Failure {
        let each: Vec<String> =
            loads.iter().map(|(name, loads)| format!("{name} has {loads}")).collect();
        Failure::new(
            Code::Unlike,
            format!("the results have no load in common: {}", each.join(", ")),
        )
        .hint("measure all at the same load, with -c or --rate: inferometer rerun RUN -c USERS")
    }

    /// Refuses differences, unless overridden. `way_out` is an alternative to comparing anyway.
    ///
    /// # Errors
    /// The differences of the sides.
    pub fn refuse<'a>(
        &self,
        name: &str,
        unlike: impl Iterator<Item = &'a Difference>,
        way_out: &str,
    ) -> Result<(), Failure> {
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
        let hint = format!("{way_out}--even-so compares them anyway");
        Err(Failure::new(Code::Unlike, sentence).hint(hint))
    }
}

/// A named side: the heads of its runs, and its documents.
pub struct Named {
    label: String,
    parts: Vec<Part>,
}

/// A repeat of a side.
enum Part {
    Run(Box<RunEntry>),
    RunFile(PathBuf, Box<RunData>),
    Document(Sheet),
}

impl Part {
    /// A unique key.
    fn key(&self) -> String {
        match self {
            Part::Run(entry) => entry.path.display().to_string(),
            Part::RunFile(path, _) => path.display().to_string(),
            Part::Document(sheet) => sheet.source.name.clone(),
        }
    }

    /// The head of a run; absent for a document.
    fn manifest(&self) -> Option<&Manifest> {
        match self {
            Part::Run(entry) => entry.manifest.as_ref().ok(),
            Part::RunFile(_, run) => Some(&run.manifest),
            Part::Document(_) => None,
        }
    }

    /// Its display name.
    fn name(&self) -> String {
        let of_run = match self {
            Part::Run(entry) => entry.manifest.as_ref().ok().and_then(|head| head.name.clone()),
            Part::RunFile(path, _) => Some(path.display().to_string()),
            Part::Document(_) => None,
        };
        of_run.unwrap_or_else(|| self.id())
    }

    /// Identity of its content.
    fn content(&self) -> String {
        match self {
            Part::Run(entry) => match &entry.manifest {
                Ok(manifest) => manifest.run_id.clone(),
                Err(_) => entry.id.clone(),
            },
            Part::RunFile(_, run) => run.manifest.run_id.clone(),
            Part::Document(sheet) => sheet.content_id(),
        }
    }

    /// Its ID, shown next to a name that several have.
    fn id(&self) -> String {
        match self {
            Part::Run(entry) => entry.id.clone(),
            Part::RunFile(_, run) => run.manifest.run_id.clone(),
            Part::Document(sheet) => sheet.source.name.clone(),
        }
    }
}

impl Named {
    /// The latency target of the first run; absent for documents, which have none.
    pub fn slo(&self) -> Option<&SloSpec> {
        match self.parts.first()? {
            Part::Run(entry) => Some(&entry.manifest.as_ref().ok()?.spec.slo),
            Part::RunFile(_, run) => Some(&run.manifest.spec.slo),
            Part::Document(_) => None,
        }
    }

    /// The head of its first run; absent if a part is a document.
    fn manifest(&self) -> Option<&Manifest> {
        let mut heads = self.parts.iter().map(Part::manifest);
        let first = heads.next()??;
        heads.all(|head| head.is_some()).then_some(first)
    }

    /// Its name without a number at the end; absent for runs without a name.
    fn stem(&self) -> Option<String> {
        let is_named = |head: &Manifest| self.parts.len() > 1 || head.name.is_some();
        if !self.manifest().is_none_or(is_named) {
            return None;
        }
        let stem = self.label.trim_end_matches(|c: char| c.is_ascii_digit());
        Some(stem.trim_end_matches(['-', '_']).to_owned())
    }

    fn sheets(&self) -> impl Iterator<Item = &Sheet> {
        self.parts.iter().filter_map(|part| match part {
            Part::Document(sheet) => Some(sheet),
            Part::Run(_) | Part::RunFile(..) => None,
        })
    }
}

/// Whether any side consists of documents.
pub fn has_documents(sides: &[Named]) -> bool {
    sides.iter().any(|side| side.sheets().next().is_some())
}

/// Finds the parts of each side: `base`, `result.json`, or `base1,base2,base3` for repeats of the
/// same configuration.
///
/// # Errors
/// A name is unknown or ambiguous, a file cannot be read, or a result is named twice.
pub fn name_sides(store: &Store, words: &[String]) -> Result<Vec<Named>, Failure> {
    let mut sides: Vec<Named> =
        words.iter().map(|word| name_side(store, word)).collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    for part in sides.iter().flat_map(|side| &side.parts) {
        if !seen.insert(part.key()) {
            let what = match part {
                Part::Document(_) => "file",
                Part::Run(_) | Part::RunFile(..) => "run",
            };
            return Err(Failure::usage(format!("the {what} {} is named twice", part.id()))
                .hint("a result compared with itself says nothing about how results differ"));
        }
    }
    leave_out_copies(&mut sides);
    shorten(&mut sides);
    tell_apart(&mut sides);
    Ok(sides)
}

/// Leaves out repeats that are copies of another repeat on the same side, and warns if two sides
/// contain copies of one measurement.
fn leave_out_copies(sides: &mut [Named]) {
    let mut of_others = Originals::default();
    for side in sides {
        let mut of_side = Originals::default();
        side.parts.retain(|part| {
            let copied = of_side.add(part.content(), &part.name());
            if let Some(copied) = &copied {
                terminal::warn(&copied.to_string());
            }
            copied.is_none()
        });
        for part in &side.parts {
            if let Some(Copied { copy, of }) = of_others.add(part.content(), &part.name()) {
                terminal::warn(&format!(
                    "{copy} contains the same measurement as {of}: it is compared with itself"
                ));
            }
        }
    }
}

/// Files are labeled with their names, or with folder and name, if that is unique.
fn shorten(sides: &mut [Named]) {
    let short = |side: &Named, parts: usize| -> Option<String> {
        let path = Path::new(&side.label);
        let is_file = path.exists() && side.sheets().next().is_some();
        let names: Vec<_> = path.iter().collect();
        let last = names.get(names.len().checked_sub(parts)?..)?.iter().collect::<PathBuf>();
        is_file.then(|| last.display().to_string())
    };
    for parts in [1, 2] {
        let labels: Vec<String> = sides
            .iter()
            .map(|side| short(side, parts).unwrap_or_else(|| side.label.clone()))
            .collect();
        if labels.iter().collect::<BTreeSet<_>>().len() == labels.len() {
            sides.iter_mut().zip(labels).for_each(|(side, label)| side.label = label);
            return;
        }
    }
}

/// A side of runs that were just measured.
///
/// # Errors
/// One of them cannot be found.
pub fn name_runs(store: &Store, label: &str, keys: &[String]) -> Result<Named, Failure> {
    let find = |run: &String| Ok(Part::Run(Box::new(runs::find(store, run)?)));
    let parts = keys.iter().map(find).collect::<Result<_, Failure>>()?;
    Ok(Named { label: label.to_owned(), parts })
}

/// Sides that have no name of their own, or whose names differ at most in a number, get in their labels
/// what differs: a precision, an address, a setting. Runs of one name and one setup get the ends of
/// their IDs, because two columns with one name could be confused.
fn tell_apart(sides: &mut [Named]) {
    let keys: Vec<Option<String>> = sides.iter().map(Named::stem).collect();
    let mut labels: Vec<String> = sides.iter().map(|side| side.label.clone()).collect();
    for (place, side) in sides.iter().enumerate() {
        // A side without a name has to differ from all other sides.
        let key = keys.get(place).and_then(Option::as_ref);
        let alike: Vec<usize> = (0..sides.len())
            .filter(|other| key.is_none() || keys.get(*other).and_then(Option::as_ref) == key)
            .collect();
        let heads: Vec<&Manifest> =
            alike.iter().filter_map(|at| sides.get(*at)?.manifest()).collect();
        if alike.len() < 2 || heads.len() < alike.len() {
            continue;
        }
        let own = alike.iter().position(|at| *at == place).unwrap_or_default();
        let words = distinct_words(&heads).into_iter().nth(own).flatten();
        if let (Some(words), Some(label)) = (words, labels.get_mut(place)) {
            *label = match key {
                Some(_) => format!("{} ({words})", side.label),
                None => words,
            };
        }
    }
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<String> =
        labels.iter().filter(|label| !seen.insert((*label).clone())).cloned().collect();
    for name in &twice {
        terminal::warn(&format!(
            "several runs are named \"{name}\": the ends of their IDs follow the name"
        ));
    }
    for (side, label) in sides.iter_mut().zip(labels) {
        if !twice.contains(&label) {
            side.label = label;
            continue;
        }
        let end = |part: &Part| match (part, part.id()) {
            (Part::Run(_) | Part::RunFile(..), id) => {
                id.rsplit('-').next().unwrap_or(&id).to_owned()
            }
            (_, id) => id,
        };
        let ends: Vec<String> = side.parts.iter().map(end).collect();
        side.label = format!("{label} ({})", ends.join(", "));
    }
}

fn name_side(store: &Store, word: &str) -> Result<Named, Failure> {
    let (mut label, mut parts) = (word.to_owned(), Vec::new());
    let argument = inputs::find_argument(store, Path::new(word))?;
    argument.shared_names.iter().for_each(|sentence| terminal::say(sentence));
    for (key, found) in argument.results {
        let name = add(&mut parts, &key, found);
        label = name.filter(|_| !argument.is_list).unwrap_or(label);
    }
    Ok(Named { label, parts })
}

/// Adds a result; returns its name, if it has one.
fn add(parts: &mut Vec<Part>, word: &Path, found: Subject) -> Option<String> {
    match found {
        Subject::Run(entry) => {
            let name = entry.manifest.as_ref().ok().and_then(|manifest| manifest.name.clone());
            parts.push(Part::Run(entry));
            name
        }
        Subject::RunFile(run) => {
            let name = run.manifest.name.clone();
            parts.push(Part::RunFile(word.to_owned(), run));
            name
        }
        Subject::Documents(name, sheets) => {
            parts.extend(sheets.into_iter().map(Part::Document));
            name
        }
    }
}

/// Reads all sides, documents first, since inferometer's runs are recomputed by their tools'
/// definitions.
///
/// # Errors
/// A run cannot be read, or a side contains no measured level.
pub fn read_sides(
    store: &Store,
    named: &[Named],
    settings: &Settings,
) -> Result<Vec<Side>, Failure> {
    let tools =
        has_documents(named).then(|| inputs::tools_of(named.iter().flat_map(Named::sheets)));
    named.iter().map(|side| read_side(store, side, settings, tools.as_deref())).collect()
}

fn read_side(
    store: &Store,
    named: &Named,
    settings: &Settings,
    tools: Option<&[String]>,
) -> Result<Side, Failure> {
    let Settings { measures, slo, .. } = settings;
    let of_run = |run: &RunData| match tools {
        Some(tools) => Member::beside_documents(run, measures, slo, tools),
        None => Member::of(run, measures, slo),
    };
    let member = |part: &Part| -> Result<Member, Failure> {
        let entry = match part {
            Part::Document(sheet) => return Ok(Member::of_sheet(sheet, measures, slo)),
            Part::RunFile(_, run) => return Ok(of_run(run)),
            Part::Run(entry) => entry,
        };
        Ok(of_run(&inputs::stored::open(store, entry)?))
    };
    let members: Vec<Member> = named.parts.iter().map(member).collect::<Result<_, _>>()?;
    if named.sheets().next().is_some() && !members.iter().any(Member::has_levels) {
        return Err(Failure::usage(format!(
            "{} contains no measured level to compare",
            named.label
        ))
        .hint("inferometer import shows what is read from a file"));
    }
    Ok(Side { label: named.label.clone(), members })
}

/// Settings of a comparison by these measures.
pub fn settings(args: &SideArgs, measures: Vec<Measure>, slo: SloSpec, threshold: f64) -> Settings {
    let even_so = args.even_so;
    Settings { threshold, seed: args.seed, measures, slo, even_so, ..Settings::default() }
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
        _ => Err(format!("\"{text}\" is not a share from 0 to below 1; write 3% or 0.03")),
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
