//! The rules, one file each, in the order in which an audit lists them.

mod duplicate_label;
mod encoding;
mod little;
mod not_measured;
mod percentile_samples;
mod planned;
mod rank_outlier;
mod rank_tie;
mod recomputed;
mod repeat_outlier;
mod token_sum;

use super::Rule;

/// Every rule: arithmetic, then statistics, then physics, then comparisons.
pub(super) const RULES: &[&Rule] = &[
    &recomputed::RULE,
    &token_sum::RULE,
    &little::RULE,
    &duplicate_label::RULE,
    &planned::RULE,
    &not_measured::RULE,
    &encoding::RULE,
    &repeat_outlier::RULE,
    &rank_tie::RULE,
    &rank_outlier::RULE,
    &percentile_samples::RULE,
];
