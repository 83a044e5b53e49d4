//! Workloads by name: data files, those in the program and those of the user.
//!
//! Not here: what a name's text means (`open`).

use std::{collections::BTreeMap, fs, io::Read as _, path::Path};

use ifm_core::regular::open_regular;
use serde::Deserialize;

use crate::error::{WorkloadError, file_name};

/// Presets in a user's folder at most.
const PRESETS_MAX: usize = 1000;
/// The largest preset in bytes.
const PRESET_BYTES_MAX: u64 = 1 << 20;

/// The presets in the program. To add one, add its file and a line.
const EMBEDDED: &[(&str, &str)] = &[
    ("chat.toml", include_str!("../presets/chat.toml")),
    ("rag.toml", include_str!("../presets/rag.toml")),
    ("agent.toml", include_str!("../presets/agent.toml")),
    ("tools.toml", include_str!("../presets/tools.toml")),
    ("coding-agents.toml", include_str!("../presets/coding-agents.toml")),
    ("tool-agents.toml", include_str!("../presets/tool-agents.toml")),
    ("random-1500-250.toml", include_str!("../presets/random-1500-250.toml")),
    ("random-4000-1000.toml", include_str!("../presets/random-4000-1000.toml")),
    ("random-1000-1000.toml", include_str!("../presets/random-1000-1000.toml")),
    ("sharegpt.toml", include_str!("../presets/sharegpt.toml")),
    ("edit-10k-chars.toml", include_str!("../presets/edit-10k-chars.toml")),
    ("numina-math.toml", include_str!("../presets/numina-math.toml")),
    ("vision-chat.toml", include_str!("../presets/vision-chat.toml")),
    ("documents.toml", include_str!("../presets/documents.toml")),
    ("vllm-random-mm.toml", include_str!("../presets/vllm-random-mm.toml")),
    ("asr-30s.toml", include_str!("../presets/asr-30s.toml")),
];

/// A workload with a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name.
    pub name: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it stands for, in one line.
    pub summary: String,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// The workload as it would be typed without the preset.
    pub workload: String,
    /// Whether the server should be asked to go on until the length is reached. Absent:
    /// as the data set has it.
    #[serde(default)]
    pub ignore_eos: Option<bool>,
    /// Which column means what.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
}

impl Preset {
    /// Whether this is its name, or one of its other names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// The presets in the program.
///
/// # Errors
/// [`WorkloadError::Preset`] when one is damaged.
pub fn embedded() -> Result<Vec<Preset>, WorkloadError> {
    EMBEDDED.iter().map(|(file, text)| read(file, text)).collect()
}

/// The user's presets, by the names of their files, and then those in the program: the
/// first one of a name counts.
///
/// # Errors
/// [`WorkloadError::Read`] and [`WorkloadError::Preset`] for one that cannot be used. A
/// folder that does not exist holds none.
pub fn load(folder: Option<&Path>) -> Result<Vec<Preset>, WorkloadError> {
    let mut presets = match folder.filter(|folder| folder.is_dir()) {
        Some(folder) => load_folder(folder)?,
        None => Vec::new(),
    };
    presets.extend(embedded()?);
    Ok(presets)
}

fn load_folder(folder: &Path) -> Result<Vec<Preset>, WorkloadError> {
    let read_error = |source| WorkloadError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(read_error)? {
        let path = entry.map_err(read_error)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files.truncate(PRESETS_MAX);
    let presets = files.iter().map(|path| {
        let name = file_name(path);
        let read_error = |source| WorkloadError::Read { path: path.clone(), source };
        let mut text = String::new();
        let file = open_regular(path).map_err(read_error)?;
        file.take(PRESET_BYTES_MAX + 1).read_to_string(&mut text).map_err(read_error)?;
        if text.len() as u64 > PRESET_BYTES_MAX {
            let reason = "it is larger than 1 MiB".to_owned();
            return Err(WorkloadError::Preset { file: name, reason });
        }
        read(&name, &text)
    });
    presets.collect()
}

fn read(file: &str, text: &str) -> Result<Preset, WorkloadError> {
    let wrong = |reason: String| WorkloadError::Preset { file: file.to_owned(), reason };
    let preset = toml::from_str::<Preset>(text).map_err(|error| wrong(error.to_string()))?;
    match preset.name.is_empty() || preset.name.contains([':', '?', '/', ' ']) {
        true => Err(wrong("its name is empty or contains one of ':?/' or a space".to_owned())),
        false => Ok(preset),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_in_the_program() {
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/presets")).unwrap();
        let files = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
        let listed = EMBEDDED.iter().map(|(file, _)| (*file).to_owned());
        assert_eq!(files.collect::<BTreeSet<_>>(), listed.collect::<BTreeSet<_>>());
        for (preset, (file, _)) in embedded().unwrap().iter().zip(EMBEDDED) {
            assert_eq!(*file, format!("{}.toml", preset.name));
            assert!(!preset.source.is_empty(), "{file}");
        }
    }
}
