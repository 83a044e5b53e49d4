//! Which fields of usual requests the server rejects: over all requests of the probe.

use super::{Finding, Grade, Inquiry, Section};
use ifm_metrics::warning::rejection_sentence;
use serde_json::json;

/// Reports the rejected fields so far. Fields with their own question have separate findings.
pub fn ask(inquiry: &mut Inquiry) -> Vec<Finding> {
    let id = (Section::Wishes, "rejected_fields");
    if inquiry.api.is_none() {
        return vec![Finding::unknown(id, "no API answered")];
    }
    let how = "the requests of this probe";
    let names: Vec<&str> = inquiry.rejected.iter().map(|one| one.field.as_str()).collect();
    if names.is_empty() {
        return vec![Finding::known(id, Grade::Good, json!(names), "none").how(how)];
    }
    let is_lost = inquiry.rejected.iter().any(|one| one.replaced_by.is_none());
    let grade = if is_lost { Grade::Caution } else { Grade::Note };
    let sentences: Vec<String> = inquiry.rejected.iter().map(rejection_sentence).collect();
    let finding = Finding::known(id, grade, json!(names), names.join(", "));
    vec![finding.how(how).means(sentences.join("; "))]
}
