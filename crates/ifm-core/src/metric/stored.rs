//! How a metric is written in files: as a figure of a document by its stored name, as the subject of a
//! latency target by its word.

use super::{Metric, Name};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A name that is in no table, as documents store it: `{"other": "loss"}`.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Other {
    Other(String),
}

/// A stored name: of the table, such as `"output_rate"`, or another.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Known(String),
    Named(Other),
}

impl Metric {
    /// The name as a stored figure: `output_rate`; of another its own name.
    pub fn stored(self) -> &'static str {
        self.other_name().unwrap_or(self.row().stored.unwrap_or(self.row().word))
    }

    /// The metric of a stored name.
    pub fn from_stored(name: &str) -> Option<Metric> {
        Metric::known().find(|metric| metric.stored() == name)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Metric::Other(name) => Other::Other(name.as_str().to_owned()).serialize(serializer),
            known => serializer.serialize_str(known.stored()),
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Named(Other::Other(name)) => Ok(Metric::Other(Name::new(&name))),
            Written::Known(name) => Metric::from_stored(&name)
                .ok_or_else(|| de::Error::custom(format!("unknown metric: {name}"))),
        }
    }
}

/// Stores a metric as its word on the command line.
pub mod as_word {
    use super::*;

    /// Writes the word.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(metric.word())
    }

    /// Reads the word.
    ///
    /// # Errors
    /// A word that no metric has.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        let word = String::deserialize(deserializer)?;
        Metric::from_word(&word).ok_or_else(|| de::Error::custom(format!("unknown metric: {word}")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let known = Metric::known().filter(|metric| metric.is_stated());
        let mut all: Vec<serde_json::Value> = known
            .map(|metric| {
                serde_json::json!({
                    "description": metric.definition(),
                    "type": "string",
                    "const": metric.stored(),
                })
            })
            .collect();
        all.push(serde_json::json!({
            "description": "Something else, by the name that the file gives it.",
            "type": "object",
            "properties": { "other": { "type": "string" } },
            "required": ["other"],
            "additionalProperties": false,
        }));
        schemars::json_schema!({
            "description": "What a figure measures, with its canonical unit.",
            "oneOf": all,
        })
    }
}
