//! A small tokenizer for clients that need one: a folder in the layout of model hubs.
//!
//! It splits at white space, like the texts of the suite, so a client that counts tokens itself
//! gets the same count as the server reports.

use std::path::{Path, PathBuf};

/// Number of words with their own ID; every other word is one unknown token. A client that creates
/// prompts from random IDs needs several to choose from.
const WORDS: usize = 512;

/// Path of a trial's tokenizer.
pub(super) fn folder(trial: &Path) -> PathBuf {
    trial.join("tokenizer")
}

/// Writes it.
///
/// # Errors
/// The file system's.
pub(super) fn write(trial: &Path) -> std::io::Result<()> {
    let folder = folder(trial);
    std::fs::create_dir_all(&folder)?;
    // The unknown word is not a special token: clients omit those from their prompts.
    let (unknown, end) = ("<unknown>", "<end>");
    let mut vocabulary = serde_json::Map::new();
    vocabulary.insert(unknown.to_owned(), 0.into());
    vocabulary.insert(end.to_owned(), 1.into());
    for position in 0..WORDS {
        vocabulary.insert(format!("tok{position}"), (position + 2).into());
    }
    let tokenizer = serde_json::json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [{
            "id": 1, "content": end, "special": true, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false,
        }],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
    });
    let settings = serde_json::json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": end,
        "model_max_length": 1_000_000,
        "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}",
    });
    std::fs::write(folder.join("tokenizer.json"), format!("{tokenizer:#}\n"))?;
    std::fs::write(folder.join("tokenizer_config.json"), format!("{settings:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_tokenizer::Tokenizer;

    #[test]
    fn a_text_of_the_suite_has_as_many_tokens_as_words() {
        let trial = tempfile::tempdir().expect("a folder");
        write(trial.path()).expect("files");
        let file = folder(trial.path()).join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(&file).expect("a tokenizer");
        assert_eq!(tokenizer.encode(" tok0 tok1 tok2 and more").expect("ids").len(), 5);
    }
}
