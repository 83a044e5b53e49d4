//! The forms of a level's answers as objects.

use super::objects;
use super::part::Part;
use ifm_metrics::level;
use ifm_metrics::stat::Estimate;

/// Seconds in a nanosecond.
const S: f64 = 1e-9;

objects! {
    /// Answers that are to have a form, and those that are free.
    Forms of forms: &level::FormsSummary {
        /// Each form.
        forms: Vec<Form> = forms.forms.iter().map(Form::from).collect(),
        /// All forms together.
        judged: Judged = (&forms.judged).into(),
        /// The requests whose answers are free.
        free: Option<Part> = forms.free.as_ref().map(Part::from),
    }

    /// One form.
    Form of form: &level::FormSummary {
        /// Index of the form in the spec's workload.
        form: u16 = form.index,
        /// The form as it was typed.
        word: String = form.word.clone(),
        /// What kind it is.
        kind: &'static str = form.kind.word(),
        /// Share of the requests that was asked for, 0 to 1.
        share_asked: f64 = form.share,
        /// How its answers kept to it.
        judged: Judged = (&form.judged).into(),
        /// The first request of the run that had it; absent in the other levels, and for a schema
        /// that differs from request to request.
        first: Option<First> = form.first.as_ref().map(First::from),
        /// Median TTFT over that of free answers of the level, without the first of the form in it.
        ttft_ratio: Option<Ratio> = form.ttft_ratio.as_ref().map(Ratio::from),
        /// Likewise the mean gap of a request.
        gap_ratio: Option<Ratio> = form.gap_ratio.as_ref().map(Ratio::from),
        /// Its requests.
        #[serde(flatten)]
        part: Part = (&form.part).into(),
    }

    /// Answers by how they kept to their form.
    Judged of judged: &level::Judgements {
        /// They have it.
        valid: u64 = judged.valid,
        /// They ended by themselves and do not have it.
        invalid: u64 = judged.invalid,
        /// A limit of their length ended them before.
        cut: u64 = judged.cut,
        /// Could not be checked here, or the request failed.
        unchecked: u64 = judged.unchecked,
        /// Valid ones over those that are valid or invalid, 0 to 1, with the interval of Wilson.
        valid_share: Option<Ratio> = judged.valid_share().as_ref().map(Ratio::from),
    }

    /// The first request of a form.
    First of first: &level::FirstOfForm {
        /// Whether it was sent to warm the server up.
        in_warmup: bool = first.is_warmup,
        /// Its time to first token, seconds.
        ttft_s: Option<f64> = first.ttft_ns.map(|ns| ns as f64 * S),
        /// Median of later ones, seconds.
        later_ttft_s: Option<f64> = first.later_ttft_ns.map(|ns| ns * S),
    }

    /// A value with the ends of its 95 % interval.
    Ratio of given: &Estimate {
        /// The value.
        value: f64 = given.value,
        /// Lower end.
        low: f64 = given.low,
        /// Upper end.
        high: f64 = given.high,
    }
}
