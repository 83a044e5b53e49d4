//! Constants of a deployment that was measured, kept by name.
//!
//! Not here: how they are found (`ifm_sim::fit`), and the measurements (`cli::calibrate`).

use crate::cli::setup_args::SetupArgs;
use crate::exit::Failure;
use ifm_roofline::Setup;
use ifm_sim::{Constants, Kind, Settings};
use ifm_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Folder of calibrations, within the store.
const FOLDER: &str = ".calibrations";
/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What was found out about a deployment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calibration {
    /// Its name.
    pub name: String,
    /// The machine, as `--gpu` takes it.
    pub gpu: String,
    /// GPUs that share the model.
    pub gpus: u32,
    /// The model, as `--model` takes it; absent where `config` describes it.
    pub model: Option<String>,
    /// The model's `config.json`.
    pub config: Option<String>,
    /// How weights are stored.
    pub quant: String,
    /// How keys and values are stored.
    pub kv: String,
    /// Bytes of the weights where they were said.
    pub weight_bytes: Option<f64>,
    /// Kind of server.
    pub server: Kind,
    /// How it is set.
    pub settings: Settings,
    /// Constants by their names with units.
    pub constants: BTreeMap<String, f64>,
}

impl Calibration {
    /// The calibration of a name.
    ///
    /// # Errors
    /// There is none, or its file cannot be read.
    pub fn open(store: &Store, name: &str) -> Result<Calibration, Failure> {
        use std::io::Read as _;
        let known = Calibration::names(store);
        if !known.iter().any(|own| own == name) {
            let failure = Failure::usage(format!("there is no calibration \"{name}\""));
            return Err(match known.is_empty() {
                true => failure.hint("inferometer calibrate URL makes one"),
                false => failure.hint(format!("there are {}", known.join(", "))),
            });
        }
        let path = Calibration::path(store, name);
        let failure = |why: String| {
            Failure::files(format!("the calibration {} cannot be read: {why}", path.display()))
        };
        let mut text = String::new();
        let file = std::fs::File::open(&path).map_err(|error| failure(error.to_string()))?;
        let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| failure(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failure(error.to_string()))
    }

    /// Names of all calibrations of a store.
    pub fn names(store: &Store) -> Vec<String> {
        let Ok(folder) = std::fs::read_dir(store.root().join(FOLDER)) else { return Vec::new() };
        let files = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned())).collect();
        names.sort();
        names
    }

    fn path(store: &Store, name: &str) -> PathBuf {
        store.root().join(FOLDER).join(format!("{name}.json"))
    }

    /// The constants.
    ///
    /// # Errors
    /// A name that this version does not know.
    pub fn constants(&self) -> Result<Constants, Failure> {
        let mut constants = Constants::NONE_LOST;
        for (name, value) in &self.constants {
            constants.set(name, *value).map_err(|error| {
                Failure::files(format!("the calibration \"{}\": {error}", self.name))
            })?;
        }
        Ok(constants)
    }

    /// The model of the calibration, on the machine and in the format that are asked for.
    ///
    /// # Errors
    /// As [`SetupArgs::setup`].
    pub fn setup(&self, asked: &SetupArgs, store: &Store) -> Result<Setup, Failure> {
        asked.of_calibration(self, store)
    }
}
