//! The section of a run that shows its media: small images of the first different ones.
//!
//! Not here: what media cost, which the tables show.

use crate::ReportModel;
use crate::format::{bytes, count, plain, span};
use crate::page::{Block, Section, Sheet};
use serde_json::{Map, Value};

/// Images that are shown at most.
const PICTURES_MAX: usize = 24;
/// The longest data URL: a small image of 20 kB in base64, and its head.
const URL_BYTES_MAX: usize = 28_000;
/// Images that a browser may be given: those that a run makes.
const STARTS: [&str; 2] = ["data:image/jpeg;base64,", "data:image/svg+xml;base64,"];

/// The contact sheet; absent where the run stored none.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let stored = model.manifest.workload.as_ref()?.facts.get("media_sheet")?.as_array()?;
    let mut sheet = Sheet::default();
    for entry in stored.iter().take(PICTURES_MAX) {
        let picture = entry.get("picture").and_then(Value::as_str).filter(|url| is_shown(url));
        let medium = entry.get("medium").and_then(Value::as_object);
        if let (Some(picture), Some(medium)) = (picture, medium) {
            sheet.pictures.push(picture.to_owned());
            sheet.labels.push(label(medium));
        }
    }
    if sheet.pictures.is_empty() {
        return None;
    }
    let shown = count(sheet.pictures.len() as u64);
    let about = format!(
        "The first {shown} different media that were sent and can be drawn here; of a video its first \
         frame, of a recording how loud it is."
    );
    Some(Section::new("Media that were sent", vec![Block::Prose(about), Block::Sheet(sheet)]))
}

fn is_shown(url: &str) -> bool {
    let body = STARTS.iter().find_map(|start| url.strip_prefix(start));
    let is_base64 = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'=');
    url.len() <= URL_BYTES_MAX && body.is_some_and(|body| body.bytes().all(is_base64))
}

/// What a medium is, in words.
fn label(medium: &Map<String, Value>) -> String {
    let number = |name: &str| medium.get(name).and_then(Value::as_u64);
    let kind = medium.get("kind").and_then(Value::as_str).unwrap_or("medium");
    let mut parts = Vec::new();
    if let Some([width, height]) = medium.get("size").and_then(Value::as_array).map(Vec::as_slice) {
        parts.push(format!("{width} x {height}"));
    }
    parts.extend(number("frames").map(|frames| format!("{} frames", count(frames))));
    parts.extend(number("duration_ns").map(|ns| span(ns as f64)));
    parts.extend(number("file_bytes").map(bytes));
    format!("{} {}", plain(kind), plain(&parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_a_run_makes_is_shown() {
        assert!(is_shown("data:image/jpeg;base64,/9j+AA=="));
        for url in [
            "https://x.test/a.jpg",
            "data:text/html;base64,AAAA",
            "data:image/jpeg;base64,AA\"><script>",
            &format!("data:image/jpeg;base64,{}", "A".repeat(URL_BYTES_MAX)),
        ] {
            assert!(!is_shown(url), "{url}");
        }
    }

    #[test]
    fn a_label_says_what_is_known() {
        let told = |value: Value| label(value.as_object().unwrap());
        let image = json!({"kind": "image", "size": [640, 360], "file_bytes": 2048});
        let told_image = told(image);
        assert!(told_image.starts_with("image 640 x 360, 2"), "{told_image}");
        assert_eq!(
            told(json!({"kind": "audio", "duration_ns": 2_000_000_000_u64})),
            "audio 2.00 s"
        );
    }
}
