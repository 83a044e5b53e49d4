//! How to do it again, and on what it was done.

use super::super::prediction;
use crate::ReportModel;
use crate::format::{bytes, command_line, count, number, percent, plain, span};
use crate::page::{Block, Columns, Section, Table};
use crate::words::DEFINITIONS;
use ifm_core::ClientHealth;
use ifm_core::health::SpanQuantiles;
use ifm_metrics::machine::told_of;

/// The method section.
pub(super) fn section(model: &ReportModel) -> Section {
    let spec = serde_json::to_string_pretty(&model.manifest.spec).unwrap_or_default();
    let columns = Columns::<(&str, &str)>::default()
        .name("number", |(name, _)| (*name).to_owned())
        .text("definition", |(_, text)| (*text).to_owned());
    let definitions = columns.table("What each number means.", DEFINITIONS.iter());
    let details = |name: &str, block: Block| Block::Details(name.to_owned(), vec![block]);
    Section::new(
        "Method",
        vec![
            Block::Pre(command_line(&model.manifest.command)),
            details("All settings of the run", Block::Pre(spec)),
            details("Definitions", Block::Table(definitions)),
        ]
        .into_iter()
        .chain(
            environment(model)
                .into_iter()
                .map(|(name, blocks)| Block::Details(name.to_owned(), blocks)),
        )
        .chain(machine(model).map(|table| details("Machine of the server", Block::Table(table))))
        .collect(),
    )
}

/// What was measured and by whom, or from what it was predicted.
fn environment(model: &ReportModel) -> Vec<(&'static str, Vec<Block>)> {
    match prediction::inside(model) {
        Some(blocks) => vec![("Prediction", blocks)],
        None => vec![
            ("Server", vec![Block::Table(server(model))]),
            ("Client", vec![Block::Table(client(model))]),
        ],
    }
}

/// Facts about the server's machine; absent if not reported.
fn machine(model: &ReportModel) -> Option<Table> {
    let told = told_of(model.manifest.facts.as_ref()?);
    let rows = told.map(|(_, what, value)| (what.to_owned(), plain(&value))).collect();
    Some(facts("The server's machine and process, as reported.", rows))
}

fn facts(caption: &str, rows: Vec<(String, String)>) -> Table {
    let columns = Columns::<(String, String)>::default()
        .name("what", |(name, _)| name.clone())
        .text("value", |(_, value)| value.clone());
    columns.table(caption, rows)
}

fn server(model: &ReportModel) -> Table {
    let server = &model.manifest.server;
    let target = &model.manifest.spec.target;
    let mut rows = vec![("address".to_owned(), plain(&target.address()))];
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
    facts("What the server reported about itself.", rows)
}

fn client(model: &ReportModel) -> Table {
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
    facts("Where the load came from, and what the client knows about its own error.", rows)
}

fn health_rows(health: &ClientHealth) -> Vec<(&'static str, Option<String>)> {
    let spans = |spans: Option<SpanQuantiles>| {
        spans.map(|spans| {
            let [p50, p99, max] =
                [spans.p50_ns, spans.p99_ns, spans.max_ns].map(|ns| span(ns as f64));
            format!("p50 {p50}, p99 {p99}, max {max} (n={})", count(spans.n))
        })
    };
    let first = |granted: bool| if granted { "yes" } else { "asked for, refused" }.to_owned();
    let of = |part: u64, all: u64| Some(format!("{} of {}", count(part), count(all)));
    vec![
        ("kernel stamp to read", spans(health.reader_lag)),
        (
            "waiting behind other reads, at most",
            spans(health.stamp_error.map(|error| error.reading)),
        ),
        ("waking the reading thread", spans(health.stamp_error.and_then(|error| error.waking))),
        ("due to sent", spans(health.send_lateness)),
        ("reads with a kernel stamp", of(health.stamped_reads, health.reads)),
        ("events that shared a read", of(health.co_arrived_events, health.events)),
        ("busiest reading thread", Some(percent(health.reader_busy_share))),
        ("CPU time of the process", Some(span(health.process_cpu_ns as f64))),
        ("CPU time of the readers", Some(span(health.reader_cpu_ns as f64))),
        ("CPU time of the decoder", Some(span(health.decoder_cpu_ns as f64))),
        ("wall time", Some(span(health.wall_ns as f64))),
        ("CPU time stolen by the hypervisor", health.steal_share.map(percent)),
        ("readers ran before all other threads", health.readers_first.map(first)),
        ("involuntary switches", Some(count(health.involuntary_switches))),
        ("sends that had to wait for bytes", Some(count(health.starved_sends))),
        ("buffers made under load", Some(count(health.late_allocations))),
        ("waits for the decoder", Some(count(health.decoder_stalls))),
        ("clock steps", Some(count(health.clock_steps))),
        ("connections opened", health.connections.map(count)),
        ("connections found closed", Some(count(health.reconnects))),
    ]
}
