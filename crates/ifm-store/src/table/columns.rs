//! The columns of `requests.parquet`, each with its way out of a record and its way back in.
//!
//! This list is the stable format. Times and spans are nanoseconds, times since the run's origin;
//! the unit stands last in the name. Every number is a signed 64-bit integer, so that differences
//! of columns come out right in any tool; every word and text is UTF-8; what is not known is null.
//! New columns may be added at the end and are optional; none is renamed or given a new meaning.

use ifm_core::{CountSource, Counted, Outcome, Phase, RequestRecord, TokenEvents};

/// One column. A way back that answers false says that the value makes no sense.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) cells: Cells,
}

/// The ways between a record and a cell.
pub(super) enum Cells {
    /// A number that every request has.
    Number { get: fn(&RequestRecord) -> i64, set: fn(&mut RequestRecord, i64) -> bool },
    /// A number that may be unknown.
    OptionalNumber {
        get: fn(&RequestRecord) -> Option<i64>,
        set: fn(&mut RequestRecord, Option<i64>) -> bool,
    },
    /// Yes or no.
    Flag { get: fn(&RequestRecord) -> bool, set: fn(&mut RequestRecord, bool) },
    /// A word of a closed list.
    Word { get: fn(&RequestRecord) -> &'static str, set: fn(&mut RequestRecord, &str) -> bool },
    /// A text or word that may be absent. `repeats` tells whether few distinct texts are likely.
    OptionalText {
        repeats: bool,
        get: fn(&RequestRecord) -> Option<&str>,
        set: fn(&mut RequestRecord, Option<&str>) -> bool,
    },
    /// A list of numbers; null where it is empty, unless `required`.
    Numbers {
        required: bool,
        count: fn(&TokenEvents) -> usize,
        get: fn(&TokenEvents, &mut Vec<i64>),
        set: fn(&mut TokenEvents, &[i64]) -> bool,
    },
}

/// A number column of a field that every request has.
macro_rules! number {
    ($field:ident) => {
        Column {
            name: stringify!($field),
            cells: Cells::Number {
                get: |record| record.$field as i64,
                set: |record, cell| cell.try_into().map(|value| record.$field = value).is_ok(),
            },
        }
    };
}

/// A number column of a field that may be unknown.
macro_rules! optional_number {
    ($field:ident) => {
        Column {
            name: stringify!($field),
            cells: Cells::OptionalNumber {
                get: |record| record.$field.map(|value| value as i64),
                set: |record, cell| {
                    cell.map(TryInto::try_into)
                        .transpose()
                        .map(|value| record.$field = value)
                        .is_ok()
                },
            },
        }
    };
}

/// The column that says who counted, which comes before the count.
macro_rules! count_source {
    ($name:literal, $field:ident) => {
        Column {
            name: $name,
            cells: Cells::OptionalText {
                repeats: true,
                get: |record| record.$field.map(|counted| counted.from.word()),
                set: |record, cell| {
                    let source = cell.map(CountSource::from_word);
                    record.$field = source.flatten().map(|from| Counted { tokens: 0, from });
                    source != Some(None)
                },
            },
        }
    };
}

/// The column of a count whose source is in the column before.
macro_rules! count {
    ($field:ident) => {
        Column {
            name: stringify!($field),
            cells: Cells::OptionalNumber {
                get: |record| record.$field.map(|counted| i64::from(counted.tokens)),
                set: |record, cell| match (&mut record.$field, cell) {
                    (None, None) => true,
                    (Some(counted), Some(cell)) => {
                        cell.try_into().map(|tokens| counted.tokens = tokens).is_ok()
                    }
                    _ => false,
                },
            },
        }
    };
}

/// A text column.
macro_rules! text {
    ($field:ident, $repeats:literal) => {
        Column {
            name: stringify!($field),
            cells: Cells::OptionalText {
                repeats: $repeats,
                get: |record| record.$field.as_deref(),
                set: |record, cell| {
                    record.$field = cell.map(str::to_string);
                    true
                },
            },
        }
    };
}

/// A list column of the token events.
macro_rules! numbers {
    ($name:literal, $field:ident, $required:literal) => {
        Column {
            name: $name,
            cells: Cells::Numbers {
                required: $required,
                count: |events| events.$field.len(),
                get: |events, cells| cells.extend(events.$field.iter().map(|&value| value as i64)),
                set: |events, cells| {
                    let values = cells.iter().map(|&cell| cell.try_into());
                    values.collect::<Result<_, _>>().map(|values| events.$field = values).is_ok()
                },
            },
        }
    };
}

/// Every column, in the order of the file.
pub(super) static COLUMNS: &[Column] = &[
    number!(seq),
    number!(level),
    Column {
        name: "phase",
        cells: Cells::Word {
            get: |record| record.phase.word(),
            set: |record, word| Phase::from_word(word).map(|phase| record.phase = phase).is_some(),
        },
    },
    number!(slot),
    number!(item),
    number!(due_ns),
    number!(start_ns),
    optional_number!(sent_ns),
    optional_number!(head_ns),
    optional_number!(first_event_ns),
    optional_number!(first_answer_ns),
    optional_number!(stream_end_ns),
    number!(end_ns),
    optional_number!(connect_ns),
    optional_number!(tls_ns),
    Column {
        name: "streamed",
        cells: Cells::Flag {
            get: |record| record.streamed,
            set: |record, cell| record.streamed = cell,
        },
    },
    numbers!("event_at_ns", at_ns, true),
    numbers!("event_tokens", tokens, false),
    numbers!("event_choice", choice, false),
    optional_number!(prompt_tokens_asked),
    optional_number!(output_tokens_asked),
    count_source!("prompt_tokens_from", prompt_tokens),
    count!(prompt_tokens),
    count_source!("output_tokens_from", output_tokens),
    count!(output_tokens),
    optional_number!(first_event_tokens),
    optional_number!(reasoning_tokens),
    optional_number!(cached_tokens),
    optional_number!(accepted_draft_tokens),
    optional_number!(rejected_draft_tokens),
    number!(choices),
    optional_number!(http_status),
    optional_number!(retry_after_s),
    text!(finish_reason, true),
    Column {
        name: "outcome",
        cells: Cells::Word {
            get: |record| record.outcome.word(),
            set: |record, word| {
                Outcome::from_word(word).map(|outcome| record.outcome = outcome).is_some()
            },
        },
    },
    text!(error, true),
    number!(reads),
    number!(stamped_reads),
    number!(co_arrived_events),
    optional_number!(reader_lag_ns_max),
    number!(wire_bytes),
    number!(sent_bytes),
    text!(text, false),
    optional_number!(session),
    optional_number!(turn),
    optional_number!(agent),
    optional_number!(agent_turns),
    optional_number!(class),
    optional_number!(known_tokens),
    optional_number!(draft_steps),
    optional_number!(server_queue_ns),
    optional_number!(server_first_token_ns),
    optional_number!(server_decode_ns),
    optional_number!(server_processing_ns),
];

/// Names of the columns of `requests.parquet`, in the order of the file.
pub fn column_names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.name)
}

/// The schema in Parquet's message language. Lists have the three levels of the standard.
pub(super) fn schema_text() -> String {
    let mut text = String::from("message request {\n");
    for Column { name, cells } in COLUMNS {
        let line = match cells {
            Cells::Number { .. } => format!("required int64 {name};"),
            Cells::OptionalNumber { .. } => format!("optional int64 {name};"),
            Cells::Flag { .. } => format!("required boolean {name};"),
            Cells::Word { .. } => format!("required binary {name} (STRING);"),
            Cells::OptionalText { .. } => format!("optional binary {name} (STRING);"),
            Cells::Numbers { required, .. } => {
                let repetition = if *required { "required" } else { "optional" };
                format!(
                    "{repetition} group {name} (LIST) {{ \
                     repeated group list {{ required int64 element; }} }}"
                )
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    text.push('}');
    text
}

/// Path of the column that holds the values, as Parquet tells it.
pub(super) fn leaf_path(column: &Column) -> String {
    match column.cells {
        Cells::Numbers { .. } => format!("{}.list.element", column.name),
        _ => column.name.to_string(),
    }
}
