//! One change of a series: how large it is, whether it matters, and what it came with.
//!
//! Not here: where it is.

use super::cell::{alone, value_of_tag};
use super::{Change, ChangeKind, Dated};
use crate::comparison::contrast::{Basis, Contrast, contrast, judge};
use crate::comparison::difference::{CLIENT_TIMING, NONE, PROMPTS, differences};
use crate::comparison::evidence::Evidence;
use crate::comparison::{Difference, DifferenceKind, Doubt, Measure, Settings, Verdict};
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::course::Drift;
use ifm_metrics::stat::special::student_upper_quantile;
use ifm_metrics::stat::welch::tail;
use ifm_results::fact::{SEED, tag_fact};
use std::collections::BTreeSet;

/// Differences between runs that say nothing of why they differ.
const NO_REASONS: [&str; 3] = [SEED, PROMPTS, "not given, so it may differ"];

/// Where a change is: places of values, and the runs between which it lies.
pub(super) struct Places<'p> {
    pub last_before: usize,
    pub first_after: usize,
    pub earliest: usize,
    pub latest: usize,
    /// Runs that are surely before, and surely after.
    pub before: &'p [usize],
    pub after: &'p [usize],
}

/// What was found.
pub(super) enum Found<'f> {
    Step {
        sides: &'f (Evidence, Evidence),
        p: f64,
        is_clear: bool,
    },
    /// A drift over this many values, from a level on the scale of the series.
    Drift {
        drift: &'f Drift,
        many: usize,
        level: f64,
        p: f64,
    },
}

/// A change with its verdict; absent if its size is unknown.
pub(super) fn change(
    measure: Measure,
    found: Found,
    at: &Places,
    (all, keys): (&[Dated], &BTreeSet<String>),
    (settings, is_sure): (&Settings, bool),
) -> Option<Change> {
    let rules = settings.rules();
    let (kind, of, per_value, p, is_clear) = match found {
        Found::Step { sides, p, is_clear } => {
            let of = contrast(&sides.0, &sides.1, &rules).ok()?;
            (ChangeKind::Step, of, None, p, is_clear)
        }
        Found::Drift { drift, many, level, p } => {
            let (of, per_value) = drifted(measure, drift, (many, level), settings.confidence)?;
            (ChangeKind::Drift, of, per_value, p, true)
        }
    };
    let (verdict, doubt) = match is_sure {
        true => judge(measure, &of, p, &rules),
        false => (Verdict::Inconclusive, Some(Doubt::Correction)),
    };
    Some(Change {
        kind,
        last_before: at.last_before,
        first_after: at.first_after,
        earliest: at.earliest,
        latest: at.latest,
        size: of.change,
        per_value,
        p,
        is_clear,
        verdict,
        doubt,
        came_with: came_with((at.before, at.after), all, keys),
    })
}

/// How far a drift went, with the interval of its slope (Student).
fn drifted(
    measure: Measure,
    drift: &Drift,
    (many, level): (usize, f64),
    confidence: f64,
) -> Option<(Contrast, Option<Estimate>)> {
    let reach = student_upper_quantile(tail(confidence)?, drift.freedom) * drift.error;
    let slope =
        Estimate { value: drift.slope, low: drift.slope - reach, high: drift.slope + reach };
    let many = many as f64;
    let share = |at: f64| at.clamp(0.0, std::f64::consts::FRAC_PI_2).sin().powi(2);
    let whole = |slope: f64| match measure.is_share() {
        true => share(level + slope * many) - share(level),
        false => (slope * many).exp(),
    };
    let change = slope.map(whole);
    let of = Contrast {
        change,
        p: 0.0,
        detectable: None,
        basis: Basis::Runs,
        shortage: None,
        lacking: None,
        error: None,
    };
    Some((of, (!measure.is_share()).then(|| slope.map(f64::exp_m1))))
}

/// What differs between the last run before and the first after, tags first: the reasons that come
/// into question.
fn came_with(
    (before, after): (&[usize], &[usize]),
    all: &[Dated],
    keys: &BTreeSet<String>,
) -> Vec<Difference> {
    let (Some(before), Some(after)) =
        (before.last().and_then(|run| all.get(*run)), after.first().and_then(|run| all.get(*run)))
    else {
        return Vec::new();
    };
    let mut found = of_tags(before, after);
    // Facts of a run contain its tags too.
    let tags: BTreeSet<String> = found.iter().map(|tag| tag_fact(&tag.what)).collect();
    let of_facts = differences(&alone(&before.member), &alone(&after.member), keys);
    found.extend(of_facts.into_iter().filter(|difference| {
        difference.kind > DifferenceKind::Same
            && difference.a != difference.b
            && !NO_REASONS.contains(&difference.what.as_str())
            && !tags.contains(&difference.what)
            && !is_suspect_twice(difference)
    }));
    found
}

/// Whether the client was suspect before and after: only its own figures differ then, as they always do.
fn is_suspect_twice(difference: &Difference) -> bool {
    let is_told = |side: &Option<String>| side.as_deref().is_some_and(|words| words != NONE);
    difference.what == CLIENT_TIMING && is_told(&difference.a) && is_told(&difference.b)
}

/// Tags that differ: `name=value` by its name, others as a list.
fn of_tags(before: &Dated, after: &Dated) -> Vec<Difference> {
    let names = |of: &Dated| {
        let named = of.tags.iter().filter_map(|tag| Some(tag.split_once('=')?.0.to_owned()));
        named.collect::<Vec<_>>()
    };
    let plain = |of: &Dated| {
        let plain = of.tags.iter().filter(|tag| !tag.contains('=')).cloned();
        let plain: BTreeSet<String> = plain.collect();
        (!plain.is_empty()).then(|| plain.into_iter().collect::<Vec<_>>().join(", "))
    };
    let names: BTreeSet<String> = names(before).into_iter().chain(names(after)).collect();
    let named = names.into_iter().map(|name| {
        let sides = (value_of_tag(before, &name), value_of_tag(after, &name));
        Difference::new(name, DifferenceKind::Expected, sides)
    });
    let mut found: Vec<Difference> = named.collect();
    found.push(Difference::new("tags", DifferenceKind::Expected, (plain(before), plain(after))));
    found.retain(|difference| difference.a != difference.b);
    found
}
