//! Measured values to compare with a limit: `itl=22.2ms@1`.

use super::Request;
use ifm_core::duration::seconds;
use ifm_roofline::{Bound, Setup, Share};

/// The kind of value, and so of the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    /// Time between tokens of one answer.
    Itl,
    /// Time to the first token of a prompt.
    Ttft,
    /// Time of a whole request.
    Latency,
    /// Output tokens per second of all users.
    OutputRate,
    /// Tokens per second of decode steps alone.
    DecodeRate,
    /// Prompt tokens per second of prefill alone.
    PrefillRate,
}

/// Names of the values.
const METRICS: &[(&str, Metric)] = &[
    ("itl", Metric::Itl),
    ("tpot", Metric::Itl),
    ("ttft", Metric::Ttft),
    ("latency", Metric::Latency),
    ("e2e", Metric::Latency),
    ("tok_s", Metric::OutputRate),
    ("out_tok_s", Metric::OutputRate),
    ("tg", Metric::DecodeRate),
    ("pp", Metric::PrefillRate),
];

/// A value given by the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    text: String,
    metric: Metric,
    /// Seconds, or tokens per second.
    value: f64,
    users: f64,
}

/// A value and its limit.
#[derive(Debug)]
pub struct Held {
    /// As given by the user.
    pub text: String,
    pub bound: Bound,
    pub share: Share,
}

impl Measured {
    /// Reads `itl=22.2ms@1`; without `@` it is one user.
    ///
    /// # Errors
    /// A sentence on what is expected.
    pub fn parse(text: &str) -> Result<Measured, String> {
        let (name, rest) =
            text.split_once('=').ok_or("write a name and a value, such as itl=22.2ms@1")?;
        let metric = METRICS.iter().find(|(known, _)| *known == name.trim()).ok_or_else(|| {
            let names: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
            format!("\"{name}\" is not a value that has a limit; there are {}", names.join(", "))
        })?;
        let (value, users) = match rest.split_once('@') {
            Some((value, users)) => (value, positive(users)?),
            None => (rest, 1.0),
        };
        let value = match metric.1 {
            Metric::Itl | Metric::Ttft | Metric::Latency => {
                // A bare number from another tool could also be in milliseconds.
                if !value.contains(char::is_alphabetic) {
                    return Err(format!(
                        "add the unit of the time: {name}={}ms or s",
                        value.trim()
                    ));
                }
                seconds(value.trim())?
            }
            Metric::OutputRate | Metric::DecodeRate | Metric::PrefillRate => positive(value)?,
        };
        Ok(Measured { text: text.to_owned(), metric: metric.1, value, users })
    }

    /// Compares it with the bound it belongs to.
    pub fn hold(&self, setup: &Setup, request: Request) -> Option<Held> {
        let step = || setup.decode(self.users, request.input + request.output / 2.0);
        let cycle = || setup.closed_loop(self.users, request.input, request.output);
        let (bound, is_rate) = match self.metric {
            Metric::Itl => (step(), false),
            Metric::DecodeRate => (step(), true),
            Metric::Ttft => (setup.prefill(1.0, request.input), false),
            Metric::PrefillRate => (setup.prefill(self.users, request.input), true),
            Metric::Latency => (cycle(), false),
            Metric::OutputRate => (cycle(), true),
        };
        let share =
            if is_rate { bound.share_of_rate(self.value) } else { bound.share(self.value) }?;
        Some(Held { text: self.text.clone(), bound, share })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("\"{text}\" is not a number above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_units_and_users() {
        let itl = Measured::parse("itl=22.2ms@1").unwrap();
        assert!((itl.value - 0.0222).abs() < 1e-12 && itl.metric == Metric::Itl);
        let rate = Measured::parse("tok_s=885@100.5").unwrap();
        assert!(rate.value == 885.0 && rate.users == 100.5);
        for text in ["itl", "itl=", "itl=1ms@0", "speed=3", "tg=-1", "tok_s=5ms", "itl=22.2@7"] {
            assert!(Measured::parse(text).is_err(), "{text}");
        }
    }
}
