//! Streams: the pieces make up the text, and no piece holds half a character.
use ifm_tokenizer::{StreamDecoder, Tokenizer};

fn drain(stream: &mut StreamDecoder, ids: &[u32]) -> Vec<String> {
    let mut pieces = Vec::new();
    for &id in ids {
        pieces.extend(stream.push(id).expect("the id decodes"));
    }
    pieces.extend(stream.finish().expect("the stream ends"));
    pieces
}

/// Ids as a model with random weights makes them, without a generator crate.
fn scrambled_ids(count: u32, size: u32) -> Vec<u32> {
    (0..count)
        .scan(12_345_u32, |state, _| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some((*state >> 8) % size)
        })
        .collect()
}

#[test]
fn pieces_make_up_the_text() {
    let tokenizer = Tokenizer::embedded().unwrap();
    let text = "Grüße 世界 👩‍👩‍👧, and plain words too";
    let ids = tokenizer.encode(text).unwrap();
    let pieces = drain(&mut tokenizer.stream(), &ids);
    assert_eq!(pieces.concat(), text);
    assert!(!pieces.iter().any(|piece| piece.contains('\u{FFFD}')));
    assert!(pieces.len() > 8, "{pieces:?}");
}

#[test]
fn any_ids_give_the_text_of_decode() {
    let tokenizer = Tokenizer::embedded().unwrap();
    // Bytes only, then the whole vocabulary and ids beyond it.
    for size in [262, 9000] {
        let ids = scrambled_ids(20_000, size);
        let pieces = drain(&mut tokenizer.stream(), &ids);
        assert_eq!(pieces.concat(), tokenizer.decode(&ids).unwrap());
    }
}

#[test]
fn a_finished_stream_starts_anew() {
    let tokenizer = Tokenizer::embedded().unwrap();
    let ids = tokenizer.encode("€").unwrap();
    let mut stream = tokenizer.stream();
    assert_eq!(stream.push(ids[0]).unwrap(), None);
    assert_eq!(stream.finish().unwrap().as_deref(), Some("\u{FFFD}"));
    assert_eq!(stream.finish().unwrap(), None);
    assert_eq!(drain(&mut stream, &ids).concat(), "€");
}

#[test]
fn special_tokens_have_no_text() {
    let tokenizer = Tokenizer::embedded().unwrap();
    let ids = tokenizer.encode("<|user|>hi<|end|>").unwrap();
    assert_eq!(drain(&mut tokenizer.stream(), &ids).concat(), "hi");
}
