//! A list of faults as a person writes it.
//!
//! Not here: what they do (`fate`, `body`).

use std::time::Duration;

use super::{Fault, HowCut};

/// The faults: form, and what it does.
pub const KNOWN: [(&str, &str); 14] = [
    ("429:SHARE", "refuse a share of requests with 429"),
    ("500:SHARE", "refuse a share of requests with 500"),
    ("503:SHARE", "refuse a share of requests with 503"),
    ("reset:SHARE", "reset a share of connections in the middle of the answer"),
    ("error-in-stream:SHARE", "end a share of streams with an event that has an error"),
    ("truncate:SHARE", "end a share of streams early, without an end mark"),
    ("stall:SHARE:TIME", "pause a share of streams once"),
    ("slow-first:SHARE:TIME", "hand in a share of requests late"),
    ("cold:TIME", "hand in the first request late"),
    ("throttle:TIME:FACTOR", "slow the steps down from a time on (simulated servers)"),
    ("coalesce:EVENTS", "send so many events in one write"),
    ("multi-token:TOKENS", "put so many tokens into one event"),
    ("invalid-form:SHARE", "break a share of the answers that are to have a form"),
    ("no-usage", "tell no usage"),
];

/// Why a list of faults cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// The word is of no fault.
    #[error("there is no fault \"{word}\"; hint: known are {}", forms())]
    Unknown {
        /// As it was written.
        word: String,
    },
    /// The word is known, what follows it is not as it should be.
    #[error("\"{text}\" is not of the form {form}: {reason}")]
    Form {
        /// As it was written.
        text: String,
        /// As it should be.
        form: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A fault that all answers have in common, twice.
    #[error("there are two of the form {form}; hint: leave one out")]
    Twice {
        /// Its form.
        form: &'static str,
    },
    /// Refused and broken answers are more than all.
    #[error("the shares of refused and broken answers add up to {sum}; hint: at most 1")]
    Shares {
        /// What they add up to.
        sum: f64,
    },
}

fn forms() -> String {
    KNOWN.map(|(form, _)| form).join(", ")
}

/// The word of a form.
fn word_of(form: &str) -> &str {
    form.split(':').next().unwrap_or(form)
}

/// Reads a list, separated by commas.
pub(super) fn read(text: &str) -> Result<Vec<Fault>, FaultError> {
    let items: Vec<&str> = text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let faults = items.iter().map(|item| read_one(item)).collect::<Result<Vec<_>, _>>()?;
    for (form, _) in KNOWN {
        if items.iter().filter(|item| word_of(item) == word_of(form)).count() > 1 {
            return Err(FaultError::Twice { form });
        }
    }
    let ends = faults.iter().filter_map(|fault| match fault {
        Fault::Refuse { share, .. } | Fault::Cut { share, .. } => Some(*share),
        _ => None,
    });
    let sum: f64 = ends.sum();
    // Shares are decimal fractions, whose sum may be off in the last bit.
    if sum > 1.0 + 1e-9 {
        return Err(FaultError::Shares { sum });
    }
    Ok(faults)
}

fn read_one(text: &str) -> Result<Fault, FaultError> {
    let mut parts = text.split(':');
    let word = parts.next().unwrap_or_default();
    let values: Vec<&str> = parts.collect();
    let Some((form, _)) = KNOWN.iter().find(|(form, _)| word_of(form) == word) else {
        return Err(FaultError::Unknown { word: word.to_owned() });
    };
    fault(word, &values).map_err(|reason| FaultError::Form { text: text.to_owned(), form, reason })
}

fn fault(word: &str, values: &[&str]) -> Result<Fault, String> {
    let cut = |how, value| Ok(Fault::Cut { how, share: share(value)? });
    match (word, values) {
        ("429", [value]) => Ok(Fault::Refuse { status: 429, share: share(value)? }),
        ("500", [value]) => Ok(Fault::Refuse { status: 500, share: share(value)? }),
        ("503", [value]) => Ok(Fault::Refuse { status: 503, share: share(value)? }),
        ("reset", [value]) => cut(HowCut::Reset, value),
        ("error-in-stream", [value]) => cut(HowCut::Error, value),
        ("truncate", [value]) => cut(HowCut::Truncate, value),
        ("stall", [part, pause]) => Ok(Fault::Stall { share: share(part)?, pause: time(pause)? }),
        ("slow-first", [part, delay]) => {
            Ok(Fault::SlowFirst { share: share(part)?, delay: time(delay)? })
        }
        ("cold", [delay]) => Ok(Fault::Cold { delay: time(delay)? }),
        ("throttle", [after, factor]) => {
            Ok(Fault::Throttle { after: time(after)?, factor: self::factor(factor)? })
        }
        ("coalesce", [events]) => Ok(Fault::Coalesce { events: count(events)? }),
        ("multi-token", [tokens]) => Ok(Fault::MultiToken { tokens: count(tokens)? }),
        ("invalid-form", [value]) => Ok(Fault::InvalidForm { share: share(value)? }),
        ("no-usage", []) => Ok(Fault::NoUsage),
        _ => Err("it has too few or too many parts".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to 1".to_owned()),
    }
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (1.0..=1000.0).contains(&factor) => Ok(factor),
        _ => Err("a factor is a number from 1 to 1000".to_owned()),
    }
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1_000_000) => Ok(count),
        _ => Err("a number is a whole one from 1 to 1000000".to_owned()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let seconds = ifm_core::duration::seconds(text)?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let list = read("429:0.05, stall:0.01:2s,coalesce:4,,no-usage,throttle:1m:1.5");
        let expected = vec![
            Fault::Refuse { status: 429, share: 0.05 },
            Fault::Stall { share: 0.01, pause: Duration::from_secs(2) },
            Fault::Coalesce { events: 4 },
            Fault::NoUsage,
            Fault::Throttle { after: Duration::from_secs(60), factor: 1.5 },
        ];
        assert_eq!(list, Ok(expected));
        assert_eq!(read(" "), Ok(Vec::new()));
        assert!(read("429:0.5,500:0.3,reset:0.2").is_ok(), "all of them is not too many");
    }

    #[test]
    fn every_known_form_can_be_written() {
        for (form, _) in KNOWN {
            let text = form
                .replace("SHARE", "0.5")
                .replace("TIME", "250ms")
                .replace("FACTOR", "2")
                .replace("EVENTS", "3")
                .replace("TOKENS", "3");
            assert_eq!(read(&text).map(|list| list.len()), Ok(1), "{text}");
            assert!(matches!(read(&format!("{text}:1")), Err(FaultError::Form { .. })), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_what_is_known() {
        let error = read("429:0.1,rest:0.1").expect_err("unknown").to_string();
        assert!(error.contains("\"rest\"") && error.contains("reset:SHARE"), "{error}");
        assert!(error.contains("no-usage"), "{error}");
        for (text, words) in [
            ("429", "429:SHARE"),
            ("429:1.5", "0 to 1"),
            ("reset:NaN", "0 to 1"),
            ("stall:0.1:2x", "unit"),
            ("stall:0.1", "stall:SHARE:TIME"),
            ("coalesce:0", "from 1"),
            ("throttle:1s:0.5", "1 to 1000"),
            ("cold:3s,cold:4s", "two"),
            ("429:0.6,reset:0.6", "1.2"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
