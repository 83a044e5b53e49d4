//! The `tokenizer_config.json` that is published with a tokenizer.
//!
//! It says which tokens surround a text, whether they are added, and which
//! tokens a model has beyond its vocabulary. It is optional: a file that is missing or
//! cannot be read is ignored.
//!
//! Not here: chat templates.

use serde_json::Value;

/// What is used of the file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The token before a text.
    pub(crate) bos: Option<String>,
    /// The token after a text.
    pub(crate) eos: Option<String>,
    /// Whether the first is added to a text; none where the file does not say.
    pub(crate) adds_bos: Option<bool>,
    /// Whether the second is added to a text; none where the file does not say.
    pub(crate) adds_eos: Option<bool>,
    /// Tokens beyond the vocabulary, and repeated ones of it.
    pub(crate) added: Vec<AddedToken>,
}

/// A token that a configuration adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddedToken {
    pub(crate) id: u32,
    pub(crate) content: String,
    /// Whether it has no text when decoded.
    pub(crate) special: bool,
}

impl Config {
    /// Reads the file's content.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let Ok(json) = serde_json::from_slice::<Value>(bytes) else { return Self::default() };
        let name = |key: &str| json.get(key).and_then(token_name).map(str::to_owned);
        let flag = |key: &str| json.get(key).and_then(Value::as_bool);
        let added = json.get("added_tokens_decoder").and_then(Value::as_object);
        let added = added.into_iter().flatten().filter_map(|(id, token)| {
            Some(AddedToken {
                id: id.parse().ok()?,
                content: token_name(token).filter(|content| !content.is_empty())?.to_owned(),
                special: token.get("special").and_then(Value::as_bool).unwrap_or(false),
            })
        });
        Self {
            bos: name("bos_token"),
            eos: name("eos_token"),
            adds_bos: flag("add_bos_token"),
            adds_eos: flag("add_eos_token"),
            added: added.collect(),
        }
    }

    /// How many tokens are added to a text, where the file says so. A token that has
    /// no name cannot be added.
    pub(crate) fn special_tokens_added(&self) -> Option<u32> {
        (self.adds_bos.is_some() || self.adds_eos.is_some()).then(|| {
            let adds =
                |flag: Option<bool>, name: &Option<String>| flag == Some(true) && name.is_some();
            u32::from(adds(self.adds_bos, &self.bos)) + u32::from(adds(self.adds_eos, &self.eos))
        })
    }
}

/// The name of a token given as a string or as an object with `content`.
fn token_name(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content").and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_flags_are_read() {
        let config = Config::read(
            br#"{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true,
                "add_eos_token": false, "added_tokens_decoder": {
                  "7": {"content": "<call>", "special": true}, "x": {"content": "no id"}}}"#,
        );
        assert_eq!((config.bos.as_deref(), config.eos.as_deref()), (Some("<s>"), Some("</s>")));
        assert_eq!(config.special_tokens_added(), Some(1));
        let call = AddedToken { id: 7, content: "<call>".to_owned(), special: true };
        assert_eq!(config.added, [call]);
    }

    #[test]
    fn what_it_does_not_say_is_not_known() {
        for bytes in [&b""[..], b"[]", b"{}", b"\xFF", br#"{"bos_token": null}"#] {
            assert_eq!(Config::read(bytes), Config::default());
        }
        assert_eq!(Config::default().special_tokens_added(), None);
        let nameless = Config::read(br#"{"add_bos_token": true}"#);
        assert_eq!(nameless.special_tokens_added(), Some(0));
    }
}
