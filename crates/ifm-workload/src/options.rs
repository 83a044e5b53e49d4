//! The options after the question mark of a workload's name.
//!
//! Each data set takes what it knows; what is left over is an error that names all that
//! could have stood there.
//!
//! Not here: what the options mean (`dataset`).

use std::{collections::BTreeMap, str::FromStr};

use ifm_core::words::nearest;

use crate::error::WorkloadError;

/// `a=1&b=2`, taken apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    given: BTreeMap<String, String>,
    asked: Vec<&'static str>,
}

impl Options {
    /// Splits a name into what stands before the options and the options.
    pub(crate) fn split(text: &str) -> Result<(&str, Self), WorkloadError> {
        let Some((before, tail)) = text.split_once('?').filter(|(_, tail)| tail.contains('='))
        else {
            return Ok((text, Self::default()));
        };
        let mut given = BTreeMap::new();
        for part in tail.split('&').filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(shape(part, "write options as ?name=value&name=value"));
            };
            if given.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(shape(part, &format!("the option '{key}' is given twice")));
            }
        }
        Ok((before, Self { given, asked: Vec::new() }))
    }

    /// Adds options that were not given.
    pub(crate) fn fill(&mut self, defaults: Self) {
        for (key, value) in defaults.given {
            self.given.entry(key).or_insert(value);
        }
    }

    /// The text of an option.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        if !self.asked.contains(&name) {
            self.asked.push(name);
        }
        self.given.remove(name)
    }

    /// The value of an option; `what` says what it should be.
    pub(crate) fn value<T: FromStr>(
        &mut self,
        name: &'static str,
        what: &str,
    ) -> Result<Option<T>, WorkloadError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let wrong = |_| shape(&format!("{name}={text}"), &format!("'{name}' needs {what}"));
        text.parse().map(Some).map_err(wrong)
    }

    /// An option that is one of several words; the first one when it is not given.
    pub(crate) fn word(
        &mut self,
        name: &'static str,
        words: &[&'static str],
    ) -> Result<&'static str, WorkloadError> {
        let given = self.text(name);
        let Some(given) = given else {
            return Ok(words.first().copied().unwrap_or_default());
        };
        let reason = || format!("'{name}' is one of {}", words.join(", "));
        let found = words.iter().find(|word| **word == given);
        found.copied().ok_or_else(|| shape(&format!("{name}={given}"), &reason()))
    }

    /// Complains of what nobody took.
    pub(crate) fn finish(&self) -> Result<(), WorkloadError> {
        let Some((key, value)) = self.given.first_key_value() else {
            return Ok(());
        };
        let reason = match self.asked.is_empty() {
            true => format!("there is no option '{key}' here"),
            false => {
                let near = nearest(key, self.asked.iter().copied());
                let near = near.map(|near| format!("; did you mean '{near}'?"));
                let near = near.unwrap_or_default();
                format!("there is no option '{key}'{near}; there are {}", self.asked.join(", "))
            }
        };
        Err(shape(&format!("{key}={value}"), &reason))
    }

    /// Complains of options that mean nothing without another one that was not given; `what` says how
    /// that is written.
    pub(crate) fn without(
        &mut self,
        names: &[&'static str],
        what: &str,
    ) -> Result<(), WorkloadError> {
        for name in names {
            if let Some(value) = self.text(name) {
                return Err(shape(&format!("{name}={value}"), &format!("'{name}' needs {what}")));
            }
        }
        Ok(())
    }
}

fn shape(text: &str, reason: &str) -> WorkloadError {
    WorkloadError::Shape { text: text.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_and_the_rest_is_told() {
        let (before, mut options) = Options::split("random:1/2?a=5&b=x").unwrap();
        assert_eq!(before, "random:1/2");
        assert_eq!(options.value::<u32>("a", "a number").unwrap(), Some(5));
        assert_eq!(options.value::<u32>("c", "a number").unwrap(), None);
        let error = options.finish().unwrap_err().to_string();
        assert!(error.contains("no option 'b'; there are a, c"), "{error}");
        assert_eq!(options.word("b", &["y", "x"]).unwrap(), "x");
        assert_eq!(options.word("b", &["y", "x"]).unwrap(), "y");
        options.finish().unwrap();
    }

    #[test]
    fn what_was_meant_is_said() {
        let (_, mut options) = Options::split("x?imge=720p").unwrap();
        options.text("image");
        options.text("seed");
        let error = options.finish().unwrap_err().to_string();
        assert!(error.contains("no option 'imge'; did you mean 'image'?"), "{error}");
        let (_, mut options) = Options::split("x?images=2").unwrap();
        let error = options.without(&["images"], "sizes").unwrap_err().to_string();
        assert!(error.contains("'images' needs sizes"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(Options::split("x?a=1&a=2").unwrap_err().to_string().contains("twice"));
        assert!(Options::split("x?a=1&b").unwrap_err().to_string().contains("?name=value"));
        let (_, mut options) = Options::split("x?a=y").unwrap();
        let error = options.clone().word("a", &["p", "q"]).unwrap_err().to_string();
        assert!(error.contains("one of p, q"), "{error}");
        let error = options.value::<u32>("a", "a number of items").unwrap_err().to_string();
        assert!(error.contains("needs a number of items"), "{error}");
        assert_eq!(Options::split("file:what?.json").unwrap().0, "file:what?.json");
    }
}
