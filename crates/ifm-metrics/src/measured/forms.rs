//! Requests with structured output, each form apart, compared with requests with free output.
//!
//! The cost of a form is computed within the level, against the free requests that ran at the same
//! time. The first request of a form in a run is reported separately: it is the one for which a
//! server compiles the grammar, unless it had it already.
//!
//! Not here: whether an answer keeps to its form (the program), which request has which form
//! (`ifm-workload`).

use super::PartSummary;
use crate::request::RequestMetrics;
use crate::stat::bootstrap::{Bootstrap, BootstrapMethod, Statistic};
use crate::stat::proportion::share_interval;
use crate::stat::quantile::percentile_of_sorted;
use crate::stat::welch::Estimate;
use ifm_core::form::FormSpec;
use ifm_core::{FormKind, Phase, RequestRecord, Validity};

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// Minimum number of requests on each side for a difference to be reported.
const REQUESTS_MIN: usize = 8;
/// How the medians of both sides are drawn again.
const DRAWS: Bootstrap = Bootstrap {
    resamples: 2_000,
    confidence: CONFIDENCE,
    method: BootstrapMethod::Percentile,
    seed: 0,
};

/// The requests of a level by form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormsSummary {
    /// Each form that was sent, in the order of the spec.
    pub forms: Vec<FormSummary>,
    /// Answers of all forms together.
    pub judged: Judgements,
    /// The requests with free output; absent if there are none.
    pub free: Option<PartSummary>,
}

/// One form within a level.
#[derive(Debug, Clone, PartialEq)]
pub struct FormSummary {
    /// Index of the form in the spec.
    pub index: u16,
    /// The form as it was typed.
    pub word: String,
    /// What kind it is.
    pub kind: FormKind,
    /// Its share of the requests as asked, 0 to 1.
    pub share: f64,
    /// Its requests.
    pub part: PartSummary,
    /// How its answers kept to it.
    pub judged: Judgements,
    /// The first request of the run that had it; absent in other levels, and for a schema that is
    /// another one for each request.
    pub first: Option<FirstOfForm>,
    /// Its TTFT over that of free requests, without the first of the form in the level: the ratio
    /// of medians, with its interval.
    pub ttft_ratio: Option<Estimate>,
    /// Likewise the mean gap of a request.
    pub gap_ratio: Option<Estimate>,
}

/// The first request of a form in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirstOfForm {
    /// Whether it was sent to warm the server up.
    pub is_warmup: bool,
    /// Its TTFT, nanoseconds; absent where it failed or was not streamed.
    pub ttft_ns: Option<u64>,
    /// Median TTFT of the measured ones after it in the level, nanoseconds.
    pub later_ttft_ns: Option<f64>,
}

/// Answers by how they kept to their form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judgements {
    /// They kept to it.
    pub valid: u64,
    /// They ended by themselves and did not.
    pub invalid: u64,
    /// A limit of their length ended them before they could.
    pub cut: u64,
    /// It cannot be checked here, or the request failed.
    pub unchecked: u64,
}

impl Judgements {
    fn of<'a>(records: impl IntoIterator<Item = &'a RequestRecord>) -> Judgements {
        let mut found = Judgements::default();
        for record in records {
            let count = match record.validity.unwrap_or(Validity::Unchecked) {
                Validity::Valid => &mut found.valid,
                Validity::Invalid => &mut found.invalid,
                Validity::Cut => &mut found.cut,
                Validity::Unchecked => &mut found.unchecked,
            };
            *count += 1;
        }
        found
    }

    /// Answers that were found valid or invalid.
    pub fn decided(&self) -> u64 {
        self.valid + self.invalid
    }

    /// Valid answers over those that are valid or invalid, with the interval of Wilson; absent
    /// without one.
    pub fn valid_share(&self) -> Option<Estimate> {
        share_interval(self.valid, self.decided(), CONFIDENCE)
    }
}

/// The forms of a level; absent where all answers are free. `judged` are the measured requests that
/// latencies are over.
pub(crate) fn by_form(
    forms: &[FormSpec],
    measured: &[&RequestRecord],
    judged: &[&RequestRecord],
    percentiles: &[f64],
) -> Option<FormsSummary> {
    if forms.is_empty() {
        return None;
    }
    fn of<'a>(all: &[&'a RequestRecord], form: Option<u16>) -> Vec<&'a RequestRecord> {
        all.iter().filter(|record| record.form == form).copied().collect()
    }
    let (free, free_judged) = (of(measured, None), of(judged, None));
    let summary = |(form, index): (&FormSpec, u16)| {
        let (records, own) = (of(measured, Some(index)), of(judged, Some(index)));
        (!records.is_empty()).then(|| FormSummary {
            index,
            word: form.word.clone(),
            kind: form.kind,
            share: form.share,
            part: PartSummary::of(&records, &own, percentiles),
            judged: Judgements::of(records.iter().copied()),
            first: None,
            ttft_ratio: ratio(&free_judged, &behind_first(&own), ttft_ns),
            gap_ratio: ratio(&free_judged, &behind_first(&own), mean_gap_ns),
        })
    };
    Some(FormsSummary {
        forms: forms.iter().zip(0..).filter_map(summary).collect(),
        judged: Judgements::of(measured.iter().filter(|it| it.form.is_some()).copied()),
        free: (!free.is_empty()).then(|| PartSummary::of(&free, &free_judged, percentiles)),
    })
}

/// Notes the first request of each form at the level in which it was sent.
pub(crate) fn note_firsts<'a>(
    levels: impl Iterator<Item = (u16, &'a mut FormsSummary)>,
    requests: &[RequestRecord],
) {
    for (level, forms) in levels {
        for form in forms.forms.iter_mut().filter(|form| form.kind != FormKind::JsonUnique) {
            let own = || requests.iter().filter(|record| record.form == Some(form.index));
            let first = own().min_by_key(|record| (record.start_ns, record.seq));
            let Some(first) = first.filter(|first| first.level == level) else { continue };
            let is_later = |record: &&RequestRecord| {
                record.level == level && record.phase == Phase::Measure && record.seq != first.seq
            };
            form.first = Some(FirstOfForm {
                is_warmup: first.phase == Phase::Warmup,
                ttft_ns: ttft_ns(first).map(|ns| ns as u64),
                later_ttft_ns: median(own().filter(is_later).filter_map(ttft_ns).collect()),
            });
        }
    }
}

fn behind_first<'a>(records: &[&'a RequestRecord]) -> Vec<&'a RequestRecord> {
    let first = records.iter().map(|record| (record.start_ns, record.seq)).min();
    let is_first = |record: &RequestRecord| Some((record.start_ns, record.seq)) == first;
    records.iter().filter(|record| !is_first(record)).copied().collect()
}

fn ttft_ns(record: &RequestRecord) -> Option<f64> {
    let is_ok = record.outcome.is_ok();
    RequestMetrics::derive(record).ttft_ns.filter(|_| is_ok).map(|ns| ns as f64)
}

fn mean_gap_ns(record: &RequestRecord) -> Option<f64> {
    let span_ns = record.last_token_ns()?.checked_sub(record.first_token_ns()?)?;
    let gaps = record.events.len().checked_sub(1).filter(|gaps| *gaps > 0)?;
    (record.outcome.is_ok() && record.streamed).then(|| span_ns as f64 / gaps as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(&values, 50.0)
}

fn ratio(
    free: &[&RequestRecord],
    own: &[&RequestRecord],
    value: fn(&RequestRecord) -> Option<f64>,
) -> Option<Estimate> {
    let values = |records: &[&RequestRecord]| -> Vec<f64> {
        records.iter().filter_map(|record| value(record)).collect()
    };
    let (free, own) = (values(free), values(own));
    if free.len().min(own.len()) < REQUESTS_MIN {
        return None;
    }
    DRAWS.ratio(&free, &own, Statistic::Percentile(50.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop, form_spec, run};

    #[test]
    fn compares_forms_with_free_answers() {
        let mut run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert!(crate::summarize(&run).levels[0].forms.is_none());
        run.manifest.spec.workload.forms =
            vec![form_spec("choice:yes,no", 0.5), form_spec("json", 0.1)];
        // Every other request has the first form; it waits half as long again, and the very first
        // one waits a second.
        for (place, record) in run.requests.iter_mut().enumerate().filter(|(it, _)| it % 2 == 1) {
            record.form = Some(0);
            let more = if place == 1 { 1000 } else { 50 } * MS;
            record.events.at_ns.iter_mut().for_each(|at| *at += more);
            record.validity = Some(match place {
                1 | 3 => Validity::Invalid,
                5 => Validity::Cut,
                7 => Validity::Unchecked,
                _ => Validity::Valid,
            });
        }
        let summary = crate::summarize(&run);
        let forms = summary.levels[0].forms.as_deref().expect("forms");
        assert_eq!(forms.forms.len(), 1, "none was drawn for the second");
        let form = &forms.forms[0];
        assert_eq!((form.part.sent, forms.free.as_ref().map(|free| free.sent)), (60, Some(60)));
        let judged = Judgements { valid: 56, invalid: 2, cut: 1, unchecked: 1 };
        assert_eq!((form.judged, forms.judged), (judged, judged));
        let share = form.judged.valid_share().expect("answers");
        assert_eq!(share.value, 56.0 / 58.0);
        assert!(share.low > 0.87 && share.high < 1.0, "{share:?}");
        let ttft = form.ttft_ratio.expect("both sides");
        assert!((ttft.value - 1.5).abs() < 1e-9 && ttft.low <= 1.5 && ttft.high >= 1.5, "{ttft:?}");
        let gap = form.gap_ratio.expect("both sides");
        assert!((gap.value - 1.0).abs() < 1e-9, "{gap:?}");
        let first = form.first.expect("it was sent here");
        assert_eq!((first.is_warmup, first.ttft_ns), (false, Some(1100 * MS)));
        assert_eq!(first.later_ttft_ns, Some(150.0 * MS as f64));
    }

    #[test]
    fn few_requests_show_no_difference() {
        let mut run = run(&[1], closed_loop((0, 0), (1, 12), 0.0, (100.0, 10.0, 16)));
        run.manifest.spec.workload.forms = vec![form_spec("json", 0.5)];
        run.requests.iter_mut().take(6).for_each(|record| record.form = Some(0));
        let summary = crate::summarize(&run);
        let forms = summary.levels[0].forms.as_deref().expect("forms");
        assert_eq!(forms.forms[0].ttft_ratio, None);
        assert_eq!(forms.judged.unchecked, 6, "not judged");
        assert_eq!(forms.judged.valid_share(), None);
    }
}
