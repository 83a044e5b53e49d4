//! `vllm bench serve --save-result`: one JSON object, several that were appended, or the list of a
//! sweep. The benchmark of TensorRT-LLM is its child and writes the same.

use super::super::Input;
use super::super::error::ImportError;
use super::super::json::{self, Fault, Reader};
use super::super::serving::{Dialect, Fields};
use super::records::{self, Draft};
use super::{Format, Like};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, Statistic, key};

pub(super) const FORMAT: Format = Format {
    id: "vllm-serve",
    title: "vllm bench serve, JSON",
    tool: None,
    kind: PartKind::Serving,
    // The first fields occur together only in this tool and its derivatives. The others match files
    // where long lists come before those fields.
    like: Like::Json(&[
        MARKS,
        &["endpoint_type", "burstiness", "completed"],
        &["backend", "best_of", "completed"],
    ]),
    marks: MARKS,
    read,
};
const MARKS: &[&str] =
    &["total_token_throughput", "request_throughput", "num_prompts", "model_id", "tokenizer_id"];

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut tool = Dialect::Vllm;
    let mut sheet = records::read(format, input, |reader, draft| {
        let mut result = Object::default();
        let end = reader.object(|field, reader| result.take(field, reader, draft));
        tool = result.settle(draft);
        end
    })?;
    sheet.source.tool = Some(tool.tool().to_owned());
    Ok(sheet)
}

/// One result while its fields come in.
#[derive(Debug, Default)]
struct Object {
    fields: Fields,
    /// Fields behind the number of the run are what a sweep varied.
    swept: bool,
}

impl Object {
    fn take(
        &mut self,
        field: &str,
        reader: &mut Reader<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<(), Fault> {
        if self.fields.take(field, reader, draft)? {
            return Ok(());
        }
        draft.keep(field, reader)?;
        self.sweep(field, draft);
        Ok(())
    }

    /// `vllm bench sweep` puts the number of the run and then what it varied behind a result.
    fn sweep(&mut self, field: &str, draft: &mut Draft<'_>) {
        if field == "run_number" {
            self.swept = true;
            match json::number(draft.row.unknown.get(field)) {
                Some(number) if number >= 0.0 => draft.row.factors.set(key::REPEAT, number + 1.0),
                _ => draft.row.label = Some("warm-up".to_owned()),
            }
        } else if self.swept
            && let Some(word) = json::word(draft.row.unknown.get(field))
        {
            draft.row.factors.set(field, word);
            draft.row.unknown.remove(field);
        }
    }

    fn settle(self, draft: &mut Draft<'_>) -> Dialect {
        let row = &draft.row;
        let has = |field: &str| row.unknown.contains_key(field);
        let wrote = |quantity| row.figure(quantity, Statistic::Value).is_some();
        let dialect = if wrote(Metric::UserSpeed) || has("avg_decoded_tokens_per_iter") {
            Dialect::TensorRt
        } else if has("max_model_len") || has("steady_state") || wrote(Metric::InputRate) {
            Dialect::VllmRust
        } else {
            Dialect::Vllm
        };
        self.fields.settle(dialect, draft);
        dialect
    }
}
