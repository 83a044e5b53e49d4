//! Damaged files of every kind that a workload reads: an error or an answer, never a panic. `MUTANTS` sets the
//! number of copies of each file.

use crate::tokenizer;
use ifm_core::Carried;
use ifm_made::mutants::{Mutants, Pace};
use ifm_tokenizer::Tokenizer;
use ifm_workload::{Carry, OnBadRow, WorkloadRequest, open, preview};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::{collections::BTreeMap, sync::Arc};

/// Copies of each file.
const COPIES: usize = 15;

/// Rows with strings in a dictionary, as differences, and with numbers.
fn parquet(version: parquet::file::properties::WriterVersion) -> Vec<u8> {
    let schema = "message rows { required binary prompt (UTF8); optional binary system (UTF8); \
                  required int64 output_tokens; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_writer_version(version)
        .build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    for group in 0..2 {
        let mut rows = writer.next_row_group().expect("a group");
        let texts: Vec<ByteArray> =
            (0..40).map(|row| format!("prompt {} of {group}", row % 7).as_str().into()).collect();
        let numbers: Vec<i64> = (0..40).map(|row| 10 + row * row).collect();
        let levels: Vec<i16> = (0..40).map(|row| i16::from(row % 3 != 0)).collect();
        let some: Vec<ByteArray> =
            levels.iter().filter(|level| **level == 1).map(|_| "s".into()).collect();
        let mut column = rows.next_column().expect("a column").expect("there is one");
        column.typed::<ByteArrayType>().write_batch(&texts, None, None).expect("texts");
        column.close().expect("it ends");
        let mut column = rows.next_column().expect("a column").expect("there is one");
        column.typed::<ByteArrayType>().write_batch(&some, Some(&levels), None).expect("texts");
        column.close().expect("it ends");
        let mut column = rows.next_column().expect("a column").expect("there is one");
        column.typed::<Int64Type>().write_batch(&numbers, None, None).expect("numbers");
        column.close().expect("it ends");
        rows.close().expect("it ends");
    }
    writer.into_inner().expect("a file")
}

/// What came of the copies of a file: answers, and errors by how they begin.
struct Tally {
    answers: usize,
    errors: BTreeMap<String, usize>,
    pace: Pace,
}

impl Tally {
    /// Reads the sound file.
    fn of_sound(read: impl FnMut() -> Result<(), String>) -> Tally {
        Tally { answers: 0, errors: BTreeMap::new(), pace: Pace::of_sound(read) }
    }

    fn read(&mut self, read: impl FnMut() -> Result<(), String>) {
        match self.pace.read(read) {
            Ok(()) => self.answers += 1,
            Err(error) => {
                let panicked = error.split("internal error").nth(1).map(str::to_owned);
                let kind = panicked.map_or("refused".to_owned(), |text| format!("contained{text}"));
                *self.errors.entry(kind.chars().take(90).collect()).or_default() += 1;
            }
        }
    }

    #[expect(clippy::print_stdout, reason = "counts of a long run with MUTANTS")]
    fn check(self, name: &str, copies: usize) {
        println!(
            "{name}: {copies} copies, {} read, slowest {:?}, {:?}",
            self.answers,
            self.pace.slowest(),
            self.errors
        );
        let refused: usize = self.errors.values().sum();
        assert_eq!(self.answers + refused, copies);
        assert!(refused * 10 >= copies, "{name}: {refused} of {copies} refused");
        assert!(!self.pace.is_slow(), "{name}: {:?}", self.pace);
    }
}

/// Opens a workload and looks at all that it would send.
fn send(name: &str) -> Result<(), String> {
    let mut request = WorkloadRequest::new(name, 7);
    request.on_bad_row = OnBadRow::Skip;
    let opened = open(&request, &tokenizer()).map_err(|error| error.to_string())?;
    preview(&*opened.dataset, 20).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn damaged_parquet_is_an_error_and_no_panic() {
    use parquet::file::properties::WriterVersion;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let copies = Mutants::count(COPIES);
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let sound = parquet(version);
        let name = format!("custom:{}", path.display());
        std::fs::write(&path, &sound).expect("it is written");
        assert_eq!(send(&name), Ok(()));
        let (mut mutants, mut tally) = (Mutants::new(50), Tally::of_sound(|| send(&name)));
        for _ in 0..copies {
            std::fs::write(&path, mutants.damage(&sound)).expect("it is written");
            tally.read(|| send(&name));
        }
        tally.check(&format!("{version:?}"), copies);
    }
}

#[test]
fn parquet_that_claims_more_rows_than_its_bytes_can_hold_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let schema = "message rows { optional binary prompt (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::default()).expect("a writer");
    let levels = vec![0_i16; 1 << 16];
    for _ in 0..20 {
        let mut rows = writer.next_row_group().expect("a group");
        let mut column = rows.next_column().expect("a column").expect("there is one");
        column.typed::<ByteArrayType>().write_batch(&[], Some(&levels), None).expect("nothing");
        column.close().expect("it ends");
        rows.close().expect("it ends");
    }
    std::fs::write(&path, writer.into_inner().expect("a file")).expect("it is written");
    let error = send(&format!("custom:{}", path.display())).expect_err("it is refused");
    assert!(error.contains("it claims 1310720 rows in "), "{error}");
}

#[test]
fn damaged_media_are_an_error_and_no_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = Mutants::count(COPIES);
    for (option, kind, made) in [
        ("image", "jpg", "image=24x16"),
        ("image", "png", "image=24x16&image_format=png"),
        ("audio", "wav", "audio=100ms"),
        ("audio", "flac", "audio=100ms&audio_format=flac"),
    ] {
        let mut request = WorkloadRequest::new(format!("9/9?{made}"), 1);
        request.carry = Carry::File;
        let opened = open(&request, &tokenizer()).unwrap_or_else(|error| panic!("{error}"));
        let item = opened.dataset.item(0).expect("an item");
        let medium = item.turns[0].prompt.media().next().expect("a medium").clone();
        let Carried::File(sound) = &medium.carried else { panic!("{medium:?}") };
        let path = folder.path().join(format!("x.{kind}"));
        let name = format!("random:9/9?{option}={}", path.display());
        std::fs::write(&path, sound).expect("it is written");
        let (mut mutants, mut tally) = (Mutants::new(50), Tally::of_sound(|| send(&name)));
        for _ in 0..copies {
            std::fs::write(&path, mutants.damage(sound)).expect("it is written");
            tally.read(|| send(&name));
        }
        tally.check(kind, copies);
    }
}

#[test]
fn damaged_tokenizers_are_an_error_and_no_panic() {
    const JSON: &str = r#"{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":0,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"String":" "},"content":"x"}]},
"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\d|\\D+"},"behavior":"Isolated","invert":false},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<s>":{"id":"<s>","ids":[0],"tokens":["<s>"]}}},
"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":true},
"model":{"type":"BPE","unk_token":"<s>","fuse_unk":true,"byte_fallback":true,"ignore_merges":false,
"vocab":{"<s>":0,"a":1,"b":2,"ab":3,"c":4,"abc":5},"merges":["a b","ab c"]}}"#;
    let copies = Mutants::count(COPIES);
    let read = |bytes: &[u8]| {
        let tokenizer = Tokenizer::from_bytes("json", bytes).map_err(|error| error.to_string())?;
        let ids = tokenizer.encode("abc <s> 12 aab").map_err(|error| error.to_string())?;
        tokenizer.decode(&ids).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read(JSON.as_bytes()), Ok(()));
    let sound = || read(JSON.as_bytes());
    let (mut mutants, mut tally) = (Mutants::new(50), Tally::of_sound(sound));
    for _ in 0..copies {
        let copy = mutants.damage(JSON.as_bytes());
        tally.read(|| read(&copy));
    }
    tally.check("tokenizer.json", copies);
}

/// Found by fuzzing: the decoder of WebP panics on a frame that is larger than its data.
#[test]
fn an_image_that_its_decoder_panics_on_is_an_error() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/media/panics.webp");
    let error = send(&format!("random:9/9?image={path}")).expect_err("it is damaged");
    assert!(error.contains("panics.webp") && error.contains("1 were skipped"), "{error}");
}
