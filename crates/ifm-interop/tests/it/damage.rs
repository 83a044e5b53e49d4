//! Every file of the test data, cut and with wrong bytes: whatever comes, it is read or told.

use super::data;
use ifm_core::Sheet;
use ifm_interop::Input;
use std::path::{Path, PathBuf};

/// Cases of a file and kind; `IFM_CASES` asks for others.
const CASES: usize = 150;
/// Maximum number of remarks of a sheet, with some room for remarks that occur once.
const REMARKS_MAX: usize = 1_100;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the test data") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn cases() -> usize {
    let asked = std::env::var("IFM_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.unwrap_or(CASES)
}

/// Reads bytes as a file. Every value that comes of them is finite, and nothing outgrows them.
fn judge(bytes: &[u8], what: &str) {
    let Ok(sheet) = ifm_interop::read(Input::new("damaged", bytes)) else { return };
    assert!(sheet.remarks.len() <= REMARKS_MAX, "{what}: {} remarks", sheet.remarks.len());
    let rows = sheet.parts.iter().flat_map(|part| &part.rows);
    let mut size = 0;
    for row in rows {
        size += row.figures.len() + row.requests.len() + 1;
        for figure in &row.figures {
            assert!(figure.value.is_none_or(f64::is_finite), "{what}: {figure:?}");
        }
    }
    assert!(size <= bytes.len(), "{what}: {size} rows, figures and requests");
}

#[test]
fn a_file_may_end_anywhere() {
    let mut found = Vec::new();
    files(&data(""), &mut found);
    assert!(found.len() > 10, "{found:?}");
    for path in found {
        let bytes = std::fs::read(&path).expect("a file of the test data");
        let step = (bytes.len() / cases()).max(1);
        for end in (0..bytes.len()).step_by(step) {
            judge(&bytes[..end], &format!("{} up to {end}", path.display()));
        }
    }
}

#[test]
fn a_file_may_hold_wrong_bytes() {
    let mut found = Vec::new();
    files(&data(""), &mut found);
    // A fixed sequence: a case that fails is the same in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below.max(1) as u64).expect("below a length")
    };
    for path in found {
        let whole = std::fs::read(&path).expect("a file of the test data");
        for case in 0..cases() {
            let mut bytes = whole.clone();
            for _ in 0..=draw(4) {
                // A small file may be gone by now.
                if bytes.is_empty() {
                    break;
                }
                let at = draw(bytes.len());
                match draw(4) {
                    0 => bytes[at] = u8::try_from(draw(256)).expect("a byte"),
                    1 => bytes[at] ^= 1 << draw(8),
                    2 => drop(bytes.drain(at..(at + draw(200)).min(bytes.len()))),
                    _ => bytes[at] = b"\"{}[],:\n|=-9"[draw(12)],
                }
            }
            judge(&bytes, &format!("{}, case {case}", path.display()));
        }
    }
}

fn requests(sheet: &Sheet) -> usize {
    sheet.parts.iter().flat_map(|part| &part.rows).map(|row| row.requests.len()).sum()
}

#[test]
fn a_file_that_breaks_off_gives_what_was_whole() {
    let text = std::fs::read_to_string(data("guidellm-0.8.1-failures/result.json")).unwrap();
    // In the middle of the second benchmark's requests.
    let second = text.rfind("\"successful\": [{").unwrap();
    let cut = &text[..second + 20_000];
    let sheet = ifm_interop::read(Input::new("cut.json", cut.as_bytes())).unwrap();
    let rows = &sheet.parts[0].rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].requests.len(), 12);
    assert!((1..9).contains(&rows[1].requests.len()), "{}", rows[1].requests.len());
    assert!(sheet.remarks.iter().any(|remark| remark.text.contains("the rest of the file")));
}

#[test]
fn a_broken_request_is_told_and_the_others_are_read() {
    let text = std::fs::read_to_string(data("aiperf-0.13.0/profile_export.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = &lines[4][..lines[4].len() / 2];
    let sheet = ifm_interop::read(Input::new("x", lines.join("\n").as_bytes())).unwrap();
    assert_eq!(requests(&sheet), 11);
    assert!(sheet.remarks.iter().any(|remark| remark.place.line == Some(5)));
}
