//! SGLang's benchmarks of one static batch, by the names of their fields and of the columns of
//! their reports.

use super::field::{Means, OWN, named};
use ifm_core::sheet::{Figure, Quantity, Statistic, Unit, key};

/// Fields and columns that set something, and the factor that they are.
const SETTINGS: &[(&str, &str)] = &[
    ("batch_size", key::BATCH_SIZE),
    ("batch size", key::BATCH_SIZE),
    ("input_len", key::INPUT_TOKENS),
    ("input len", key::INPUT_TOKENS),
    ("output_len", key::OUTPUT_TOKENS),
    ("output len", key::OUTPUT_TOKENS),
];

/// The factor of a field or column.
pub(crate) fn setting(name: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|(known, _)| *known == name).map(|(_, factor)| *factor)
}

const FIRST_TOKENS: Means =
    Means::Different("to the first token of the last sequence of the batch");
const PROMPTS: Means =
    Means::Different("prompt tokens of the batch over the time to its last first token");
const STEP: Means = Means::Different("one decode step of the batch");
const GUESSED_COST: Means =
    Means::Different("from a price of 2 or 4 $ an hour and GPU that is written into the tool");
const DECODE: Means = Means::Derivable(
    "of the whole batch, and the first tokens count, which came before: (n − 1) / n of this, \
     n tokens a sequence",
);

/// What a number is: all names of it, what it measures, and what the tool means.
type Known = (&'static [&'static str], Quantity, Statistic, Unit, Means);

const FIGURES: &[Known] = &[
    (
        &["latency", "latency (s)", "total_latency"],
        Quantity::Duration,
        Statistic::Value,
        Unit::S,
        Means::Same,
    ),
    (
        &["input_throughput", "input throughput (tok/s)", "prefill_throughput"],
        Quantity::PrefillRate,
        Statistic::Value,
        Unit::PerS,
        PROMPTS,
    ),
    (
        &["output_throughput", "output throughput (tok/s)"],
        Quantity::DecodeRate,
        Statistic::Value,
        Unit::PerS,
        DECODE,
    ),
    (&["median_decode_throughput"], Quantity::DecodeRate, Statistic::Median, Unit::PerS, STEP),
    (&["overall_throughput"], Quantity::TotalRate, Statistic::Value, Unit::PerS, Means::Same),
    (&["last_ttft"], Quantity::Ttft, Statistic::Max, Unit::S, FIRST_TOKENS),
    (&["prefill_latency"], Quantity::PrefillTime, Statistic::Value, Unit::S, FIRST_TOKENS),
    (&["median_decode_latency"], Quantity::Itl, Statistic::Median, Unit::S, STEP),
    (
        &["ITL (ms)"],
        Quantity::Itl,
        Statistic::Mean,
        Unit::Ms,
        Means::Different("1000 × sequences / output throughput, which counts first tokens too"),
    ),
    (
        &["last_gen_throughput"],
        OWN,
        Statistic::Value,
        Unit::PerS,
        Means::Different("of the last log interval"),
    ),
    (
        &["steady_state_output_throughput", "steady output throughput (tok/s)"],
        OWN,
        Statistic::Value,
        Unit::PerS,
        Means::Different("while all sequences of the batch generate"),
    ),
    (&["steady_state_itl", "steady ITL (ms)"], OWN, Statistic::Mean, Unit::Ms, Means::Unstated),
    (
        &["acc_length", "acc length"],
        Quantity::AcceptLength,
        Statistic::Value,
        Unit::Count,
        Means::Same,
    ),
    (&["total_output_tokens"], Quantity::OutputTokens, Statistic::Value, Unit::Count, Means::Same),
    (&["cache_hit_rate", "cache hit rate"], OWN, Statistic::Value, Unit::One, Means::Same),
    (
        &["input_cost_per_million", "input cost ($/1M)", "input price ($/1M)"],
        OWN,
        Statistic::Value,
        Unit::Usd,
        GUESSED_COST,
    ),
    (
        &["output cost ($/1M)", "output price ($/1M)"],
        Quantity::CostPerMillion,
        Statistic::Value,
        Unit::Usd,
        GUESSED_COST,
    ),
];

/// The figure of a field or column. Numbers that stand for nothing have none.
pub(crate) fn figure(name: &str, value: f64) -> Option<Figure> {
    let (names, quantity, statistic, unit, means) =
        FIGURES.iter().find(|(names, ..)| names.contains(&name))?;
    // Without speculative decoding it is 0.
    if *quantity == Quantity::AcceptLength && value <= 0.0 {
        return None;
    }
    let quantity = named(quantity, names.first()?);
    Some(Figure::new(quantity, *statistic, value, unit.clone()).defined((*means).into()))
}
