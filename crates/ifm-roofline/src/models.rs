//! The table of models, and how a model is found in it: by name, by its count of parameters, or
//! from its own configuration instead.
//!
//! Not here: what follows from the shape of one (`model`), how a configuration is read (`config`).

use crate::config;
use crate::error::RooflineError;
use crate::format::WeightFormat;
use crate::machine::Confidence;
use crate::model::Model;
use crate::words::{self, Names, Search};
use serde::Deserialize;
use serde_json::Value;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    name: String,
    names: Vec<String>,
    published: Option<u64>,
    native: String,
    conf: Confidence,
    src: String,
    config: Value,
}

#[derive(Deserialize)]
struct Table {
    model: Vec<Row>,
}

struct Known {
    model: Model,
    names: Vec<String>,
}

/// The table is part of the program; a test reads every row, so that none can be malformed here.
static MODELS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let table = toml::from_str::<Table>(include_str!("../data/models.toml"));
    let rows = table.map(|table| table.model).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| {
            let model = config::read(&row.config).ok()?;
            let model = Model {
                id: row.id,
                name: row.name,
                native_format: Some(row.native),
                published_parameters: row.published,
                confidence: row.conf,
                source: row.src,
                ..model
            };
            Some(Known { model, names: row.names })
        })
        .collect()
});

/// Words that make another model of the same name.
const VARIANTS: &[&str] = &[
    "3moe",
    "audio",
    "distill",
    "draft",
    "eagle",
    "embedding",
    "large",
    "maverick",
    "medium",
    "mini",
    "minitron",
    "moe",
    "mtp",
    "multimodal",
    "nano",
    "nemotron",
    "next",
    "omni",
    "reranker",
    "reward",
    "scout",
    "small",
    "tiny",
    "vision",
    "vl",
];

/// Published counts have two decimals in billions, and so have the tables of llama-bench.
const COUNT_ROUNDING: f64 = 0.005e9;
/// Part by which a stated count may differ.
const COUNT_TOLERANCE: f64 = 0.001;

/// The words of a model's name, without the words of number formats.
fn model_words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase().replace(" - medium", "").replace(" - small", "");
    let kept: Vec<&str> = lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'))
        .filter(|piece| !WeightFormat::is_word(piece))
        .filter(|piece| !piece.split('.').any(|part| part.len() > 2 && WeightFormat::is_word(part)))
        .collect();
    words::words(&kept.join(" "))
}

/// Whether a word states a size: "8b", "30b", "a3b", "8x7b", "135m".
fn is_size(word: &str) -> bool {
    let number = word.strip_prefix('a').unwrap_or(word);
    let number = number.strip_suffix('b').or_else(|| number.strip_suffix('m'));
    number.is_some_and(|number| number.split('x').all(|part| part.parse::<f64>().is_ok()))
}

impl Model {
    /// All rows of the table, in its order.
    pub fn all() -> impl Iterator<Item = &'static Model> {
        MODELS.iter().map(|known| &known.model)
    }

    /// The model of this id or name ("llama-3.1-8b", "Qwen/Qwen3-4B",
    /// "LLama-3.1-8B-Instruct-int8-dynamic"). Words of number formats are passed over. Sizes in the
    /// name have to be the row's, and words that make another model ("Distill", "VL", "mini") have
    /// to belong to its name.
    ///
    /// # Errors
    /// [`RooflineError::Ambiguous`] where several rows fit ("llama 7B"), [`RooflineError::Unknown`]
    /// with the nearest names where none does.
    pub fn find(name: &str) -> Result<Model, RooflineError> {
        let asked = model_words(name);
        let known: &[Known] = &MODELS;
        let rows: Vec<Names<'_>> = known
            .iter()
            .enumerate()
            .map(|(place, row)| Names {
                place,
                id: &row.model.id,
                title: &row.model.name,
                aliases: row.names.iter().map(|name| words::words(name)).collect(),
            })
            .collect();
        let is_other = |place: usize, _: &[String]| {
            let own = |word: &String| {
                rows.get(place)
                    .is_some_and(|row| row.aliases.iter().any(|alias| alias.contains(word)))
            };
            asked
                .iter()
                .any(|word| !own(word) && (is_size(word) || VARIANTS.contains(&word.as_str())))
        };
        let unknown = |nearest: Vec<String>| RooflineError::Unknown {
            what: "model",
            asked: name.to_owned(),
            nearest,
        };
        match words::search(name, &asked, &rows, is_other) {
            Search::Found(place) => {
                known.get(place).map(|row| row.model.clone()).ok_or_else(|| unknown(Vec::new()))
            }
            Search::Several(candidates) => {
                Err(RooflineError::Ambiguous { what: "model", asked: name.to_owned(), candidates })
            }
            Search::Nothing(nearest) => Err(unknown(nearest)),
        }
    }

    /// As [`Model::find`], with a stated number of parameters that has to agree, as rows of
    /// llama-bench have it ("llama 13B Q4_K - Medium", 12.25e9). The number alone finds a model
    /// whose name says nothing, where one row only has it.
    ///
    /// # Errors
    /// As for [`Model::find`].
    pub fn find_with_parameters(name: &str, parameters: f64) -> Result<Model, RooflineError> {
        let allowed = (parameters * COUNT_TOLERANCE).max(COUNT_ROUNDING);
        let agrees = |model: &Model| (model.parameters() - parameters).abs() <= allowed;
        let by_name = Model::find(name);
        if let Ok(model) = &by_name
            && agrees(model)
        {
            return by_name;
        }
        // A number as small as it is rounded to finds nothing on its own.
        let is_enough = parameters > COUNT_ROUNDING;
        let by_count: Vec<&Model> =
            Model::all().filter(|model| is_enough && agrees(model)).collect();
        match (by_count.as_slice(), by_name) {
            ([model], _) => Ok((*model).clone()),
            ([], Ok(model)) => Err(RooflineError::Unknown {
                what: "model",
                asked: format!("{name} of {:.2} B parameters", parameters / 1e9),
                nearest: vec![model.id],
            }),
            ([], Err(error)) => Err(error),
            (several, _) => Err(RooflineError::Ambiguous {
                what: "model",
                asked: format!("{name} of {:.2} B parameters", parameters / 1e9),
                candidates: several.iter().map(|model| model.id.clone()).collect(),
            }),
        }
    }

    /// The model that a `config.json` describes.
    ///
    /// # Errors
    /// [`RooflineError::Config`] for what is not a configuration, an architecture that is not known,
    /// and fields that are missing or absurd.
    pub fn from_config(json: &str) -> Result<Model, RooflineError> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| RooflineError::Config { reason: error.to_string() })?;
        config::read(&value)
    }
}
