//! What the fuzz targets do with a vocabulary: it is read, then used on texts that tokenizers find hard.

use ifm_tokenizer::{Tokenizer, TokenizerError};
use std::path::Path;

const TEXTS: [&str; 4] = [
    "",
    "Hello, world!  12 \n\n\tfn main() {}",
    "e\u{301}\u{200d}\u{1f600}\u{202e}\0\u{fffd}<s>",
    " \r\n \r\n ",
];

/// Reads a vocabulary, `tokenizer.json` first, and uses it.
pub fn read(bytes: &[u8]) -> Result<(), String> {
    check(Tokenizer::from_bytes("fuzz", bytes))
}

/// Reads the vocabulary of a file, such as a model, and uses it.
pub fn read_file(path: &Path) -> Result<(), String> {
    check(Tokenizer::from_file(path))
}

fn check(tokenizer: Result<Tokenizer, TokenizerError>) -> Result<(), String> {
    let tokenizer = tokenizer.map_err(|error| error.to_string())?;
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
            let is_within = |piece: &std::ops::Range<usize>| text.get(piece.clone()).is_some();
            assert!(pieces.iter().all(is_within), "{pieces:?} of {text:?}");
        }
    }
    for id in [0, 1, size.saturating_sub(1), size, u32::MAX] {
        let _ = tokenizer.token(id);
        let _ = tokenizer.decode(&[id]);
    }
    let _ = (tokenizer.longest_token_bytes(), tokenizer.to_json());
    Ok(())
}
