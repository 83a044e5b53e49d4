//! A data set in Parquet: opened, and its first items made.
#![no_main]

mod contained;
#[allow(dead_code)] // The rest of it is for other targets.
#[path = "../../crates/ifm-workload/tests/it/fuzzed.rs"]
mod fuzzed;
mod scratch;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::parquet(scratch::folder(), bytes);
});
