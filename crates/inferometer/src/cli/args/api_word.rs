//! The value of `--api`: a built-in API, or `custom:` and the file that describes one.
//!
//! Not here: the content of such a file (`ifm_wire::dialect::custom`).

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use ifm_core::regular::read_named_text;
use ifm_core::spec::Api;
use ifm_wire::dialect::custom::{self, SHIPPED};
use ifm_wire::dialect::{Base, DIALECTS};
use std::ffi::OsStr;
use std::path::Path;

/// Prefix of a file name.
const CUSTOM: &str = "custom:";
/// Maximum size of a file, bytes; a hundred lines fit.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads the word of an API.
#[derive(Debug, Clone)]
pub struct ApiWord;

impl TypedValueParser for ApiWord {
    type Value = Api;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, word: &OsStr) -> Result<Api, Error> {
        let Some(name) = word.to_str().and_then(|word| word.strip_prefix(CUSTOM)) else {
            return known().parse_ref(command, arg, word);
        };
        of_file(name).map_err(|why| {
            let mut error = Error::new(ErrorKind::ValueValidation).with_cmd(command);
            if let Some(arg) = arg {
                let flag = ContextValue::String(arg.to_string());
                error.insert(ContextKind::InvalidArg, flag);
            }
            let value = ContextValue::String(format!("{CUSTOM}{name}"));
            error.insert(ContextKind::InvalidValue, value);
            let note = ContextValue::StyledStrs(vec![why.into()]);
            error.insert(ContextKind::Suggested, note);
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let files = SHIPPED.iter().map(|file| {
            let help = custom::about(file.text);
            PossibleValue::new(format!("{CUSTOM}{}", file.word)).help(help)
        });
        let own = PossibleValue::new(format!("{CUSTOM}FILE"))
            .help("as a TOML file describes it; \"probe --api custom:gemini --print\" shows one");
        Some(Box::new(words().into_iter().chain(files).chain([own])))
    }
}

/// The names of the built-in APIs.
fn words() -> Vec<PossibleValue> {
    let word = |dialect: &'static ifm_wire::dialect::Dialect| {
        let stored = dialect.api.word();
        let endpoint = dialect.endpoint;
        let path = endpoint.stream.unwrap_or(endpoint.whole);
        let base = if endpoint.base == Base::Versioned { "/v1" } else { "" };
        let help = format!("POST {base}{}", path.replace("{model}", "MODEL"));
        PossibleValue::new(stored.replace('_', "-")).alias(stored).help(help)
    };
    DIALECTS.into_iter().map(word).collect()
}

/// Parses the name of a built-in API, with hyphens or as it is stored.
fn known() -> impl TypedValueParser<Value = Api> {
    PossibleValuesParser::new(words())
        .try_map(|word| Api::from_word(&word.replace('-', "_")).ok_or("no such API"))
}

/// Reads a file that is included in the program, or one of the user's.
fn of_file(name: &str) -> Result<Api, String> {
    if let Some(file) = SHIPPED.iter().find(|file| file.word == name) {
        return custom::read(file.word, file.text).map_err(|error| error.to_string());
    }
    let path = Path::new(name);
    let shipped = || {
        let words: Vec<&str> = SHIPPED.iter().map(|file| file.word).collect();
        format!("the files that come with the program are {}", words.join(", "))
    };
    let unreadable = |error| format!("{name} cannot be read: {error}; {}", shipped());
    let text =
        read_named_text(path, FILE_BYTES_MAX).map_err(|error| unreadable(error.to_string()))?;
    let shown = path.file_name().map_or_else(|| name.into(), |name| name.to_string_lossy());
    custom::read(&shown, &text).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(word: &str) -> Result<Api, String> {
        let arg = Arg::new("api").long("api").value_parser(ApiWord);
        let words = ["probe", "--api", word];
        let found = Command::new("probe").arg(arg).try_get_matches_from(words);
        let found = found.map_err(|error| error.to_string())?;
        found.get_one("api").copied().ok_or_else(|| "nothing".to_owned())
    }

    #[test]
    fn a_word_is_a_known_api_a_shipped_file_or_a_file() {
        assert_eq!(parsed("ollama-chat"), Ok(Api::OllamaChat));
        assert_eq!(parsed("ollama_chat"), Ok(Api::OllamaChat));
        for file in SHIPPED {
            let api = parsed(&format!("custom:{}", file.word)).unwrap();
            assert!(matches!(api, Api::Custom(_)), "{}", file.word);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let gemini = SHIPPED.iter().find(|file| file.word == "gemini").unwrap();
        std::fs::write(&path, format!("{}\n", gemini.text)).unwrap();
        let api = parsed(&format!("custom:{}", path.display())).unwrap();
        let file = ifm_wire::dialect::of(api).file().unwrap().stored();
        assert_eq!(file.name, "mine.toml");
        std::fs::write(&path, gemini.text.replace("path =", "paht =")).unwrap();
        let error = parsed(&format!("custom:{}", path.display())).unwrap_err();
        assert!(error.contains("line ") && error.contains("did you mean `path`?"), "{error}");
        let error = parsed("custom:gemni").unwrap_err();
        assert!(error.contains("cannot be read") && error.contains("azure, bedrock"), "{error}");
        assert!(parsed("grpc").unwrap_err().contains("invalid value"));
    }
}
