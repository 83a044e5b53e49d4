//! Files of other tools, written at the end of a run or from a stored one.
//!
//! Not here: their content (`ifm-interop`), and their definitions (`ifm-metrics`).

use crate::exit::Failure;
use ifm_core::RunData;
use ifm_interop::{EXPORTS, Export, ExportOptions, Exported};
use ifm_metrics::definitions::{Definitions, sheet_with};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A requested file of another tool.
#[derive(Clone)]
pub struct ExportAsk {
    format: &'static Export,
    /// Options of the file.
    options: ExportOptions,
    /// The path; `{model}` and `{date}` are filled in.
    path: String,
    /// Whether to append to an existing file.
    appends: bool,
}

impl std::fmt::Debug for ExportAsk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.format.id, self.path)
    }
}

impl ExportAsk {
    /// Reads `FORMAT:FILE`, or `FORMAT?OPTION=VALUE&OPTION=VALUE:FILE`.
    ///
    /// # Errors
    /// An unknown format or option, or no file.
    pub fn parse(text: &str) -> Result<ExportAsk, String> {
        let (format, path) = text.split_once(':').ok_or("write it as FORMAT:FILE")?;
        let (id, options) = format.split_once('?').unwrap_or((format, ""));
        let Some(format) = EXPORTS.iter().find(|export| export.id == id) else {
            let known: Vec<&str> = EXPORTS.iter().map(|export| export.id).collect();
            return Err(format!("no format {id}: there are {}", known.join(", ")));
        };
        if path.is_empty() {
            return Err("the file has no name".to_owned());
        }
        if !options.is_empty() && !format.has_options() {
            return Err(format!("the format {id} has no options"));
        }
        let options = ExportOptions::parse(options)?;
        Ok(ExportAsk { format, options, path: path.to_owned(), appends: false })
    }

    /// Sets whether to append to an existing file.
    pub fn appends(self, appends: bool) -> ExportAsk {
        ExportAsk { appends, ..self }
    }

    /// Writes the file from the events of a run, by the definitions of its tool.
    ///
    /// # Errors
    /// A file that cannot be written, or a run without anything for it.
    pub fn write(&self, run: &RunData) -> Result<Vec<PathBuf>, Failure> {
        let word = self.format.definitions.unwrap_or_default();
        let by = Definitions::ALL.into_iter().find(|by| by.word() == word);
        let options = self.options.clone();
        let percentiles = options.percentiles.clone().unwrap_or_default();
        let files = self
            .format
            .write_results(
                &sheet_with(run, by.unwrap_or(Definitions::Ours), &percentiles),
                Some(run),
                &of_run(options, run),
            )
            .map_err(|error| Failure::files(format!("{}: {error}", self.path)))?;
        let path = PathBuf::from(self.named(run));
        let is_folder = is_folder(&files) || path.is_dir() || self.path.ends_with('/');
        let folder = if is_folder { Some(path.as_path()) } else { path.parent() };
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::files(format!("cannot create {}: {error}", folder.display()))
            })?;
        }
        let mut written = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let path = match is_folder {
                true => path.join(file_name(self.format.id, index, files.len(), file)),
                false => path.clone(),
            };
            put(&path, &file.text, self.appends)?;
            written.push(path);
        }
        Ok(written)
    }

    /// The file name with placeholders filled in.
    fn named(&self, run: &RunData) -> String {
        let model = run.manifest.spec.target.model.rsplit('/').next().unwrap_or_default();
        // `2026-11-26T04:34:18…` as `20261126-043418`.
        let utc = run.manifest.created_utc.get(..19).unwrap_or(&run.manifest.created_utc);
        let date = utc.replace(['-', ':'], "").replace('T', "-");
        self.path.replace("{model}", model).replace("{date}", &date)
    }
}

/// Options with facts of the run: whether its latency target is the default one.
pub fn of_run(options: ExportOptions, run: &RunData) -> ExportOptions {
    let spec = &run.manifest.spec;
    let default = ifm_metrics::slo::default_of(spec.target.api).terms;
    // Runs older than this field have the same terms.
    let has_default_target = spec.slo.is_default
        || ifm_metrics::slo::parse(default).is_ok_and(|default| default.terms == spec.slo.terms);
    ExportOptions { has_default_target, ..options }
}

/// Writes a text, or appends it.
///
/// # Errors
/// The file cannot be written.
pub fn put(path: &Path, text: &str, appends: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(appends).truncate(!appends);
    options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::files(format!("cannot write {}: {error}", path.display())))
}

/// Whether files need a folder: there are several, or their names are fixed.
pub fn is_folder(files: &[Exported]) -> bool {
    files.len() > 1 || files.iter().any(|file| file.name.is_some())
}

/// `aiperf-concurrency4.json`, numbered if several would have the same name; or the name that a tool's
/// readers require.
pub fn file_name(format: &str, index: usize, files: usize, file: &Exported) -> String {
    if let Some(name) = &file.name {
        return name.clone();
    }
    let safe: String = file
        .stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
        .collect();
    let number = if files > 1 { format!("-{:02}", index + 1) } else { String::new() };
    let stem = if safe.is_empty() { String::new() } else { format!("-{safe}") };
    format!("{format}{number}{stem}.{}", file.ending)
}
