//! What a run's workload contains in addition to text, for heads and lists: media, structured
//! answers, and the probe.
//!
//! Not here: how many were sent (`media`), whether answers are valid (`forms`).

use crate::format::{percent, plain};
use ifm_core::Manifest;
use serde_json::Value;

/// Characters of one thing, at most: laws and names may be long.
const WIDTH_MAX: usize = 48;

/// `image 720p`, `30% json:order.json`, `probe random:32/8`; empty for text alone.
pub fn workload_words(manifest: &Manifest) -> Vec<String> {
    let workload = &manifest.spec.workload;
    let kinds = manifest.workload.as_ref().and_then(|sent| sent.facts.get("media")?.get("kinds"));
    let media = kinds.and_then(Value::as_array).into_iter().flatten().filter_map(kind);
    let forms = workload.forms.iter().map(|form| match form.share {
        1.0 => form.word.clone(),
        share => format!("{} {}", percent(share), form.word),
    });
    let probe = workload.probe.as_ref().and_then(|probe| {
        let class = workload.classes.get(usize::from(probe.class))?;
        Some(format!("probe {}", class.workload))
    });
    media.chain(forms).chain(probe).map(|words| short(&plain(&words))).collect()
}

/// `image 720p`, `images 1-3 of 720p`, of what the workload says of one kind of media.
fn kind(told: &Value) -> Option<String> {
    let word = |name: &str| told.get(name)?.as_str();
    let (kind, count, law) = (word("kind")?, word("count")?, word("law")?);
    let many = if kind == "audio" { "recordings".to_owned() } else { format!("{kind}s") };
    Some(match (count, law) {
        ("1", law) => format!("{kind} {law}"),
        (_, "of the rows") => format!("{many} of the rows"),
        (count, law) => format!("{many} {count} of {law}"),
    })
}

fn short(words: &str) -> String {
    match words.chars().count() {
        0..=WIDTH_MAX => words.to_owned(),
        _ => words.chars().take(WIDTH_MAX - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, single};
    use ifm_core::spec::{ProbeSpec, TrafficClass};
    use ifm_metrics::testing::form_spec;
    use serde_json::json;

    #[test]
    fn media_forms_and_the_probe_are_told_in_heads_and_lists() {
        let mut run = single();
        assert!(workload_words(&run.manifest).is_empty());
        let spec = &mut run.manifest.spec.workload;
        spec.forms = vec![form_spec("json:order.json", 0.3), form_spec("choice:yes,no", 1.0)];
        let workload = "random:32/8".to_owned();
        spec.classes =
            vec![TrafficClass { name: "probe".to_owned(), share: 0.0, model: None, workload }];
        spec.probe = Some(ProbeSpec {
            class: 0,
            pause_s: 0.0,
            seed: 1,
            ignore_eos: true,
            prompt_lengths: None,
        });
        let sent = run.manifest.workload.as_mut().expect("what was sent");
        let image = json!({"kind": "image", "count": "1", "law": "720p:0.7,1080p:0.3"});
        let audio = json!({"kind": "audio", "count": "1-3", "law": "30s"});
        let rows = json!({"kind": "video", "count": "as the rows have it", "law": "of the rows"});
        sent.facts.insert("media".to_owned(), json!({"kinds": [image, audio, rows]}));
        let words = workload_words(&run.manifest);
        assert_eq!(
            words,
            [
                "image 720p:0.7,1080p:0.3",
                "recordings 1-3 of 30s",
                "videos of the rows",
                "30% json:order.json",
                "choice:yes,no",
                "probe random:32/8"
            ]
        );
        let told = words.join(" · ");
        assert!(crate::markdown(&model(&run)).contains(&told.replace('_', "\\_")));
        run.manifest.spec.workload.forms[1].word = format!("choice:{}", "a,".repeat(80));
        assert!(workload_words(&run.manifest)[4].ends_with("a,…"));
    }
}
