//! `vllm bench serve --save-result`: one JSON object, or several that were appended.

use super::super::error::ImportError;
use super::super::{Head, Input, Likeness, Recognised, json};
use super::{Format, serve_keys};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Factors, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, SheetRequest, Source, key,
};
use serde_json::{Map, Value};

pub(super) struct VllmServe;

const ABOUT: Recognised = Recognised { id: "vllm-serve", title: "vllm bench serve, JSON" };
/// Fields that together only this tool writes.
const MARKS: &[&str] =
    &["total_token_throughput", "request_throughput", "num_prompts", "model_id", "tokenizer_id"];

impl Format for VllmServe {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.is_json() && head.has_keys(MARKS) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let name = input.name().to_owned();
        let bytes = input.all()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = json::without_bare_words(&text);
        let mut sheet = Sheet {
            source: Source {
                name: name.clone(),
                format: ABOUT.id.to_owned(),
                tool: Some("vllm bench serve".to_owned()),
                bytes: bytes.len() as u64,
                ..Source::default()
            },
            ..Sheet::default()
        };
        let mut rows = Vec::new();
        let objects = serde_json::Deserializer::from_str(&text).into_iter::<Map<String, Value>>();
        for (index, object) in objects.enumerate() {
            match object {
                Ok(object) => rows.push(row(object, index, &mut sheet.remarks)),
                Err(error) if rows.is_empty() => {
                    let (title, reason) = (ABOUT.title, error.to_string());
                    return Err(ImportError::Broken { name, title, reason });
                }
                Err(error) => sheet.remarks.push(Remark {
                    kind: RemarkKind::Skipped,
                    place: Place::line(u32::try_from(error.line()).unwrap_or(u32::MAX)),
                    text: format!("the rest of the file: {error}"),
                }),
            }
        }
        sheet.parts.push(Part {
            kind: PartKind::Serving,
            tool: None,
            headings: Vec::new(),
            place: Place::line(1),
            factors: Factors::default(),
            rows,
            unknown: Map::new(),
        });
        Ok(sheet)
    }
}

/// Fields that set something, and the factor that they are.
const SETTINGS: &[(&str, &str)] = &[
    ("model_id", key::MODEL),
    ("max_concurrency", key::CONCURRENCY),
    ("request_rate", key::RATE),
    ("num_prompts", key::REQUESTS),
    ("backend", key::ENGINE),
];

fn row(mut object: Map<String, Value>, index: usize, remarks: &mut Vec<Remark>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(format!("/{index}")));
    row.label = json::word(object.get("label"));
    for (field, factor) in SETTINGS {
        if let Some(word) = json::word(object.remove(*field).as_ref()) {
            row.factors.set(*factor, word);
        }
    }
    let names: Vec<String> = object.keys().cloned().collect();
    for name in names {
        let Some(value) = json::number(object.get(&name)) else { continue };
        let figure = serve_keys::latency(&name, value).or_else(|| serve_keys::whole(&name, value));
        if let Some(figure) = figure {
            object.remove(&name);
            row.figures.push(figure);
        }
    }
    row.requests = requests(&mut object, remarks, index);
    row.unknown = object;
    row
}

/// The arrays of `--save-detailed` as requests. Texts are not kept.
fn requests(
    object: &mut Map<String, Value>,
    remarks: &mut Vec<Remark>,
    index: usize,
) -> Vec<SheetRequest> {
    let mut column = |name: &str| match object.remove(name) {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    };
    let (ttfts, itls, errors) = (column("ttfts"), column("itls"), column("errors"));
    let (inputs, outputs) = (column("input_lens"), column("output_lens"));
    let (starts, latencies) = (column("start_times"), column("latencies"));
    if !column("generated_texts").is_empty() {
        remarks.push(Remark {
            kind: RemarkKind::Lost,
            place: Place::pointer(format!("/{index}/generated_texts")),
            text: "generated texts are not kept".to_owned(),
        });
    }
    let origin = starts.iter().filter_map(|start| json::number(Some(start))).reduce(f64::min);
    let number = |column: &[Value], at: usize| json::number(column.get(at));
    let count = |column: &[Value], at: usize| json::count(column.get(at));
    (0..ttfts.len().max(outputs.len()))
        .map(|at| {
            let error = json::word(errors.get(at)).filter(|error| !error.is_empty());
            // A failed request stands in the arrays with zeros: it has no times.
            let ok = error.is_none();
            let gaps = itls.get(at).and_then(Value::as_array).filter(|_| ok);
            let lengths = gaps.map(|gaps| {
                gaps.iter().filter_map(|gap| json::number(Some(gap))).collect::<Vec<f64>>()
            });
            let sum_s = lengths.as_ref().map(|gaps| gaps.iter().sum::<f64>());
            let ttft_s = number(&ttfts, at).filter(|_| ok);
            let e2e_s = number(&latencies, at).filter(|_| ok);
            SheetRequest {
                start_s: number(&starts, at).zip(origin).map(|(start, origin)| start - origin),
                ttft_ms: ttft_s.map(|ttft| ttft * 1e3),
                e2e_ms: e2e_s.or(ttft_s.zip(sum_s).map(|(a, b)| a + b)).map(|s| s * 1e3),
                gaps: lengths.as_ref().and_then(|gaps| u32::try_from(gaps.len()).ok()),
                gaps_sum_ms: sum_s.map(|sum| sum * 1e3),
                gap_max_ms: lengths
                    .and_then(|gaps| gaps.into_iter().reduce(f64::max))
                    .map(|gap| gap * 1e3),
                input_tokens: count(&inputs, at),
                output_tokens: count(&outputs, at).filter(|_| ok),
                error,
            }
        })
        .collect()
}
