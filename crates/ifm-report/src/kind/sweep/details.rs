//! The tables below the levels: every latency, every request, energy and counters.

use crate::format::{ABSENT, count, number, percent};
use crate::model::load;
use crate::page::{Block, Cell, Column, Columns, Head, Section};
use crate::{ReportModel, metric_table, words};
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{MetricValues, TokenFacts};
use ifm_metrics::stat::Distribution;
use ifm_metrics::stat::quantile::PERCENTILE_RULE;

const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Every latency of every level.
pub(super) fn latencies(model: &ReportModel) -> Section {
    let but = words::first_wave(&model.summary.levels)
        .map_or(String::new(), |_| ", without each user's first".to_owned());
    type Row<'l> = (&'l LevelSummary, &'l MetricValues);
    let time_of = |head: &str, value: fn(&Distribution) -> Option<f64>| {
        Column::new(Head::number(head), move |(_, of): &Row| {
            metric_table::cell(of.metric, value(&of.values))
        })
    };
    let columns = Columns::<Row>::default()
        .cell(Head::number(model.load_unit()), |(level, _)| Cell::text(load(level.load())))
        .name("metric", |(level, of)| {
            let name = metric_table::name(of, level.latencies.gap_label);
            if metric_table::has_slow_end(of) { format!("{name}, slow end") } else { name }
        })
        .number("n", |(_, of)| Some(of.values.n as f64), |n| count(n as u64))
        .push(time_of("mean", |of| Some(of.mean)))
        .push(time_of("std", |of| of.std))
        .all(PERCENTILES.map(|p| {
            Column::new(Head::number(format!("p{p}")), move |(_, of): &Row| {
                metric_table::percentile(of, p)
            })
        }))
        .push(Column::new(Head::number("max"), |(_, of): &Row| {
            metric_table::cell(of.metric, Some(metric_table::worst(of)))
        }));
    let rows =
        model.summary.levels_by_load().into_iter().flat_map(|level| {
            metric_table::shown(&level.latencies).map(move |found| (level, found))
        });
    let shown = model.summary.levels.iter().flat_map(|level| metric_table::shown(&level.latencies));
    let tail = metric_table::tail_note(shown, model.gap_label());
    let tail = tail.map_or(String::new(), |note| format!(" {note}."));
    let caption = format!("Over complete answers{but}; percentiles by {PERCENTILE_RULE}.{tail}");
    let table = Block::Table(columns.table(caption, rows));
    let all = Block::Details("Every latency of every level".to_owned(), vec![table]);
    Section::new("Latencies", vec![all])
}

/// The outcome of each request, and who counted its tokens.
pub(super) fn requests(model: &ReportModel) -> Section {
    let columns = Columns::<LevelSummary>::default()
        .name(model.load_unit(), |level| load(level.load()))
        .text("requests", words::accounting)
        .text("in flight", in_flight)
        .text("prompt tokens", |level| prompt(&level.tokens, level.media.is_some()))
        .text("output tokens", |level| {
            length(level.tokens.output_mean, level.tokens.output_asked_mean)
        })
        .text("counted", |level| level.tokens.output_from.provenance().words().to_owned());
    let caption = "Every request that was planned, with its tokens per request.";
    let table = columns.table(caption, model.summary.levels_by_load());
    Section::new("Requests", vec![Block::Table(table)])
}

fn in_flight(level: &LevelSummary) -> String {
    let Some(window) = level.window() else { return ABSENT.to_owned() };
    let concurrency = &window.concurrency;
    format!(
        "{} on average, at most {} ({})",
        number(concurrency.mean),
        concurrency.max,
        window.window.kind.word()
    )
}

fn length(got: Option<f64>, asked: Option<f64>) -> String {
    let got = got.map_or_else(|| "not counted".to_owned(), number);
    let asked = asked.map(|asked| format!(", asked {}", number(asked)));
    format!("{got}{}", asked.unwrap_or_default())
}

fn prompt(tokens: &TokenFacts, has_media: bool) -> String {
    let mut prompt = length(tokens.prompt_mean, tokens.prompt_asked_mean);
    if has_media && tokens.prompt_asked_mean.is_some() {
        prompt.push_str(" of text");
    }
    if let Some(added) = tokens.prompt_added {
        prompt.push_str(&format!(", {added} by the chat template"));
    }
    if let Some(share) = tokens.cached_share.filter(|share| *share > 0.0) {
        prompt.push_str(&format!(", {} cached", percent(share)));
    }
    prompt
}

/// Energy and the server's own account of each level; nothing where neither is known.
pub(super) fn energy_and_server(model: &ReportModel) -> Option<Section> {
    let lines =
        |level| words::level_facts(level).into_iter().map(move |(name, line)| (level, name, line));
    let rows: Vec<(&LevelSummary, _, String)> =
        model.summary.levels_by_load().into_iter().flat_map(lines).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = Columns::<(&LevelSummary, &str, String)>::default()
        .name(model.load_unit(), |(level, ..)| load(level.load()))
        .text("of", |(_, name, _)| (*name).to_owned())
        .text("details", |(.., line)| line.clone());
    let caption = "Energy is for whole devices over the window; counters are for the whole \
                   server, warm-up included.";
    let table = Block::Table(columns.table(caption, rows));
    Some(Section::new("Energy and the server's own counters", vec![table]))
}
