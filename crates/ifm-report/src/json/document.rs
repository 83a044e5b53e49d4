//! A run as one JSON document.

use super::{Object, SCHEMA_VERSION};
use crate::ReportModel;
use crate::words::DEFINITIONS;
use ifm_analysis::answer::{Answers, NextWorse, UsersState};
use ifm_analysis::level::{
    CountSources, FirstWave, Latencies, Load, StepSummary, TokenFacts, TurnSummary, WindowSummary,
};
use ifm_analysis::repeats::Between;
use ifm_analysis::slo::{self, TermVerdict, Verdict};
use ifm_analysis::stat::Distribution;
use ifm_analysis::stat::quantile::PERCENTILE_RULE;
use ifm_analysis::telemetry::tokens_per_kwh;
use ifm_analysis::{CheckResult, LevelEnergy, LevelSummary, Repeated, ServerCounters, Warning};
use serde_json::{Value, json};

/// Seconds in a nanosecond.
const S: f64 = 1e-9;
const NS_PER_S: f64 = 1e9;

/// The whole run as one indented JSON document, with a line break at its end.
pub fn json(model: &ReportModel) -> String {
    let manifest = &model.manifest;
    let summary = &model.summary;
    let mut document = Object::default();
    document
        .set("schema_version", SCHEMA_VERSION)
        .set("kind", "inferometer_result")
        .set("run", run(model))
        .set("spec", to_value(&manifest.spec))
        .set("host", to_value(&manifest.host))
        .set("server", to_value(&manifest.server))
        .set("definitions", definitions())
        .set("levels", summary.levels.iter().map(level).collect::<Vec<_>>())
        .set_known("repeats", (!summary.repeats.is_empty()).then(|| repeats(&summary.repeats)))
        .set_known("answers", summary.answers.as_ref().map(answers))
        .set("checks", summary.checks.iter().map(check).collect::<Vec<_>>())
        .set("warnings", summary.warnings.iter().map(warning).collect::<Vec<_>>())
        .set_known("client_health", summary.health.as_ref().map(to_value));
    let mut text = format!("{:#}", document.take());
    text.push('\n');
    text
}

/// Values of the run's own types, without the fields that are not known.
fn to_value<T: serde::Serialize>(value: &T) -> Value {
    // Maps with text keys and finite numbers always serialize.
    let mut value = serde_json::to_value(value).unwrap_or(Value::Null);
    drop_nulls(&mut value);
    value
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn run(model: &ReportModel) -> Value {
    let manifest = &model.manifest;
    let mut run = Object::default();
    run.set("id", manifest.run_id.as_str())
        .set_known("name", manifest.name.as_deref())
        .set("created_utc", manifest.created_utc.as_str())
        .set("state", to_value(&manifest.state))
        .set_known("stop_reason", manifest.stop_reason.as_deref())
        .set("command", manifest.command.clone())
        .set("tool", to_value(&manifest.tool))
        .set_known("prompts_sha256", manifest.prompts_sha256.as_deref())
        .set_known("workload", manifest.workload.as_ref().map(to_value))
        .set_known("random_weights", model.random_weights())
        .take()
}

fn definitions() -> Value {
    let metrics: serde_json::Map<String, Value> =
        DEFINITIONS.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))).collect();
    json!({
        "percentiles": PERCENTILE_RULE,
        "std": "sample standard deviation (n - 1)",
        "ci95": "order statistics, 95 %",
        "thin": "percentiles with fewer than ten values expected beyond them",
        "metrics": metrics,
    })
}

fn level(level: &LevelSummary) -> Value {
    let counts = &level.counts;
    let outcomes: serde_json::Map<String, Value> = counts
        .outcomes
        .iter()
        .map(|(outcome, count)| (outcome.word().to_owned(), Value::from(*count)))
        .collect();
    let statuses: serde_json::Map<String, Value> = counts
        .statuses
        .iter()
        .map(|(status, count)| (status.to_string(), Value::from(*count)))
        .collect();
    let mut requests = Object::default();
    requests
        .set("sent", counts.sent)
        .set("ok", counts.ok)
        .set("failed", counts.failed)
        .set("cancelled", counts.cancelled)
        .set("dropped", counts.dropped)
        .set_known("error_rate", counts.error_rate())
        .set("outcomes", outcomes)
        .set("http_statuses", statuses)
        .set_known("retry_after_s_max", counts.retry_after_s_max);
    let mut object = Object::default();
    object
        .set("level", level.level)
        .set_known("concurrency_asked", level.concurrency_asked())
        .set_known("req_per_s_asked", rate_of(level.load()))
        .set_known("complete", level.complete)
        .set_known("ended_by", level.ended_by.map(ifm_core::LevelEnd::word))
        .set_known("measured_again", level.measured_again)
        .set("requests", requests.take())
        .set_known(
            "warming",
            level.warming.map(|head| {
                let mut object = Object::default();
                object
                    .set("requests", head.requests)
                    .set("seconds", head.seconds)
                    .set("metric", head.metric)
                    .set("ratio", head.ratio)
                    .take()
            }),
        )
        .set_known("first_wave", level.first_wave.as_deref().map(first_wave))
        .set_known("steady", level.steady.as_ref().map(|steady| window(steady, level.generates)))
        .set_known("steady_absent_because", level.steady_absent_because.as_deref())
        .set_known("whole", level.whole.as_ref().map(|whole| window(whole, level.generates)))
        .set("latency", latencies(&level.latencies))
        .set("tokens", tokens(&level.tokens))
        .set_known(
            "goodput",
            level.goodput.map(|goodput| {
                let mut object = Object::default();
                object
                    .set("good", goodput.good)
                    .set("sent", goodput.sent)
                    .set_known("attainment", goodput.attainment())
                    .take()
            }),
        )
        .set_known("turns", (!level.turns.is_empty()).then(|| turns(level)))
        .set_known("steps", (!level.steps.is_empty()).then(|| steps(level)))
        .set_known("energy", level.energy.as_ref().map(energy))
        .set_known("server", level.server.as_ref().map(server))
        .set("verdict", verdict(&level.verdict))
        .take()
}

/// What is left out of latencies and verdict, and both with it.
fn first_wave(wave: &FirstWave) -> Value {
    let mut object = Object::default();
    object
        .set("requests", wave.requests)
        .set("latency_with", latencies(&wave.latencies_with))
        .set("verdict_with", verdict(&wave.verdict_with))
        .take()
}

fn energy(energy: &LevelEnergy) -> Value {
    let per_token = energy.joules_per_output_token;
    let mut object = Object::default();
    object
        .set("of", energy.of.word())
        .set("devices", energy.devices)
        .set("method", energy.method.word())
        .set("window", energy.window.word())
        .set("duration_s", energy.seconds)
        .set("energy_j", energy.joules)
        .set("power_w_mean", energy.watts_mean)
        .set_known("power_w_peak", energy.watts_peak)
        .set_known("energy_j_per_output_token", per_token)
        .set_known("energy_j_per_request", energy.joules_per_request)
        .set_known("output_tokens_per_kwh", per_token.map(tokens_per_kwh))
        .take()
}

/// The server's own account, warm-up and other clients included.
fn server(server: &ServerCounters) -> Value {
    let mut object = Object::default();
    object
        .set("source", server.source.as_str())
        .set("start_s", server.span_ns.0 as f64 * S)
        .set("end_s", server.span_ns.1 as f64 * S)
        .set_known("requests", server.requests)
        .set_known("prompt_tokens", server.prompt_tokens)
        .set_known("output_tokens", server.output_tokens)
        .set_known("cache_queries", server.cache_queries)
        .set_known("cache_hits", server.cache_hits)
        .set_known("cache_hit_share", server.cache_share())
        .set_known("preemptions", server.preemptions)
        .set_known("running_max", server.running_max)
        .set_known("waiting_max", server.waiting_max)
        .set_known("kv_cache_share_max", server.kv_share_max)
        .set("began_anew", server.began_anew)
        .take()
}

fn turns(level: &LevelSummary) -> Vec<Value> {
    let seconds = |distribution: &Option<Distribution>| {
        distribution.as_ref().map(|distribution| self::distribution(distribution, NS_PER_S))
    };
    let turn = |turn: &TurnSummary| {
        let mut object = Object::default();
        object
            .set("turn", turn.turn)
            .set("and_later", turn.and_later)
            .set("sent", turn.sent)
            .set("ok", turn.ok)
            .set_known("prompt_mean", turn.prompt_mean)
            .set_known("output_mean", turn.output_mean)
            .set_known("cached_share", turn.cached_share)
            .set_known("ttft_s", seconds(&turn.ttft_ns))
            .set_known("gap_s", seconds(&turn.gap_ns))
            .set_known("e2e_s", seconds(&turn.e2e_ns))
            .take()
    };
    level.turns.iter().map(turn).collect()
}

fn steps(level: &LevelSummary) -> Vec<Value> {
    let seconds = |found: &Option<Distribution>| {
        found.as_ref().map(|distribution| self::distribution(distribution, NS_PER_S))
    };
    let step = |step: &StepSummary| {
        let mut object = Object::default();
        object
            .set("req_per_s_asked", step.req_per_s_asked)
            .set("start_s", step.start_ns as f64 * S)
            .set("duration_s", step.seconds())
            .set("due", step.due())
            .set("sent", step.counts.sent)
            .set("ok", step.counts.ok)
            .set("failed", step.counts.failed)
            .set("req_per_s", step.req_per_s_served)
            .set_known("ttft_s", seconds(&step.ttft_ns))
            .set_known("e2e_s", seconds(&step.e2e_ns))
            .take()
    };
    level.steps.iter().map(step).collect()
}

fn window(summary: &WindowSummary, generates: bool) -> Value {
    let concurrency = summary.concurrency;
    let mut object = Object::default();
    object
        .set("start_s", summary.window.start_ns as f64 * S)
        .set("end_s", summary.window.end_ns as f64 * S)
        .set("duration_s", summary.window.seconds())
        .set("ok", summary.ok)
        .set("req_per_s", summary.req_per_s)
        .set_known("good_req_per_s", summary.good_req_per_s)
        .set_known("output_tok_per_s", generates.then_some(summary.output_tok_per_s))
        .set_known("total_tok_per_s", summary.total_tok_per_s)
        .set("output_tokens", summary.output_tokens)
        .set("output_tokens_incomplete", summary.output_tokens_incomplete)
        .set("output_tokens_estimated", summary.output_tokens_estimated)
        .set_known("prompt_tokens", summary.prompt_tokens)
        .set(
            "concurrency",
            json!({
                "mean": concurrency.mean,
                "p50": concurrency.p50,
                "p95": concurrency.p95,
                "max": concurrency.max,
            }),
        )
        .take()
}

fn latencies(latencies: &Latencies) -> Value {
    let seconds = |distribution: &Option<Distribution>| {
        distribution.as_ref().map(|distribution| self::distribution(distribution, NS_PER_S))
    };
    let plain = |distribution: &Option<Distribution>| {
        distribution.as_ref().map(|distribution| self::distribution(distribution, 1.0))
    };
    // The gap between events has the name that it deserves.
    let is_token = latencies.gap_label == ifm_analysis::level::GapLabel::InterToken;
    let gap_name = if is_token { "itl_s" } else { "inter_event_s" };
    let mut object = Object::default();
    object
        .set_known("ttft_s", seconds(&latencies.ttft_ns))
        .set_known("ttft_s_from_due", seconds(&latencies.ttft_ns_from_due))
        .set_known("ttfat_s", seconds(&latencies.ttfat_ns))
        .set_known("e2e_s", seconds(&latencies.e2e_ns))
        .set_known("e2e_s_from_due", seconds(&latencies.e2e_ns_from_due))
        .set_known("stream_end_s", seconds(&latencies.stream_end_ns))
        .set_known("upload_s", seconds(&latencies.upload_ns))
        .set_known("tpot_s", seconds(&latencies.tpot_ns))
        .set_known("tpot_s_estimated", seconds(&latencies.tpot_ns_estimated))
        .set_known("tpot_s_after_first_event", seconds(&latencies.tpot_ns_after_first_event))
        .set_known("user_tok_per_s", plain(&latencies.user_tok_per_s))
        .set_known("user_tok_per_s_estimated", plain(&latencies.user_tok_per_s_estimated))
        .set_known(gap_name, seconds(&latencies.gap_ns))
        .set_known("itl_s_per_token", seconds(&latencies.gap_ns_per_token))
        .set_known("several_token_event_share", latencies.several_token_event_share)
        .take()
}

/// Divides by `per`, so that seconds come out exactly where nanoseconds allow.
fn distribution(distribution: &Distribution, per: f64) -> Value {
    let mut object = Object::default();
    object
        .set("n", distribution.n)
        .set("mean", distribution.mean / per)
        .set_known("std", distribution.std.map(|std| std / per))
        .set("min", distribution.min / per)
        .set("max", distribution.max / per);
    let mut thin = Vec::new();
    let mut intervals = Object::default();
    for percentile in &distribution.percentiles {
        let name = format!("p{}", percentile.p);
        object.set(&name, percentile.value / per);
        if let Some(interval) = percentile.interval {
            let mut bounds = Object::default();
            bounds
                .set_known("low", interval.low.map(|low| low / per))
                .set_known("high", interval.high.map(|high| high / per));
            intervals.set(&name, bounds.take());
        }
        if !percentile.enough {
            thin.push(name);
        }
    }
    object.set("ci95", intervals.take()).set("thin", thin).take()
}

fn sources(sources: &CountSources) -> Value {
    let mut object = Object::default();
    for (source, requests) in &sources.by_source {
        object.set(source.word(), *requests);
    }
    if sources.unknown > 0 {
        object.set("unknown", sources.unknown);
    }
    object.take()
}

fn tokens(facts: &TokenFacts) -> Value {
    let mut object = Object::default();
    object
        .set_known("output_asked_mean", facts.output_asked_mean)
        .set_known("output_mean", facts.output_mean)
        .set_known("output_total", facts.output_total)
        .set("output_counted_by", sources(&facts.output_from))
        .set_known("prompt_asked_mean", facts.prompt_asked_mean)
        .set_known("prompt_added", facts.prompt_added)
        .set_known("prompt_mean", facts.prompt_mean)
        .set_known("prompt_total", facts.prompt_total)
        .set("prompt_counted_by", sources(&facts.prompt_from))
        .set_known("cached_total", facts.cached_total)
        .set_known("cached_share", facts.cached_share)
        .set_known("reasoning_total", facts.reasoning_total)
        .set_known("accepted_draft_total", facts.accepted_draft_total)
        .set_known("rejected_draft_total", facts.rejected_draft_total)
        .set("events", facts.events)
        .set("co_arrived_events", facts.co_arrived_events)
        .set_known(
            "disagreement",
            facts.disagreement.map(
                |both| json!({"events": both.events, "tokens": both.tokens, "share": both.share()}),
            ),
        )
        .take()
}

fn verdict(verdict: &Verdict) -> Value {
    json!({
        "state": verdict.state.to_string(),
        "is_sure": verdict.is_sure,
        "too_many_errors": verdict.too_many_errors,
        "terms": verdict.terms.iter().map(term).collect::<Vec<_>>(),
    })
}

fn term(term: &TermVerdict) -> Value {
    let mut object = Object::default();
    object
        .set("metric", term.term.metric.as_str())
        .set("over", term.term.over())
        .set_known("percentile", term.term.percentile)
        .set("limit_s", term.term.limit_ms / 1e3)
        .set_known("value_s", term.value_ms.map(|value| value / 1e3))
        .set("n", term.n)
        .set("state", term.state.to_string())
        .set("is_sure", term.is_sure)
        .take()
}

fn repeats(repeats: &[Repeated]) -> Value {
    repeats.iter().map(repeated).collect()
}

fn repeated(repeated: &Repeated) -> Value {
    let speed = if repeated.user_speed_is_estimated {
        "user_tok_per_s_p50_estimated"
    } else {
        "user_tok_per_s_p50"
    };
    let known =
        |figure: &Option<Between>, scale: f64| figure.as_ref().map(|figure| between(figure, scale));
    Object::default()
        .set_known("users", users_of(Some(repeated.load)))
        .set_known("req_per_s_asked", rate_of(Some(repeated.load)))
        .set("levels", repeated.levels.as_slice())
        .set("inside", repeated.inside)
        .set("outside", repeated.outside)
        .set_known("req_per_s", known(&repeated.req_per_s, 1.0))
        .set_known("output_tok_per_s", known(&repeated.output_tok_per_s, 1.0))
        .set_known(speed, known(&repeated.user_tok_per_s, 1.0))
        .set_known("ttft_s_p50", known(&repeated.ttft_ns_p50, S))
        .set_known("ttft_s_p99", known(&repeated.ttft_ns_p99, S))
        .set_known("gap_s_p50", known(&repeated.gap_ns_p50, S))
        .set_known("gap_s_p99", known(&repeated.gap_ns_p99, S))
        .take()
}

/// A figure over repeats: its mean, and the interval of that where there is one.
fn between(figure: &Between, scale: f64) -> Value {
    let (low, high) = figure.interval.unzip();
    Object::default()
        .set("n", figure.n)
        .set("mean", figure.mean * scale)
        .set("min", figure.min * scale)
        .set("max", figure.max * scale)
        .set_known("low", low.map(|low| low * scale))
        .set_known("high", high.map(|high| high * scale))
        .take()
}

fn answers(answers: &Answers) -> Value {
    let users = &answers.users;
    let at = &answers.at;
    let state = match users.state {
        UsersState::Found => "found",
        UsersState::AtLeast => "at_least",
        UsersState::None => "none",
        UsersState::Unknown => "unknown",
    };
    let mut fit = Object::default();
    fit.set("state", state)
        .set_known("users", users_of(users.load))
        .set_known("req_per_s", rate_of(users.load))
        .set("is_sure", users.is_sure)
        .set("is_searched", users.is_searched)
        .set_known("unsettled_from", users.unsettled.map(|(from, _)| number_of(from)))
        .set_known("unsettled_to", users.unsettled.map(|(_, to)| number_of(to)))
        .set_known(
            "contradicted",
            (!users.contradicted.is_empty()).then(|| {
                users.contradicted.iter().map(|load| number_of(*load)).collect::<Vec<_>>()
            }),
        )
        .set_known("next_worse", users.next_worse.as_ref().map(next_worse))
        .set(
            "inside_above",
            users.inside_above.iter().map(|load| number_of(*load)).collect::<Vec<_>>(),
        );
    let mut level = Object::default();
    level
        .set("level", at.level)
        .set("repeats", at.repeats)
        .set_known("users", users_of(at.load))
        .set_known("req_per_s_asked", rate_of(at.load))
        .set_known(
            if at.user_speed_is_estimated {
                "user_tok_per_s_p50_estimated"
            } else {
                "user_tok_per_s_p50"
            },
            at.user_tok_per_s,
        )
        .set_known("ttft_s_p50", at.ttft_ns_p50.map(|ns| ns / NS_PER_S))
        .set_known("ttft_s_p99", at.ttft_ns_p99.map(|(ns, _)| ns / NS_PER_S))
        .set_known("output_tok_per_s", at.output_tok_per_s)
        .set_known(
            "output_tok_per_s_between",
            at.output_tok_per_s_between.as_ref().map(|figure| between(figure, 1.0)),
        )
        .set_known("output_tok_per_hour", at.output_tok_per_hour)
        .set_known("energy_j_per_output_token", at.joules_per_output_token)
        .set_known("output_tokens_per_kwh", at.joules_per_output_token.map(tokens_per_kwh))
        .set_known("share_of_best", at.share_of_best)
        .set_known("window", at.window.map(|window| window.word()));
    let knee = answers.knee.map(|load| {
        Object::default()
            .set_known("users", users_of(Some(load)))
            .set_known("req_per_s", rate_of(Some(load)))
            .take()
    });
    let trust = &answers.trust;
    let trust = json!({
        "checks": trust.checks,
        "passed": trust.passed,
        "cautions": trust.cautions,
        "invalid": trust.invalid,
    });
    Object::default()
        .set("slo", json!({"name": answers.slo.name, "terms": slo::words(&answers.slo)}))
        .set("users", fit.take())
        .set("at", level.take())
        .set_known("knee", knee)
        .set("trust", trust)
        .take()
}

/// A load as a number without its unit.
fn number_of(load: Load) -> Value {
    match load {
        Load::Users(users) => users.into(),
        Load::ReqPerS(rate) => rate.into(),
    }
}

fn users_of(load: Option<Load>) -> Option<Value> {
    load.filter(|load| matches!(load, Load::Users(_))).map(number_of)
}

fn rate_of(load: Option<Load>) -> Option<Value> {
    load.filter(|load| matches!(load, Load::ReqPerS(_))).map(number_of)
}

fn next_worse(worse: &NextWorse) -> Value {
    let mut object = Object::default();
    object
        .set_known("users", users_of(Some(worse.load)))
        .set_known("req_per_s", rate_of(Some(worse.load)))
        .set("state", worse.state.to_string())
        .set("terms", worse.terms.iter().map(term).collect::<Vec<_>>())
        .set_known("error_rate", worse.error_rate)
        .take()
}

fn check(check: &CheckResult) -> Value {
    json!({"id": check.id, "title": check.title, "state": check.state().word()})
}

fn warning(warning: &Warning) -> Value {
    let mut object = Object::default();
    object
        .set("check", warning.check)
        .set("severity", warning.severity.word())
        .set_known("level", warning.level)
        .set_known("users", users_of(warning.load))
        .set_known("req_per_s_asked", rate_of(warning.load))
        .set("text", warning.text.as_str())
        .take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_failed, model, sweep};

    /// The same with the fields of each object by name: their order in the text depends on the
    /// features with which the JSON library was built.
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut fields: Vec<(String, Value)> = map.into_iter().collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
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
