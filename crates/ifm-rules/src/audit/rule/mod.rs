//! The rules, one file each, in the order in which an audit lists them.

mod answer_lengths;
mod asked_rate;
mod bandwidth_claim;
mod cached_total;
mod cold_first;
mod cut_sessions;
mod duplicate_label;
mod encoding;
mod failed_requests;
mod faster_than_light;
mod flop_counts;
mod image_rate;
mod image_tokens;
mod implied_definition;
mod label_facts;
mod label_order;
mod little;
mod mixed_concurrency;
mod near_light;
mod no_queue_claim;
mod not_measured;
mod one_population;
mod ordered_percentiles;
mod ordered_times;
mod own_arithmetic;
mod percentile_samples;
mod planned;
mod predicted_rows;
mod prefill_interference;
mod prompt_burst;
mod rank_outlier;
mod rank_tie;
mod rate_tail;
mod real_time_factor;
mod recomputed;
mod repeat_drift;
mod repeat_outlier;
mod repeated_images;
mod repeated_prompts;
mod retokenized;
mod stated_change;
mod stated_figure;
mod stated_order;
mod stated_rank;
mod stated_ratio;
mod stated_speed;
mod token_sum;
mod tool_bias;
mod two_notions;
mod unequal_load;
mod unlike_sides;
mod unsupported_reason;
mod whole_answers;
mod wrong_metric;

use super::Rule;

/// Every rule: arithmetic, then statistics, then physics, then comparisons.
pub(super) const RULES: &[&Rule] = &[
    &recomputed::RULE,
    &stated_ratio::RULE,
    &stated_change::RULE,
    &stated_speed::RULE,
    &stated_figure::RULE,
    &stated_rank::RULE,
    &stated_order::RULE,
    &token_sum::RULE,
    &own_arithmetic::RULE,
    &one_population::RULE,
    &ordered_percentiles::RULE,
    &ordered_times::RULE,
    &whole_answers::RULE,
    &retokenized::RULE,
    &little::RULE,
    &asked_rate::RULE,
    &failed_requests::RULE,
    &cut_sessions::RULE,
    &mixed_concurrency::RULE,
    &implied_definition::RULE,
    &two_notions::RULE,
    &answer_lengths::RULE,
    &label_facts::RULE,
    &duplicate_label::RULE,
    &label_order::RULE,
    &planned::RULE,
    &not_measured::RULE,
    &predicted_rows::RULE,
    &encoding::RULE,
    &repeat_outlier::RULE,
    &rank_tie::RULE,
    &rank_outlier::RULE,
    &wrong_metric::RULE,
    &repeat_drift::RULE,
    &percentile_samples::RULE,
    &rate_tail::RULE,
    &cold_first::RULE,
    &tool_bias::RULE,
    &faster_than_light::RULE,
    &near_light::RULE,
    &prompt_burst::RULE,
    &bandwidth_claim::RULE,
    &prefill_interference::RULE,
    &no_queue_claim::RULE,
    &unequal_load::RULE,
    &unlike_sides::RULE,
    &cached_total::RULE,
    &repeated_prompts::RULE,
    &image_tokens::RULE,
    &image_rate::RULE,
    &repeated_images::RULE,
    &real_time_factor::RULE,
    &unsupported_reason::RULE,
    &flop_counts::RULE,
];
