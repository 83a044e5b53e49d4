//! Constants of a measured deployment, stored by name.
//!
//! Not here: how they are found (`fitted`), and the measurements (`inferometer`).

use ifm_sim::{Constants, Kind, MISS, Settings, Spread};
use ifm_store::Store;
use ifm_terminal::exit::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Maximum relative difference of a constant that counts as rounding.
const SAME: f64 = 1e-9;
/// Folder of calibrations, within the store.
const FOLDER: &str = ".calibrations";
/// Maximum size of a file, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The calibration of a deployment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this form.
    pub schema_version: u32,
    /// Its name.
    pub name: String,
    /// The machine, in the notation of `--gpu`.
    pub gpu: String,
    /// GPUs that share the model.
    pub gpus: u32,
    /// The model, in the notation of `--model`; absent if `config` describes it.
    pub model: Option<String>,
    /// The model's `config.json`.
    pub config: Option<String>,
    /// Format of the weights.
    pub quant: String,
    /// Format of the KV cache.
    pub kv: String,
    /// Bytes of the weights, if given.
    pub weight_bytes: Option<f64>,
    /// Kind of server.
    pub server: Kind,
    /// Settings of the server.
    pub settings: Settings,
    /// Constants by their names with units.
    pub constants: BTreeMap<String, f64>,
    /// The fitted constants, with their intervals.
    pub estimates: Vec<EstimateDocument>,
    /// Ratio of the rows' scatter around the fit to the scatter expected from their own errors; 1 if
    /// it is not larger.
    pub scatter: f64,
    /// The measurements, with the values that the constants give.
    pub rows: Vec<RowDocument>,
    /// Each fitted row, with the prediction from the other rows.
    pub left_out: Vec<RowDocument>,
    /// What the rows do not show about other loads, and which row would; absent from older files.
    #[serde(default)]
    pub unsaid: Vec<String>,
    /// Why figures of the machine may be wrong, one sentence each; absent from older files.
    #[serde(default)]
    pub suspects: Vec<String>,
    /// Alternative sets of constants; absent from older files.
    #[serde(default)]
    pub spread: SpreadDocument,
    /// UTC time, RFC 3339.
    pub created_utc: String,
    /// Version of this program.
    pub tool_version: String,
    /// The engine and its version, and the flags of its process, if known.
    pub engine: Option<String>,
    /// The process's flags.
    pub engine_flags: Vec<String>,
    /// The measured machine, if visible.
    pub machine: Option<String>,
}

/// A fitted constant.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EstimateDocument {
    /// Name with the unit.
    pub name: String,
    /// Its meaning.
    pub meaning: String,
    /// The value.
    pub value: f64,
    /// Low end of the 95 % interval.
    pub low: f64,
    /// High end of the 95 % interval.
    pub high: f64,
    /// Its default.
    pub default: f64,
    /// Whether the rows determine it; otherwise it is the default, or depends on it.
    pub is_determined: bool,
    /// The constant that explains the rows equally well; absent without one.
    #[serde(default)]
    pub rival: Option<String>,
}

impl EstimateDocument {
    /// Whether the value is the default itself.
    pub fn is_default(&self) -> bool {
        (self.value / self.default - 1.0).abs() < SAME
    }
}

/// Alternative sets of constants: each set replaces the calibration's constants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpreadDocument {
    /// Both ends of independent directions, each at the end of its 95 % interval.
    pub directions: Vec<[BTreeMap<String, f64>; 2]>,
    /// Constants that explain the rows equally well.
    pub rivals: Vec<BTreeMap<String, f64>>,
}

impl SpreadDocument {
    /// The differences from these constants.
    pub fn of(spread: &Spread, from: Constants) -> SpreadDocument {
        let changed = |constants: &Constants| {
            let both = constants.named().into_iter().zip(from.named());
            let changed = both.filter(|((_, one), (_, other))| (one / other - 1.0).abs() > SAME);
            changed.map(|((name, value), _)| (name.to_owned(), value)).collect()
        };
        SpreadDocument {
            directions: spread
                .directions
                .iter()
                .map(|[high, low]| [changed(high), changed(low)])
                .collect(),
            rivals: spread.rivals.iter().map(changed).collect(),
        }
    }

    /// The same as constants; a name unknown to this version leaves its set unchanged.
    pub fn spread(&self, from: Constants) -> Spread {
        let with = |changed: &BTreeMap<String, f64>| {
            let mut constants = from;
            for (name, value) in changed {
                let _ = constants.set(name, *value);
            }
            constants
        };
        Spread {
            directions: self.directions.iter().map(|[high, low]| [with(high), with(low)]).collect(),
            rivals: self.rivals.iter().map(with).collect(),
        }
    }
}

/// A measured load and its prediction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowDocument {
    /// Load and lengths.
    pub load: String,
    /// Run or file.
    pub from: String,
    /// Whether it was excluded from the fit.
    pub held_out: bool,
    /// Time to the first token.
    pub ttft: Option<ComparedDocument>,
    /// Gap between tokens.
    pub itl: Option<ComparedDocument>,
    /// Output tokens per second.
    pub output_tok_per_s: Option<ComparedDocument>,
}

/// A measured value and a predicted one, in ms or tokens per second.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedDocument {
    /// Measured.
    pub measured: f64,
    /// Predicted.
    pub predicted: f64,
    /// Predicted minus measured, as a share of the measured value.
    pub error: f64,
}

/// A calibration as a document.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalibrationDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Its name, for `predict --calibration`.
    pub name: String,
    /// The file that contains it; absent if it was refused.
    pub path: Option<String>,
    /// Why its constants are unusable, and why it was not stored; absent if it was stored.
    pub refused: Option<String>,
    /// The machine, in the notation of `--gpu`.
    pub gpu: String,
    /// GPUs that share the model.
    pub gpus: u32,
    /// The model.
    pub model: String,
    /// Format of the weights.
    pub quant: String,
    /// Format of the KV cache.
    pub kv: String,
    /// Kind of server.
    pub server: String,
    /// The engine and its version, if known.
    pub engine: Option<String>,
    /// KV cache size, tokens.
    pub kv_tokens: u64,
    /// All constants by their names with units.
    pub constants: BTreeMap<String, f64>,
    /// The fitted constants, with their intervals.
    pub estimates: Vec<EstimateDocument>,
    /// Ratio of the rows' scatter around the fit to the scatter expected from their own errors; 1 if
    /// it is not larger.
    pub scatter: f64,
    /// The measurements, with the values that the constants give.
    pub rows: Vec<RowDocument>,
    /// Each fitted row, with the prediction from the other rows.
    pub left_out: Vec<RowDocument>,
    /// Fitted rows that the constants miss by more than 25 %, one sentence each.
    pub warnings: Vec<String>,
    /// What the rows do not show about other loads, and which row would: one sentence each.
    pub unsaid: Vec<String>,
    /// Why figures of the machine may be wrong, one sentence each.
    pub suspects: Vec<String>,
    /// Constants that the rows do not determine: defaults, or values that depend on them.
    pub undetermined: Vec<String>,
    /// Alternative sets of constants; predictions derive their intervals from them.
    pub spread: SpreadDocument,
}

/// Fitted rows that the constants miss by more than a quarter, one sentence per number.
pub fn misses(rows: &[RowDocument]) -> Vec<String> {
    let one = |row: &RowDocument, name: &str, value: Option<ComparedDocument>| {
        let value = value.filter(|value| value.error.abs() > MISS)?;
        Some(format!(
            "{}: {name} was {} ms and is {} ms with these constants ({:+.0} %)",
            row.load,
            digits(value.measured),
            digits(value.predicted),
            value.error * 100.0
        ))
    };
    let fitted = rows.iter().filter(|row| !row.held_out);
    fitted
        .flat_map(|row| [one(row, "TTFT", row.ttft), one(row, "ITL", row.itl)])
        .flatten()
        .collect()
}

/// Three significant digits.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size => (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize,
    };
    format!("{value:.decimals$}")
}

impl CalibrationDocument {
    /// The document as text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl Calibration {
    /// What a prediction with it has to report: which constants are defaults, what the rows do not
    /// show about other loads, which rows the constants miss, and where figures of the machine may be
    /// wrong.
    pub fn cautions(&self) -> Vec<String> {
        let undetermined = self.undetermined();
        let open = (!undetermined.is_empty()).then(|| {
            format!(
                "its rows do not determine {}: predictions that depend on them are based on defaults",
                undetermined.join(", ")
            )
        });
        let missed = misses(&self.rows).len();
        let missed = (missed > 0).then(|| {
            format!(
                "its constants miss {missed} of the times that they were fitted to by more than 25 %"
            )
        });
        let own = self.unsaid.iter().chain(&self.suspects).cloned();
        open.into_iter().chain(missed).chain(own).collect()
    }

    /// Constants that the rows do not determine.
    pub fn undetermined(&self) -> Vec<String> {
        let open = self.estimates.iter().filter(|estimate| !estimate.is_determined);
        open.map(|estimate| estimate.name.clone()).collect()
    }

    /// The calibration with a name.
    ///
    /// # Errors
    /// It does not exist, or its file cannot be read.
    pub fn open(store: &Store, name: &str) -> Result<Calibration, Failure> {
        use std::io::Read as _;
        let known = Calibration::names(store);
        if !known.iter().any(|own| own == name) {
            let failure = Failure::usage(format!("there is no calibration \"{name}\""));
            return Err(match known.is_empty() {
                true => failure.hint("inferometer calibrate URL creates one"),
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

    /// Stores it, replacing an older one of the same name. Returns the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, store: &Store) -> Result<PathBuf, Failure> {
        let path = Calibration::path(store, &self.name);
        let failure = |error: std::io::Error| {
            Failure::files(format!("cannot write {}: {error}", path.display()))
        };
        std::fs::create_dir_all(store.root().join(FOLDER)).map_err(failure)?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        let temporary = path.with_extension("json.new");
        std::fs::write(&temporary, format!("{text}\n")).map_err(failure)?;
        std::fs::rename(&temporary, &path).map_err(failure)?;
        Ok(path)
    }

    /// Checks whether a name can be that of a file.
    ///
    /// # Errors
    /// A sentence.
    pub fn check_name(name: &str) -> Result<(), Failure> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        match !name.is_empty()
            && name.len() <= 100
            && name.chars().all(fits)
            && !name.starts_with('.')
        {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "--name {name}: the name of a calibration is made of letters, digits, and - _ ."
            ))),
        }
    }

    fn path(store: &Store, name: &str) -> PathBuf {
        store.root().join(FOLDER).join(format!("{name}.json"))
    }

    /// The constants.
    ///
    /// # Errors
    /// A name unknown to this version.
    pub fn constants(&self) -> Result<Constants, Failure> {
        let mut constants = Constants::NONE_LOST;
        for (name, value) in &self.constants {
            constants.set(name, *value).map_err(|error| {
                Failure::files(format!("the calibration \"{}\": {error}", self.name))
            })?;
        }
        Ok(constants)
    }
}
