//! The steps of a level's rate, as rows of text that every format shows alike.
//!
//! Not here: JSON, which has the numbers themselves.

use crate::TerminalStyle;
use crate::format::{ABSENT, count, marked_span, number};
use crate::model::ReportModel;
use crate::page::{Block, Cell, Head, Section, Table};
use crate::style::Color;
use ifm_metrics::LevelSummary;
use ifm_metrics::level::StepSummary;
use ifm_metrics::stat::Distribution;

/// Heads of the columns.
const HEADS: [&str; 9] = [
    "seconds",
    "req/s due",
    "served",
    "ok/due",
    "failed",
    "TTFT p50",
    "TTFT p99",
    "E2E p50",
    "E2E p99",
];
/// What the columns count.
const CAPTION: &str = "By step of the rate. Waits are of the requests that were due in the step and count from then; \
                       served are complete answers that ended in it, per second.";

fn row(step: &StepSummary) -> [String; 9] {
    let time = |distribution: &Option<Distribution>, p: f64| {
        let found = distribution.as_ref().and_then(|distribution| distribution.percentile(p));
        found.map_or_else(|| ABSENT.to_owned(), marked_span)
    };
    [
        number(step.seconds()),
        number(step.req_per_s_asked),
        number(step.req_per_s_served),
        format!("{}/{}", count(step.counts.ok), count(step.due())),
        count(step.counts.failed),
        time(&step.ttft_ns, 50.0),
        time(&step.ttft_ns, 99.0),
        time(&step.e2e_ns, 50.0),
        time(&step.e2e_ns, 99.0),
    ]
}

/// The steps for people at a terminal; empty for a level without.
pub(crate) fn terminal(level: &LevelSummary, style: &TerminalStyle) -> String {
    if level.steps.is_empty() {
        return String::new();
    }
    let line = |cells: &[String; 9]| {
        let cells: Vec<String> =
            cells.iter().map(|cell| format!("{:>10}", style.text(cell))).collect();
        format!(" {}", cells.join(" "))
    };
    let head = line(&HEADS.map(str::to_owned));
    let mut out = format!("\n{}\n", style.paint(Color::Bold, &head));
    for step in &level.steps {
        out.push_str(&line(&row(step)));
        out.push('\n');
    }
    out
}

/// The steps of each level that has them, as tables of a page.
pub(crate) fn section(model: &ReportModel) -> Option<Section> {
    let levels = model.summary.levels_by_load().into_iter().filter(|level| !level.steps.is_empty());
    let table = |level: &LevelSummary| {
        let cells = |step: &StepSummary| row(step).into_iter().map(Cell::text).collect();
        Block::Table(Table {
            caption: CAPTION.to_owned(),
            heads: HEADS.into_iter().map(Head::number).collect(),
            rows: level.steps.iter().map(cells).collect(),
        })
    };
    let blocks: Vec<Block> = levels.map(table).collect();
    (!blocks.is_empty()).then(|| Section::new("Steps", blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Pictures, markdown};
    use crate::testing::{model, single};
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};
    use ifm_metrics::testing::{failed, request, run};

    const PLAIN: TerminalStyle =
        TerminalStyle { width: 110, color: false, ascii: false, verbose: false };

    /// 10 requests per second for 2 s, then 20, each answered in 100 ms; one of the second step
    /// fails.
    fn stepped() -> ReportModel {
        let answer = |seq: u32, at_ms: f64| request(seq, 0, seq, at_ms, &[50.0, 100.0]);
        let mut requests: Vec<_> = (0..20).map(|k| answer(k, f64::from(k) * 100.0)).collect();
        requests.extend((0..40).map(|k| answer(20 + k, 2000.0 + f64::from(k) * 50.0)));
        requests[40] = failed(40, 0, 40, 3000.0, 5.0);
        let mut run = run(&[100], requests);
        let stretch = |rate: f64| RateStretch {
            from_req_per_s: rate,
            to_req_per_s: rate,
            curve: RateCurve::Linear,
            seconds: Some(2.0),
        };
        let stretches = vec![stretch(10.0), stretch(20.0)];
        let law = ArrivalLaw::Constant;
        run.manifest.spec.levels[0].arrivals = Some(ArrivalSpec { law, stretches, seed: 0 });
        model(&run)
    }

    #[test]
    fn a_row_for_each_step_in_every_format() {
        let model = stepped();
        let text = crate::terminal(&model, &PLAIN);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let head = text.lines().position(|line| line.contains("req/s due")).expect("a table");
        let rows: Vec<Vec<String>> = text.lines().skip(head + 1).take(2).map(words).collect();
        assert_eq!(rows[0][..5], ["2.00", "10.0", "9.50", "20/20", "0"], "{text}");
        assert_eq!(rows[1][..5], ["2.00", "20.0", "19.0", "39/40", "1"], "{text}");
        let page = markdown(&crate::kind::sweep::run(&model), Pictures::None);
        assert!(page.contains("## Steps") && page.contains("| 39/40 |"), "{page}");
        let document: serde_json::Value = serde_json::from_str(&crate::json(&model)).expect("JSON");
        let steps = document["levels"][0]["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), 2);
        assert_eq!((&steps[1]["req_per_s_asked"], &steps[1]["failed"]), (&20.0.into(), &1.into()));
        assert_eq!((&steps[1]["req_per_s"], &steps[1]["due"]), (&19.0.into(), &40.into()));
        assert_eq!(steps[1]["ttft_s"]["p50"], 0.05);
    }

    #[test]
    fn a_level_of_one_rate_has_no_table() {
        let model = model(&single());
        assert!(section(&model).is_none());
        assert_eq!(terminal(&model.summary.levels[0], &PLAIN), "");
    }
}
