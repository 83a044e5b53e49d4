//! How many times better one side is than another, under one condition or several.
//!
//! A report may summarize several conditions by the geometric mean of their ratios. The verdict is
//! that of the comparison: under one condition it is its row, under several the same judge has the
//! mean of their contrasts. Not here: which sides and conditions are compared.

use super::contrast::{Contrast, Doubt, contrast, judge, mean_of};
use super::evidence::{Evidence, RunEvidence, Spread};
use super::measure::Measure;
use super::pair::{Asked, Draft, drafts_at};
use super::side::AtLoad;
use super::verdict::Verdict;
use super::{Metric, Settings};
use ifm_core::metric::Direction;
use ifm_metrics::stat::multiple::holm;

/// How many times better: above 1 the other side is better than the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Advantage {
    /// The ratio; over several conditions the geometric mean of the ratios.
    pub value: f64,
    /// Its bounds with 95 % confidence, of this ratio alone; absent where the data give none.
    pub interval: Option<(f64, f64)>,
    /// The verdict about it, corrected for all pairs that were tested together.
    pub verdict: Verdict,
    /// Why the data do not decide.
    pub doubt: Option<Doubt>,
    /// The smallest difference that would have been found with a chance of 80 %, as a share.
    pub detectable: Option<f64>,
}

/// A ratio before the correction for the number of pairs.
pub(crate) struct AdvantageDraft(Vec<Draft>);

impl AdvantageDraft {
    /// Of a baseline and another side under one condition, by the first of these measures that has an
    /// interval, else by the first that both have a value of.
    pub fn of(base: &AtLoad, other: &AtLoad, measures: &[Measure]) -> Option<AdvantageDraft> {
        let settings = Settings::default();
        let asked = Asked { measures, ..settings.asked() };
        let mut drafts = drafts_at(base, other, (&asked, &settings.rules()));
        drafts.retain(|draft| draft.has_both() && draft.has_ratio());
        let decided = drafts.iter().position(|draft| draft.contrast.is_ok()).unwrap_or(0);
        (decided < drafts.len()).then(|| AdvantageDraft(vec![drafts.swap_remove(decided)]))
    }

    /// Several conditions together; absent where any has no ratio.
    pub fn over(all: impl Iterator<Item = Option<AdvantageDraft>>) -> Option<AdvantageDraft> {
        let all: Option<Vec<AdvantageDraft>> = all.collect();
        let drafts: Vec<Draft> = all?.into_iter().flat_map(|draft| draft.0).collect();
        (!drafts.is_empty()).then_some(AdvantageDraft(drafts))
    }

    /// The contrast of all conditions, each turned so that more is better.
    fn together(&self) -> Result<Contrast, Doubt> {
        let each: Result<Vec<Contrast>, Doubt> = self.0.iter().map(oriented).collect();
        mean_of(&each?, &Settings::default().rules()).ok_or(Doubt::NoRatio)
    }

    fn p(&self) -> Option<f64> {
        if let [only] = self.0.as_slice() {
            return only.p();
        }
        let contrast = self.together().ok()?;
        contrast.shortage.is_none().then_some(contrast.p)
    }

    fn finish(mut self, p: Option<f64>) -> Option<Advantage> {
        let rules = Settings::default().rules();
        if self.0.len() == 1 {
            let row = self.0.pop()?.finish(p, &rules);
            let is_cost = row.measure.direction() == Direction::Lower;
            let turned = |value: f64| if is_cost { value.recip() } else { value };
            let (low, high) = row.change.map(|of| (turned(of.low), turned(of.high))).unzip();
            return Some(Advantage {
                value: turned(row.difference?),
                interval: low.zip(high).map(|(a, b): (f64, f64)| (a.min(b), a.max(b))),
                verdict: row.verdict,
                doubt: row.doubt,
                detectable: row.detectable,
            });
        }
        let logs: Option<Vec<f64>> = self.0.iter().map(Draft::log_advantage).collect();
        let logs = logs?;
        let is_predicted = self.0.first().map_or([false; 2], |draft| draft.is_predicted);
        let value = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let contrast = self.together();
        let (verdict, doubt) = match &contrast {
            Err(doubt) => (Verdict::Inconclusive, Some(doubt.clone())),
            Ok(contrast) => {
                let more_is_better = Measure::value_of(Metric::OutputRate);
                judge(more_is_better, contrast, p.unwrap_or(1.0), &rules)
            }
        };
        let verdict = match is_predicted {
            [a, b] if a != b => verdict.of_prediction(Direction::Higher, b),
            _ => verdict,
        };
        let contrast = contrast.ok().filter(|_| !matches!(doubt, Some(Doubt::Short(_))));
        Some(Advantage {
            value,
            interval: contrast.as_ref().map(|of| (of.change.low, of.change.high)),
            verdict,
            doubt,
            detectable: contrast.and_then(|of| of.detectable),
        })
    }
}

/// The contrast of a draft, turned so that more is better.
fn oriented(draft: &Draft) -> Result<Contrast, Doubt> {
    let mut contrast = draft.contrast.clone()?;
    if draft.measure.direction() == Direction::Lower {
        contrast.change = contrast.change.inverse();
    }
    Ok(contrast)
}

/// The verdicts of pairs that are tested together: the chance of any false alarm among them is kept.
pub(crate) fn corrected(drafts: Vec<Option<AdvantageDraft>>) -> Vec<Option<Advantage>> {
    let chances: Vec<f64> = drafts.iter().flatten().filter_map(AdvantageDraft::p).collect();
    let mut chances = holm(&chances).unwrap_or_default().into_iter();
    let finished = drafts.into_iter().map(|draft| {
        let draft = draft?;
        let p = draft.p().and_then(|_| chances.next());
        draft.finish(p)
    });
    finished.collect()
}

/// The verdicts about pairs of repeated numbers, the second side against the first, corrected
/// together.
pub fn of_repeats(
    pairs: &[(Vec<f64>, Vec<f64>)],
    measure: Measure,
) -> Vec<(Verdict, Option<Doubt>)> {
    let rules = Settings::default().rules();
    let side = |values: &[f64]| {
        let run = |(run, value): (usize, &f64)| RunEvidence {
            run,
            value: *value,
            spread: Spread::Unknown,
            n: None,
            shortage: None,
            disturbed: None,
        };
        Evidence::Runs(values.iter().enumerate().map(run).collect())
    };
    let found: Vec<Result<Contrast, Doubt>> =
        pairs.iter().map(|(a, b)| contrast(&side(a), &side(b), &rules)).collect();
    let chances: Vec<f64> = found.iter().flatten().map(|contrast| contrast.p).collect();
    let mut chances = holm(&chances).unwrap_or_default().into_iter();
    let judged = found.into_iter().map(|found| match found {
        Ok(contrast) => judge(measure, &contrast, chances.next().unwrap_or(1.0), &rules),
        Err(doubt) => (Verdict::Inconclusive, Some(doubt)),
    });
    judged.collect()
}
