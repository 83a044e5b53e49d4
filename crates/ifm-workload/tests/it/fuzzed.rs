//! What the fuzz targets do with files of workloads: they are opened, and their first items are made.

use ifm_tokenizer::Tokenizer;
use ifm_workload::{OnBadRow, WorkloadRequest, open, preview, thumbnail};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Items that are made at most.
const ITEMS_MAX: u32 = 16;

fn tokenizer() -> &'static Tokenizer {
    static TOKENIZER: OnceLock<Tokenizer> = OnceLock::new();
    TOKENIZER.get_or_init(|| Tokenizer::embedded().expect("embedded"))
}

/// A workload that skips bad rows.
fn request(kind: &str, path: &Path) -> WorkloadRequest {
    let mut request = WorkloadRequest::new(format!("{kind}:{}", path.display()), 3);
    request.on_bad_row = OnBadRow::Skip;
    request
}

/// A data set in Parquet.
pub fn parquet(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join("rows.parquet");
    fs::write(&path, bytes).expect("written");
    let opened = open(&request("custom", &path), tokenizer()).map_err(|error| error.to_string())?;
    preview(&*opened.dataset, ITEMS_MAX).map(drop).map_err(|error| error.to_string())
}

/// Traces of agents as OpenTelemetry writes them, in one document and in lines.
pub fn otlp(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let read = ["trace.json", "trace.jsonl"].map(|name| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("written");
        let opened =
            open(&request("otel", &path), tokenizer()).map_err(|error| error.to_string())?;
        let items = opened.dataset.items().unwrap_or(1).min(ITEMS_MAX);
        for item in (0..items).filter_map(|index| opened.dataset.item(index).ok()) {
            assert!(!item.turns.is_empty() || !item.agents.is_empty(), "an item without turns");
        }
        preview(&*opened.dataset, items).map(drop).map_err(|error| error.to_string())
    });
    let [document, lines] = read;
    document.or(lines)
}

/// An image, a recording and a video of prompts: the same bytes as each, and the small image of a report.
pub fn media(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(folder.join("medium"), bytes).expect("written");
    let read = ["image", "audio", "video"].map(|kind| {
        let rows = folder.join("rows.jsonl");
        let row = format!("{{\"prompt\":\"x\",\"{kind}\":\"medium\"}}\n");
        fs::write(&rows, row).expect("written");
        let request = WorkloadRequest::new(format!("custom:{}", rows.display()), 3);
        let opened = open(&request, tokenizer()).map_err(|error| error.to_string())?;
        let item = opened.dataset.item(0).map_err(|error| error.to_string())?;
        for medium in item.turns.iter().flat_map(|turn| turn.prompt.media()) {
            let _ = thumbnail(medium);
        }
        Ok(())
    });
    let [image, audio, video] = read;
    image.or(audio).or(video)
}
