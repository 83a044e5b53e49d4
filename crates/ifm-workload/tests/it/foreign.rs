//! Random prompts over tokenizers of other kinds: as exact as over the embedded.
use std::{collections::BTreeSet, fmt::Write as _};

use ifm_tokenizer::Tokenizer;
use ifm_workload::{Dataset, RandomSpec, WorkItem, WorkloadError, dataset::random::RandomPrompts};

/// A `tokenizer.json` around a model.
fn tokenizer(name: &str, normalizer: &str, pre_tokenizer: &str, model: &str) -> Tokenizer {
    let json = format!(
        r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
        "normalizer":{normalizer},"pre_tokenizer":{pre_tokenizer},
        "post_processor":null,"decoder":null,"model":{model}}}"#
    );
    Tokenizer::from_bytes(name, json.as_bytes()).expect("the tokenizer is read")
}

/// `"a":0,"b":1,...`
fn vocabulary(tokens: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for (id, token) in tokens.into_iter().enumerate() {
        let comma = if id == 0 { "" } else { "," };
        write!(text, "{comma}\"{token}\":{id}").expect("a string takes it");
    }
    text
}

/// Two-syllable words, `count` of them.
fn syllables(count: usize) -> impl Iterator<Item = String> {
    let letters = "bdfgklmnprst".chars();
    let ones = letters
        .flat_map(|consonant| "aeiou".chars().map(move |vowel| format!("{consonant}{vowel}")));
    let ones = ones.collect::<Vec<_>>();
    (0..count).map(move |index| {
        let two = &ones[index / ones.len() % ones.len()];
        format!("{}{two}", ones[index % ones.len()])
    })
}

fn word_level() -> Tokenizer {
    let vocab = vocabulary(["[UNK]".to_owned()].into_iter().chain(syllables(300)));
    let model = format!(r#"{{"type":"WordLevel","vocab":{{{vocab}}},"unk_token":"[UNK]"}}"#);
    tokenizer("word-level", "null", r#"{"type":"Whitespace"}"#, &model)
}

/// Every byte is a token; there are no words.
fn byte_level() -> Tokenizer {
    let bytes = (33_u8..=126).filter(|byte| !b"\"\\".contains(byte));
    let bytes = bytes.map(|byte| char::from(byte).to_string());
    let vocab = vocabulary(bytes.chain(["Ġ".to_owned()]));
    let model = format!(r#"{{"type":"BPE","vocab":{{{vocab}}},"merges":[]}}"#);
    let split =
        r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#;
    tokenizer("bytes", "null", split, &model)
}

/// Words with merges across the border between them, and no splitting: the kind
/// where counting words would be wrong.
fn merging() -> Tokenizer {
    let letters = ('a'..='z').map(String::from);
    let pairs = ["ba", "da", "fa", "ga", "▁b", "▁d", "a▁", "i▁", "o▁", "u▁", "e▁"];
    let words = syllables(60).map(|word| format!("▁{word}"));
    let tokens = ["▁".to_owned()]
        .into_iter()
        .chain(letters)
        .chain(pairs.map(String::from))
        .chain(words)
        .collect::<Vec<_>>();
    let merges = pairs
        .iter()
        .map(|pair| {
            let mut characters = pair.chars();
            let first = characters.next().expect("two characters");
            format!("\"{first} {}\"", characters.as_str())
        })
        .collect::<Vec<_>>();
    let model = format!(
        r#"{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}"#,
        vocabulary(tokens),
        merges.join(",")
    );
    let normalizer = r#"{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
        {"type":"Replace","pattern":{"String":" "},"content":"▁"}]}"#;
    tokenizer("merging", normalizer, "null", &model)
}

fn prompts(tokenizer: &Tokenizer, tokens: u32, prefix: u32) -> Vec<String> {
    let mut spec = RandomSpec::fixed(tokens, 1, 21).expect("the length is possible");
    spec.shared_prefix_tokens = prefix;
    let prompts = RandomPrompts::new(&spec, tokenizer).expect("words are found");
    let text = |item: WorkItem| item.turns[0].prompt.as_text().expect("it is a text").to_owned();
    (0..20).map(|id| text(prompts.item(id).expect("a text fits"))).collect()
}

fn assert_exact(tokenizer: &Tokenizer, lengths: &[u32]) {
    for &tokens in lengths {
        for prompt in prompts(tokenizer, tokens, 0) {
            let ids = tokenizer.encode(&prompt).expect("the prompt encodes");
            assert_eq!(ids.len(), tokens as usize, "{}: {:?}", tokenizer.name(), prompt);
        }
    }
    let prompts = prompts(tokenizer, 64, 0).into_iter();
    assert_eq!(prompts.collect::<BTreeSet<_>>().len(), 20);
}

fn counts_words(tokenizer: &Tokenizer) -> bool {
    let spec = RandomSpec::fixed(9, 1, 0).expect("the length is possible");
    RandomPrompts::new(&spec, tokenizer).expect("words are found").counts_words()
}

#[test]
fn whole_words_are_counted() {
    let tokenizer = word_level();
    assert!(counts_words(&tokenizer));
    assert_exact(&tokenizer, &[1, 2, 3, 7, 100, 1024, 50_000]);
    for prompt in prompts(&tokenizer, 100, 0) {
        assert!(!tokenizer.encode(&prompt).unwrap().contains(&0), "unknown words");
    }
}

#[test]
fn single_bytes_are_fitted() {
    let tokenizer = byte_level();
    assert!(!counts_words(&tokenizer));
    assert_exact(&tokenizer, &[1, 2, 3, 7, 100, 1024]);
}

#[test]
fn words_that_merge_are_fitted() {
    let tokenizer = merging();
    assert!(!counts_words(&tokenizer));
    assert_exact(&tokenizer, &[2, 3, 7, 100, 1024, 10_000]);
}

/// Vocabularies as real models have them: one that splits at words, and one of
/// SentencePiece, which does not and puts a space before each text.
#[test]
fn published_kinds_are_fitted() {
    let encoding = Tokenizer::open("cl100k_base").expect("it is in the binary");
    assert!(counts_words(&encoding));
    assert_exact(&encoding, &[1, 2, 3, 7, 100, 1024]);
    let pieces = concat!(env!("CARGO_MANIFEST_DIR"), "/../ifm-tokenizer/tests/golden/pieces.gguf");
    let pieces = Tokenizer::open(pieces).expect("it is a vocabulary");
    assert_exact(&pieces, &[2, 3, 7, 100, 1024]);
}

#[test]
fn a_shared_prefix_is_shared_token_by_token() {
    for tokenizer in [word_level(), byte_level(), merging()] {
        let prompts = prompts(&tokenizer, 120, 50);
        let first = tokenizer.encode(&prompts[0]).unwrap();
        for prompt in &prompts {
            let ids = tokenizer.encode(prompt).unwrap();
            assert_eq!(ids.len(), 120, "{}", tokenizer.name());
            assert_eq!(ids[..50], first[..50], "{}", tokenizer.name());
        }
    }
}

#[test]
fn what_cannot_be_reached_is_an_error() {
    // Each text is one token or none: two cannot be had.
    let model = r#"{"type":"WordLevel","vocab":{"[UNK]":0},"unk_token":"[UNK]"}"#;
    let tokenizer = tokenizer("one", "null", "null", model);
    let spec = RandomSpec::fixed(2, 1, 0).unwrap();
    let error = RandomPrompts::new(&spec, &tokenizer).unwrap().item(0).unwrap_err();
    assert!(matches!(error, WorkloadError::Unreachable { prompt_tokens: 2, .. }), "{error}");
    assert!(error.to_string().contains("'one'"), "{error}");
}

#[test]
fn the_embedded_vocabulary_read_as_a_file_makes_the_same_prompts() {
    let embedded = Tokenizer::embedded().unwrap();
    let json = embedded.to_json().unwrap();
    let copy = Tokenizer::from_bytes("copy", json.as_bytes()).unwrap();
    assert_eq!(prompts(&embedded, 50, 10), prompts(&copy, 50, 10));
}
