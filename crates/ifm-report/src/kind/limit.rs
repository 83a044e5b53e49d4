//! What the machine allows at most, as a line to read measurements against.
//!
//! Not here: the arithmetic (`ifm-roofline`), and which machine and model a measurement ran on
//! (`ifm-metrics`).

use crate::format::{meant, paragraph};
use ifm_chart::{Dash, Point, Series, Weight};
use ifm_core::order::Order as _;
use ifm_metrics::level::Load;
use ifm_results::Pooled;
use ifm_rules::insight::{Meant, Question, setup_of, step_limit, step_users};

const MS_PER_S: f64 = 1e3;

/// Which side of a quantity the limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounded {
    /// Milliseconds between two tokens of one user: no shorter.
    Gap,
    /// Tokens per second of all users together: no more.
    Output,
}

/// The line of the limit over the loads of these measurements; absent where machine or model is not
/// known.
pub(super) fn line(question: &Question, cells: &[Pooled], bounded: Bounded) -> Option<Series> {
    let mut binds: Vec<&str> = Vec::new();
    let mut points: Vec<Point> = Vec::new();
    for cell in cells {
        let Some(Load::Users(users)) = cell.load() else { continue };
        let Some(limit) = step_limit(question, cell).map(|bound| bound.strict) else { continue };
        let users = f64::from(users);
        let (value, text) = match bounded {
            Bounded::Gap => {
                let ms = limit.seconds * MS_PER_S;
                (ms, format!("at least {}", meant(ms, Meant::Ms)))
            }
            Bounded::Output => {
                let rate = step_users(cell).unwrap_or(users) / limit.seconds;
                (rate, format!("at most {}", meant(rate, Meant::TokPerS)))
            }
        };
        if !binds.contains(&limit.binds.label()) {
            binds.push(limit.binds.label());
        }
        let is_new = points.iter().all(|point| point.x != users);
        if is_new {
            points.push(Point::at(users, value).told(text));
        }
    }
    if points.is_empty() {
        return None;
    }
    points.order_by(|a, b| a.x.total_cmp(&b.x));
    let side = if bounded == Bounded::Gap { "at least" } else { "at most" };
    let line = Series::reference(format!("{side} ({})", binds.join(", then ")), points);
    Some(Series { dash: Dash::Dotted, weight: Weight::Faint, ..line })
}

/// The formula of the line, for what it was computed and where the figures of the machine are from.
pub(super) fn caption(question: &Question, cells: &[Pooled]) -> Option<String> {
    let setup = cells.iter().find_map(|cell| setup_of(question, cell))?;
    let machine = setup.machine();
    Some(paragraph(&format!(
        "Gray and dotted: the shortest possible step. A step makes one token for every user; for that, \
         {} × {} reads the weights of {} once, plus the keys and values (KV cache) of each \
         context: bytes / (GPUs · {} GB/s), or the time of its arithmetic, if longer. Users are \
         requests in flight, where clearly fewer were in flight than requested. \
         Bandwidth: {}.",
        setup.gpus(),
        machine.name,
        setup.model().name,
        machine.bandwidth_gb_s,
        machine.source
    )))
}
