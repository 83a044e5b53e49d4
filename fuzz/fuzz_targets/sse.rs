//! The reader of event streams against the text of the standard.
#![no_main]

mod input;
#[path = "../../crates/ifm-wire/tests/it/sse/standard.rs"]
mod standard;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((stream, pieces)) = input::stream_and_pieces(input)
        && let Some(complaint) = standard::complaint(stream, &pieces)
    {
        panic!("{complaint}");
    }
});
