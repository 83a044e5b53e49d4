//! Constants of a deployment that was measured, kept by name.
//!
//! Not here: how they are found (`fitted`), and the measurements (`cli::calibrate`).

use crate::exit::Failure;
use ifm_sim::{Constants, Kind, MISS, Settings, Spread};
use ifm_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Largest size of a constant's relative difference that is rounding, not a difference.
const SAME: f64 = 1e-9;
/// Folder of calibrations, within the store.
const FOLDER: &str = ".calibrations";
/// Largest file that is read, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What was found out about a deployment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this form.
    pub schema_version: u32,
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
    /// Those that were fitted, with their intervals.
    pub estimates: Vec<EstimateDocument>,
    /// How much more the rows scatter around the fit than their own errors say; 1 where they do not.
    pub scatter: f64,
    /// What was measured, beside what the constants say.
    pub rows: Vec<RowDocument>,
    /// Each row that helped, beside what the others say of it.
    pub left_out: Vec<RowDocument>,
    /// What the rows do not say of other loads, and which row would; absent from older files.
    #[serde(default)]
    pub unsaid: Vec<String>,
    /// Why figures of the machine may be wrong, a sentence for each; absent from older files.
    #[serde(default)]
    pub suspects: Vec<String>,
    /// Where else the constants may be; absent from older files.
    #[serde(default)]
    pub spread: SpreadDocument,
    /// UTC time, RFC 3339.
    pub created_utc: String,
    /// Version of this program.
    pub tool_version: String,
    /// The engine and its version, and the flags of its process, where they are known.
    pub engine: Option<String>,
    /// The process's flags.
    pub engine_flags: Vec<String>,
    /// The machine that was measured, where it was seen.
    pub machine: Option<String>,
}

/// A constant that was fitted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EstimateDocument {
    /// Name with the unit.
    pub name: String,
    /// What it means.
    pub meaning: String,
    /// The value.
    pub value: f64,
    /// Low end of the 95 % interval.
    pub low: f64,
    /// High end of the 95 % interval.
    pub high: f64,
    /// Its default.
    pub default: f64,
    /// Whether the rows determine it; else it is the default, or rests on it.
    pub is_determined: bool,
    /// The constant that explains the rows as well as this one does; absent where there is none.
    #[serde(default)]
    pub rival: Option<String>,
}

impl EstimateDocument {
    /// Whether the value is the default itself.
    pub fn is_default(&self) -> bool {
        (self.value / self.default - 1.0).abs() < SAME
    }
}

/// Where else the constants may be: each set replaces those of the calibration by its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpreadDocument {
    /// Both ends of independent directions, each at the end of its 95 % interval.
    pub directions: Vec<[BTreeMap<String, f64>; 2]>,
    /// Constants that explain the rows as well.
    pub rivals: Vec<BTreeMap<String, f64>>,
}

impl SpreadDocument {
    /// What differs from these constants.
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

    /// The same as constants; a name that this version does not know leaves its set as it is.
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

/// A measured load beside what was predicted for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RowDocument {
    /// Load and lengths.
    pub load: String,
    /// Run or file.
    pub from: String,
    /// Whether it took no part in the fit.
    pub held_out: bool,
    /// Time to the first token.
    pub ttft: Option<ComparedDocument>,
    /// Gap between tokens.
    pub itl: Option<ComparedDocument>,
    /// Tokens of answers a second.
    pub output_tok_per_s: Option<ComparedDocument>,
}

/// A measured value and a predicted one, in ms or tokens a second.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedDocument {
    /// Measured.
    pub measured: f64,
    /// Predicted.
    pub predicted: f64,
    /// Predicted less measured, as a share of the measured one.
    pub error: f64,
}

/// A calibration as a document.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Its name, by which `predict --calibration` takes it.
    pub name: String,
    /// The file that it is stored in; absent where it was refused.
    pub path: Option<String>,
    /// Why its constants are of no use, and why it was not stored; absent where it was.
    pub refused: Option<String>,
    /// The machine, as `--gpu` takes it.
    pub gpu: String,
    /// GPUs that share the model.
    pub gpus: u32,
    /// The model.
    pub model: String,
    /// How weights are stored.
    pub quant: String,
    /// How keys and values are stored.
    pub kv: String,
    /// Kind of server.
    pub server: String,
    /// The engine and its version, where they are known.
    pub engine: Option<String>,
    /// Room for keys and values, tokens.
    pub kv_tokens: u64,
    /// All constants by their names with units.
    pub constants: BTreeMap<String, f64>,
    /// Those that were fitted, with their intervals.
    pub estimates: Vec<EstimateDocument>,
    /// How much more the rows scatter around the fit than their own errors say; 1 where they do not.
    pub scatter: f64,
    /// What was measured, beside what the constants say.
    pub rows: Vec<RowDocument>,
    /// Each row that helped, beside what the others say of it.
    pub left_out: Vec<RowDocument>,
    /// Rows that took part and that the constants miss by more than 25 %, a sentence for each.
    pub warnings: Vec<String>,
    /// What the rows do not say of other loads, and which row would: a sentence for each.
    pub unsaid: Vec<String>,
    /// Why figures of the machine may be wrong, a sentence for each.
    pub suspects: Vec<String>,
    /// Constants that the rows do not determine: defaults, or values that rest on them.
    pub undetermined: Vec<String>,
    /// Where else the constants may be: by it predictions get their intervals.
    pub spread: SpreadDocument,
}

/// Rows that took part and that the constants miss by more than a quarter, a sentence for each number.
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
pub(super) fn digits(value: f64) -> String {
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
    /// What a prediction with it has to say: which constants are defaults, what the rows do not say of
    /// other loads, which they contradict, and where figures of the machine may be wrong.
    pub fn cautions(&self) -> Vec<String> {
        let undetermined = self.undetermined();
        let open = (!undetermined.is_empty()).then(|| {
            format!(
                "its rows do not determine {}: predictions that depend on them rest on defaults",
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

    /// Keeps it, in place of an older one of the same name. Returns the file.
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
        let beside = path.with_extension("json.new");
        std::fs::write(&beside, format!("{text}\n")).map_err(failure)?;
        std::fs::rename(&beside, &path).map_err(failure)?;
        Ok(path)
    }

    /// Whether a name can be that of a file.
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
}
