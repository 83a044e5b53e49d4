//! How models are quantized: which parts have which precision at which stage, from `schemes.toml`.

use serde::Deserialize;
use std::sync::LazyLock;

static SCHEMES: LazyLock<Schemes> = LazyLock::new(|| {
    #[allow(clippy::expect_used)]
    toml::from_str(include_str!("schemes.toml")).expect("invariant: schemes.toml is tested")
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Schemes {
    scheme: Vec<Scheme>,
}

/// A way of quantizing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Its word: `w8a8-dynamic`.
    pub word: String,
    /// Groups of words; a model has the scheme where its name or its precision holds one word of
    /// every group.
    all_of: Vec<Vec<String>>,
    /// What could explain an ITL that grows more steeply with the load.
    pub if_steeper: Option<String>,
    /// What could explain a lower ITL.
    pub if_faster: Option<String>,
    /// The stages of a layer, in order.
    pub stages: Vec<Stage>,
    /// Where this is described.
    pub source: String,
}

/// One stage of a quantized layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The component.
    pub component: String,
    /// Its precision.
    pub precision: String,
    /// What for.
    pub purpose: String,
}

impl Scheme {
    /// The scheme that a model's name and stated precision speak of.
    pub fn of(model: &str, quantization: Option<&str>) -> Option<&'static Scheme> {
        let said = format!("{model} {}", quantization.unwrap_or_default()).to_lowercase();
        let has = |word: &String| said.contains(word.as_str());
        SCHEMES.scheme.iter().find(|scheme| scheme.all_of.iter().all(|words| words.iter().any(has)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_show_their_scheme() {
        for (model, quantization, word) in [
            ("LLama-3.1-8B-Instruct-int8-dynamic", Some("W8A8"), Some("w8a8-dynamic")),
            ("Qwen3-8B-FP8", None, Some("fp8")),
            ("m-quantized.w8a16", None, Some("w8a16")),
            ("Llama 3.3 70B Int4", Some("Int4"), Some("w4a16")),
            ("gpt-oss-120b", Some("MXFP4"), Some("mxfp4")),
            ("m-AWQ", None, Some("w4a16")),
            ("Llama 3.1 8B", None, None),
        ] {
            let found = Scheme::of(model, quantization).map(|scheme| scheme.word.as_str());
            assert_eq!(found, word, "{model}");
        }
        let is_whole = |scheme: &Scheme| !scheme.stages.is_empty() && !scheme.source.is_empty();
        assert!(SCHEMES.scheme.iter().all(is_whole));
    }
}
