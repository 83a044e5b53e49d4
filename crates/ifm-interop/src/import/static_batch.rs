//! SGLang's benchmarks of one static batch, by the names of their fields and of the columns of
//! their reports.

use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Statistic, Unit, key};

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

const FIRST_TOKENS: &str = "to the first token of the last sequence of the batch";
const PROMPTS: &str = "prompt tokens of the batch over the time to its last first token";
const STEP: &str = "one decode step of the batch";
const GUESSED_COST: &str = "from a price of 2 or 4 $ an hour and GPU that is written into the tool";

/// The figure of a field or column. Placeholder numbers have none.
pub(crate) fn figure(name: &str, value: f64) -> Option<Figure> {
    let different = |text: &str| Definition::Different(text.to_owned());
    let other = |name: &str| Metric::other(name);
    let decode = Definition::Derivable(
        "of the whole batch, and the first tokens count, which came before: (n − 1) / n of this, \
         n tokens a sequence"
            .to_owned(),
    );
    let (quantity, statistic, unit, definition) = match name {
        "latency" | "latency (s)" | "total_latency" => {
            (Metric::Duration, Statistic::Value, Unit::S, Definition::Same)
        }
        "input_throughput" | "input throughput (tok/s)" | "prefill_throughput" => {
            (Metric::PrefillRate, Statistic::Value, Unit::PerS, different(PROMPTS))
        }
        "output_throughput" | "output throughput (tok/s)" => {
            (Metric::DecodeRate, Statistic::Value, Unit::PerS, decode)
        }
        "median_decode_throughput" => {
            (Metric::DecodeRate, Statistic::Median, Unit::PerS, different(STEP))
        }
        "overall_throughput" => (Metric::TotalRate, Statistic::Value, Unit::PerS, Definition::Same),
        "last_ttft" => (Metric::Ttft, Statistic::Max, Unit::S, different(FIRST_TOKENS)),
        "prefill_latency" => (Metric::Prefill, Statistic::Value, Unit::S, different(FIRST_TOKENS)),
        "median_decode_latency" => (Metric::Itl, Statistic::Median, Unit::S, different(STEP)),
        "ITL (ms)" => (
            Metric::Itl,
            Statistic::Mean,
            Unit::Ms,
            different("1000 × sequences / output throughput, which counts first tokens too"),
        ),
        "last_gen_throughput" => {
            (other(name), Statistic::Value, Unit::PerS, different("of the last log interval"))
        }
        "steady_state_output_throughput" | "steady output throughput (tok/s)" => (
            other("steady_state_output_throughput"),
            Statistic::Value,
            Unit::PerS,
            different("while all sequences of the batch generate"),
        ),
        "steady ITL (ms)" => {
            (other("steady_state_itl"), Statistic::Mean, Unit::Ms, Definition::Unstated)
        }
        "acc_length" | "acc length" if value > 0.0 => {
            (Metric::AcceptanceLength, Statistic::Value, Unit::Count, Definition::Same)
        }
        "total_output_tokens" => {
            (Metric::OutputTokens, Statistic::Value, Unit::Count, Definition::Same)
        }
        "cache_hit_rate" | "cache hit rate" => {
            (other("cache_hit_rate"), Statistic::Value, Unit::One, Definition::Same)
        }
        "input cost ($/1M)" | "input price ($/1M)" => {
            (other("input_cost_per_million"), Statistic::Value, Unit::Usd, different(GUESSED_COST))
        }
        "output cost ($/1M)" | "output price ($/1M)" => {
            (Metric::CostPerMillion, Statistic::Value, Unit::Usd, different(GUESSED_COST))
        }
        _ => return None,
    };
    Some(Figure::new(quantity, statistic, value, unit).defined(definition))
}
