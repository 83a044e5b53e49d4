//! The sections below the table of levels: all latencies, accounting, and how it was done.

use super::time_cell;
use crate::ReportModel;
use crate::format::{ABSENT, bytes, command_line, count, number, percent, plain, span};
use crate::model::load;
use crate::words::{self, DEFINITIONS};
use ifm_analysis::LevelSummary;
use ifm_analysis::stat::Distribution;
use ifm_analysis::stat::quantile::PERCENTILE_RULE;
use ifm_core::ClientHealth;
use ifm_core::health::SpanQuantiles;
use maud::{Markup, html};

const PERCENTILES: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// Every latency of every level.
pub(super) fn latency_table(model: &ReportModel) -> Markup {
    html! {
        section aria-labelledby="latencies" {
            h2 id="latencies" { "Latencies" }
            div class="scroll" tabindex="0" role="region" aria-labelledby="latencies" {
                table {
                    caption { "Over complete answers. " (PERCENTILE_RULE) "." }
                    thead {
                        tr {
                            th scope="col" { (model.load_unit()) }
                            th scope="col" { "metric" }
                            th scope="col" { "n" }
                            th scope="col" { "mean" }
                            th scope="col" { "std" }
                            @for p in PERCENTILES { th scope="col" { "p" (p) } }
                            th scope="col" { "max" }
                        }
                    }
                    tbody {
                        @for level in &model.summary.levels {
                            @for (name, distribution) in rows(level) {
                                (latency_row(level, name, distribution))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rows(level: &LevelSummary) -> Vec<(&'static str, &Distribution)> {
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

fn latency_row(level: &LevelSummary, name: &str, distribution: &Distribution) -> Markup {
    html! {
        tr {
            td { (load(level.load())) }
            th scope="row" { (name) }
            td { (count(distribution.n)) }
            td { (span(distribution.mean)) }
            td { (distribution.std.map_or_else(|| ABSENT.to_owned(), span)) }
            @for p in PERCENTILES { (time_cell(Some(distribution), p)) }
            td { (span(distribution.max)) }
        }
    }
}

/// What became of each request, and who counted its tokens.
pub(super) fn accounting(model: &ReportModel) -> Markup {
    html! {
        section aria-labelledby="requests" {
            h2 id="requests" { "Requests" }
            div class="scroll" tabindex="0" role="region" aria-labelledby="requests" {
                table class="facts" {
                    caption { "Every request that was planned, with its tokens per request." }
                    thead {
                        tr {
                            @for name in [model.load_unit(), "requests", "in flight", "prompt tokens", "output tokens", "counted"] {
                                th scope="col" { (name) }
                            }
                        }
                    }
                    tbody {
                        @for level in &model.summary.levels { (accounting_row(level)) }
                    }
                }
            }
        }
    }
}

fn accounting_row(level: &LevelSummary) -> Markup {
    let tokens = &level.tokens;
    let length = |got: Option<f64>, asked: Option<f64>| {
        let got = got.map_or_else(|| "not counted".to_owned(), number);
        let asked = asked.map(|asked| format!(", asked {}", number(asked)));
        format!("{got}{}", asked.unwrap_or_default())
    };
    let cached = tokens.cached_share.filter(|share| *share > 0.0);
    html! {
        tr {
            th scope="row" { (load(level.load())) }
            td { (words::accounting(level)) }
            td {
                @match level.window() {
                    Some(window) => {
                        (number(window.concurrency.mean)) " in the mean, at most "
                        (window.concurrency.max) " (" (window.window.kind.word()) ")"
                    },
                    None => { (ABSENT) },
                }
            }
            td {
                (length(tokens.prompt_mean, tokens.prompt_asked_mean))
                @if let Some(tokens) = tokens.prompt_added { ", " (tokens) " by the chat template" }
                @if let Some(share) = cached { ", " (percent(share)) " cached" }
            }
            td { (length(tokens.output_mean, tokens.output_asked_mean)) }
            td { (tokens.output_from.provenance().words()) }
        }
    }
}

/// Energy and the server's own account of each level; nothing where neither is known.
pub(super) fn beside(model: &ReportModel) -> Markup {
    let levels = || model.summary.levels.iter();
    html! {
        @if levels().any(|level| !words::beside(level).is_empty()) {
            section aria-labelledby="beside" {
                h2 id="beside" { "Energy and the server's own counters" }
                div class="scroll" tabindex="0" role="region" aria-labelledby="beside" {
                    table class="facts" {
                        caption { "Energy is that of whole devices over the window; counters are those of the whole server, warm-up included." }
                        thead {
                            tr {
                                @for name in [model.load_unit(), "of", "what it tells"] {
                                    th scope="col" { (name) }
                                }
                            }
                        }
                        tbody {
                            @for level in levels() {
                                @for (name, line) in words::beside(level) {
                                    tr {
                                        th scope="row" { (load(level.load())) }
                                        td { (name) }
                                        td { (line) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How to do it again, and on what.
pub(super) fn method(model: &ReportModel) -> Markup {
    let manifest = &model.manifest;
    let spec = serde_json::to_string_pretty(&manifest.spec).unwrap_or_default();
    html! {
        section aria-labelledby="method" {
            h2 id="method" { "Method" }
            h3 { "Command" }
            pre { (command_line(&manifest.command)) }
            details { summary { "Everything that was asked" } pre { (spec) } }
            details {
                summary { "Definitions" }
                dl {
                    @for (name, text) in DEFINITIONS {
                        dt { (name) }
                        dd { (text) }
                    }
                }
            }
            details { summary { "Server" } (server(model)) }
            details { summary { "Client" } (client(model)) }
        }
    }
}

fn facts(caption: &str, rows: &[(String, String)]) -> Markup {
    html! {
        table class="facts" {
            caption { (caption) }
            tbody {
                @for (name, value) in rows {
                    tr { th scope="row" { (name) } td { (value) } }
                }
            }
        }
    }
}

fn server(model: &ReportModel) -> Markup {
    let server = &model.manifest.server;
    let target = &model.manifest.spec.target;
    let mut rows = vec![("address".to_owned(), plain(&target.base_url))];
    let mut add = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| (name.to_owned(), plain(&value))));
    };
    add("kind", server.kind.clone());
    add("version", server.version.clone());
    add("Server header", server.server_header.clone());
    add("models", (!server.models.is_empty()).then(|| server.models.join(", ")));
    add("context, tokens", server.context_tokens.map(|tokens| count(u64::from(tokens))));
    for (name, value) in &server.notes {
        rows.push((plain(name), plain(value)));
    }
    facts("What the server said about itself.", &rows)
}

fn client(model: &ReportModel) -> Markup {
    let host = &model.manifest.host;
    let mut rows = vec![("system".to_owned(), plain(&host.os))];
    let mut add = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| (name.to_owned(), plain(&value))));
    };
    add("processor", host.cpu.clone());
    add("logical processors", Some(host.cpus.to_string()));
    add("memory", host.memory_bytes.map(bytes));
    add("load average at the start", host.load_average.map(number));
    add("kernel receive stamps", Some(if host.kernel_stamps { "yes" } else { "no" }.to_owned()));
    add("clock", Some(model.manifest.clock.source.clone()));
    if let Some(health) = &model.summary.health {
        health_rows(health).into_iter().for_each(|(name, value)| add(name, value));
    }
    facts("Where the load came from, and what the client knows about its own error.", &rows)
}

fn health_rows(health: &ClientHealth) -> Vec<(&'static str, Option<String>)> {
    let spans = |spans: Option<SpanQuantiles>| {
        spans.map(|spans| {
            let [p50, p99, max] =
                [spans.p50_ns, spans.p99_ns, spans.max_ns].map(|ns| span(ns as f64));
            format!("p50 {p50}, p99 {p99}, max {max} (n={})", count(spans.n))
        })
    };
    let of = |part: u64, all: u64| Some(format!("{} of {}", count(part), count(all)));
    vec![
        ("kernel stamp to read", spans(health.reader_lag)),
        ("due to sent", spans(health.send_lateness)),
        ("reads with a kernel stamp", of(health.stamped_reads, health.reads)),
        ("events that shared a read", of(health.co_arrived_events, health.events)),
        ("busiest reading thread", Some(percent(health.reader_busy_share))),
        ("CPU time of the process", Some(span(health.process_cpu_ns as f64))),
        ("CPU time of the readers", Some(span(health.reader_cpu_ns as f64))),
        ("CPU time of the decoder", Some(span(health.decoder_cpu_ns as f64))),
        ("wall time", Some(span(health.wall_ns as f64))),
        ("CPU time stolen by the hypervisor", health.steal_share.map(percent)),
        ("involuntary switches", Some(count(health.involuntary_switches))),
        ("sends that had to wait for bytes", Some(count(health.starved_sends))),
        ("buffers made under load", Some(count(health.late_allocations))),
        ("waits for the decoder", Some(count(health.decoder_stalls))),
        ("clock steps", Some(count(health.clock_steps))),
        ("connections opened again", Some(count(health.reconnects))),
    ]
}
