//! InferenceX, formerly InferenceMAX: a processed result per run, or all of them in a list. Times
//! are in seconds, and rates are per GPU.

use super::super::statistic::{different, statistic};
use super::super::{json, labels, words};
use super::{Format, Like, records};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Remark, RemarkKind, Row, Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "inferencex",
    title: "InferenceX (InferenceMAX) aggregate, JSON",
    tool: Some("InferenceX"),
    kind: PartKind::Serving,
    // Without the number of GPUs our own export has no rate per GPU.
    like: Like::Json(&[MARKS, &["conc", "isl", "osl", "framework", "precision", "written_by"]]),
    marks: MARKS,
    read: |format, input| {
        records::read_small(format, input, |fields, draft| {
            row(fields, &mut draft.row, draft.remarks);
        })
    },
};
const MARKS: &[&str] = &["conc", "isl", "osl", "framework", "precision", "tput_per_gpu"];
/// Fields that set something, and the factor that they are; our export writes the same.
pub(crate) const FIELDS: [(&str, &str); 8] = [
    ("hw", key::GPU),
    ("conc", key::CONCURRENCY),
    ("model", key::MODEL),
    ("framework", key::ENGINE),
    ("precision", key::QUANTIZATION),
    ("isl", key::INPUT_TOKENS),
    ("osl", key::OUTPUT_TOKENS),
    ("tp", key::TENSOR_PARALLEL),
];
/// Fields that set something, by the names of the tool; so do all that begin with `prefill_` or
/// `decode_` and measure nothing.
const SETTINGS: &[&str] = &[
    "image",
    "infmax_model_prefix",
    "spec_decoding",
    "disagg",
    "is_multinode",
    "pp",
    "dcp_size",
    "pcp_size",
    "ep",
    "dp_attention",
    "num_prefill_gpu",
    "num_decode_gpu",
    "recipe_fingerprint",
];

fn row(fields: Map<String, Value>, row: &mut Row, remarks: &mut Vec<Remark>) {
    let run = Run::of(&fields);
    for (name, value) in fields {
        let known = if name == "device" { "hw" } else { name.as_str() };
        let set = FIELDS.iter().find(|(own, _)| *own == known).map(|(_, factor)| *factor);
        let own = SETTINGS.contains(&name.as_str())
            || name.starts_with("prefill_")
            || name.starts_with("decode_");
        let figure = json::number(Some(&value)).and_then(|value| figure(&name, value, run));
        if let Some(factor) = set.or(own.then_some(name.as_str())).filter(|_| figure.is_none()) {
            if let Some(word) = json::word(Some(&value)) {
                row.factors.set(factor, word);
            }
        } else if name == "std_intvty" {
            remarks.push(Remark {
                kind: RemarkKind::Missing,
                place: row.place.clone(),
                text: "std_intvty: one over the deviation of TPOT measures nothing".to_owned(),
            });
            row.unknown.insert(name, value);
        } else if let Some(figure) = figure {
            if run.energy_by_role && OF_ONE_ROLE.contains(&name.as_str()) {
                remarks.push(Remark {
                    kind: RemarkKind::Assumed,
                    place: row.place.clone(),
                    text: format!(
                        "{name}: of {}, as in disaggregated runs without \
                         power_metric_schema_version",
                        if name == OF_DECODE { DECODE } else { PREFILL }
                    ),
                });
            }
            row.figures.push(figure);
        } else {
            row.unknown.insert(name, value);
        }
    }
    labels::take(&mut row.unknown, &mut row.factors);
}

/// What decides what the fields of a run mean.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Rates per GPU are of the GPUs of one role.
    multinode: bool,
    /// Energies per token are for the GPUs of one role. Since `power_metric_schema_version` 2 they
    /// are for the whole deployment.
    energy_by_role: bool,
}

impl Run {
    fn of(fields: &Map<String, Value>) -> Run {
        let is = |name: &str| json::word(fields.get(name)).is_some_and(|word| word == "true");
        let version = json::number(fields.get("power_metric_schema_version"));
        Run {
            multinode: is("is_multinode"),
            energy_by_role: is("disagg") && version.is_none_or(|version| version < 2.0),
        }
    }
}

/// Energies whose meaning depends on the version.
const OF_ONE_ROLE: &[&str] = &["joules_per_input_token", OF_DECODE];
const OF_DECODE: &str = "joules_per_output_token";
const DECODE: &str = "the decode GPUs alone";
const PREFILL: &str = "the prefill GPUs alone";

fn figure(name: &str, value: f64, run: Run) -> Option<Figure> {
    let (quantity, statistic, unit, definition) =
        latency(name).or_else(|| whole(name, run.multinode)).or_else(|| energy(name, run))?;
    Some(Figure::new(quantity, statistic, value, unit).defined(definition))
}

type Meaning = (Metric, Statistic, Unit, Definition);

/// `p99_ttft`, in seconds; `p99_intvty`, tokens per second.
fn latency(name: &str) -> Option<Meaning> {
    let (word, metric) = name.split_once('_')?;
    let statistic = statistic(word, StdKind::Population)?;
    let chunk = "from before a new connection is opened, to the first chunk of any kind";
    let (quantity, definition) = match metric {
        "ttft" => (Metric::Ttft, different(chunk)),
        "tpot" => (Metric::Tpot, different(words::TPOT_ROLE_TO_USAGE)),
        "itl" => (Metric::Itl, different(words::PIECES)),
        "e2el" => (Metric::E2e, different("to the last message, usage among them")),
        "intvty" => {
            let text = match statistic {
                Statistic::Median => "1 / median TPOT".to_owned(),
                Statistic::Mean => "1 / mean TPOT: the harmonic mean over requests".to_owned(),
                _ => format!("1 / the same statistic of TPOT: {word} is of the slowest users"),
            };
            return Some((Metric::UserSpeed, statistic, Unit::PerS, Definition::Different(text)));
        }
        _ => return None,
    };
    Some((quantity, statistic, Unit::S, definition))
}

fn whole(name: &str, multinode: bool) -> Option<Meaning> {
    let rate = |kind: &str, gpus: &str| {
        let quantity = Metric::other(format!("{kind}_rate_per_gpu"));
        let definition = Definition::Derivable(format!("of one GPU: times the {gpus} it is all"));
        (quantity, Statistic::Value, Unit::PerS, definition)
    };
    let other = |name: &str| Metric::other(name);
    Some(match name {
        "tput_per_gpu" => rate("total", "GPUs"),
        "output_tput_per_gpu" => rate("output", if multinode { "decode GPUs" } else { "GPUs" }),
        "input_tput_per_gpu" => rate("input", if multinode { "prefill GPUs" } else { "GPUs" }),
        "avg_total_gpu_power_w" => (Metric::Power, Statistic::Mean, Unit::W, Definition::Same),
        "avg_power_w" => (other("power_per_gpu"), Statistic::Mean, Unit::W, Definition::Same),
        _ => return None,
    })
}

/// Energies, in joules, and the power of one role.
fn energy(name: &str, run: Run) -> Option<Meaning> {
    let other = |name: &str| Metric::other(name);
    let prefill = || different(&format!("of {PREFILL}, over the whole run"));
    let decode = || different(&format!("of {DECODE}, over the whole run"));
    let (quantity, definition) = match name {
        "total_gpu_energy_j" => (Metric::Energy, Definition::Same),
        "prefill_gpu_energy_j" => (other(name), prefill()),
        "decode_gpu_energy_j" => (other(name), decode()),
        "joules_per_output_token" if run.energy_by_role => {
            (other("decode_joules_per_output_token"), decode())
        }
        "joules_per_input_token" if run.energy_by_role => {
            (other("prefill_joules_per_input_token"), prefill())
        }
        "joules_per_output_token" => (Metric::EnergyPerToken, Definition::Same),
        "joules_per_input_token" | "joules_per_total_token" | "joules_per_successful_query" => {
            (other(name), Definition::Same)
        }
        "prefill_joules_per_input_token" => (other(name), prefill()),
        "decode_joules_per_output_token" => (other(name), decode()),
        "prefill_avg_power_w" => {
            return Some((other("prefill_power_per_gpu"), Statistic::Mean, Unit::W, prefill()));
        }
        "decode_avg_power_w" => {
            return Some((other("decode_power_per_gpu"), Statistic::Mean, Unit::W, decode()));
        }
        _ => return None,
    };
    Some((quantity, Statistic::Value, Unit::J, definition))
}
