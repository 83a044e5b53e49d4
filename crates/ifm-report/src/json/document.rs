//! A run as one JSON document.

use super::answers::Answers;
use super::level::{Level, Repeats};
use super::load::{rate_of, users_of};
use super::{SCHEMA_VERSION, known, known_object, objects, text};
use crate::ReportModel;
use crate::words::DEFINITIONS;
use ifm_core::{RunState, Setting, ToolInfo};
use ifm_metrics::stat::quantile::PERCENTILE_RULE;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The whole run as one indented JSON document, with a line break at its end.
pub fn json(model: &ReportModel) -> String {
    text(&known(&ResultDocument::from(model)))
}

objects! {
    /// What `run`, `sweep`, `demo` and `report --json` write. Field names contain the units.
    /// Unknown values are left out; they are never 0.
    ResultDocument of model: &ReportModel {
        /// Version of the document. Major versions are not compatible.
        #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^1[.]")))]
        schema_version: &'static str = SCHEMA_VERSION,
        /// What the document is.
        #[cfg_attr(feature = "schema", schemars(extend("const" = "inferometer_result")))]
        kind: &'static str = "inferometer_result",
        /// The run.
        run: Run = model.into(),
        /// What was asked: `spec` of the schema `manifest`, without what is not known.
        spec: Map<String, Value> = known_object(&model.manifest.spec),
        /// Where the client ran: `host` of the schema `manifest`, without what is not known.
        host: Map<String, Value> = known_object(&model.manifest.host),
        /// What the server said of itself: `server` of the schema `manifest`, without what is not
        /// known.
        server: Map<String, Value> = known_object(&model.manifest.server),
        /// The server's machine: `facts` of the schema `manifest`; absent if not reported.
        facts: Option<Map<String, Value>> = model.manifest.facts.as_ref().map(known_object),
        /// From what the run was computed: `predicted` of the schema `manifest`, without what is not
        /// known; absent for one that was measured. `host` is then where it was computed, and there
        /// is no `client_health`.
        predicted: Option<Map<String, Value>> = model.manifest.predicted.as_ref().map(known_object),
        /// What the words mean.
        definitions: Definitions = ().into(),
        /// The loads, in the order in which they ran.
        levels: Vec<Level> = model.summary.levels.iter().map(Level::from).collect(),
        /// The loads that were measured more than once; absent where none was.
        repeats: Option<Vec<Repeats>> = (!model.summary.repeats.is_empty())
            .then(|| model.summary.repeats.iter().map(Repeats::from).collect()),
        /// How many fit, and how sure that is.
        answers: Option<Answers> = model.summary.answers.as_ref().map(Answers::from),
        /// Every check.
        checks: Vec<Check> = model.summary.checks.iter().map(Check::from).collect(),
        /// What the checks found.
        warnings: Vec<Warning> = model.summary.warnings.iter().map(Warning::from).collect(),
        /// The client's own error: `health` of the schema `manifest`, without what is not known.
        client_health: Option<Map<String, Value>> =
            model.summary.health.as_ref().map(known_object),
    }

    /// The run.
    Run of model: &ReportModel {
        /// Identity.
        id: String = model.manifest.run_id.clone(),
        /// Name that the user gave.
        name: Option<String> = model.manifest.name.clone(),
        /// Start, UTC, RFC 3339.
        created_utc: String = model.manifest.created_utc.clone(),
        /// Whether it is complete.
        state: RunState = model.manifest.state,
        /// Why it is partial.
        stop_reason: Option<String> = model.manifest.stop_reason.clone(),
        /// Command line, secrets masked, with what a project's file added to it.
        command: Vec<String> = model.manifest.command.clone(),
        /// What was set, and by whom: command line, variable, or project's file. Absent where the run
        /// does not contain it.
        settings: Option<Vec<Setting>> =
            (!model.manifest.settings.is_empty()).then(|| model.manifest.settings.clone()),
        /// Who wrote it.
        tool: ToolInfo = model.manifest.tool.clone(),
        /// SHA-256 over all prompts, in order; in runs of earlier versions.
        prompts_sha256: Option<String> = model.manifest.prompts_sha256.clone(),
        /// BLAKE3 over all prompts, in order; absent in runs of earlier versions.
        prompts_blake3: Option<String> = model.manifest.prompts_blake3.clone(),
        /// What was sent: `workload` of the schema `manifest`, without what is not known.
        workload: Option<Map<String, Value>> = model.manifest.workload.as_ref().map(known_object),
        /// A sentence for weights that were drawn and not trained; absent for others.
        random_weights: Option<String> = model.random_weights(),
    }

    /// What the words mean.
    Definitions of _none: () {
        /// Rule of percentiles.
        percentiles: &'static str = PERCENTILE_RULE,
        /// Kind of deviation.
        std: &'static str = "sample standard deviation (n - 1)",
        /// Kind of interval.
        ci95: &'static str = "order statistics, 95 %",
        /// When a percentile is thin.
        thin: &'static str = "percentiles with fewer than ten values expected beyond them",
        /// Definition of each metric.
        metrics: BTreeMap<&'static str, &'static str> = DEFINITIONS.iter().copied().collect(),
    }

    /// A check of the finished run.
    Check of check: &ifm_metrics::CheckResult {
        /// Id.
        id: &'static str = check.id,
        /// What it examines.
        title: &'static str = check.title,
        /// What it found.
        #[cfg_attr(feature = "schema",
            schemars(extend("enum" = ["passed", "caution", "invalid", "not_applicable"])))]
        state: &'static str = check.state().word(),
    }

    /// What a check found.
    Warning of warning: &ifm_metrics::Warning {
        /// Id of the check.
        check: &'static str = warning.check,
        /// How much it matters.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["note", "caution", "invalid"])))]
        severity: &'static str = warning.severity.word(),
        /// Index of the level.
        level: Option<u16> = warning.level,
        /// Users of the level.
        users: Option<u32> = users_of(warning.load),
        /// Rate of the level, requests per second.
        req_per_s_asked: Option<f64> = rate_of(warning.load),
        /// In words.
        text: String = warning.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_failed, model, sweep};
    use ifm_core::order::Order as _;

    /// The same with the fields of each object by name: their order in the text depends on the
    /// features with which the JSON library was built.
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut fields: Vec<(String, Value)> = map.into_iter().collect();
                fields.order_by(|a, b| a.0.cmp(&b.0));
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
            }
            Value::Array(list) => list.into_iter().map(sorted).collect(),
            value => value,
        }
    }

    #[test]
    fn the_document_of_a_sweep() {
        let document = serde_json::from_str(&json(&model(&sweep()))).expect("JSON");
        insta::assert_snapshot!(format!("{:#}", sorted(document)));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let text = json(&model(&all_failed()));
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert!(!text.contains("null"));
        let level = &document["levels"][0];
        assert!(level["latency"].get("ttft_s").is_none());
        assert_eq!(level["requests"]["outcomes"]["ok"], 0);
        assert_eq!(level["requests"]["outcomes"]["http_error"], 4);
        assert_eq!(document["answers"]["users"]["state"], "none");
    }
}
