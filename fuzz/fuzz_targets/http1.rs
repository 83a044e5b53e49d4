//! The HTTP/1.1 reader against hyper's client.
#![no_main]

#[path = "../../crates/ifm-wire/tests/it/hyper/client.rs"]
mod client;
#[path = "../../crates/ifm-wire/tests/it/hyper/compare.rs"]
mod compare;
#[allow(dead_code)] // Its examples are for the test.
#[path = "../../crates/ifm-wire/tests/it/hyper/differences.rs"]
mod differences;
mod input;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((stream, pieces)) = input::stream_and_pieces(input)
        && let Some(complaint) = compare::complaint(stream, &pieces)
    {
        panic!("{complaint}");
    }
});
