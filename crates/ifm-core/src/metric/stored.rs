//! How a metric is written in files: as a figure of a document by its stored name, as the subject of a
//! latency target by its word.

use super::Metric;
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
    /// The name as a stored figure: `output_rate`; of what no document states, its name in tables.
    pub fn stored(self) -> &'static str {
        self.row().stored.unwrap_or(self.name())
    }

    /// The metric of a stored name.
    pub fn from_stored(name: &str) -> Option<Metric> {
        Metric::known().find(|metric| metric.is_stated() && metric.stored() == name)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = self.stored();
        match self.is_stated() {
            true => serializer.serialize_str(name),
            false => Other::Other(name.to_owned()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Named(Other::Other(name)) => Ok(Metric::other(name)),
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
