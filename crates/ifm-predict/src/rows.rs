//! Measured loads as input of a calibration, from results of any tool.
//!
//! Not here: constants (`ifm_sim::fit`).

use ifm_core::sheet::{PartKind, RowRole, Statistic as Of, key};
use ifm_core::spec::ArrivalLaw;
use ifm_core::{Metric, Sheet};
use ifm_metrics::level::Load as Asked;
use ifm_metrics::tpot::TPOT_ESTIMATED;
use ifm_report::ReportModel;
use ifm_results::{Point, Results};
use ifm_sim::{Load, Observation, Span, Statistic};

const MS_PER_S: f64 = 1e3;
/// Half the width of a 95 % interval, in standard errors.
const HALF_95: f64 = 1.96;

/// A measured load.
#[derive(Debug, Clone)]
pub struct MeasuredRow {
    /// Its source: the run or the file.
    pub from: String,
    /// Load and lengths, and the measured values.
    pub seen: Observation,
    /// Position of its table in the document, from 1; 1 in a run.
    pub table: usize,
    /// Output tokens per second, all requests together.
    pub output_tok_per_s: Option<f64>,
}

impl MeasuredRow {
    /// Whether its load is this number of users, or about this rate.
    pub fn is_at(&self, number: f64) -> bool {
        match self.seen.load {
            Load::Closed { users } | Load::Batch { sequences: users } => f64::from(users) == number,
            Load::Open { req_per_s, .. } => (req_per_s / number - 1.0).abs() < 0.05,
        }
    }

    /// `8 users, 128/64 tokens`.
    pub fn label(&self) -> String {
        format!("{}, {}", load_words(&self.seen.load), lengths_words(&self.seen))
    }
}

/// A load as text.
pub fn load_words(load: &Load) -> String {
    match load {
        Load::Closed { users: 1 } => "1 user".to_owned(),
        Load::Closed { users } => format!("{users} users"),
        Load::Open { req_per_s, .. } => format!("{} req/s", (req_per_s * 1e4).round() / 1e4),
        Load::Batch { sequences } => format!("{sequences} at once"),
    }
}

/// Lengths as text: `128/64 tokens`.
pub fn lengths_words(row: &Observation) -> String {
    format!("{:.0}/{:.0} tokens", row.prompt_tokens, row.output_tokens)
}

/// The measurements in results: a row for each load that has lengths and a time. Given lengths apply
/// to documents without them.
pub fn rows(runs: &[ReportModel], sheets: &[Sheet], given: Option<(f64, f64)>) -> Vec<MeasuredRow> {
    let mut all = Vec::new();
    for run in runs {
        all.extend(of_run(run));
    }
    for sheet in sheets {
        let results = Results::of_sheets(std::slice::from_ref(sheet));
        let name = sheet.source.name.clone();
        let points = results.measured(PartKind::Serving).filter(|point| is_measured(point));
        all.extend(points.filter_map(|point| {
            let lengths = told_lengths(point).or(both(point.lengths())).or(given)?;
            let load = asked_load(point, None).or_else(|| strategy(point, lengths.0))?;
            row(&name, point, lengths, load)
        }));
    }
    all
}

/// The measurements of a run of inferometer.
pub fn of_run(run: &ReportModel) -> Vec<MeasuredRow> {
    if run.manifest.predicted.is_some() {
        return Vec::new();
    }
    let results = Results::of_run(&run.manifest, &run.summary);
    let levels = || run.summary.levels.iter().filter(|level| level.is_result());
    let each = results.points.iter().filter_map(|point| {
        let number = point.place.pointer.as_deref()?.rsplit('/').next()?.parse::<u16>().ok()?;
        let level = levels().find(|level| level.level == number)?;
        // The server's count, template included, takes precedence over the requested length.
        let lengths = told_lengths(point)
            .or(both((level.tokens.prompt_asked_mean, level.tokens.output_asked_mean)))?;
        let is_random = level
            .asked
            .as_ref()
            .and_then(|asked| asked.arrivals.as_ref())
            .map(|arrivals| !matches!(arrivals.law, ArrivalLaw::Constant));
        row(&run.manifest.run_id, point, lengths, asked_load(point, is_random)?)
    });
    each.collect()
}

fn is_measured(point: &Point) -> bool {
    point.role == RowRole::Measured && !point.is_predicted()
}

fn both((prompt, output): (Option<f64>, Option<f64>)) -> Option<(f64, f64)> {
    prompt.zip(output)
}

/// Mean lengths as they were counted.
fn told_lengths(point: &Point) -> Option<(f64, f64)> {
    let requests = point.value(Metric::RequestsOk, Of::Value).filter(|count| *count > 0.0);
    let mean = |quantity: Metric| {
        let of_all = || Some(point.value(quantity, Of::Value)? / requests?);
        point.value(quantity, Of::Mean).or_else(of_all).filter(|mean| *mean >= 1.0)
    };
    both((mean(Metric::InputTokens), mean(Metric::OutputTokens)))
}

/// GuideLLM's default sending time per rate, seconds.
const GUIDELLM_S: f64 = 60.0;

/// The load of a row that names a strategy of GuideLLM and no number: a rate follows from the
/// prompt tokens per second.
fn strategy(point: &Point, prompt_tokens: f64) -> Option<Load> {
    let strategy = point.factor(key::STRATEGY)?;
    if strategy == "synchronous" {
        return Some(Load::Closed { users: 1 });
    }
    let is_random = match strategy.as_str() {
        "constant" => false,
        "poisson" => true,
        _ => return None,
    };
    let of = |quantity: Metric| point.central(quantity).map(|reading| reading.value);
    let by_tokens = of(Metric::InputRate).map(|rate| rate / prompt_tokens);
    let req_per_s = by_tokens.or(of(Metric::RequestRate)).filter(|rate| *rate > 0.0)?;
    Some(Load::Open { req_per_s, span: Span::Seconds(GUIDELLM_S), is_random })
}

fn asked_load(point: &Point, is_random: Option<bool>) -> Option<Load> {
    Some(match point.load? {
        Asked::Users(users) => Load::Closed { users },
        Asked::ReqPerS(req_per_s) => {
            let seconds = point.value(Metric::Duration, Of::Value).map(|ms| ms / MS_PER_S);
            let requests = point.central(Metric::Requests).map(|reading| reading.value);
            let span = match (seconds, requests) {
                (Some(seconds), _) if seconds > 0.0 => Span::Seconds(seconds),
                (_, Some(requests)) if requests >= 1.0 => Span::Requests(requests as u32),
                _ => Span::Seconds(60.0),
            };
            let is_random = is_random.unwrap_or_else(|| {
                !point.factor(key::STRATEGY).is_some_and(|word| word.contains("constant"))
            });
            Load::Open { req_per_s, span, is_random }
        }
    })
}

fn row(from: &str, point: &Point, lengths: (f64, f64), load: Load) -> Option<MeasuredRow> {
    // Where events carry several tokens, the time between tokens follows from the server's count.
    let estimated = Metric::other(TPOT_ESTIMATED);
    let gaps = |of: Of| {
        let mut known = [Metric::Itl, Metric::Tpot, estimated].into_iter();
        known.find_map(|quantity| point.stat(quantity, of))
    };
    let first = point.stat(Metric::Ttft, Of::Mean);
    let (first, gap, statistic) = match (first, gaps(Of::Mean)) {
        (None, None) => (point.stat(Metric::Ttft, Of::Median), gaps(Of::Median), Statistic::Median),
        (first, gap) => (first, gap, Statistic::Mean),
    };
    if first.is_none() && gap.is_none() {
        return None;
    }
    let seconds = |reading: &ifm_results::Stat| reading.value / MS_PER_S;
    let error = |reading: &ifm_results::Stat| {
        let width = reading.high? - reading.low?;
        Some(width / 2.0 / HALF_95 / reading.value).filter(|error| error.is_finite())
    };
    let seen = Observation {
        statistic,
        ttft_s: first.map(seconds),
        itl_s: gap.map(seconds),
        ttft_error: first.and_then(error),
        itl_error: gap.and_then(error),
        ..Observation::of(load, lengths.0, lengths.1)
    };
    let output_tok_per_s = point.central(Metric::OutputRate).map(|reading| reading.value);
    Some(MeasuredRow { from: from.to_owned(), seen, table: point.part + 1, output_tok_per_s })
}
