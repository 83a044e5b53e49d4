//! The settings of a plan's server as flags of `predict`.
//!
//! Settings are the server's kind, arguments, parameters and tags. Those without a counterpart are
//! named, so that no simulation passes for the server that the plan describes.

use ifm_plan::Server;
use ifm_roofline::{KvFormat, WeightFormat};
use std::collections::BTreeMap;

/// The flag of `predict` for a setting, with all names of the setting in servers' command lines.
const COUNTERPARTS: &[(&str, &[&str])] = &[
    ("--quant", &["quantization", "quant", "weights"]),
    ("--kv", &["kv-cache-dtype", "kv", "cache-type-k", "ctk"]),
    ("--tp", &["tensor-parallel-size", "tp", "tp-size"]),
    ("--replicas", &["data-parallel-size", "dp", "dp-size", "replicas"]),
    ("--max-num-seqs", &["max-num-seqs", "max-running-requests", "max-batch", "parallel", "np"]),
    (
        "--max-num-batched-tokens",
        &["max-num-batched-tokens", "chunked-prefill-size", "prefill-chunk", "batch-size", "b"],
    ),
    ("--prompt-piece", &["long-prefill-token-threshold", "prompt-piece"]),
    ("--gpu-memory-utilization", &["gpu-memory-utilization", "mem-fraction-static"]),
    ("--kv-tokens", &["max-total-tokens", "kv-tokens", "ctx-size", "c"]),
];
/// Settings that turn off the prefix cache.
const NO_PREFIX_CACHE: [&str; 3] =
    ["no-enable-prefix-caching", "disable-radix-cache", "no-prefix-cache"];
/// Settings that do not change speed: names, addresses, keys, logs, the model itself.
const WITHOUT_EFFECT: [&str; 24] = [
    "served-model-name",
    "model",
    "model-path",
    "preset",
    "alias",
    "a",
    "m",
    "hf-repo",
    "tokenizer",
    "tokenizer-path",
    "host",
    "port",
    "seed",
    "api-key",
    "api-key-env",
    "trust-remote-code",
    "download-dir",
    "chat-template",
    "jinja",
    "enable-prefix-caching",
    "enable-per-request-metrics",
    "enable-metrics",
    "metrics",
    "disable-log-requests",
];
/// Tags that state the weight format of a server that a plan does not start, or of its model.
const QUANT_TAGS: [&str; 3] = ["quantization", "quant", "weights"];

/// What a simulation takes over from a server.
#[derive(Debug, Default, PartialEq)]
pub struct Settings {
    /// Flags of `predict`.
    pub flags: Vec<String>,
    /// Settings without a counterpart, as they are in the plan.
    pub unknown: Vec<String>,
}

impl Settings {
    /// The settings of a server under a cell's parameters; flags in `given` take precedence.
    pub fn of(server: &Server, parameters: &[(String, String)], given: &[String]) -> Settings {
        let is_given = |name: &str| {
            given.iter().any(|word| word == name || word.starts_with(&format!("{name}=")))
        };
        let any_given = |names: &[&str]| names.iter().any(|name| is_given(name));
        let mut flags: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut unknown = Vec::new();
        let has_calibration = is_given("--calibration");
        if !is_given("--server") && !has_calibration {
            match simulated_kind(server.kind.as_deref()) {
                Ok(kind) => flags.extend(kind.map(|kind| ("--server".to_owned(), Some(kind)))),
                Err(kind) => unknown.push(format!("kind {kind} (vllm instead)")),
            }
        }
        let model = server.model.as_ref();
        if let Some(model) =
            model.filter(|_| !any_given(&["--model", "-m", "--config"]) && !has_calibration)
        {
            flags.insert("--model".to_owned(), Some(model.clone()));
        }
        let typed = pairs(&server.args);
        // A parameter of the cell sets the argument with its name.
        let parameters = parameters
            .iter()
            .map(|(name, value)| (name.to_lowercase().replace('_', "-"), Some(value.clone())));
        for (name, value) in typed.into_iter().chain(parameters) {
            let is_off = value.as_deref() == Some("false");
            if NO_PREFIX_CACHE.contains(&name.as_str()) {
                if !is_off {
                    flags.insert("--no-prefix-cache".to_owned(), None);
                }
                continue;
            }
            let is_16_bit = name == "dtype"
                && matches!(value.as_deref(), Some("auto" | "bfloat16" | "float16" | "half"));
            if WITHOUT_EFFECT.contains(&name.as_str()) || is_16_bit {
                continue;
            }
            let flag = COUNTERPARTS.iter().find(|(_, names)| names.contains(&name.as_str()));
            let value = value.as_deref();
            match flag.and_then(|(flag, _)| Some((*flag, simulated_value(flag, value?)?))) {
                Some((flag, _)) if is_stated(flag, given) => {}
                Some((flag, value)) => _ = flags.insert(flag.to_owned(), Some(value)),
                None => unknown.push(match value {
                    Some(value) => format!("--{name} {value}"),
                    None => format!("--{name}"),
                }),
            }
        }
        let tag = QUANT_TAGS.iter().find_map(|name| server.tags.get(*name));
        let tag = tag.filter(|_| !flags.contains_key("--quant") && !is_stated("--quant", given));
        if let Some(format) = tag.and_then(|text| simulated_value("--quant", text)) {
            flags.insert("--quant".to_owned(), Some(format));
        }
        let flags = flags.into_iter().flat_map(|(flag, value)| std::iter::once(flag).chain(value));
        Settings { flags: flags.collect(), unknown }
    }
}

/// Whether the user's own flags state a setting, by any of its names.
fn is_stated(flag: &str, given: &[String]) -> bool {
    let names = COUNTERPARTS.iter().filter(|(known, _)| *known == flag);
    let names = names.flat_map(|(_, names)| names.iter());
    let typed = |word: &String| word.trim_start_matches('-').split('=').next().map(str::to_owned);
    let given: Vec<String> =
        given.iter().filter(|word| word.starts_with("--")).filter_map(typed).collect();
    let own = flag.trim_start_matches('-').to_owned();
    given.contains(&own) || names.into_iter().any(|name| given.iter().any(|word| word == name))
}

/// The simulator of a kind of server; an error is a kind that has none.
fn simulated_kind(kind: Option<&str>) -> Result<Option<String>, &str> {
    match kind {
        None | Some("command") => Ok(None),
        Some("embedded") => Ok(Some("inferometer".to_owned())),
        Some(kind) => match kind.parse::<ifm_sim::Kind>() {
            Ok(_) => Ok(Some(kind.to_owned())),
            Err(_) => Err(kind),
        },
    }
}

/// A value as `predict` accepts it; absent if it has no meaning there.
fn simulated_value(flag: &str, value: &str) -> Option<String> {
    match flag {
        "--quant" => {
            let named = || WeightFormat::named_in(value);
            let format = WeightFormat::find(value).ok().or_else(named)?;
            Some(format.id.to_string())
        }
        "--kv" => KvFormat::find(value).ok().map(|format| format.id.to_string()),
        "--gpu-memory-utilization" => value.parse::<f64>().ok().map(|_| value.to_owned()),
        _ => value.parse::<u64>().ok().filter(|count| *count > 0).map(|_| value.to_owned()),
    }
}

/// Arguments as names without dashes and their values.
fn pairs(args: &[String]) -> Vec<(String, Option<String>)> {
    let is_name = |word: &str| {
        let mut rest = word.trim_start_matches('-').chars();
        word.starts_with('-') && rest.next().is_some_and(|c| c.is_ascii_alphabetic())
    };
    let mut found = Vec::new();
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if !is_name(word) {
            continue;
        }
        let name = word.trim_start_matches('-');
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, words.next_if(|next| !is_name(next)).cloned()),
        };
        found.push((name.to_lowercase().replace('_', "-"), value));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_plan::Plan;

    fn settings(server: &str, given: &str) -> Settings {
        let text = format!(
            "[plan]\nname = \"p\"\n[[server]]\nname = \"a\"\n{server}\n[[workload]]\n\
             workload = \"8/8\"\n[[load]]\nusers = [1]\n"
        );
        let plan = Plan::parse(&text).unwrap();
        let given: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
        Settings::of(&plan.servers[0], &[], &given)
    }

    #[test]
    fn maps_every_setting_that_predictions_know() {
        for (server, flags) in [
            (
                "kind = \"embedded\"\nargs = [\"--preset\", \"nano\", \"--quant\", \"w8a8\", \"--max-batch\", \"8\"]",
                "--max-num-seqs 8 --quant w8a8 --server inferometer",
            ),
            (
                "kind = \"vllm\"\nmodel = \"llama-3.1-8b\"\nargs = [\"-tp\", \"2\", \"--quantization=fp8\", \
                 \"--kv-cache-dtype\", \"fp8\", \"--no-enable-prefix-caching\", \"--dtype\", \"bfloat16\"]",
                "--kv fp8 --model llama-3.1-8b --no-prefix-cache --quant fp8 --server vllm --tp 2",
            ),
            (
                "kind = \"llama.cpp\"\nargs = [\"-np\", \"4\", \"-ctk\", \"q8_0\"]",
                "--kv q8_0 --max-num-seqs 4 --server llama.cpp",
            ),
            ("url = \"http://127.0.0.1:1\"\ntags = { quantization = \"w4a16\" }", "--quant w4a16"),
            (
                "kind = \"embedded\"\nargs = [\"--quant\", \"w4a16-asym\"]",
                "--quant w4a16 --server inferometer",
            ),
        ] {
            let found = settings(server, "--gpu l40s");
            assert_eq!(found.flags.join(" "), flags, "{server}");
            assert!(found.unknown.is_empty(), "{:?}", found.unknown);
        }
    }

    #[test]
    fn names_settings_without_a_counterpart() {
        let server = "kind = \"tgi\"\nargs = [\"--enforce-eager\", \"--quantization\", \"bitsandbytes\", \
                      \"--max-model-len\", \"8192\"]";
        assert_eq!(
            settings(server, "").unknown,
            [
                "kind tgi (vllm instead)",
                "--enforce-eager",
                "--quantization bitsandbytes",
                "--max-model-len 8192"
            ]
        );
    }

    #[test]
    fn flags_of_the_user_take_precedence() {
        let server =
            "kind = \"vllm\"\nmodel = \"a\"\nargs = [\"--quantization\", \"fp8\", \"--tp\", \"2\"]";
        let found = settings(
            server,
            "--quant bf16 -m llama-3.1-8b --server sglang --tensor-parallel-size 4",
        );
        assert_eq!(found, Settings::default());
    }
}
