//! Raw bytes to an answer: the quick way against the full one, and whole against in pieces. The
//! first byte chooses the API, those that files describe among them.
#![no_main]

mod input;

use ifm_core::spec::Api;
use ifm_wire::dialect::custom::{self, SHIPPED};
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};

/// All reads carry the same stamp: pieces then differ from the whole only in what shares a read.
fn decode(decoder: &mut ExchangeDecoder, expect: Expect, pieces: &[Vec<u8>]) -> Answer {
    for piece in pieces {
        decoder.feed(piece, 1_000);
    }
    decoder.finish(EndCause::Closed, expect)
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&which, input)) = input.split_first() else { return };
    let Some((stream, pieces)) = input::stream_and_pieces(input) else { return };
    let place = usize::from(which) % (Api::ALL.len() + SHIPPED.len());
    let api = match Api::ALL.get(place) {
        Some(api) => *api,
        None => {
            let file = SHIPPED[place - Api::ALL.len()];
            custom::read(file.word, file.text).expect("a file that a test reads")
        }
    };
    let quick = Expect { api, keep_text: false, stream: true };
    let full = Expect { api, keep_text: true, stream: true };
    let mut answer = decode(&mut ExchangeDecoder::new(quick), quick, &pieces);
    let mut decoder = ExchangeDecoder::new(full);
    let mut kept = decode(&mut decoder, full, &pieces);
    // A decoder that was used before decodes as a fresh one does.
    assert_eq!(decode(&mut decoder, full, &pieces), kept, "the second time");
    kept.text = None;
    assert_eq!(answer, kept, "quick and full");
    let mut whole = decode(&mut ExchangeDecoder::new(quick), quick, &[stream.to_vec()]);
    whole.co_arrived_events = 0;
    answer.co_arrived_events = 0;
    assert_eq!(answer, whole, "in pieces and whole");
});
