//! Damaged files of every kind that a workload reads: an error or an answer, never a panic. `MUTANTS` sets the
//! number of copies of each file.

use crate::tokenizer;
use ifm_core::Carried;
use ifm_made::checksum::crc_ogg;
use ifm_made::mutants::{Mutants, Pace};
use ifm_tokenizer::Tokenizer;
use ifm_workload::{Carry, OnBadRow, WorkloadRequest, open, preview, thumbnail};
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

/// The library reserves and fills what the head of a page asks for before it decompresses a byte.
#[test]
fn parquet_that_claims_larger_pages_than_its_bytes_can_hold_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let schema = "message rows { required binary prompt (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(8 << 20)
        .build();
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    let mut rows = writer.next_row_group().expect("a group");
    let mut column = rows.next_column().expect("a column").expect("there is one");
    let texts = vec![ByteArray::from("x".repeat(1 << 20).as_str()); 2];
    column.typed::<ByteArrayType>().write_batch(&texts, None, None).expect("texts");
    column.close().expect("it ends");
    rows.close().expect("it ends");
    let mut bytes = writer.into_inner().expect("a file");
    let name = format!("custom:{}", path.display());
    std::fs::write(&path, &bytes).expect("it is written");
    assert_eq!(send(&name), Ok(()));
    // The page's type, then its decompressed size in four bytes.
    assert_eq!((bytes[4], bytes[6], bytes[10] & 0x80), (0x15, 0x15, 0), "{:?}", &bytes[..12]);
    bytes[7..11].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
    std::fs::write(&path, &bytes).expect("it is written");
    let error = send(&name).expect_err("it is refused");
    assert!(error.contains("the page at byte 4 claims 134217727 bytes in "), "{error}");
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

/// A medium that a workload makes, as the bytes of a file.
fn made_medium(wanted: &str) -> Vec<u8> {
    let mut request = WorkloadRequest::new(format!("9/9?{wanted}"), 1);
    request.carry = Carry::File;
    let opened = open(&request, &tokenizer()).unwrap_or_else(|error| panic!("{error}"));
    let item = opened.dataset.item(0).expect("an item");
    let medium = item.turns[0].prompt.media().next().expect("a medium");
    let Carried::File(bytes) = &medium.carried else { panic!("{medium:?}") };
    bytes.to_vec()
}

/// A medium of the test data.
fn stored_medium(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/media");
    std::fs::read(format!("{folder}/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Uses all of a workload's media: what it would send, and their small images in a report.
fn show(name: &str) -> Result<(), String> {
    send(name)?;
    let request = WorkloadRequest::new(name, 7);
    let opened = open(&request, &tokenizer()).map_err(|error| error.to_string())?;
    let item = opened.dataset.item(0).map_err(|error| error.to_string())?;
    item.turns.iter().flat_map(|turn| turn.prompt.media()).for_each(|medium| {
        let _ = thumbnail(medium);
    });
    Ok(())
}

/// Recomputes the checksums of a PNG or an Ogg file, as an attacker would.
fn set_checksums(bytes: &mut [u8]) {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let (is_png, mut at) = (bytes.starts_with(b"\x89PNG"), 8);
    while is_png && let Some(length) = bytes.get(at..at + 4).map(number) {
        let end = at + 8 + length;
        let Some(sum) = bytes.get(at + 4..end).map(crc32fast::hash) else { return };
        let Some(place) = bytes.get_mut(end..end + 4) else { return };
        place.copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
    let is_page = |at: &usize| bytes[*at..].starts_with(b"OggS");
    let pages: Vec<usize> = (0..bytes.len()).filter(is_page).collect();
    for (number, page) in pages.iter().enumerate() {
        let end = pages.get(number + 1).copied().unwrap_or(bytes.len());
        if let Some(sum) = bytes.get_mut(page + 22..page + 26) {
            sum.fill(0);
            let sum = crc_ogg(bytes[*page..end].iter().copied());
            bytes[page + 22..page + 26].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// Reads damaged copies of a medium.
fn damage_medium(option: &str, kind: &str, sound: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = Mutants::count(COPIES);
    let path = folder.path().join(format!("x.{kind}"));
    let name = format!("random:9/9?{option}={}", path.display());
    std::fs::write(&path, sound).expect("it is written");
    assert_eq!(show(&name), Ok(()), "{kind}");
    let (mut mutants, mut tally) = (Mutants::new(50), Tally::of_sound(|| show(&name)));
    for number in 0..copies {
        let mut copy = mutants.damage(sound);
        if number % 4 != 0 {
            set_checksums(&mut copy);
        }
        std::fs::write(&path, copy).expect("it is written");
        tally.read(|| show(&name));
    }
    tally.check(kind, copies);
}

#[test]
fn checksums_that_are_set_are_right() {
    for name in ["test.png", "tone.ogg", "tone.opus"] {
        let sound = stored_medium(name);
        let mut copy = sound.clone();
        set_checksums(&mut copy);
        assert!(copy == sound, "{name}");
    }
}

#[test]
fn damaged_jpeg_is_an_error_and_no_panic() {
    damage_medium("image", "jpg", &made_medium("image=24x16"));
    damage_medium("image", "scans.jpg", &stored_medium("scans.jpg"));
}

#[test]
fn damaged_png_is_an_error_and_no_panic() {
    damage_medium("image", "png", &made_medium("image=24x16&image_format=png"));
    damage_medium("image", "test.png", &stored_medium("test.png"));
}

#[test]
fn damaged_gif_is_an_error_and_no_panic() {
    damage_medium("image", "gif", &stored_medium("test.gif"));
}

#[test]
fn damaged_webp_is_an_error_and_no_panic() {
    for name in ["lossy.webp", "lossless.webp", "moving.webp"] {
        damage_medium("image", name, &stored_medium(name));
    }
}

#[test]
fn damaged_samples_are_an_error_and_no_panic() {
    damage_medium("audio", "wav", &made_medium("audio=100ms"));
    damage_medium("audio", "flac", &made_medium("audio=100ms&audio_format=flac"));
    damage_medium("audio", "mp3", &stored_medium("tone.mp3"));
}

#[test]
fn damaged_containers_of_sound_are_an_error_and_no_panic() {
    for name in ["tone.ogg", "tone.opus", "tone.m4a", "tone.webm"] {
        damage_medium("audio", name, &stored_medium(name));
    }
}

#[test]
fn damaged_videos_are_an_error_and_no_panic() {
    for name in ["test.mp4", "fragments.mp4", "test.webm"] {
        damage_medium("video", name, &stored_medium(name));
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
