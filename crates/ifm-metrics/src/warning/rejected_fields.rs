//! Fields of the requests that the server rejected before the load.
//!
//! The load was sent without them, so that it answers a slightly different question.

use super::{Check, Context, Finding, Made, Severity};
use ifm_core::manifest::RejectedField;

pub(super) const CHECK: Check = Check {
    id: "rejected_fields",
    title: "the server accepts the fields that requests need",
    run: Made::ForRun(make),
};

fn make(context: &Context) -> Option<Vec<Finding>> {
    let severity = |field: &RejectedField| match field.replaced_by {
        Some(_) => Severity::Note,
        None => Severity::Caution,
    };
    let rejected = &context.run.manifest.rejected_fields;
    if rejected.is_empty() {
        return None;
    }
    Some(rejected.iter().map(|field| (severity(field), rejection_sentence(field))).collect())
}

/// What a run does without a field that the server rejects, and what that costs.
pub fn rejection_sentence(rejected: &RejectedField) -> String {
    let RejectedField { field, replaced_by, .. } = rejected;
    if let Some(name) = replaced_by {
        return format!("the server rejects \"{field}\": requests send \"{name}\" instead");
    }
    let cost = match field.as_str() {
        "ignore_eos" => "answers may end before the requested length",
        "min_tokens" => "answers may be shorter than requested",
        "stream_options" => "token counts may be estimates from events",
        "temperature" => "the server's default temperature applies, and answers may vary",
        "seed" => "answers may differ between repeats",
        _ => "the server's default applies",
    };
    format!("the server rejects \"{field}\": requests omit it, so {cost}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::RunData;

    fn reject(field: &str, replaced_by: Option<&str>) -> impl Fn(&mut RunData) {
        let rejected = RejectedField {
            field: field.to_owned(),
            replaced_by: replaced_by.map(str::to_owned),
            status: 400,
            message: "no".to_owned(),
        };
        move |run| run.manifest.rejected_fields = vec![rejected.clone()]
    }

    fn found(field: &str) -> (CheckState, String) {
        let mut run = sound_run();
        reject(field, None)(&mut run);
        (state(&run, "rejected_fields"), text(&run, "rejected_fields"))
    }

    #[test]
    fn names_each_rejected_field_and_its_cost() {
        for (field, cost) in [
            ("ignore_eos", "answers may end before the requested length"),
            ("stream_options", "token counts may be estimates from events"),
            ("top_k", "the server's default applies"),
        ] {
            let (state, text) = found(field);
            assert_eq!(state, CheckState::Caution);
            assert!(text.contains(field) && text.contains(cost), "{text}");
        }
        assert_eq!(state(&sound_run(), "rejected_fields"), CheckState::NotApplicable);
    }

    #[test]
    fn another_name_for_a_field_costs_nothing() {
        let mut run = sound_run();
        reject("max_tokens", Some("max_completion_tokens"))(&mut run);
        assert_eq!(state(&run, "rejected_fields"), CheckState::Passed);
        let text = text(&run, "rejected_fields");
        assert!(text.contains("requests send \"max_completion_tokens\" instead"), "{text}");
    }
}
