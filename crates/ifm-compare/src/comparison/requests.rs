//! Single requests of a document as columns of a comparison.
//!
//! Which time of a request a tool means by its figure is found by trying: the time whose mean and
//! median equal those in the row. If none match, the requests say nothing about that figure, and it
//! is used by itself. Not here: whether single requests contradict their row, which is the audit's
//! part (`audit/requests`).

use super::Metric;
use super::measure::{Measure, Over};
use super::sample::{Column, Rate, Values};
use ifm_core::sheet::{Row, SheetRequest, Statistic};
use ifm_metrics::level::Load;
use ifm_metrics::stat::blocks::strong_inflation;
use ifm_metrics::stat::welch::Moments;
use ifm_results::request_times::{Of, after_first, end_by_tokens, in_order, is_near, values};
use ifm_results::{Point, Stat};

const NS_PER_MS: f64 = 1e6;

/// The requests of a row that succeeded, in the order of their starts.
pub(super) struct Requests<'a> {
    good: Vec<&'a SheetRequest>,
    load: Option<Load>,
}

impl<'a> Requests<'a> {
    pub fn of(row: Option<&'a Row>, load: Option<Load>) -> Requests<'a> {
        Requests { good: row.map(in_order).unwrap_or_default(), load }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.good.len()
    }

    /// The largest inflation of the variance of a mean that their times show, where one of them depends
    /// strongly on those before; else 1.
    pub fn inflation(&self) -> f64 {
        let of = |of: Of| {
            let values: Vec<f64> = self.good.iter().filter_map(|request| of(request)).collect();
            strong_inflation(&values).unwrap_or(1.0)
        };
        let times: [Of; 3] = [|request| request.ttft_ms, |request| request.e2e_ms, end_by_tokens];
        times.into_iter().map(of).fold(1.0, f64::max)
    }

    /// The column of a measure, with the figure whose definition it has; absent where the requests
    /// do not say it. `reading` is what the row states of the measure.
    pub fn column<'p>(
        &self,
        measure: Measure,
        point: &'p Point,
        reading: Option<&'p Stat>,
    ) -> Option<(Column, Option<&'p Stat>)> {
        if self.good.is_empty() {
            return None;
        }
        match measure.metric {
            Metric::OutputRate | Metric::RequestRate | Metric::InputRate | Metric::TotalRate => {
                let reading = reading?;
                Some((self.rate(measure, reading.value)?, Some(reading)))
            }
            _ if measure.over == Over::Value => None,
            _ => {
                let (quantity, _) = measure.figure()?;
                let stated: Vec<&Stat> = [Statistic::Mean, Statistic::Median]
                    .into_iter()
                    .filter_map(|statistic| point.stat(quantity, statistic))
                    .collect();
                let pooled = || {
                    (measure.metric == Metric::Itl && measure.over == Over::Mean)
                        .then(|| self.gaps(stated.first()?))
                        .flatten()
                };
                let values = values(&self.good, quantity, &stated);
                let column = values.map(|values| column(values, measure));
                Some((column.or_else(pooled)?, stated.first().copied().or(reading)))
            }
        }
    }

    /// All gaps of all answers, where the mean that is stated is theirs: between pieces, or between
    /// tokens.
    fn gaps(&self, stated: &Stat) -> Option<Column> {
        let between_tokens: Of = after_first;
        let between_pieces: Of = |request| request.gaps.map(f64::from);
        [between_pieces, between_tokens].into_iter().find_map(|number| {
            let pair = |request: &&SheetRequest| Some((request.gaps_sum_ms?, number(request)?));
            let pairs: Vec<(f64, f64)> =
                self.good.iter().map(|request| pair(request).unwrap_or((0.0, 0.0))).collect();
            let (sum, count) =
                pairs.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            let is_theirs = count > 0.0 && stated.statistic == Statistic::Mean && {
                is_near(stated, sum / count)
            };
            is_theirs.then(|| Column::PooledMean {
                sum: pairs.iter().map(|(sum, _)| sum * NS_PER_MS).collect(),
                count: pairs.iter().map(|(_, count)| *count as u32).collect(),
            })
        })
    }

    /// A rate as it is stated, with what each request brought in which time.
    fn rate(&self, measure: Measure, value: f64) -> Option<Column> {
        let each = |request: &&SheetRequest| {
            let amount = match measure.metric {
                Metric::OutputRate => request.output_tokens?,
                Metric::InputRate => request.input_tokens?,
                Metric::TotalRate => request.input_tokens? + request.output_tokens?,
                _ => 1,
            } as f64;
            Some((amount, request.e2e_ms? * 1e6))
        };
        let pairs: Vec<(f64, f64)> = self.good.iter().map(each).collect::<Option<_>>()?;
        let (amount, time): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let per_time = amount.iter().sum::<f64>() / time.iter().sum::<f64>();
        match self.load? {
            Load::ReqPerS(_) => Some(Column::Arrivals { value, amount }),
            Load::Users(users) if per_time > 0.0 => {
                // As where ends of a window cut through requests: see `sample`.
                let cut = (f64::from(users) / 6.0).sqrt() / amount.len() as f64;
                let edge = cut.max(self.drain(users as usize, &time));
                Some(Column::Rate(Rate { value, amount, time, per_time, edge }))
            }
            Load::Users(_) => None,
        }
    }
}

/// Starts at which the end of a run is played at most.
const ENDS_MAX: usize = 4_000;

impl Requests<'_> {
    /// The standard error of a rate, as a share of it, that comes from the end of the run: users that
    /// have no further request wait for the last answer, and how long is up to a few requests. It is the
    /// deviation of that wait had the run ended at the start of any other request. `time` is how long
    /// each request took, nanoseconds.
    fn drain(&self, users: usize, time: &[f64]) -> f64 {
        let starts = self.starts(users, time);
        let stride = time.len().div_ceil(ENDS_MAX).max(1);
        let mut running: Vec<f64> = Vec::new();
        let mut waits = Vec::new();
        for (index, (start, time)) in starts.iter().zip(time).enumerate() {
            running.push(start + time);
            if index < users || index % stride != 0 {
                continue;
            }
            running.retain(|end| end > start);
            let last = running.iter().copied().fold(*start, f64::max);
            waits.push(running.iter().map(|end| last - end).sum::<f64>());
        }
        let all = time.iter().sum::<f64>();
        let std = Moments::of(&waits).and_then(|waits| waits.std());
        std.map_or(0.0, |std| std / all)
    }

    /// When each request began, nanoseconds: as the document says, else as soon as a user was free.
    fn starts(&self, users: usize, time: &[f64]) -> Vec<f64> {
        let told: Option<Vec<f64>> =
            self.good.iter().map(|request| Some(request.start_s? * 1e9)).collect();
        told.unwrap_or_else(|| {
            let mut free = vec![0.0f64; users.max(1)];
            let next = |time: &f64| {
                let user = free.iter_mut().min_by(|a, b| a.total_cmp(b))?;
                let start = *user;
                *user += time;
                Some(start)
            };
            time.iter().filter_map(next).collect()
        })
    }
}

fn column(values: Vec<(f64, u32)>, measure: Measure) -> Column {
    let scaled = values.into_iter().map(|(value, owner)| (value * measure.scale(), owner));
    let (sorted, owner): (Vec<f64>, Vec<u32>) = scaled.unzip();
    Column::Values(Values { sorted: sorted.into(), owner, over: measure.over })
}
