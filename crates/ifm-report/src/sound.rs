//! Recordings that a server heard and sound that it made: a line, and a section with a table for each.
//!
//! Not here: what RTFx and RTF are (`ifm-metrics`, `measured/sound`).

use crate::ReportModel;
use crate::format::{count, marked_span, number, percent, span};
use crate::model::load;
use crate::page::{Block, Cell, Columns, Head, Section};
use ifm_core::Metric;
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{HeardAudio, SpokenAudio};
use ifm_metrics::stat::Distribution;

const NS_PER_S: f64 = 1e9;

/// The sound of one level in a line; absent where there was none.
pub(crate) fn line(level: &LevelSummary) -> Option<String> {
    let values = |metric| level.latencies.get(metric);
    let median = |metric| values(metric).and_then(Distribution::median);
    let mut parts = Vec::new();
    if let Some(heard) = level.heard.as_deref() {
        parts.extend(heard.audio_ns.map(|ns| format!("{} heard", span(ns as f64))));
        parts.extend(heard.level_rtfx.map(|rtfx| {
            format!("RTFx {} (seconds of audio for each second of the level)", number(rtfx))
        }));
        parts.extend(
            median(Metric::Rtfx).map(|rtfx| format!("{} of a request (p50)", number(rtfx))),
        );
    }
    if let Some(spoken) = level.spoken.as_deref() {
        parts.extend(spoken.audio_ns.map(|ns| format!("{} made", span(ns as f64))));
        let first = values(Metric::Ttfa).and_then(|ttfa| ttfa.percentile(50.0));
        parts.extend(first.map(|first| format!("first sound after {} (p50)", marked_span(first))));
        parts.extend(median(Metric::Rtf).map(|rtf| format!("RTF {} (p50)", number(rtf))));
        let silent = spoken.silent_share;
        parts.extend(silent.map(|share| format!("pauses in {} of the answers", percent(share))));
    }
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The sound of every level; absent where there was none.
pub(crate) fn section(model: &ReportModel) -> Option<Section> {
    let levels = model.summary.levels_by_load();
    let all = || levels.iter().copied();
    let heard: Vec<_> = all().filter_map(|it| Some((it, it.heard.as_deref()?))).collect();
    let spoken: Vec<_> = all().filter_map(|it| Some((it, it.spoken.as_deref()?))).collect();
    let mut blocks = Vec::new();
    blocks.extend((!heard.is_empty()).then(|| heard_table(model, &heard)));
    blocks.extend((!spoken.is_empty()).then(|| spoken_table(model, &spoken)));
    (!blocks.is_empty()).then(|| Section::new("Sound", blocks))
}

type Heard<'a> = (&'a LevelSummary, &'a HeardAudio);
type Spoken<'a> = (&'a LevelSummary, &'a SpokenAudio);

fn seconds(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / NS_PER_S)
}

fn heard_table(model: &ReportModel, rows: &[Heard]) -> Block {
    let columns = Columns::<Heard>::default()
        .name(model.load_unit(), |(level, _)| load(level.load()))
        .number("requests", |(_, heard)| Some(heard.requests as f64), |n| count(n as u64))
        .number("seconds of audio", |(_, heard)| seconds(heard.audio_ns), number)
        .number("RTFx of the level", |(_, heard)| heard.level_rtfx, number)
        .number("RTFx p50", |(level, _)| level.latencies.get(Metric::Rtfx)?.median(), number)
        .number("RTFx mean", |(level, _)| Some(level.latencies.get(Metric::Rtfx)?.mean), number);
    let caption = "Over complete answers to recordings. RTFx of a request: seconds of its audio over \
                   its E2E. RTFx of the level: seconds of audio for each second of the window of \
                   its other rates, in which many are heard at once.";
    Block::Table(columns.table(caption, rows.iter().copied()))
}

fn spoken_table(model: &ReportModel, rows: &[Spoken]) -> Block {
    let time = |metric: Metric, p: f64| {
        move |(level, _): &Spoken| {
            let found = level.latencies.get(metric).and_then(|of| of.percentile(p));
            Cell::number(found.map(|found| found.value), span).in_unit("ns")
        }
    };
    let columns = Columns::<Spoken>::default()
        .name(model.load_unit(), |(level, _)| load(level.load()))
        .number("requests", |(_, spoken)| Some(spoken.requests as f64), |n| count(n as u64))
        .number("seconds of audio", |(_, spoken)| seconds(spoken.audio_ns), number)
        .cell(Head::number("TTFA p50"), time(Metric::Ttfa, 50.0))
        .cell(Head::number("TTFA p99"), time(Metric::Ttfa, 99.0))
        .number("RTF p50", |(level, _)| level.latencies.get(Metric::Rtf)?.median(), number)
        .number("with pauses", |(_, spoken)| spoken.silent_share, percent)
        .cell(Head::number("silence p99"), time(Metric::Silence, 99.0));
    let caption = "Over complete answers with sound. TTFA: start to the first byte of sound. RTF: E2E \
                   over the length of the sound. Silence: what a listener who began with the first \
                   byte waited for the next.";
    Block::Table(columns.table(caption, rows.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, single};
    use ifm_core::{MadeAudio, SentMedia};
    use ifm_metrics::testing::{MS, images};

    #[test]
    fn what_was_heard_and_made_is_told_with_its_definition() {
        let heard = SentMedia { audios: 1, audio_ns: Some(4_000 * MS), ..SentMedia::default() };
        let model = model(&images(|_, record| {
            record.media = Some(heard);
            record.made_audio = Some(MadeAudio {
                first_ns: record.start_ns + 75 * MS,
                audio_ns: Some(2_000 * MS),
                bytes: 96_000,
                silence_ns: Some(0),
                silences: Some(0),
            });
        }));
        let line = line(&model.summary.levels[0]).expect("there was sound");
        assert!(line.contains(" heard · RTFx "), "{line}");
        assert!(line.contains("first sound after 75.0 ms"), "{line}");
        assert!(line.contains("pauses in 0% of the answers"), "{line}");
        let page = crate::markdown(&model);
        assert!(page.contains("## Sound") && page.contains("| RTFx of the level |"), "{page}");
        assert!(page.contains("| TTFA p50 |"), "{page}");
        assert_eq!(super::line(&crate::testing::model(&single()).summary.levels[0]), None);
    }
}
