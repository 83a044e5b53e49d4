//! A data set in Parquet: opened, and its first items made.
#![no_main]

mod contained;
mod scratch;

use ifm_tokenizer::Tokenizer;
use ifm_workload::{OnBadRow, WorkloadRequest, open, preview};
use std::sync::OnceLock;

fn tokenizer() -> &'static Tokenizer {
    static TOKENIZER: OnceLock<Tokenizer> = OnceLock::new();
    TOKENIZER.get_or_init(|| Tokenizer::embedded().expect("embedded"))
}

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    let path = scratch::write("rows.parquet", bytes);
    let mut request = WorkloadRequest::new(format!("custom:{}", path.display()), 3);
    request.on_bad_row = OnBadRow::Skip;
    let Ok(opened) = open(&request, tokenizer()) else { return };
    let _ = preview(&*opened.dataset, 16);
});
