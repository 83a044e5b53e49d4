//! The thresholds file: TOML with a table of upper and one of lower limits.
//!
//! Not here: what a threshold means, see [`ifm_compare::gate`].

use super::Inconclusive;
use crate::exit::Failure;
use ifm_compare::gate::{Bound, Threshold};
use ifm_core::regular::read_named_text;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::path::Path;
use toml::Spanned;

/// Maximum size of a file, bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Content of a file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsFile {
    /// The baseline run.
    pub baseline: Option<String>,
    /// How to treat inconclusive thresholds.
    pub inconclusive: Option<Inconclusive>,
    /// Intended differences, by name.
    #[serde(default)]
    pub allow_differences: Vec<String>,
    #[serde(default)]
    max: Limits,
    #[serde(default)]
    min: Limits,
    /// The file's name and text, to find the line of an error.
    #[serde(skip)]
    source: (String, String),
}

/// The limits in the order of the file.
#[derive(Debug, Default)]
struct Limits(Vec<Entry>);

/// One limit.
#[derive(Debug)]
struct Entry {
    name: String,
    limit: String,
    /// Byte offset of the limit in the text.
    offset: usize,
}

/// A limit, with or without quotes.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged, expecting = "a limit is a text or a number, such as \"50ms\", \"+5%\" or 0.99")]
enum Limit {
    Text(String),
    Whole(i64),
    Number(f64),
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Limits;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table such as \"itl.p99@64\" = \"50ms\"")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Limits, M::Error> {
                let mut limits = Vec::new();
                while let Some((name, limit)) = map.next_entry::<String, Spanned<Limit>>()? {
                    let offset = limit.span().start;
                    let limit = match limit.into_inner() {
                        Limit::Text(text) => text,
                        Limit::Whole(number) => number.to_string(),
                        Limit::Number(number) => number.to_string(),
                    };
                    limits.push(Entry { name, limit, offset });
                }
                Ok(Limits(limits))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl ThresholdsFile {
    /// The thresholds, upper limits first.
    ///
    /// # Errors
    /// The first invalid threshold.
    pub fn thresholds(&self) -> Result<Vec<Threshold>, Failure> {
        let tables = [(Bound::Max, &self.max), (Bound::Min, &self.min)];
        let all = tables.into_iter().flat_map(|(bound, limits)| {
            limits.0.iter().map(move |entry| {
                Threshold::of(&entry.name, &entry.limit, bound)
                    .map_err(|error| self.wrong(entry, &error.to_string()))
            })
        });
        all.collect()
    }
}

impl ThresholdsFile {
    /// An error with its file and line.
    fn wrong(&self, entry: &Entry, error: &str) -> Failure {
        let (name, text) = &self.source;
        let before = text.get(..entry.offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Failure::usage(format!("{name}, line {line}: {error}"))
    }
}

/// Reads a thresholds file.
///
/// # Errors
/// It cannot be read, is too large, or is not a thresholds file; with the line.
pub fn read(path: &Path) -> Result<ThresholdsFile, Failure> {
    let named = |error: &dyn fmt::Display| {
        Failure::usage(format!("cannot read the thresholds {}: {error}", path.display()))
    };
    let text = read_named_text(path, BYTES_MAX).map_err(|error| named(&error))?;
    parse(&path.display().to_string(), &text).map_err(|error| named(&error.trim_end()))
}

fn parse(name: &str, text: &str) -> Result<ThresholdsFile, String> {
    let file = toml::from_str::<ThresholdsFile>(text).map_err(|error| error.to_string())?;
    Ok(ThresholdsFile { source: (name.to_owned(), text.to_owned()), ..file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_its_order() {
        let file = parse(
            "gate.toml",
            "baseline = \"main\"\ninconclusive = \"fail\"\n[max]\n\"ttft.p50@8\" = \"+5%\"\n\
             \"itl.p99@8\" = 50\n[min]\n\"success\" = 0.99\n",
        )
        .expect("a file");
        assert_eq!(
            (file.baseline.as_deref(), file.inconclusive),
            (Some("main"), Some(Inconclusive::Fail))
        );
        let names: Vec<String> =
            file.thresholds().expect("thresholds").iter().map(ToString::to_string).collect();
        assert_eq!(names, ["ttft.p50@8", "itl.p99@8", "success"]);
        assert!(
            parse("gate.toml", "").expect("an empty file").thresholds().expect("none").is_empty()
        );
    }

    #[test]
    fn what_cannot_be_read_names_its_line() {
        let check = |text: &str, word: &str| {
            let error = match parse("gate.toml", text).map(|file| file.thresholds()) {
                Err(error) => error,
                Ok(Err(failure)) => failure.to_string(),
                Ok(Ok(found)) => panic!("{text}: {found:?}"),
            };
            assert!(error.contains(word), "{text}: {error}");
        };
        check("maximum = 3\n", "line 1");
        check("\n[max]\n\"itl.p99\" = \n", "line 3");
        check("[max]\n\"sped@8\" = \"5ms\"\n", "gate.toml, line 2: unknown metric: sped");
        check("[max]\n\"itl.p99@8\" = 50\n\n\"ttft.p50@8\" = \"x\"\n", "gate.toml, line 4: ");
        check("[max]\n\"itl.p99@8\" = \"soon\"\n", "itl.p99@8");
        check("inconclusive = \"maybe\"\n", "maybe");
        check("[max]\nitl = [1]\n", "line 2");
    }
}
