//! The `requests.parquet` of a run folder from someone else.
#![no_main]

mod contained;
#[path = "../../crates/ifm-store/tests/it/fuzzed.rs"]
mod fuzzed;
mod scratch;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::run_parquet(scratch::folder(), bytes);
});
