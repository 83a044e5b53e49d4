//! Images, recordings and videos of prompts: the heads of files, and the small image of a report. The same bytes
//! are read as each kind.
#![no_main]

mod contained;
mod scratch;

use ifm_tokenizer::Tokenizer;
use ifm_workload::{WorkloadRequest, open, thumbnail};
use std::sync::OnceLock;

fn tokenizer() -> &'static Tokenizer {
    static TOKENIZER: OnceLock<Tokenizer> = OnceLock::new();
    TOKENIZER.get_or_init(|| Tokenizer::embedded().expect("embedded"))
}

libfuzzer_sys::fuzz_target!(init: contained::allow(), |bytes: &[u8]| {
    scratch::write("medium", bytes);
    for kind in ["image", "audio", "video"] {
        let row = format!("{{\"prompt\":\"x\",\"{kind}\":\"medium\"}}\n");
        let rows = scratch::write("rows.jsonl", row.as_bytes());
        let request = WorkloadRequest::new(format!("custom:{}", rows.display()), 3);
        let Ok(opened) = open(&request, tokenizer()) else { continue };
        let Ok(item) = opened.dataset.item(0) else { continue };
        for medium in item.turns.iter().flat_map(|turn| turn.prompt.media()) {
            let _ = thumbnail(medium);
        }
    }
});
