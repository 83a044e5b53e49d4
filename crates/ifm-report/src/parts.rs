//! Parts of a level, as rows of text that every format shows alike: turns of conversations, classes of
//! mixed traffic.

use crate::format::{ABSENT, marked_span, number, percent, plain};
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{ClassSummary, FormSummary, PartSummary, TurnSummary};
use ifm_metrics::stat::{Distribution, Estimate};

/// Columns of a table of parts.
pub(crate) const COLUMNS: usize = 10;

/// Heads of the columns; `parts` is what the rows are, `gap` what gaps between events may be called.
pub(crate) fn heads(parts: &str, gap: &str) -> [String; COLUMNS] {
    [
        parts.to_owned(),
        "ok/sent".to_owned(),
        "prompt".to_owned(),
        "ideal hit".to_owned(),
        "cached".to_owned(),
        "out tok".to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        format!("{gap} p50"),
        "E2E p50".to_owned(),
    ]
}

/// One row for each turn of a level, the first turn being 1, with separate rows for sub-agents;
/// empty where requests are independent. The ideal hit is what a cache that forgets nothing would
/// know of the prompt, cached what the answers report.
pub(crate) fn turns(level: &LevelSummary) -> Vec<[String; COLUMNS]> {
    let row = |turn: &TurnSummary| {
        let sub = if turn.is_of_sub_agents { "sub " } else { "" };
        let later = if turn.and_later { "+" } else { "" };
        row(format!("{sub}{}{later}", u32::from(turn.turn) + 1), &turn.part)
    };
    level.turns.iter().map(row).collect()
}

/// One row for each class of mixed traffic, with the share that was asked for, followed by the
/// probe, which is not part of the level.
pub(crate) fn classes(level: &LevelSummary) -> Vec<[String; COLUMNS]> {
    let row = |class: &ClassSummary| {
        row(format!("{} {}", plain(&class.name), percent(class.share)), &class.part)
    };
    let probe = level.probe.iter().flat_map(|probe| {
        let name = plain(&probe.name);
        let alone = probe.alone.as_ref().map(|alone| self::row(format!("{name} alone"), alone));
        [Some(self::row(name, &probe.beside)), alone]
    });
    level.classes.iter().map(row).chain(probe.flatten()).collect()
}

/// The probe's latency during the level as a multiple of that without load; absent if unknown.
pub fn probe_line(level: &LevelSummary) -> Option<String> {
    let probe = level.probe.as_ref()?;
    let times = |what: &str, times: &Option<Estimate>| {
        let Estimate { value, low, high } = (*times)?;
        let [value, low, high] = [value, low, high].map(number);
        Some(format!("{what} {value} times that alone (95 % interval {low} to {high})"))
    };
    let told = [times("TTFT", &probe.ttft_times), times("E2E", &probe.e2e_times)];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let workload = plain(&probe.workload);
    Some(match told.is_empty() {
        true => {
            format!(
                "{workload} during the load; too few answers to compare it with the probe alone"
            )
        }
        false => format!("{workload} during the load: median {}", told.join(", ")),
    })
}

/// `3.2x`: how many times something else.
pub(crate) fn times(times: f64) -> String {
    format!("{}x", number(times))
}

/// One row for each form of answers with the share that was asked for, and one for free answers.
pub(crate) fn forms(level: &LevelSummary) -> Vec<[String; COLUMNS]> {
    let Some(forms) = level.forms.as_deref() else { return Vec::new() };
    let of = |form: &FormSummary| {
        row(format!("{} {}", plain(&form.word), percent(form.share)), &form.part)
    };
    let free = forms.free.iter().map(|part| row("free".to_owned(), part));
    forms.forms.iter().map(of).chain(free).collect()
}

fn row(name: String, part: &PartSummary) -> [String; COLUMNS] {
    let absent = || ABSENT.to_owned();
    let time = |distribution: &Option<Distribution>, p: f64| {
        let found = distribution.as_ref().and_then(|distribution| distribution.percentile(p));
        found.map_or_else(absent, marked_span)
    };
    let mean = |mean: Option<f64>| mean.map_or_else(absent, number);
    [
        name,
        format!("{}/{}", part.ok, part.sent),
        mean(part.prompt_mean),
        part.ideal_share.map_or_else(absent, percent),
        part.cached_share.map_or_else(absent, percent),
        mean(part.output_mean),
        time(&part.ttft_ns, 50.0),
        time(&part.ttft_ns, 99.0),
        time(&part.gap_ns, 50.0),
        time(&part.e2e_ns, 50.0),
    ]
}
