//! The embedded vocabulary: complete, lossless, and the same as it was.
use ifm_tokenizer::Tokenizer;

fn tokenizer() -> Tokenizer {
    Tokenizer::embedded().expect("the embedded vocabulary loads")
}

/// Text that mixes scripts, numbers, spaces and code.
const MIXED: &str = "The quick brown fox doesn't jump over 12,345 lazy dogs.\n\n\tfn main() { \
    println!(\"{}\", a_b[0]); }  Grüße, 世界! 👩‍👩‍👧 naïve \u{0}\u{7f} tail  ";

#[test]
fn ids_are_dense_and_distinct() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.vocab_size(), 8192);
    assert_eq!(tokenizer.vocab_size() % 16, 0);
    for id in 0..tokenizer.vocab_size() {
        let token = tokenizer.token(id).expect("every id has a token");
        assert_eq!(tokenizer.id(&token), Some(id), "{token}");
    }
    assert_eq!(tokenizer.token(8192), None);
}

#[test]
fn special_tokens_have_the_first_ids() {
    let tokenizer = tokenizer();
    let names = ["<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"];
    for (id, name) in (0..).zip(names) {
        assert_eq!(tokenizer.id(name), Some(id));
        assert!(tokenizer.is_special(id));
        assert_eq!(tokenizer.encode(name).unwrap(), [id]);
        assert_eq!(tokenizer.decode(&[id]).unwrap(), "");
    }
    assert_eq!(tokenizer.special_ids(), [0, 1, 2, 3, 4, 5]);
    assert!(!tokenizer.is_special(6));
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(0), Some(1)));
}

#[test]
fn every_byte_has_a_token() {
    let tokenizer = tokenizer();
    let mut bytes = (6..262)
        .map(|id| {
            let text = tokenizer.token(id).unwrap();
            assert_eq!(text.chars().count(), 1, "{text}");
            text
        })
        .collect::<Vec<_>>();
    bytes.sort_unstable();
    bytes.dedup();
    assert_eq!(bytes.len(), 256);
}

#[test]
fn every_character_comes_back() {
    let tokenizer = tokenizer();
    let step = 37;
    let samples = (0..=0x2FFF).chain((0x3000..=0x10_FFFF).step_by(step));
    let text = samples.filter_map(char::from_u32).collect::<String>();
    let ids = tokenizer.encode(&text).unwrap();
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
}

#[test]
fn the_text_of_a_whole_word_is_its_token() {
    let tokenizer = tokenizer();
    for id in 262..tokenizer.vocab_size() {
        let text = tokenizer.decode(&[id]).unwrap();
        if text.contains('\u{FFFD}') || tokenizer.pieces(&text).unwrap().len() != 1 {
            continue;
        }
        assert_eq!(tokenizer.encode(&text).unwrap(), [id], "{text:?}");
    }
}

#[test]
fn the_vocabulary_has_not_moved() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.name(), "inferometer-bpe-8192");
    assert_eq!(
        tokenizer.sha256(),
        "0661838d6fd5e67ab8c7a101cc2484d85d26968c4eb8d2a487286f0e751c7eb6"
    );
    let ids = tokenizer.encode("The speed of inference.").unwrap();
    assert_eq!(tokenizer.decode(&ids).unwrap(), "The speed of inference.");
    assert_eq!(ids, [453, 6497, 319, 300, 903, 19]);
}

#[test]
fn mixed_text_comes_back() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode(MIXED).unwrap();
    assert_eq!(tokenizer.decode(&ids).unwrap(), MIXED);
    assert_eq!(tokenizer.encode("").unwrap(), [0; 0]);
    assert_eq!(tokenizer.decode(&[]).unwrap(), "");
}

#[test]
fn pieces_cover_the_text_and_bound_the_tokens() {
    let tokenizer = tokenizer();
    let mut end = 0;
    let mut ids = Vec::new();
    for piece in tokenizer.pieces(MIXED).unwrap() {
        assert_eq!(piece.start, end);
        end = piece.end;
        ids.extend(tokenizer.encode(&MIXED[piece]).unwrap());
    }
    assert_eq!(end, MIXED.len());
    assert_eq!(ids, tokenizer.encode(MIXED).unwrap());
}

#[test]
fn json_makes_an_equal_tokenizer() {
    let tokenizer = tokenizer();
    let json = tokenizer.to_json().unwrap();
    let copy = Tokenizer::from_bytes("copy", json.as_bytes()).unwrap();
    assert_eq!(copy.vocab_size(), tokenizer.vocab_size());
    assert_eq!(copy.special_ids(), tokenizer.special_ids());
    assert_eq!((copy.bos_id(), copy.eos_id()), (Some(0), Some(1)));
    let ids = tokenizer.encode(MIXED).unwrap();
    assert_eq!(copy.encode(MIXED).unwrap(), ids);
    assert_eq!(copy.decode(&ids).unwrap(), MIXED);
}
