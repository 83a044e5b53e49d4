//! The tables below the levels: every latency, every request, energy and counters.

use super::time;
use crate::ReportModel;
use crate::format::{ABSENT, count, number, percent, span};
use crate::model::load;
use crate::page::{Block, Cell, Head, Section, Table};
use crate::words;
use ifm_analysis::LevelSummary;
use ifm_analysis::stat::Distribution;
use ifm_analysis::stat::quantile::PERCENTILE_RULE;

const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Every latency of every level.
pub(super) fn latencies(model: &ReportModel) -> Section {
    let mut heads = vec![
        Head::number(model.load_unit()),
        Head::text("metric"),
        Head::number("n"),
        Head::number("mean"),
        Head::number("std"),
    ];
    heads.extend(PERCENTILES.map(|p| Head::number(format!("p{p}"))));
    heads.push(Head::number("max"));
    let row = |level: &LevelSummary, name: &str, distribution: &Distribution| {
        let mut cells = vec![
            Cell::text(load(level.load())),
            Cell::head(name),
            Cell::number(Some(distribution.n as f64), |_| count(distribution.n)),
            Cell::number(Some(distribution.mean), span).in_unit("ns"),
            Cell::number(distribution.std, span).in_unit("ns"),
        ];
        cells.extend(PERCENTILES.map(|p| time(Some(distribution), p)));
        cells.push(Cell::number(Some(distribution.max), span).in_unit("ns"));
        cells
    };
    let but = words::first_wave(&model.summary.levels)
        .map_or(String::new(), |_| ", without each user's first".to_owned());
    let mut table = Table {
        caption: format!("Over complete answers{but}; percentiles by {PERCENTILE_RULE}."),
        heads,
        rows: Vec::new(),
    };
    for level in &model.summary.levels {
        for (name, distribution) in populations(level) {
            table.rows.push(row(level, name, distribution));
        }
    }
    let all = Block::Details("Every latency of every level".to_owned(), vec![Block::Table(table)]);
    Section::new("Latencies", vec![all])
}

fn populations(level: &LevelSummary) -> Vec<(&'static str, &Distribution)> {
    let latencies = &level.latencies;
    let has_reasoning = latencies.ttfat_ns != latencies.ttft_ns;
    let all = [
        ("TTFT", latencies.ttft_ns.as_ref()),
        ("TTFT from due", latencies.ttft_ns_from_due.as_ref()),
        ("TTFAT", latencies.ttfat_ns.as_ref().filter(|_| has_reasoning)),
        (latencies.gap_label.short(), latencies.gap_ns.as_ref()),
        ("gap per token", latencies.gap_ns_per_token.as_ref()),
        ("TPOT", latencies.tpot_ns.as_ref()),
        ("TPOT (estimated)", latencies.tpot_ns_estimated.as_ref()),
        ("E2E", latencies.e2e_ns.as_ref()),
        ("E2E from due", latencies.e2e_ns_from_due.as_ref()),
        ("end of stream", latencies.stream_end_ns.as_ref()),
        ("upload", latencies.upload_ns.as_ref()),
    ];
    all.into_iter().filter_map(|(name, distribution)| Some((name, distribution?))).collect()
}

/// What became of each request, and who counted its tokens.
pub(super) fn requests(model: &ReportModel) -> Section {
    let heads =
        [model.load_unit(), "requests", "in flight", "prompt tokens", "output tokens", "counted"];
    let table = Table {
        caption: "Every request that was planned, with its tokens per request.".to_owned(),
        heads: heads.map(Head::text).to_vec(),
        rows: model.summary.levels.iter().map(request_row).collect(),
    };
    Section::new("Requests", vec![Block::Table(table)])
}

fn request_row(level: &LevelSummary) -> Vec<Cell> {
    let tokens = &level.tokens;
    let length = |got: Option<f64>, asked: Option<f64>| {
        let got = got.map_or_else(|| "not counted".to_owned(), number);
        let asked = asked.map(|asked| format!(", asked {}", number(asked)));
        format!("{got}{}", asked.unwrap_or_default())
    };
    let in_flight = level.window().map_or_else(
        || ABSENT.to_owned(),
        |window| {
            let concurrency = &window.concurrency;
            format!(
                "{} in the mean, at most {} ({})",
                number(concurrency.mean),
                concurrency.max,
                window.window.kind.word()
            )
        },
    );
    let mut prompt = length(tokens.prompt_mean, tokens.prompt_asked_mean);
    if let Some(added) = tokens.prompt_added {
        prompt.push_str(&format!(", {added} by the chat template"));
    }
    if let Some(share) = tokens.cached_share.filter(|share| *share > 0.0) {
        prompt.push_str(&format!(", {} cached", percent(share)));
    }
    vec![
        Cell::head(load(level.load())),
        Cell::text(words::accounting(level)),
        Cell::text(in_flight),
        Cell::text(prompt),
        Cell::text(length(tokens.output_mean, tokens.output_asked_mean)),
        Cell::text(tokens.output_from.provenance().words()),
    ]
}

/// Energy and the server's own account of each level; nothing where neither is known.
pub(super) fn beside(model: &ReportModel) -> Option<Section> {
    let row = |level: &LevelSummary, name: &str, line: String| {
        vec![Cell::head(load(level.load())), Cell::text(name), Cell::text(line)]
    };
    let rows: Vec<Vec<Cell>> = model
        .summary
        .levels
        .iter()
        .flat_map(|level| {
            words::beside(level).into_iter().map(move |(name, line)| row(level, name, line))
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Energy is that of whole devices over the window; counters are those of the \
                   whole server, warm-up included.";
    let heads = [model.load_unit(), "of", "what it tells"].map(Head::text).to_vec();
    let table = Table { caption: caption.to_owned(), heads, rows };
    Some(Section::new("Energy and the server's own counters", vec![Block::Table(table)]))
}
