//! Traces of agents as OpenTelemetry writes them: spans with cycles, times and parents of any kind.
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
    for name in ["trace.json", "trace.jsonl"] {
        let path = scratch::write(name, bytes);
        let mut request = WorkloadRequest::new(format!("otel:{}", path.display()), 3);
        request.on_bad_row = OnBadRow::Skip;
        let Ok(opened) = open(&request, tokenizer()) else { continue };
        let items = opened.dataset.items().unwrap_or(1).min(8);
        for index in 0..items {
            if let Ok(item) = opened.dataset.item(index) {
                assert!(!item.turns.is_empty() || !item.agents.is_empty(), "an item without turns");
            }
        }
        let _ = preview(&*opened.dataset, items);
    }
});
