//! Vocabularies in files, `tokenizer.json` first: read, then used on texts that tokenizers find hard.
#![no_main]

mod contained;

use ifm_tokenizer::Tokenizer;

const TEXTS: [&str; 4] =
    ["", "Hello, world!  12 \n\n\tfn main() {}", "e\u{301}\u{200d}\u{1f600}\u{202e}\0\u{fffd}<s>", " \r\n \r\n "];

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let Ok(tokenizer) = Tokenizer::from_bytes("fuzz", bytes) else { return };
    let size = tokenizer.vocab_size();
    assert!(tokenizer.special_ids().iter().all(|&id| id < size), "a special id beyond {size}");
    for text in TEXTS {
        let Ok(ids) = tokenizer.encode(text) else { continue };
        assert!(ids.iter().all(|&id| id < size), "{ids:?} beyond {size}");
        let _ = tokenizer.decode(&ids);
        let mut stream = tokenizer.stream();
        for id in ids {
            let _ = stream.push(id);
        }
        let _ = stream.finish();
        if let Ok(pieces) = tokenizer.pieces(text) {
            assert!(pieces.iter().all(|piece| text.get(piece.clone()).is_some()), "{pieces:?} of {text:?}");
        }
    }
    for id in [0, 1, size.saturating_sub(1), size, u32::MAX] {
        let _ = tokenizer.token(id);
        let _ = tokenizer.decode(&[id]);
    }
    let _ = (tokenizer.longest_token_bytes(), tokenizer.to_json());
});
