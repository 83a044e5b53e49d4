//! What a tool's own flags say of its file: `vllm?backend=openai-chat&percentiles=50,99`.

/// What is asked of a file of another tool. What is absent is written as far as it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportOptions {
    /// The value of the tool's flag for its API.
    pub backend: Option<String>,
    /// The value of the tool's flag for its tokenizer.
    pub tokenizer: Option<String>,
    /// The times that the file has, by the tool's names.
    pub metrics: Option<Vec<String>>,
    /// Percentiles of those times, above 0 and at most 100.
    pub percentiles: Option<Vec<f64>>,
    /// Whether the file has lists with a value for each request.
    pub detailed: Option<bool>,
    /// Whether the latency target is the default, so that the user did not ask for a goodput.
    pub has_default_target: bool,
}

/// The names of the options.
const NAMES: &str = "backend, tokenizer, metrics, percentiles, detailed";

impl ExportOptions {
    /// Reads `NAME=VALUE&NAME=VALUE`.
    ///
    /// # Errors
    /// An option that does not exist, or a value that cannot be read.
    pub fn parse(text: &str) -> Result<ExportOptions, String> {
        let mut options = ExportOptions::default();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let words = || value.split(',').map(str::trim).filter(|word| !word.is_empty());
            match name {
                "backend" => options.backend = Some(value.to_owned()),
                "tokenizer" => options.tokenizer = Some(value.to_owned()),
                "metrics" => options.metrics = Some(words().map(str::to_owned).collect()),
                "percentiles" => {
                    let read = |word: &str| {
                        word.parse().ok().filter(|p| *p > 0.0 && *p <= 100.0).ok_or_else(|| {
                            format!("percentiles={value}: \"{word}\" is not a percentile")
                        })
                    };
                    options.percentiles = Some(words().map(read).collect::<Result<_, _>>()?);
                }
                "detailed" => {
                    options.detailed = Some(match value {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(format!("detailed={value}: write yes or no")),
                    });
                }
                _ => return Err(format!("no option \"{name}\": there are {NAMES}")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::ExportOptions;

    #[test]
    fn reads_options_and_names_what_is_wrong() {
        let text = "backend=openai-chat&metrics=ttft,e2el&percentiles=50,99.9&detailed=no";
        let options = ExportOptions::parse(text).unwrap();
        assert_eq!(options.backend.as_deref(), Some("openai-chat"));
        assert_eq!(options.metrics.unwrap(), ["ttft", "e2el"]);
        assert_eq!((options.percentiles, options.detailed), (Some(vec![50.0, 99.9]), Some(false)));
        assert_eq!(ExportOptions::parse(""), Ok(ExportOptions::default()));
        for (text, part) in [
            ("backed=x", "no option \"backed\""),
            ("percentiles=50,x", "\"x\" is not a percentile"),
            ("percentiles=101", "\"101\" is not a percentile"),
            ("detailed=maybe", "write yes or no"),
        ] {
            let said = ExportOptions::parse(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
