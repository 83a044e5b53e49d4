//! Fields of JSON files from figures.

use ifm_core::Metric;
use ifm_core::sheet::{Definition, Factors, Figure, Row, Statistic, StdKind, key, meaning};
use serde_json::{Map, Number, Value, json};

pub(super) use crate::import::PREFIX;

/// A number, or null if it is missing.
pub(super) fn number(value: Option<f64>) -> Value {
    let Some(value) = value else { return Value::Null };
    // Whole numbers are written without decimals, so that readers parse them as counts.
    match value.fract() == 0.0 && value.abs() < 9e15 {
        true => Value::from(value as i64),
        false => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

/// The same of a quantity that a tool writes with a point, whole or not.
pub(super) fn float(value: Option<f64>) -> Value {
    value.and_then(Number::from_f64).map_or(Value::Null, Value::Number)
}

/// Number of a row that holds for all of it, in canonical units. For counts this is the total: a
/// mean over requests is not a total, and is never written as one.
pub(super) fn value(row: &Row, quantity: Metric) -> Option<f64> {
    let other = if TOTALS.contains(&quantity) { Statistic::Sum } else { Statistic::Mean };
    row.value(quantity, Statistic::Value).or_else(|| row.value(quantity, other))
}

/// What is counted over a whole run, or is its length.
const TOTALS: [Metric; 17] = [
    Metric::Duration,
    Metric::Requests,
    Metric::RequestsOk,
    Metric::RequestsFailed,
    Metric::RequestsIncomplete,
    Metric::InputTokens,
    Metric::OutputTokens,
    Metric::TotalTokens,
    Metric::TextTokens,
    Metric::ImageTokens,
    Metric::AudioTokens,
    Metric::VideoTokens,
    Metric::Images,
    Metric::Pixels,
    Metric::AudioLength,
    Metric::PeakInFlight,
    Metric::PeakOutputRate,
];

/// The figures of a time. Times per token are left out if their known definition differs from the
/// fields of the format, whose own definitions are `own`: GuideLLM's TPOT includes the time to the
/// first token, vLLM's does not. AIPerf's ITL is what other tools define as TPOT, and is exported
/// as TPOT.
pub(super) fn times<'a>(
    row: &'a Row,
    quantity: Metric,
    own: &'a [&str],
) -> impl Iterator<Item = &'a Figure> {
    let has_tpot = row.figures.iter().any(|figure| figure.quantity == Metric::Tpot);
    row.figures.iter().filter(move |figure| {
        let meant = match (figure.quantity, &figure.definition) {
            (Metric::Itl | Metric::Tpot, Definition::Different(words))
                if !own.contains(&words.as_str()) =>
            {
                let is_tpot = words == meaning::ITL_PER_REQUEST && !has_tpot;
                is_tpot.then_some(Metric::Tpot)
            }
            (quantity, _) => Some(quantity),
        };
        meant == Some(quantity)
    })
}

/// The mean time per output token in ms of a row whose own figure means something else, from its
/// requests: last token less first by the tokens behind the first. Only if all of the requests that
/// succeeded are there with their stamps.
pub(super) fn mean_tpot_ms(row: &Row) -> Option<f64> {
    row.figure(Metric::Tpot, Statistic::Mean)?;
    let ok = || row.requests.iter().filter(|request| request.error.is_none());
    if value(row, Metric::RequestsOk) != Some(ok().count() as f64) {
        return None;
    }
    let (mut sum_ms, mut count) = (0.0, 0_u32);
    for request in ok() {
        let tokens = request.output_tokens?;
        if tokens > 1 {
            sum_ms += request.gaps_sum_ms? / (tokens - 1) as f64;
            count += 1;
        }
    }
    (count > 0).then(|| sum_ms / f64::from(count))
}

/// A factor: a number where it is one, else text, null where it is not set.
pub(super) fn factor(factors: &Factors, name: &str) -> Value {
    match (factors.number(name), factors.get(name)) {
        (Some(value), _) => number(Some(value)),
        (None, Some(word)) => Value::from(word),
        (None, None) => Value::Null,
    }
}

/// Names of factors that no reader of these formats takes for anything else.
const PLAIN: [&str; 14] = [
    key::GPU,
    key::QUANTIZATION,
    key::STRATEGY,
    key::REQUESTS,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::BATCH_SIZE,
    key::DEPTH_TOKENS,
    key::WORKLOAD,
    key::POWER_LIMIT_W,
    key::CONDITION,
    key::TENSOR_PARALLEL,
    key::REPEAT,
    key::NUMBERS,
];

/// All factors as texts, for formats with room for labels.
pub(super) fn labels(factors: &Factors) -> Value {
    factors
        .iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Adds the factors as fields of the outermost level, as `--metadata` of vLLM's client does, but
/// for those that `fields` of the format hold as they are. Names that are not ours have a prefix,
/// so that none is taken for a field of the format.
pub(super) fn metadata(object: &mut Map<String, Value>, factors: &Factors, fields: &[&str]) {
    for (name, text) in factors.iter() {
        let is_field = fields.contains(&name);
        let written = match factor(factors, name) {
            Value::String(word) => word,
            number => number.to_string(),
        };
        if is_field && written == text {
            continue;
        }
        let name = match PLAIN.contains(&name) && !is_field {
            true => name.to_owned(),
            false => format!("{PREFIX}{name}"),
        };
        object.insert(name, json!(text));
    }
}

/// Sets a field if there is a number.
pub(super) fn set(object: &mut Map<String, Value>, name: impl Into<String>, value: Option<f64>) {
    if value.is_some() {
        object.insert(name.into(), number(value));
    }
}

/// `p99`, `p99.9`.
pub(super) fn percentile_name(p: f64) -> String {
    format!("p{p}")
}

/// Sets a field if there is a number, with a point.
pub(super) fn set_float(
    object: &mut Map<String, Value>,
    name: impl Into<String>,
    value: Option<f64>,
) {
    if value.is_some() {
        object.insert(name.into(), float(value));
    }
}

/// Sets a field for each quantity of which the row has a number. Durations are in seconds.
pub(super) fn set_each(object: &mut Map<String, Value>, row: &Row, fields: &[(&str, Metric)]) {
    for (name, quantity) in fields {
        let scale = if *quantity == Metric::Duration { 1e-3 } else { 1.0 };
        set(object, *name, value(row, *quantity).map(|value| value * scale));
    }
}

/// `mean`, `median`, `std`, `p99`: statistics as vLLM's fields name them. Its deviations are those
/// of a population: others have no field.
pub(super) fn statistic_name(statistic: Statistic) -> Option<String> {
    Some(match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Median => "median".to_owned(),
        Statistic::Std(StdKind::Population) => "std".to_owned(),
        Statistic::Percentile(p) if p > 50.0 => percentile_name(p),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::EXPORTS;
    use ifm_core::Metric;
    use ifm_core::Sheet;
    use ifm_core::sheet::{
        Definition, Figure, Part, PartKind, Place, Row, RowRole, SheetRequest, Source, Statistic,
        Unit, meaning,
    };
    use serde_json::Value;

    fn exported(id: &str, row: &Row) -> Value {
        exported_of("inferometer", id, row)
    }

    fn exported_of(tool: &str, id: &str, row: &Row) -> Value {
        let part = Part { rows: vec![row.clone()], ..Part::new(PartKind::Serving, Place::line(1)) };
        let source = Source { tool: Some(tool.to_owned()), ..Source::default() };
        let sheet = Sheet { source, parts: vec![part], remarks: Vec::new() };
        let export = EXPORTS.iter().find(|export| export.id == id).unwrap();
        serde_json::from_str(&export.write(&sheet).unwrap()[0].text).unwrap()
    }

    fn row(figures: &[(Metric, Statistic, f64, Unit, &str)]) -> Row {
        let mut row = Row::new(RowRole::Measured, Place::line(1));
        for (quantity, statistic, value, unit, different) in figures {
            let definition = match *different {
                "" => Definition::Same,
                words => Definition::Different(words.to_owned()),
            };
            let figure = Figure::new(*quantity, *statistic, *value, unit.clone());
            row.figures.push(figure.defined(definition));
        }
        row
    }

    #[test]
    fn totals_are_sums_and_never_means() {
        let count = |statistic, value| (Metric::InputTokens, statistic, value, Unit::Count, "");
        for id in ["vllm", "sglang"] {
            let both = row(&[count(Statistic::Mean, 15.25), count(Statistic::Sum, 122.0)]);
            assert_eq!(exported(id, &both)["total_input_tokens"], 122, "{id}");
            let mean = row(&[count(Statistic::Mean, 15.25)]);
            assert_eq!(exported(id, &mean).get("total_input_tokens"), None, "{id}");
        }
    }

    #[test]
    fn a_time_per_token_of_another_meaning_stays_out() {
        let tpot = |words| (Metric::Tpot, Statistic::Mean, 20.0, Unit::Ms, words);
        let with_first = row(&[tpot(meaning::TPOT_WITH_FIRST)]);
        let same = row(&[tpot("")]);
        for (id, field) in
            [("vllm", "mean_tpot_ms"), ("sglang", "mean_tpot_ms"), ("inferencex", "mean_tpot")]
        {
            assert_eq!(exported(id, &with_first).get(field), None, "{id}");
            assert!(exported(id, &same)[field].is_number(), "{id}");
        }
        assert_eq!(exported("inferencex", &with_first).get("mean_intvty"), None);
        let own = exported("guidellm", &with_first);
        let pointer = "/benchmarks/0/metrics/time_per_output_token_ms/successful/mean";
        assert_eq!(own.pointer(pointer).and_then(Value::as_f64), Some(20.0));
        let of = |tool, row| exported_of(tool, "guidellm", row).pointer(pointer).is_some();
        assert!(of("inferometer", &same) && !of("vllm bench serve", &same));
        let itl = (Metric::Itl, Statistic::Mean, 5.0, Unit::Ms, meaning::ITL_PER_REQUEST);
        assert!(!of("aiperf", &row(&[itl])));
    }

    #[test]
    fn the_mean_comes_from_the_requests_where_all_of_them_are_there() {
        let mut row = row(&[
            (Metric::Tpot, Statistic::Mean, 20.0, Unit::Ms, meaning::TPOT_WITH_FIRST),
            (Metric::RequestsOk, Statistic::Value, 2.0, Unit::Count, ""),
        ]);
        let request = |gaps_sum_ms, tokens| SheetRequest {
            gaps_sum_ms: Some(gaps_sum_ms),
            output_tokens: Some(tokens),
            ..SheetRequest::default()
        };
        row.requests = vec![request(50.0, 11), request(150.0, 11)];
        assert_eq!(exported("vllm", &row)["mean_tpot_ms"], 10.0);
        row.requests.pop();
        assert_eq!(exported("vllm", &row).get("mean_tpot_ms"), None);
    }

    #[test]
    fn what_aiperf_calls_itl_goes_out_as_tpot() {
        let itl = |words| row(&[(Metric::Itl, Statistic::Median, 5.0, Unit::Ms, words)]);
        let per_request = exported("vllm", &itl(meaning::ITL_PER_REQUEST));
        assert_eq!(per_request["median_tpot_ms"], 5.0);
        assert_eq!(per_request.get("median_itl_ms"), None);
        assert_eq!(exported("vllm", &itl(""))["median_itl_ms"], 5.0);
    }
}
