//! Our events by the definitions of other tools.
//!
//! One file per tool. Each says what it takes over and what it does differently on purpose. A run
//! becomes a sheet by any of these definitions, so that the numbers of two tools can be compared
//! like with like.

mod aiperf;
mod genai_bench;
mod guidellm;
mod mlperf;
mod ours;
mod rows;
mod sglang;
mod spread;
pub mod vllm;

use crate::level::{self, LevelSummary};
use ifm_core::sheet::{Factors, Part, PartKind, Place, Row, RowRole, Source, key};
use ifm_core::{Prediction, RequestRecord, RunData, Sheet};

ifm_core::vocabulary! {
    /// By whose definitions numbers are computed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Definitions {
        /// Ours.
        Ours = "inferometer",
        /// `vllm bench serve`, Python, 0.33.
        Vllm = "vllm",
        /// SGLang's `bench_serving`, Python, 0.5.
        Sglang = "sglang",
        /// GuideLLM 0.8.
        Guidellm = "guidellm",
        /// AIPerf 0.13.
        Aiperf = "aiperf",
        /// genai-bench 0.0.5.
        GenaiBench = "genai-bench",
        /// MLPerf's LoadGen 5.1, server scenario.
        Mlperf = "mlperf",
    }
}

impl Definitions {
    /// The definitions of a tool, by its name in files.
    pub fn of_tool(name: &str) -> Option<Definitions> {
        Some(match name {
            "vllm bench serve" => Definitions::Vllm,
            "sglang.bench_serving" => Definitions::Sglang,
            "guidellm" => Definitions::Guidellm,
            "aiperf" => Definitions::Aiperf,
            "genai-bench" => Definitions::GenaiBench,
            _ => return None,
        })
    }
}

/// A run as a sheet, one row for each level, computed from its events by these definitions.
pub fn sheet(run: &RunData, by: Definitions) -> Sheet {
    sheet_with(run, by, &[])
}

/// The same with further percentiles of the times, above 0 and at most 100, if the definitions are
/// of a client that computes requested percentiles.
pub fn sheet_with(run: &RunData, by: Definitions, percentiles: &[f64]) -> Sheet {
    let measured = level::measured_by_level(&run.requests);
    let spec = &run.manifest.spec;
    let rows = measured
        .iter()
        .map(|(index, requests)| {
            let info = run.manifest.levels.iter().find(|info| info.level == *index);
            let summary = level::summarize_measured(spec, *index, info, requests, &[]);
            row(&summary, requests, by, percentiles)
        })
        .collect();
    let mut factors = Factors::default().with(key::MODEL, &spec.target.model);
    if let Some(kind) = &run.manifest.server.kind {
        factors.set(key::ENGINE, kind);
    }
    for (name, value) in run.manifest.predicted.iter().flat_map(Prediction::factors) {
        factors.set(name, value);
    }
    let part = Part { factors, rows, ..Part::new(PartKind::Serving, Place::default()) };
    let source = Source {
        name: run.manifest.run_id.clone(),
        format: "inferometer-run".to_owned(),
        tool: Some(run.manifest.tool.name.clone()),
        tool_version: Some(run.manifest.tool.version.clone()),
        bytes: 0,
        run_id: Some(run.manifest.run_id.clone()),
    };
    Sheet { source, parts: vec![part], remarks: Vec::new() }
}

fn row(
    level: &LevelSummary,
    measured: &[&RequestRecord],
    by: Definitions,
    percentiles: &[f64],
) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(format!("/levels/{}", level.level)));
    rows::settings(level, &mut row);
    // No tool counts a request that was never sent.
    let sent: Vec<&RequestRecord> = measured
        .iter()
        .copied()
        .filter(|record| record.outcome != ifm_core::Outcome::Dropped)
        .collect();
    match by {
        Definitions::Ours => ours::fill(level, &mut row),
        Definitions::Vllm => vllm::fill(level, &sent, percentiles, &mut row),
        Definitions::Sglang => sglang::fill(&sent, &mut row),
        Definitions::Guidellm => guidellm::fill(&sent, &mut row),
        Definitions::Aiperf => aiperf::fill(&sent, &mut row),
        Definitions::GenaiBench => genai_bench::fill(&sent, &mut row),
        Definitions::Mlperf => mlperf::fill(&sent, &mut row),
    }
    let end_ns = match by {
        Definitions::GenaiBench => genai_bench::end_ns,
        _ => RequestRecord::last_token_ns,
    };
    row.requests = rows::requests(&sent, end_ns);
    row
}
