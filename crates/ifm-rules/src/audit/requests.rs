//! What the data of single requests say about the figures of their row.
//!
//! Applies only to tools for which files with both data show which requests the figures cover and
//! how they are computed. Requests from a separate file have been assigned to the row before
//! (`ifm_interop::settle_together`). Of the gaps between tokens, only the sum and the number are
//! kept, so only their mean can be checked. Not here: the findings where they differ
//! (`rule/recomputed`).

use super::subject::slack;
use super::{Cell, window};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, SheetRequest, Statistic, StdKind};
use ifm_metrics::stat::percentile_of_sorted;

/// How a tool takes its figures from its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Vllm,
    /// Times to the last piece are not kept as they compute them.
    Sglang,
    GenaiBench,
    Aiperf,
    InferencePerf,
    Guidellm,
}

const TOOLS: [(&str, Manner); 7] = [
    ("vllm bench serve", Manner::Vllm),
    ("sglang.bench_serving", Manner::Sglang),
    ("sglang.bench_serving, Rust client", Manner::Sglang),
    ("genai-bench", Manner::GenaiBench),
    ("aiperf", Manner::Aiperf),
    ("inference-perf", Manner::InferencePerf),
    ("guidellm", Manner::Guidellm),
];
/// Share by which a figure may differ.
const APART: f64 = 1e-3;
/// Single requests that a sheet keeps of a row: beyond them some are missing.
const REQUESTS_MAX: usize = 1_000_000;
/// Time from the first token to the end, ms, below which genai-bench takes no time per token.
const GENAI_BENCH_TPOT_MIN_MS: f64 = 1.0;

/// Figures of a row with what its requests give, in canonical units.
pub(super) struct Recomputed<'c> {
    pub figures: Vec<(&'c Figure, f64)>,
    /// How many requests they are of.
    pub requests: usize,
}

/// Figures of a row with what its requests give; absent if none of them is known to cover these
/// requests.
pub(super) fn recomputed<'c>(cell: &'c Cell) -> Option<Recomputed<'c>> {
    let tool = cell.measured_by()?;
    let (_, manner) = TOOLS.iter().find(|(name, _)| *name == tool)?;
    let all = Some(&cell.row.requests).filter(|requests| !requests.is_empty())?;
    let requests = Requests {
        manner: *manner,
        good: all.iter().filter(|request| request.error.is_none()).collect(),
    };
    // Where the numbers differ the figures are of other requests.
    let completed = cell.row.value(Metric::RequestsOk, Statistic::Value);
    let is_whole = all.len() < REQUESTS_MAX && completed == Some(requests.good.len() as f64);
    if !is_whole || requests.good.is_empty() || !requests.are_those_of(cell) {
        return None;
    }
    let with_value = cell.row.figures.iter().filter(|figure| figure.canonical().is_some());
    let mut figures: Vec<(&Figure, f64)> =
        with_value.filter_map(|figure| Some((figure, requests.expected(figure)?))).collect();
    if *manner == Manner::Aiperf {
        leave_out_others(&mut figures);
    }
    Some(Recomputed { figures, requests: all.len() })
}

/// Whether a figure differs from what its requests give.
pub(super) fn differs(figure: &Figure, expected: f64) -> bool {
    figure.canonical().is_some_and(|stated| {
        (stated - expected).abs() > APART * expected.abs() + slack(figure) + 1e-9
    })
}

/// AIPerf divides a time per token by what the first piece held, if the server reported that:
/// figures are of that kind if none of them follows from the requests.
fn leave_out_others(figures: &mut Vec<(&Figure, f64)>) {
    for quantity in [Metric::Itl, Metric::UserSpeed] {
        let follows = |(figure, expected): &(&Figure, f64)| {
            figure.quantity == quantity && !differs(figure, *expected)
        };
        if !figures.iter().any(follows) {
            figures.retain(|(figure, _)| figure.quantity != quantity);
        }
    }
}

/// The requests of a row, as far as figures are of them.
struct Requests<'c> {
    manner: Manner,
    /// Those that succeeded.
    good: Vec<&'c SheetRequest>,
}

impl Requests<'_> {
    /// Whether the row's figures are of all of them.
    fn are_those_of(&self, cell: &Cell) -> bool {
        match self.manner {
            // A run may leave out a share of its first and last: then no sum is that of all.
            Manner::GenaiBench => {
                let [e2e, ttft] = [Metric::E2e, Metric::Ttft].map(|quantity| {
                    let sum = cell.row.value(quantity, Statistic::Sum)?;
                    Some((sum / cell.row.value(quantity, Statistic::Mean)?).round())
                });
                [e2e, ttft].contains(&Some(self.good.len() as f64))
            }
            Manner::Guidellm => window::is_uncut(cell),
            _ => true,
        }
    }

    /// What a figure should be; absent where that does not follow.
    fn expected(&self, figure: &Figure) -> Option<f64> {
        let statistic = figure.statistic;
        let population = match figure.quantity {
            Metric::Ttft if self.manner == Manner::InferencePerf => self.all_of(|request| {
                // Of an answer in one piece it takes none.
                let is_one = request.gaps == Some(0);
                Some(request.ttft_ms.filter(|_| !is_one)).filter(|t| t.is_some() || is_one)
            }),
            Metric::Ttft => self.all_of(|request| Some(Some(request.ttft_ms?))),
            Metric::E2e if self.manner != Manner::Sglang => {
                self.all_of(|request| Some(Some(request.e2e_ms?)))
            }
            Metric::Tpot if matches!(self.manner, Manner::Vllm | Manner::GenaiBench) => {
                self.per_token()
            }
            Metric::Itl if self.manner == Manner::Aiperf => self.per_token(),
            Metric::UserSpeed if matches!(self.manner, Manner::Aiperf | Manner::GenaiBench) => {
                let times = self.per_token()?;
                let rates = times.iter().rev().map(|ms| 1e3 / ms).collect::<Vec<f64>>();
                rates.iter().all(|rate| rate.is_finite()).then_some(rates)
            }
            Metric::Itl if statistic == Statistic::Mean => return self.mean_gap(),
            Metric::InputTokens => self.tokens(|request| request.input_tokens, statistic),
            // The document has the client's own counts as well as the server's.
            Metric::OutputTokens if self.manner == Manner::InferencePerf => {
                let pointer = figure.place.as_ref()?.pointer.as_deref()?;
                let values = self.tokens(|request| request.output_tokens, statistic);
                values.filter(|_| pointer.contains("/output_tokens/"))
            }
            Metric::OutputTokens => self.tokens(|request| request.output_tokens, statistic),
            Metric::Duration if self.manner == Manner::Aiperf => return self.duration_ms(),
            _ => None,
        }?;
        let stated = figure.canonical()?;
        match (self.manner, statistic) {
            (Manner::Guidellm, Statistic::Median) => nearest_rank(&population, 50.0, stated),
            (Manner::Guidellm, Statistic::Percentile(p)) => nearest_rank(&population, p, stated),
            // One number of a file that holds no distribution.
            (_, Statistic::Value) if is_count(figure.quantity) => {
                of_population(&population, Statistic::Sum)
            }
            _ => of_population(&population, statistic),
        }
    }

    /// Values of all requests that succeeded, in order; `Some(None)` is a request that has none, and
    /// one `None` says that they are not all known.
    fn all_of(&self, of: impl Fn(&SheetRequest) -> Option<Option<f64>>) -> Option<Vec<f64>> {
        let values = self.good.iter().map(|request| of(request)).collect::<Option<Vec<_>>>()?;
        let mut values: Vec<f64> = values.into_iter().flatten().collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then_some(values)
    }

    /// Numbers of tokens: only their sum, where a file holds no distribution of them.
    fn tokens(
        &self,
        of: impl Fn(&SheetRequest) -> Option<u64>,
        statistic: Statistic,
    ) -> Option<Vec<f64>> {
        let has_distribution = !matches!(self.manner, Manner::Vllm | Manner::Sglang);
        let is_sum = matches!(statistic, Statistic::Sum | Statistic::Value);
        let values = self.all_of(|request| Some(Some(of(request)? as f64)));
        values.filter(|_| has_distribution || is_sum)
    }

    /// Time per output token of each request, without requests of one token.
    fn per_token(&self) -> Option<Vec<f64>> {
        let shortest = match self.manner {
            Manner::GenaiBench => GENAI_BENCH_TPOT_MIN_MS,
            _ => 0.0,
        };
        self.all_of(|request| {
            let tokens = request.output_tokens?;
            let time = request.e2e_ms? - request.ttft_ms?;
            Some((tokens > 1 && time >= shortest).then(|| time / (tokens - 1) as f64))
        })
    }

    /// The mean of all gaps. GuideLLM takes those between tokens, whatever came in one piece.
    fn mean_gap(&self) -> Option<f64> {
        let of = |request: &&SheetRequest| match self.manner {
            Manner::Guidellm => request.output_tokens?.checked_sub(1),
            _ => request.gaps.map(u64::from),
        };
        let gaps: u64 = self.good.iter().map(of).sum::<Option<u64>>()?;
        let sum: f64 = self.good.iter().map(|request| request.gaps_sum_ms).sum::<Option<f64>>()?;
        (gaps > 0).then(|| sum / gaps as f64)
    }

    /// From the first start to the last end.
    fn duration_ms(&self) -> Option<f64> {
        let starts = self.all_of(|request| Some(Some(request.start_s? * 1e3)))?;
        let ends = self.all_of(|request| Some(Some(request.start_s? * 1e3 + request.e2e_ms?)))?;
        Some(ends.last()? - starts.first()?)
    }
}

fn of_population(sorted: &[f64], statistic: Statistic) -> Option<f64> {
    let sum = sorted.iter().sum::<f64>();
    let mean = sum / sorted.len() as f64;
    match statistic {
        Statistic::Mean => Some(mean),
        Statistic::Median => percentile_of_sorted(sorted, 50.0),
        Statistic::Percentile(percent) => percentile_of_sorted(sorted, percent),
        Statistic::Min => sorted.first().copied(),
        Statistic::Max => sorted.last().copied(),
        Statistic::Sum => Some(sum),
        Statistic::Std(StdKind::Population) => {
            let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
            Some((squares / sorted.len() as f64).sqrt())
        }
        _ => None,
    }
}

fn is_count(quantity: Metric) -> bool {
    matches!(quantity, Metric::InputTokens | Metric::OutputTokens)
}

/// A percentile by nearest rank; where it falls between two ranks, which rounding decides, the one
/// that is nearer to what is stated.
fn nearest_rank(sorted: &[f64], percent: f64, stated: f64) -> Option<f64> {
    let rank = percent / 100.0 * sorted.len() as f64;
    let at = |rank: f64| sorted.get((rank.max(1.0) as usize) - 1).copied();
    if (rank - rank.round()).abs() > 1e-6 {
        return at(rank.ceil());
    }
    let (below, above) = (at(rank.round())?, at(rank.round() + 1.0));
    let is_nearer = |above: &f64| (above - stated).abs() < (below - stated).abs();
    Some(above.filter(is_nearer).unwrap_or(below))
}

#[cfg(test)]
mod tests {
    use super::super::Finding;
    use super::super::testing::{row, sheet};
    use super::*;
    use ifm_core::Sheet;
    use ifm_core::sheet::{PartKind, Unit};

    /// Four requests of 20, 21, 22 and 23 tokens that begin 50 ms apart; their ends are 110, 170, 230
    /// and 290 ms after the first start.
    fn requests() -> Vec<SheetRequest> {
        let of = |number: u32| SheetRequest {
            start_s: Some(f64::from(number) * 0.05),
            ttft_ms: Some(10.0),
            e2e_ms: Some(110.0 + 10.0 * f64::from(number)),
            gaps: Some(9),
            gaps_sum_ms: Some(90.0),
            input_tokens: Some(5),
            output_tokens: Some(20 + u64::from(number)),
            ..SheetRequest::default()
        };
        (0..4).map(of).collect()
    }

    /// What a tool says of them, in figures that are right.
    fn summary(tool: &str, name: &str) -> Sheet {
        let (mean, ms, count) = (Statistic::Mean, Unit::Ms, Unit::Count);
        let figures = [
            (Metric::RequestsOk, Statistic::Value, "4", count.clone()),
            (Metric::E2e, mean, "125.000", ms.clone()),
            (Metric::E2e, Statistic::Sum, "500.000", ms.clone()),
            (Metric::E2e, Statistic::Max, "140.000", ms.clone()),
            (Metric::Ttft, mean, "10.000", ms.clone()),
            (Metric::OutputTokens, mean, "21.500", count),
        ];
        let mut sheet = sheet(PartKind::Serving, vec![row(1, &figures)]);
        sheet.source.tool = Some(tool.to_owned());
        sheet.source.name = name.to_owned();
        sheet
    }

    /// The figures of a sheet with the single requests that they are of.
    fn with_requests(mut sheet: Sheet) -> Sheet {
        sheet.parts[0].rows[0].requests = requests();
        sheet
    }

    fn corrupt(sheet: &mut Sheet, quantity: Metric, statistic: Statistic) {
        let figures = &mut sheet.parts[0].rows[0].figures;
        let figure = figures
            .iter_mut()
            .find(|figure| (&figure.quantity, figure.statistic) == (&quantity, statistic));
        let figure = figure.expect("a figure");
        (figure.value, figure.printed) = (figure.value.map(|value| value * 1.25), None);
    }

    fn found(rule: &str, sheet: &Sheet) -> Vec<Finding> {
        super::super::testing::found(rule, std::slice::from_ref(sheet))
    }

    #[test]
    fn figures_are_recomputed_from_their_requests() {
        for tool in ["aiperf", "inference-perf"] {
            let sound = with_requests(summary(tool, "a/summary.json"));
            assert_eq!(found("recomputed", &sound), [], "{tool}");
            let mut corrupted = sound;
            corrupt(&mut corrupted, Metric::E2e, Statistic::Max);
            let findings = found("recomputed", &corrupted);
            assert_eq!(findings.len(), 1, "{tool}: {findings:?}");
            let text = &findings[0].text;
            assert!(text.contains("the 4 single requests give 140.0000 ms"), "{tool}: {text}");
            // With another number of requests, the figures do not cover exactly these.
            corrupted.parts[0].rows[0].requests.pop();
            assert_eq!(found("recomputed", &corrupted), [], "{tool}");
        }
    }

    #[test]
    fn accepts_requests_that_a_run_leaves_out() {
        let with = |corrupted: Option<(Metric, Statistic)>| {
            let mut sheet = summary("genai-bench", "a.json");
            if let Some((quantity, statistic)) = corrupted {
                corrupt(&mut sheet, quantity, statistic);
            }
            with_requests(sheet)
        };
        assert_eq!(found("recomputed", &with(None)), []);
        let damaged = with(Some((Metric::E2e, Statistic::Max)));
        assert_eq!(found("recomputed", &damaged).len(), 1);
        // The sum is that of five requests where the file has four.
        let left_out = with(Some((Metric::E2e, Statistic::Sum)));
        assert_eq!(found("recomputed", &left_out), []);
    }

    #[test]
    fn a_percentile_by_nearest_rank_is_one_of_the_values() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        assert_eq!(nearest_rank(&values, 99.0, 0.0), Some(10.0));
        assert_eq!(nearest_rank(&values, 25.0, 0.0), Some(3.0));
        // Nine tenths of ten values are between two ranks.
        assert_eq!(nearest_rank(&values, 90.0, 9.1), Some(9.0));
        assert_eq!(nearest_rank(&values, 90.0, 9.9), Some(10.0));
        assert_eq!(nearest_rank(&values, 0.0, 1.0), Some(1.0));
        assert_eq!(nearest_rank(&[], 50.0, 1.0), None);
    }

    #[test]
    fn times_per_token_by_another_count_are_left_alone() {
        let document = |[mean, max]: [&str; 2]| {
            let ms = Unit::Ms;
            let figures = [
                (Metric::RequestsOk, Statistic::Value, "4", Unit::Count),
                (Metric::Itl, Statistic::Mean, mean, ms.clone()),
                (Metric::Itl, Statistic::Max, max, ms),
            ];
            let mut sheet = sheet(PartKind::Serving, vec![row(1, &figures)]);
            sheet.source.tool = Some("aiperf".to_owned());
            sheet.source.name = "a/summary.json".to_owned();
            found("recomputed", &with_requests(sheet))
        };
        // 100 / 19, 110 / 20, 120 / 21, 130 / 22.
        assert_eq!(document(["5.5967", "5.9091"]), []);
        assert_eq!(document(["5.5967", "6.9091"]).len(), 1);
        // By tokens without the first piece: nothing agrees, and nothing is reported.
        assert_eq!(document(["6.3", "6.9"]), []);
    }
}
