//! What to try after a run in which no request got a complete answer.

use ifm_core::{Outcome, RequestRecord, RunData};
use ifm_metrics::failure::Failures;

/// What to try after a run without an answer.
pub(super) fn hint_for(run: &RunData, why: &str, failures: Option<&Failures>) -> String {
    let status = run.requests.iter().find_map(|record| record.http_status);
    let refused = refused_field(why).filter(|_| matches!(status, Some(400 | 422)));
    if came_whole(run) {
        return "the server does not stream: --no-stream measures whole answers".to_owned();
    }
    if let Some(way) = refused {
        return way.to_owned();
    }
    let has_audio =
        run.requests.iter().any(|record| record.media.as_ref().is_some_and(|it| it.audios > 0));
    if status == Some(404) && has_audio && !run.manifest.spec.target.api.takes_recordings() {
        return format!(
            "a speech model uses another API: --api transcriptions (this run used --api {})",
            run.manifest.spec.target.api_words()
        );
    }
    let hint = failures.and_then(Failures::hint);
    format!(
        "{}; inferometer report {} --format requests lists each request",
        hint.as_deref().unwrap_or("check the URL, --model and --api"),
        run.manifest.run_id
    )
}

/// Fields of a body that strict servers refuse and that a user can omit, and how.
const LEFT_OUT: &[(&str, &str)] = &[
    ("ignore_eos", "--ignore-eos=false leaves ignore_eos out; answers may then end early"),
    ("stream_options", "--extra-body '{\"stream_options\": null}' leaves it out"),
    ("max_tokens", "--extra-body '{\"max_completion_tokens\": 64}' sends the newer name instead"),
    ("temperature", "--temperature none leaves it out"),
];

/// How to omit the field that a server's message rejects.
fn refused_field(why: &str) -> Option<&'static str> {
    let lower = why.to_ascii_lowercase();
    let refusals = [
        "unexpected",
        "unrecognized",
        "unsupported",
        "unknown",
        "not support",
        "not permitted",
        "deprecated",
    ];
    if !refusals.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = lower.split(|c| !is_part(c));
    let (_, way) = words.find_map(|word| LEFT_OUT.iter().find(|(name, _)| *name == word))?;
    Some(way)
}

/// Whether streams were requested, and answers arrived whole.
fn came_whole(run: &RunData) -> bool {
    let is_whole = |record: &RequestRecord| {
        record.http_status == Some(200)
            && !record.streamed
            && record.outcome == Outcome::Truncated
            && record.first_event_ns.is_some()
    };
    let is_asked = run.manifest.spec.target.stream && !run.requests.is_empty();
    is_asked && run.requests.iter().all(is_whole)
}
