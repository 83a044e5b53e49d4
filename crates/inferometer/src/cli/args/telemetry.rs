//! The flags for telemetry during a run: the server's metrics, and power.

use crate::exit::Failure;
use clap::Args;
use http::Uri;
use ifm_machine::telemetry::{MetricsAsk, PowerAsk, TelemetryAsk};

/// Maximum power draw that can be given, watts.
const WATTS_MAX: f64 = 1e7;

/// Telemetry to record during a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Telemetry")]
pub struct TelemetryArgs {
    /// URL of the server's Prometheus metrics [default: the server's /metrics, if its metrics are
    /// known]
    #[arg(long, value_name = "URL", conflicts_with = "no_metrics")]
    pub metrics_url: Option<String>,

    /// Do not read the server's metrics
    #[arg(long)]
    pub no_metrics: bool,

    /// Devices whose power counts as the server's: auto, local, local:0,1, off
    ///
    /// auto is all devices of this host if the server is on loopback, local is all of them, and
    /// local:0,1 is these GPUs
    #[arg(long, default_value = "auto", value_parser = power, value_name = "WHICH")]
    pub power: PowerWord,

    /// Page of a DCGM exporter that reports the server's GPU power
    #[arg(long, value_name = "URL", conflicts_with = "power_watts")]
    pub power_url: Option<String>,

    /// Assume this power draw when no sensor is available
    #[arg(long, value_parser = watts, value_name = "W")]
    pub power_watts: Option<f64>,

    /// Also report what was not found
    #[arg(help_heading = "Results", short, long)]
    pub verbose: bool,
}

/// Values of `--power`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PowerWord {
    /// This host's devices, if the server is on loopback.
    Auto,
    /// This host's devices, or these of its GPUs.
    Local(Option<Vec<u32>>),
    /// None.
    Off,
}

/// Reads `auto`, `local`, `local:0,1` or `off`.
///
/// # Errors
/// A sentence on what is expected.
pub fn power(word: &str) -> Result<PowerWord, String> {
    let gpus = |list: &str| list.split(',').map(|number| number.trim().parse().ok()).collect();
    match (word, word.strip_prefix("local:").map(gpus)) {
        ("auto", _) => Ok(PowerWord::Auto),
        ("local", _) => Ok(PowerWord::Local(None)),
        ("off", _) => Ok(PowerWord::Off),
        (_, Some(Some(gpus))) => Ok(PowerWord::Local(Some(gpus))),
        _ => Err("write auto, local, local:0,1 or off".to_owned()),
    }
}

/// Reads a number of watts.
///
/// # Errors
/// A sentence on what is expected.
pub fn watts(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(['W', 'w']).trim_end();
    match number.parse::<f64>() {
        Ok(watts) if watts > 0.0 && watts <= WATTS_MAX => Ok(watts),
        _ => Err("write a number of watts above 0, for example 350".to_owned()),
    }
}

impl TelemetryArgs {
    /// The requested telemetry.
    ///
    /// # Errors
    /// An invalid URL.
    pub fn ask(&self) -> Result<TelemetryAsk, Failure> {
        let metrics = match &self.metrics_url {
            Some(typed) => MetricsAsk::At(page_url("--metrics-url", typed)?),
            None if self.no_metrics => MetricsAsk::Off,
            None => MetricsAsk::Tried,
        };
        let power = power_ask(self.power_url.as_deref(), self.power_watts, &self.power)?;
        Ok(TelemetryAsk { metrics, power, verbose: self.verbose })
    }
}

/// The source of power readings, from three flags.
///
/// # Errors
/// An invalid URL.
pub fn power_ask(
    url: Option<&str>,
    watts: Option<f64>,
    word: &PowerWord,
) -> Result<PowerAsk, Failure> {
    Ok(match (url, watts, word) {
        (Some(typed), ..) => PowerAsk::Exporter(page_url("--power-url", typed)?),
        (None, Some(watts), _) => PowerAsk::Stated(watts),
        (None, None, PowerWord::Auto) => PowerAsk::IfLoopback,
        (None, None, PowerWord::Local(gpus)) => PowerAsk::Local(gpus.clone()),
        (None, None, PowerWord::Off) => PowerAsk::Off,
    })
}

/// The URL of a page: the scheme may be missing, and so may the path, which is then `/metrics`.
fn page_url(flag: &str, typed: &str) -> Result<String, Failure> {
    let typed = typed.trim();
    if typed.contains('@') {
        // The part before the @ may be a secret: it is not repeated.
        return Err(Failure::usage(format!("{flag}: the URL contains a user name or a password")));
    }
    let with_scheme = match typed.contains("://") {
        true => typed.to_owned(),
        false => format!("http://{typed}"),
    };
    let bad = || {
        Failure::usage(format!("{flag}: \"{typed}\" is not a URL of a page"))
            .hint("for example http://localhost:9400/metrics")
    };
    let uri: Uri = with_scheme.parse().map_err(|_| bad())?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(bad());
    }
    match uri.path_and_query().map(|path| path.as_str()) {
        None | Some("/") => Ok(format!("{}/metrics", with_scheme.trim_end_matches('/'))),
        Some(_) => Ok(with_scheme),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_pages_may_be_short() {
        for (typed, expect) in [
            ("gpu-host:9400", "http://gpu-host:9400/metrics"),
            ("https://h/", "https://h/metrics"),
            ("http://h:1/a/b?c=d", "http://h:1/a/b?c=d"),
        ] {
            assert_eq!(page_url("--power-url", typed).expect(typed), expect);
        }
        for typed in ["", "ftp://h/x", "http://", "http://u:p@h/", "a b"] {
            let error = page_url("--power-url", typed).expect_err(typed).to_string();
            assert!(!error.contains("u:p"), "{error}");
        }
    }

    #[test]
    fn devices_and_watts_are_read() {
        assert_eq!(power("auto"), Ok(PowerWord::Auto));
        assert_eq!(power("local:0, 2"), Ok(PowerWord::Local(Some(vec![0, 2]))));
        assert_eq!(power("local"), Ok(PowerWord::Local(None)));
        for word in ["", "local:", "local:a", "gpu", "local:0,-1"] {
            assert!(power(word).is_err(), "{word}");
        }
        assert_eq!((watts("350"), watts("350 W")), (Ok(350.0), Ok(350.0)));
        for text in ["0", "-1", "nan", "inf", "x", ""] {
            assert!(watts(text).is_err(), "{text}");
        }
    }
}
