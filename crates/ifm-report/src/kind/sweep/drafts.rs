//! Speculative decoding of a run: a table by level, and what was accepted at each place of the drafts.
//!
//! What is not here: a speed-up, which one run cannot show.

use crate::format::{ABSENT, count, percent, whole};
use crate::model::{ReportModel, load, load_words};
use crate::page::{Block, Columns, Figure, Section};
use crate::words;
use ifm_chart::{Axis, Cartesian, Chart, Form, Point, Series};
use ifm_metrics::LevelSummary;
use ifm_metrics::speculation::Speculation;
use ifm_rules::insight::Meant;

/// More levels than this cannot be distinguished in a bar chart: the first and the last ones are shown.
const SERIES_MAX: usize = 4;

type Row<'a> = (&'a LevelSummary, &'a Speculation);

/// The section; absent where no draft is known of.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let rows: Vec<Row> = model
        .summary
        .levels_by_load()
        .into_iter()
        .filter_map(|level| Some((level, level.speculation.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let number = move |value: Option<f64>| absent(value.map(|value| count(whole(value))));
    let columns = Columns::<Row>::default()
        .name(model.load_unit(), |(level, _)| load(level.load()))
        .text("acceptance length", move |(_, found)| {
            absent(found.acceptance_length.map(|length| format!("{length:.2}")))
        })
        .text("acceptance rate", move |(_, found)| absent(found.acceptance_rate.map(percent)))
        .text("drafts", move |(_, found)| number(found.drafts))
        .text("draft tokens", move |(_, found)| number(found.draft_tokens))
        .text("accepted", move |(_, found)| number(found.accepted_tokens))
        .text("tokens per event", move |(_, found)| {
            absent(found.tokens_per_event.map(|tokens| format!("{tokens:.2}")))
        })
        .text("counted by", |(_, found)| words::drafts_counted(found));
    let caption = "Acceptance length is 1 + accepted / drafts, acceptance rate is accepted / draft \
                   tokens. How much faster it is follows from a run without drafts at the same load: \
                   inferometer compare.";
    let figure = chart(&rows).map(|chart| Block::Figures(vec![Figure::alone(chart)]));
    let mut blocks = vec![Block::Table(columns.table(caption, rows))];
    blocks.extend(figure);
    Some(Section::new("Speculative decoding", blocks))
}

/// The share that was accepted at each place.
fn chart(rows: &[Row]) -> Option<Chart> {
    let mut known: Vec<&Row> =
        rows.iter().filter(|(_, found)| !found.by_position.is_empty()).collect();
    if known.len() > SERIES_MAX {
        let last = known.pop();
        known.truncate(SERIES_MAX - 1);
        known.extend(last);
    }
    let places = known.iter().map(|(_, found)| found.by_position.len()).max()?;
    let series = |(index, (level, found)): (usize, &&Row)| {
        let points = found.by_position.iter().enumerate().map(|(place, share)| {
            Point::at(place as f64, share * 100.0).told(crate::format::meant(*share, Meant::Share))
        });
        Series::new(load_words(level.load()), points).form(Form::Bar).of(index)
    };
    let series: Vec<Series> = known.iter().enumerate().map(series).collect();
    let words = known.iter().map(|(level, found)| {
        let shares: Vec<String> = found.by_position.iter().map(|share| percent(*share)).collect();
        format!("{}: {}.", load_words(level.load()), shares.join(", "))
    });
    let description = words.collect::<Vec<_>>().join(" ");
    let names = (1..=places).map(|place| place.to_string());
    let x = Axis { name: "place in the draft".to_owned(), ..Axis::of_names(names) };
    let y = Axis { range: Some((0.0, 100.0)), ..Axis::new("accepted", "%") };
    let plot = Cartesian::new(x, y, series);
    let title = "How far are drafts right?";
    Some(Chart::new("drafts", title, description, plot))
}

#[cfg(test)]
mod tests {
    use crate::testing::{model, single};
    use crate::{TerminalStyle, html, json, markdown, terminal};
    use ifm_core::series::Signal;
    use ifm_metrics::testing::telemetry;

    #[test]
    fn drafts_are_told_everywhere_and_nowhere_without_them() {
        let none = model(&single());
        assert!(!markdown(&none).contains("Speculative"));
        let mut run = single();
        let mut series = |quantity, source: &str, by: f64| {
            run.series.push(telemetry(quantity, source, (0.0, 100.0), &|at_s| by * at_s));
        };
        series(Signal::ServerDrafts, "vLLM /metrics", 400.0);
        series(Signal::ServerDraftTokens, "vLLM /metrics", 800.0);
        series(Signal::ServerAcceptedTokens, "vLLM /metrics", 520.0);
        series(Signal::ServerAcceptedAt, "vLLM /metrics position 0", 320.0);
        series(Signal::ServerAcceptedAt, "vLLM /metrics position 1", 200.0);
        let mut several = ifm_metrics::summarize(&run);
        let again = several.levels.first().cloned();
        several.levels.extend(again);
        let model = model(&run);
        let both = crate::ReportModel { summary: several, ..model.clone() };
        let style = TerminalStyle { width: 200, color: false, ascii: false, verbose: false };
        let text = terminal(&model, &style);
        assert!(text.contains("acceptance length 2.30 · 65% of "), "{text}");
        assert!(text.contains("counters of vLLM /metrics"), "{text}");
        assert_eq!(terminal(&both, &style).matches(" drafts at ").count(), 2);
        let page = markdown(&model);
        assert!(page.contains("Speculative decoding") && page.contains("| 2.30 |"), "{page}");
        assert!(html(&model).contains("How far are drafts right?"));
        let document: serde_json::Value = serde_json::from_str(&json(&model)).expect("JSON");
        let found = &document["levels"][0]["speculation"];
        assert_eq!(
            (&found["acceptance_rate"], &found["counted_by"]),
            (&0.65.into(), &"counters".into())
        );
        assert_eq!(found["by_position"], serde_json::json!([0.8, 0.5]));
    }
}
