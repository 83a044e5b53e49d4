//! Facts about a level other than its latencies, one line each: energy, the server's own counters,
//! drafts.
//!
//! Not here: layout, and what is measured (`ifm-metrics`).

use crate::format::{count, number, percent, plain};
use ifm_core::words::plural;
use ifm_metrics::speculation::{DraftsCountedBy, Speculation};
use ifm_metrics::telemetry::{EnergyMethod, PoweredBy};
use ifm_metrics::{LevelEnergy, LevelSummary, ServerCounters};

/// The energy of a level in one line: `0.78 J/token · 12.5 J/request · mean 200 W · …`.
pub(crate) fn energy(energy: &LevelEnergy) -> String {
    let mut parts = Vec::new();
    parts
        .extend(energy.joules_per_output_token.map(|joules| format!("{} J/token", number(joules))));
    let per_watt = energy.joules_per_output_token.map(f64::recip);
    parts.extend(per_watt.map(|rate| format!("{} tok/s per W", number(rate))));
    parts.extend(energy.joules_per_request.map(|joules| format!("{} J/request", number(joules))));
    parts.push(format!("mean {} W", number(energy.watts_mean)));
    parts.extend(energy.watts_peak.map(|watts| format!("peak {} W", number(watts))));
    parts.extend(energy.watts_limit.map(|watts| format!("limit {} W", number(watts))));
    let many = |one: &str| match energy.devices {
        1 => format!("1 {one}"),
        devices => format!("{devices} {one}s"),
    };
    let whose = match energy.of {
        PoweredBy::Gpus => format!("{}, idle power included", many("GPU")),
        PoweredBy::Processors => {
            format!("{}, idle power and this client included", many("processor package"))
        }
        PoweredBy::Stated => "as stated, not measured".to_owned(),
    };
    parts.push(match energy.method {
        EnergyMethod::Counter => format!("counted by {whose}"),
        EnergyMethod::Samples => format!("sampled from {whose}"),
        EnergyMethod::Stated => whose,
    });
    parts.join(" · ")
}

/// The server's own account of a level in one line; absent where it reported nothing of interest.
/// `warmup` is the number of its warm-up requests if they explain why the server counted more requests
/// than were measured.
pub(crate) fn server_account(server: &ServerCounters, warmup: Option<u64>) -> Option<String> {
    let whole = |value: f64| count(crate::format::whole(value));
    let mut parts = Vec::new();
    let of_warmup =
        warmup.map_or_else(String::new, |n| format!(", including {} of the warm-up", count(n)));
    parts.extend(
        server.requests.map(|n| format!("{} {}{of_warmup}", whole(n), plural(n as u64, "request"))),
    );
    parts.extend(server.prompt_tokens.map(|tokens| format!("{} prompt tokens", whole(tokens))));
    parts.extend(server.output_tokens.map(|tokens| format!("{} output tokens", whole(tokens))));
    parts.extend(server.cache_share().map(|share| format!("cache hits {}", percent(share))));
    let several = server.preemptions.filter(|preemptions| *preemptions > 0.0);
    parts.extend(several.map(|preemptions| format!("{} preemptions", whole(preemptions))));
    parts.extend(server.waiting_max.map(|waiting| format!("at most {} waiting", whole(waiting))));
    parts.extend(server.kv_share_max.map(|share| format!("KV cache at most {}", percent(share))));
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The warm-up requests of a level, if the server counted exactly these in addition to the measured ones.
fn counted_warmup(level: &LevelSummary) -> Option<u64> {
    let warmup = u64::from(level.asked.as_ref()?.warmup_requests);
    let counted = level.server.as_ref()?.requests?;
    (warmup > 0 && counted == (level.counts.sent + warmup) as f64).then_some(warmup)
}

/// Facts about a level other than its answers: a name and a line each.
pub(crate) fn level_facts(level: &LevelSummary) -> Vec<(&'static str, String)> {
    let energy = level.energy.as_ref().map(|found| ("energy", energy(found)));
    let server =
        level.server.as_ref().and_then(|server| server_account(server, counted_warmup(level)));
    energy.into_iter().chain(server.map(|line| ("server", line))).collect()
}

/// The drafts of a level in one line.
pub(crate) fn drafts(found: &Speculation) -> String {
    let whole = |value: f64| count(crate::format::whole(value));
    let mut parts = Vec::new();
    parts.extend(found.acceptance_length.map(|length| format!("acceptance length {length:.2}")));
    parts.extend(found.acceptance_rate.map(|rate| match found.draft_tokens {
        Some(all) => format!("{} of {} draft tokens accepted", percent(rate), whole(all)),
        None => format!("{} of the draft tokens accepted", percent(rate)),
    }));
    parts.extend(found.drafts.map(|drafts| format!("{} drafts", whole(drafts))));
    parts.extend(found.tokens_per_event.map(|tokens| format!("{tokens:.2} tokens per event")));
    parts.push(drafts_counted(found));
    parts.join(" · ")
}

/// Who counted the drafts.
pub(crate) fn drafts_counted(found: &Speculation) -> String {
    match (found.counted_by, found.answers, &found.source) {
        (DraftsCountedBy::Requests, Some(answers), _) => {
            format!("reported by {} {}", count(answers), plural(answers, "answer"))
        }
        (_, _, Some(source)) if found.is_length_derived => {
            format!("counters of {}, length from output tokens", plain(source))
        }
        (_, _, source) => {
            format!("counters of {}", plain(source.as_deref().unwrap_or("the server")))
        }
    }
}
