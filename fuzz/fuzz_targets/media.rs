//! Images, recordings and videos of prompts: the heads of files, and the small image of a report.
#![no_main]

mod contained;
#[allow(dead_code)] // The rest of it is for other targets.
#[path = "../../crates/ifm-workload/tests/it/fuzzed.rs"]
mod fuzzed;
mod scratch;

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let _ = fuzzed::media(scratch::folder(), bytes);
});
