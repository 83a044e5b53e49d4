//! Files that are not tokenizers, and tokenizers that were damaged: an error or a
//! tokenizer that works, never a panic.
use std::path::Path;

use ifm_tokenizer::{Tokenizer, TokenizerError};
use proptest::{collection::vec, prelude::*, sample::Index};

const GOLDEN: [&str; 7] = [
    "bpe-bytes.model",
    "bpe.model",
    "unigram-bytes.model",
    "unigram.model",
    "byte-level.gguf",
    "pieces.gguf",
    "small.tiktoken",
];
/// Starts that lead into the readers of all formats.
const STARTS: [&[u8]; 8] = [
    b"",
    b"GGUF\x03\0\0\0",
    b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x0c\0\0\0\0\0\0\0general.name\x08\0\0\0",
    b"\x0A\x07\x0A\x05piece",
    b"\x0A\x0E\x0A\x05<unk>\x15\0\0\0\0\x18\x02\x1A",
    b"IQ== 0\n",
    b"{\"model\":{\"type\":\"BPE\",",
    b"{",
];

fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::read(folder.join(name)).expect("the file is there")
}

/// Reads a file and, if it can be read, uses it.
fn judge(bytes: &[u8]) -> Result<(), TestCaseError> {
    let tokenizer = match Tokenizer::from_bytes("hostile", bytes) {
        Ok(tokenizer) => tokenizer,
        Err(error) => {
            let expected =
                matches!(error, TokenizerError::Parse { .. } | TokenizerError::Unsupported { .. });
            prop_assert!(expected, "{error}");
            prop_assert!(error.to_string().len() < 4000, "{error}");
            return Ok(());
        }
    };
    for text in ["", " Hello  wörld\n日本 <s>123", "the cat \u{1F600}<sep>"] {
        if let Ok(ids) = tokenizer.encode(text) {
            let decoded = tokenizer.decode(&ids).unwrap_or_default();
            let mut stream = tokenizer.stream();
            let mut streamed = String::new();
            for &id in &ids {
                streamed.extend(stream.push(id).ok().flatten());
            }
            streamed.extend(stream.finish().ok().flatten());
            prop_assert_eq!(streamed, decoded);
        }
        prop_assert!(tokenizer.pieces(text).is_ok());
    }
    for id in [0, 1, tokenizer.vocab_size(), u32::MAX] {
        prop_assert!(tokenizer.token(id).is_none() || id < tokenizer.vocab_size());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_do_no_harm(start in 0..STARTS.len(), bytes in vec(any::<u8>(), 0..400)) {
        judge(&[STARTS[start], &bytes].concat())?;
    }

    #[test]
    fn damaged_files_do_no_harm(
        file in 0..GOLDEN.len(),
        changes in vec((any::<Index>(), any::<u8>()), 0..12),
        near_start in any::<bool>(),
        end in any::<Index>(),
        cut in proptest::bool::weighted(0.2),
    ) {
        let mut bytes = golden(GOLDEN[file]);
        let reach = if near_start { 400 } else { bytes.len() };
        for (place, byte) in changes {
            let place = place.index(reach);
            bytes[place] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        judge(&bytes)?;
    }

    /// Lengths are what a file lies about best: eight bytes of any size, anywhere.
    #[test]
    fn lengths_that_lie_do_no_harm(
        file in 4..6_usize,
        place in any::<Index>(),
        length in prop_oneof![any::<u64>(), Just(u64::MAX), 0..1_000_000_000_u64],
    ) {
        let mut bytes = golden(GOLDEN[file]);
        let place = place.index(bytes.len() - 8);
        bytes[place..place + 8].copy_from_slice(&length.to_le_bytes());
        judge(&bytes)?;
    }

    #[test]
    fn damaged_json_does_no_harm(
        changes in vec((any::<Index>(), prop_oneof![b'0'..=b'9', b'a'..=b'z', b' '..=b'~']), 1..6),
    ) {
        let mut bytes = JSON.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        judge(&bytes)?;
    }

    /// The crate that runs these files takes the lengths of pairs and of the prefix for granted.
    #[test]
    fn merges_of_any_lengths_do_no_harm(
        vocabulary in vec("[abé]{0,3}", 0..6),
        merges in vec(("[abé]{0,2}", "[abé]{0,2}"), 0..4),
        prefix in proptest::option::of("[a#é]{0,2}"),
        lines in any::<bool>(),
    ) {
        let ids: serde_json::Map<String, serde_json::Value> =
            vocabulary.into_iter().zip(0_u32..).map(|(token, id)| (token, id.into())).collect();
        let merges: Vec<serde_json::Value> = merges
            .iter()
            .map(|(a, b)| if lines { format!("{a} {b}").into() } else { vec![a.as_str(), b].into() })
            .collect();
        let model = serde_json::json!({
            "type": "BPE", "vocab": ids, "merges": merges, "continuing_subword_prefix": prefix,
        });
        judge(serde_json::json!({ "model": model }).to_string().as_bytes())?;
    }
}

/// Every part of the format that this crate's users meet, small enough that a change
/// of one byte matters.
const JSON: &str = r#"{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]},
"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\d|\\D+"},"behavior":"Isolated","invert":false},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]}}},
"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":true},
"model":{"type":"BPE","unk_token":"<s>","fuse_unk":true,"byte_fallback":true,"ignore_merges":false,
"vocab":{"<s>":0,"a":1,"b":2,"ab":3,"c":4,"abc":5,"t":6,"h":7,"th":8,"e":9,"the":10},"merges":["a b","ab c","t h","th e"]}}"#;

#[test]
fn the_json_is_read_as_long_as_nobody_changes_it() {
    let tokenizer = Tokenizer::from_bytes("json", JSON.as_bytes()).unwrap();
    assert_eq!(tokenizer.encode("theabc<s>").unwrap(), [10, 5, 0]);
    assert_eq!(tokenizer.special_tokens_added(), 1);
}

#[test]
fn a_pattern_that_takes_too_many_steps_is_an_error() {
    let json = JSON.replace(r"\\d|\\D+", "^(([a-z])+.)+[A-Z]([a-z])+$");
    let tokenizer = Tokenizer::from_bytes("json", json.as_bytes()).unwrap();
    let text = "a".repeat(100);
    let error = tokenizer.encode(&text).unwrap_err();
    assert!(matches!(error, TokenizerError::Encode { .. }), "{error}");
    assert!(tokenizer.pieces(&text).is_err());
    assert_eq!(tokenizer.encode("ab").unwrap(), [3], "it works for other texts");
}

#[test]
fn a_normalizer_that_makes_texts_much_longer_is_refused() {
    let long = "x".repeat(1000);
    for (short, longer) in [
        (r#"{"type":"NFC"}"#, format!(r#"{{"type":"Prepend","prepend":"{long}"}}"#)),
        (r#""content":"\u2581""#, format!(r#""content":"{long}""#)),
    ] {
        let error = Tokenizer::from_bytes("json", JSON.replace(short, &longer).as_bytes());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("adds 1000 bytes"), "{error}");
    }
}

#[test]
fn rejects_steps_that_together_make_texts_much_longer() {
    let step = |pattern: &str, content: &str| {
        format!(r#"{{"type":"Replace","pattern":{{"String":"{pattern}"}},"content":"{content}"}}"#)
    };
    let sequence =
        |field: &str, steps: &str| format!(r#"{{"type":"Sequence","{field}":[{steps}]}}"#);
    let doubled = vec![step("a", "aa"); 20].join(",");
    let between = vec![step("", &"x".repeat(30)); 2].join(",");
    let nested = (0..20).fold(step("a", "aa"), |inner, _| sequence("normalizers", &inner));
    for steps in [doubled, between, nested] {
        let json = JSON.replace(r#"{"type":"NFC"}"#, &steps);
        let error = Tokenizer::from_bytes("json", json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("normalizer can make a text more than 256 times longer"), "{error}");
    }
    let decoder =
        r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":true}"#;
    for (content, told) in [("x".repeat(1000), "adds 1000 bytes"), ("x".repeat(60), "256 times")] {
        let steps = vec![step("a", &content); 3].join(",");
        let json = JSON.replace(decoder, &sequence("decoders", &steps));
        let error = Tokenizer::from_bytes("json", json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("its decoder") && error.contains(told), "{error}");
    }
    let few = vec![step("a", "aa"); 4].join(",");
    assert!(
        Tokenizer::from_bytes("json", JSON.replace(r#"{"type":"NFC"}"#, &few).as_bytes()).is_ok()
    );
}

#[test]
fn a_panic_while_a_file_is_read_is_damage() {
    let map = r#"{"type":"Precompiled","precompiled_charsmap":"AAAA"}"#;
    let json = JSON.replace(r#"{"type":"NFC"}"#, map);
    let error = Tokenizer::from_bytes("json", json.as_bytes()).unwrap_err();
    assert!(matches!(error, TokenizerError::Parse { .. }), "{error}");
}

#[test]
fn the_longest_token_bounds_a_text() {
    let tokenizer = Tokenizer::from_bytes("json", JSON.as_bytes()).unwrap();
    assert_eq!(tokenizer.longest_token_bytes(), 3);
    let embedded = Tokenizer::embedded().unwrap();
    let longest = embedded.longest_token_bytes();
    let text = "The same words again and again, and 12345. ".repeat(50);
    assert!(embedded.encode(&text).unwrap().len() * longest >= text.len());
}
