//! A comparison for programs: one JSON document.
//!
//! Times are in seconds, with their unit in `unit`. Unknown values are left out. Not here: the
//! runs themselves.

use super::words::capacity_unit;
use crate::json::{Object, SCHEMA_VERSION};
use ifm_compare::comparison::{
    Apart, Capacity, CapacityPair, Cell, Comparison, Condition, Difference, Pair, RepeatedPrompt,
    Row, SideHead, SpeedUp, Unit, Verdict,
};
use ifm_metrics::level::Load;
use ifm_metrics::slo;
use ifm_metrics::stat::Estimate;
use serde_json::{Value, json};

const NS_PER_S: f64 = 1e9;

/// The comparison as one JSON document; ends with a line break.
pub fn comparison_json(comparison: &Comparison) -> String {
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "kind": "comparison",
        "confidence": comparison.confidence,
        "threshold": comparison.threshold,
        "resamples": comparison.resamples,
        "seed": comparison.seed,
        "tested": comparison.tested,
        "baseline": head(&comparison.baseline),
        "pairs": comparison.pairs.iter().map(pair).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// A side.
pub(crate) fn head(side: &SideHead) -> Value {
    let mut object = Object::default();
    object
        .set("label", side.label.as_str())
        .set("runs", side.runs.clone())
        .set("models", side.models.clone())
        .set("loads", side.conditions.iter().map(load).collect::<Vec<_>>())
        .set_known("tools", (!side.tools.is_empty()).then(|| side.tools.clone()))
        .set_known("is_predicted", side.is_predicted.then_some(true))
        .take()
}

/// The requested load, `{"users": 4}` or `{"req_per_s": 2.5}`, and other settings that distinguish levels:
/// `{"setting": {"test": "pp512"}}`.
pub(crate) fn load(at: &Condition) -> Value {
    let mut object = Object::default();
    match at.load {
        Some(Load::Users(users)) => object.set("users", users),
        Some(Load::ReqPerS(rate)) => object.set("req_per_s", rate),
        None => &mut object,
    };
    let setting: serde_json::Map<String, Value> =
        at.setting.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    object.set_known("setting", (!setting.is_empty()).then_some(Value::Object(setting))).take()
}

fn pair(pair: &Pair) -> Value {
    let mut verdicts = Object::default();
    for verdict in Verdict::ALL {
        verdicts.set(verdict.word(), pair.count(verdict));
    }
    let mut object = Object::default();
    object
        .set("side", head(&pair.side))
        .set("differences", differences(&pair.differences))
        .set("rows", pair.rows.iter().map(row).collect::<Vec<_>>())
        .set_known("speed_ups", speed_ups(&pair.speed_ups))
        .set_known("repeated_prompt", repeated_prompt(&pair.repeated_prompt))
        .set_known("capacity", pair.capacity.as_ref().map(capacity_pair))
        .set("apart", pair.apart.iter().map(apart).collect::<Vec<_>>())
        .set("verdicts", verdicts.take())
        .take()
}

/// The effect of speculative decoding at each load; absent where it does not apply.
fn speed_ups(found: &[SpeedUp]) -> Option<Value> {
    let one = |found: &SpeedUp| {
        json!({
            "load": load(&found.at),
            "metric": found.measure.to_string(),
            "ratio": estimate(found.ratio),
        })
    };
    (!found.is_empty()).then(|| found.iter().map(one).collect())
}

/// One prompt against new ones at each load; absent where it does not apply.
fn repeated_prompt(found: &[RepeatedPrompt]) -> Option<Value> {
    let one = |found: &RepeatedPrompt| {
        json!({
            "load": load(&found.at),
            "metric": found.measure.to_string(),
            "times_as_fast": estimate(found.ratio),
            "fails": found.fails,
        })
    };
    (!found.is_empty()).then(|| found.iter().map(one).collect())
}

/// What was looked at besides the numbers.
pub(crate) fn differences(found: &[Difference]) -> Value {
    let one = |difference: &Difference| {
        let mut object = Object::default();
        object
            .set("what", difference.what.as_str())
            .set("kind", difference.kind.word())
            .set_known("a", difference.a.as_deref())
            .set_known("b", difference.b.as_deref())
            .take()
    };
    found.iter().map(one).collect()
}

/// The name of a unit, and what its values are divided by.
pub(crate) fn unit(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("s", NS_PER_S),
        Unit::TokPerS => ("tok/s", 1.0),
        Unit::ReqPerS => ("req/s", 1.0),
        Unit::StepPerS => ("steps/s", 1.0),
        Unit::ImagePerS => ("images/s", 1.0),
        Unit::MegapixelPerS => ("megapixels/s", 1.0),
        Unit::SessionPerHour => ("sessions/h", 1.0),
        Unit::Share => ("share", 1.0),
        Unit::Bytes => ("bytes", 1.0),
        Unit::J => ("J", 1.0),
        Unit::W => ("W", 1.0),
        Unit::BytesPerS => ("bytes/s", 1.0),
        Unit::FlopPerS => ("FLOP/s", 1.0),
        Unit::Usd => ("USD", 1.0),
        Unit::Plain => ("number", 1.0),
    }
}

/// One side of a row.
pub(crate) fn cell(cell: &Cell, per: f64) -> Value {
    let mut object = Object::default();
    object
        .set("value", cell.value / per)
        .set_known("low", cell.low.map(|low| low / per))
        .set_known("high", cell.high.map(|high| high / per))
        .set_known("n", cell.n)
        .set("runs", cell.runs)
        .set("is_interpolated", cell.is_interpolated)
        .take()
}

pub(crate) fn estimate(estimate: Estimate) -> Value {
    json!({"value": estimate.value, "low": estimate.low, "high": estimate.high})
}

/// A change without an interval.
pub(crate) fn alone(value: f64) -> Value {
    json!({"value": value})
}

fn row(row: &Row) -> Value {
    let (name, per) = unit(row.measure.unit());
    let change = if row.measure.is_share() { "points" } else { "ratio" };
    let mut object = Object::default();
    object
        .set("load", load(&row.at))
        .set("metric", row.measure.to_string())
        .set("unit", name)
        .set_known("a", row.a.map(|found| cell(&found, per)))
        .set_known("b", row.b.map(|found| cell(&found, per)))
        .set_known(change, row.change.map(estimate).or(row.difference.map(alone)))
        .set_known("p", row.p)
        .set_known("p_corrected", row.p_corrected)
        .set_known("detectable", row.detectable)
        .set_known("basis", row.basis.map(|basis| basis.word()))
        .set("verdict", row.verdict.word())
        .set_known(
            "reason",
            row.doubt.as_ref().map(|doubt| json!({"id": doubt.word(), "text": doubt.to_string()})),
        )
        .take()
}

fn capacity_pair(pair: &CapacityPair) -> Value {
    let mut object = Object::default();
    object
        .set("slo", slo::words(&pair.slo))
        .set("unit", capacity_unit(pair))
        .set("a", capacity(&pair.a))
        .set("b", capacity(&pair.b))
        .set_known("ratio", pair.ratio)
        .set_known("ratio_between", pair.ratio_between.map(|(low, high)| json!([low, high])))
        .take()
}

fn capacity(capacity: &Capacity) -> Value {
    let mut object = Object::default();
    object
        .set("state", capacity.state.word())
        .set_known("load", capacity.load)
        .set_known("low", capacity.low)
        .set_known("high", capacity.high)
        .set_known("between", capacity.between.map(|(inside, outside)| json!([inside, outside])))
        .set_known("limited_by", capacity.limited_by.map(|measure| measure.to_string()))
        .take()
}

fn apart(apart: &Apart) -> Value {
    let (name, per) = unit(apart.measure.unit());
    json!({
        "side": apart.side,
        "run": apart.run,
        "load": load(&apart.at),
        "metric": apart.measure.to_string(),
        "unit": name,
        "value": apart.value / per,
        "mean": apart.mean / per,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn the_document_of_a_comparison() {
        let comparison = compared();
        let text = comparison_json(&comparison);
        assert!(!text.contains("null"), "what is not known is left out");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            (&document["kind"], &document["baseline"]["label"]),
            (&"comparison".into(), &"base".into())
        );
        let pair = &document["pairs"][0];
        let rows = pair["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), comparison.pairs[0].rows.len());
        let itl = rows.iter().find(|row| row["metric"] == "itl.p50" && row["load"]["users"] == 1);
        let itl = itl.expect("a row");
        assert_eq!(
            (&itl["unit"], &itl["verdict"], &itl["basis"]),
            (&"s".into(), &"better".into(), &"requests".into())
        );
        assert!((itl["a"]["value"].as_f64().expect("a value") - 0.010).abs() < 0.001, "{itl}");
        assert!(itl["ratio"]["low"].as_f64() < itl["ratio"]["high"].as_f64());
        let errors = rows.iter().find(|row| row["metric"] == "error_rate").expect("a row");
        assert!(errors.get("points").is_some() && errors.get("ratio").is_none());
        let counted: u64 = pair["verdicts"]
            .as_object()
            .expect("verdicts")
            .values()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(counted as usize, rows.len());
        assert_eq!(pair["capacity"]["slo"], "itl:p50<30ms");
        assert_eq!(pair["differences"][0]["kind"], "warning");
    }
}
