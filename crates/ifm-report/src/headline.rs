//! The main result of a run in a few words, for lists of runs.
//!
//! Not here: the answers themselves, with what they rest on (`words`).

use crate::model::{load_words, title_parts, workload_parts};
use crate::words::{AnswerTopic, answers};
use ifm_core::Manifest;
use ifm_metrics::RunSummary;
use ifm_metrics::level::Load;

/// Users that fit where the user named a target, tokens per second of each user, and of all.
///
/// Absent if no request was measured.
pub fn headline(summary: &RunSummary) -> Option<String> {
    let found = summary.answers.as_ref()?;
    let all = answers(found, &summary.checks);
    // Without a target the speed is that of the lowest load, and the output that of the load with the most.
    let most = found.most.as_ref().filter(|_| found.slo.is_default).map(|most| most.load);
    let at = |load: Option<Option<Load>>| {
        load.map_or_else(String::new, |load| format!(" ({})", load_words(load)))
    };
    let (speed_at, output_at) = (at(most.map(|_| found.at.load)), at(most));
    let of = |topic: AnswerTopic| all.iter().find(|answer| answer.topic == topic);
    let fits = of(AnswerTopic::Capacity).map(|answer| format!("target met: {}", answer.value));
    let speed = of(AnswerTopic::Speed).filter(|answer| !answer.unit.is_empty());
    let speed = speed.map(|answer| match answer.unit {
        "tok/s" => format!("{} tok/s per user{speed_at}", answer.value),
        unit => format!("{} {unit}{speed_at}", answer.value),
    });
    let output = of(AnswerTopic::Output).filter(|answer| !answer.unit.is_empty());
    let output = output.map(|answer| format!("{} {} output{output_at}", answer.value, answer.unit));
    let parts: Vec<String> = [fits, speed, output].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The server with its version and address, or what a run was predicted from.
pub fn server_words(manifest: &Manifest) -> Vec<String> {
    title_parts(manifest).split_off(1)
}

/// API, kind of workload and lengths, then options that differ from plain text.
pub fn request_words(manifest: &Manifest) -> Vec<String> {
    workload_parts(manifest)
}
