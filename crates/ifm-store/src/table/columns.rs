//! The columns of `requests.parquet`, each with its way out of a record and its way back in.
//!
//! This list is the stable format. Times and spans are nanoseconds, times since the run's origin;
//! the unit is the last part of the name. Every number is a signed 64-bit integer, so that
//! differences of columns come out right in any tool; every word and text is UTF-8; what is not
//! known is null. New columns may be added at the end and are optional; none is renamed or given a
//! new meaning.

use ifm_core::{
    CountSource, Counted, Outcome, Phase, RequestRecord, SentMedia, TokenEvents, Validity,
};

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
    /// A text or word that may be absent. `repeats`: whether few distinct texts are likely.
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

/// A number column for what a request carried in addition to text; the count of images indicates
/// that there is anything at all.
macro_rules! media_number {
    ($name:literal, $field:ident) => {
        Column {
            name: $name,
            cells: Cells::OptionalNumber {
                get: |record| record.media.map(|media| media.$field as i64),
                set: |record, cell| match (&mut record.media, cell) {
                    (media @ None, Some(_)) if $name == "images" => {
                        set_number(&mut media.insert(SentMedia::default()).$field, cell)
                    }
                    (Some(media), Some(_)) => set_number(&mut media.$field, cell),
                    (media, None) => media.is_none(),
                    (None, Some(_)) => false,
                },
            },
        }
    };
}

/// A number column for what a request carried in addition to text, or for the sound that it
/// received; it may be unknown although the other columns are present.
macro_rules! number_within {
    ($name:literal, $group:ident, $field:ident) => {
        Column {
            name: $name,
            cells: Cells::OptionalNumber {
                get: |record| record.$group.and_then(|it| it.$field).map(|value| value as i64),
                set: |record, cell| match (&mut record.$group, cell) {
                    (Some(it), _) => cell
                        .map(TryInto::try_into)
                        .transpose()
                        .map(|value| it.$field = value)
                        .is_ok(),
                    (None, cell) => cell.is_none(),
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
    optional_number!(acked_ns),
    media_number!("images", images),
    media_number!("audios", audios),
    media_number!("videos", videos),
    media_number!("media_seen", seen),
    number_within!("pixels", media, pixels),
    number_within!("frames", media, frames),
    number_within!("audio_ns", media, audio_ns),
    number_within!("media_file_bytes", media, file_bytes),
    count_source!("text_tokens_from", text_tokens),
    count!(text_tokens),
    count_source!("image_tokens_from", image_tokens),
    count!(image_tokens),
    count_source!("audio_tokens_from", audio_tokens),
    count!(audio_tokens),
    count_source!("video_tokens_from", video_tokens),
    count!(video_tokens),
    Column {
        name: "first_audio_ns",
        cells: Cells::OptionalNumber {
            get: |record| record.made_audio.map(|made| made.first_ns as i64),
            set: |record, cell| match cell {
                Some(cell) => {
                    set_number(&mut record.made_audio.get_or_insert_default().first_ns, Some(cell))
                }
                None => true,
            },
        },
    },
    Column {
        name: "made_audio_bytes",
        cells: Cells::OptionalNumber {
            get: |record| record.made_audio.map(|made| made.bytes as i64),
            set: |record, cell| match (&mut record.made_audio, cell) {
                (Some(made), Some(_)) => set_number(&mut made.bytes, cell),
                (made, cell) => made.is_none() && cell.is_none(),
            },
        },
    },
    number_within!("made_audio_ns", made_audio, audio_ns),
    number_within!("silence_ns", made_audio, silence_ns),
    number_within!("silences", made_audio, silences),
    optional_number!(form),
    Column {
        name: "validity",
        cells: Cells::OptionalText {
            repeats: true,
            get: |record| record.validity.map(Validity::word),
            set: |record, cell| {
                record.validity = cell.and_then(Validity::from_word);
                record.validity.is_some() == cell.is_some()
            },
        },
    },
    optional_number!(dead_connection_ns),
    optional_number!(text_bytes),
    optional_number!(first_text_bytes),
];

/// Sets a number, if the cell holds one that it can be.
fn set_number<T: TryFrom<i64>>(place: &mut T, cell: Option<i64>) -> bool {
    let value = cell.and_then(|cell| cell.try_into().ok());
    value.map(|value| *place = value).is_some()
}

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

/// Path of the column that holds the values, as Parquet reports it.
pub(super) fn leaf_path(column: &Column) -> String {
    match column.cells {
        Cells::Numbers { .. } => format!("{}.list.element", column.name),
        _ => column.name.to_string(),
    }
}
