//! Documents that would take much memory if their readers kept all of them. Each is read by a process of its
//! own, whose largest memory is compared with the limits.

use super::*;
use crate::{ColumnMap, Input, read, read_mapped};
use std::io::{Cursor, Read};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Names the document to the child process.
const CASE: &str = "IFM_INTEROP_BOUNDS_CASE";
/// Bytes of each document: 60 MB in the scale of the tests.
const BYTES: usize = 60_000_000 / SCALE;
/// Child processes at once.
const THREADS: usize = 4;
/// Memory that reading may take: 500 MB in the scale of the tests, and 8 MB for windows and threads.
const MEMORY_MAX_MB: f64 = 500.0 / SCALE as f64 + 8.0;

const VLLM: &str = r#"{"date":"x","backend":"vllm","model_id":"m","num_prompts":2,"duration":1.5,"completed":2,"total_input_tokens":4,"total_output_tokens":8,"request_throughput":1.5,"output_throughput":5.0,"mean_ttft_ms":50.5"#;

/// A name, the beginning, what is repeated, and the end.
type Case = (&'static str, String, &'static str, &'static str);

fn cases() -> Vec<Case> {
    let case = |name, begin: &str, unit, end| (name, begin.to_owned(), unit, end);
    vec![
        case("commas", "", ",", ""),
        case("commas after a head", "a,b\n1,2\n3,4\n", ",", ""),
        case("empty cells in quotes", "", "\"\n\",", ""),
        case("tabs", "", "\t", ""),
        case("semicolons", "", ";", ""),
        case("one line of words", "", "TTFT 5 ms ", ""),
        case("line breaks", "", "\n", ""),
        case("line breaks in a table", "users,ttft_ms\n1,2\n3,4\n", "\n", ""),
        case("quotes", "", "\"", ""),
        case("digits", "", "1", ""),
        case("bytes that are not text", "a ", "\u{80}", ""),
        case("rows", "users,ttft_ms\n", "1,2\n", ""),
        case("rows of another width", &format!("users,ttft_ms\n{}", "1,2\n".repeat(70)), "1\n", ""),
        case("rows of tabs", "users\tttft_ms\n", "1\t2\n", ""),
        case("lists in lists", "", "[", ""),
        case("objects in objects", "", "{\"a\":", ""),
        case("small objects", "[", "{\"a\":1},", "{\"a\":1}]"),
        case("rows in a list", "[", "{\"users\":1,\"ttft_ms\":5},", "{\"users\":1,\"ttft_ms\":5}]"),
        case("objects in an object", "{\"runs\":[", "{\"a\":1},", "{\"a\":1}]}"),
        case("numbers", "[", "1,", "1]"),
        case("numbers in an object", "{\"ttfts\":[", "1,", "1]}"),
        case("empty lists", "[", "[],", "[]]"),
        case("empty objects on lines", "", "{}\n", ""),
        case("rows on lines", "", "{\"users\":1,\"ttft_ms\":5}\n", ""),
        case("dictionaries of Python", "[", "{'a':1},", "{'a':1}]"),
        case("requests of vLLM", &format!("{VLLM},\"ttfts\":["), "1,", "1]}"),
        case("gaps of vLLM", &format!("{VLLM},\"itls\":["), "[],", "[]]}"),
        case("runs of vLLM", "", "VLLM", ""),
        case(
            "requests of GuideLLM",
            "{\"benchmarks\":[{\"requests\":{\"successful\":[",
            "{},",
            "{}]}}]}",
        ),
        case("cells of HTML", "<html><table><tr>", "<td>", ""),
        case(
            "rows of HTML",
            "<html><table><tr><th>Users<th>TTFT (ms)</tr>",
            "<tr><td>1<td>2",
            "</table>",
        ),
        case("wide cells of HTML", "<html><table>\n", "<tr><td colspan=1000>5\n", "</table>"),
        case(
            "tall cells of HTML",
            "<html><table>\n",
            "<tr><td rowspan=1000 colspan=999>5\n",
            "</table>",
        ),
        case("tables of HTML", "<html>", "<table><tr><td>1\n", ""),
        case(
            "closed tables of HTML",
            "<html>\n",
            "<table><tr><td>a<td>b<tr><td>1<td>2</table>\n",
            "",
        ),
        case("bars", "", "|", ""),
        case("rules of tables", "", "|--|--|\n", ""),
        case("rows of Markdown", "| Users | TTFT (ms) |\n|--|--|\n", "| 1 | 2 |\n", ""),
        case("tables of Markdown", "", "| Users | TTFT (ms) |\n|--|--|\n| 1 | 2 |\n\n", ""),
        case("sentences", "", "The TTFT was 5 ms at 100 tok/s.\n\n", ""),
        case("lists of results", "", "TTFT: 5 ms\nthroughput: 100 tok/s\n", ""),
        case("headings", "", "# TTFT 5 ms\n", ""),
        case(
            "test cases",
            "<?xml version=\"1.0\"?><testsuite>\n",
            "<testcase name=\"a\" time=\"1\"/>\n",
            "",
        ),
        case("keys of YAML", "a_b: 1\nc: 2\nd: 3\n", "KEYS", ""),
        case("anchors of YAML", "a_b: &a [1,2]\nc: &b 5\nd: 3\n", "ANCHORS", ""),
        case("references of YAML", "a_b: &a [1,2,3,4,5,6,7,8,9]\nc: 2\nd: 3\ne: [", "*a,", "]\n"),
        case("keys of an object", "{\"a\":1", "MEMBERS", "}"),
        case("mapped rows", "u,t\n", "1,2\n", ""),
        case("mapped objects", "", "{\"u\":1,\"t\":5}\n", ""),
        case("mapped members", "{\"u\":1,\"t\":5", "MEMBERS", "}"),
    ]
}

/// Documents whose bytes cost the most time: less of them shows the same.
const SLOW: &[&str] = &[
    "rows in a list",
    "rows on lines",
    "runs of vLLM",
    "tall cells of HTML",
    "tables of Markdown",
    "rows of Markdown",
    "rules of tables",
    "sentences",
    "lists of results",
    "headings",
    "test cases",
    "keys of YAML",
    "anchors of YAML",
    "references of YAML",
];

/// Bytes that are repeated in a document.
fn bytes_of(name: &str) -> usize {
    if SLOW.contains(&name) { BYTES / 16 } else { BYTES }
}

/// A document, made while it is read.
fn document(case: &Case) -> Box<dyn Read> {
    let (name, begin, unit, end) = case;
    let bytes = bytes_of(name);
    let body: Box<dyn Read> = match *unit {
        "KEYS" => numbered(bytes, |n| format!("k_{n}: 1\n")),
        "ANCHORS" => numbered(bytes, |n| format!("k_{n}: &n{n} [*a, *b]\n")),
        "MEMBERS" => numbered(bytes, |n| format!(",\"k{n}\":1")),
        "VLLM" => numbered(bytes, |_| format!("{VLLM}}}\n")),
        "\u{80}" => Box::new(std::io::repeat(0xff).take(bytes as u64)),
        unit => {
            let whole = unit.repeat(65_536_usize.div_ceil(unit.len()));
            let times = bytes / whole.len();
            let rest = unit.repeat((bytes - times * whole.len()) / unit.len());
            Box::new(Repeated { whole: whole.into_bytes(), times, at: 0 }.chain(Cursor::new(rest)))
        }
    };
    Box::new(Cursor::new(begin.clone()).chain(body).chain(Cursor::new(*end)))
}

/// Bytes, several times.
struct Repeated {
    whole: Vec<u8>,
    times: usize,
    at: usize,
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.times == 0 {
            return Ok(0);
        }
        let read = (&self.whole[self.at..]).read(out)?;
        self.at += read;
        if self.at == self.whole.len() {
            (self.at, self.times) = (0, self.times - 1);
        }
        Ok(read)
    }
}

/// Lines with numbers.
fn numbered(bytes: usize, line: impl Fn(usize) -> String + 'static) -> Box<dyn Read> {
    let mut numbers = 0..;
    let mut left = bytes;
    let pieces = std::iter::from_fn(move || {
        let line = line(numbers.next()?);
        left = left.checked_sub(line.len())?;
        Some(line)
    });
    Box::new(Pieces { pieces: Box::new(pieces), piece: Vec::new(), at: 0 })
}

struct Pieces {
    pieces: Box<dyn Iterator<Item = String>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.piece.len() {
            self.piece = self.pieces.next().unwrap_or_default().into_bytes();
            self.at = 0;
        }
        let read = (&self.piece[self.at..]).read(out)?;
        self.at += read;
        Ok(read)
    }
}

/// A line of the status of this process, megabytes.
fn memory_mb(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

/// Reads a document and prints the memory that it took, and what came of it.
fn child(name: &str) {
    let cases = cases();
    let case = cases.iter().find(|case| case.0 == name).expect("a case");
    let before = memory_mb("VmRSS:").expect("memory");
    let input = Input::new("x", document(case));
    let outcome = match name.starts_with("mapped") {
        true => {
            let map = ColumnMap::parse("ttft_ms=t,users=u").expect("a map");
            read_mapped(input, &map).map_err(|error| error.to_string())
        }
        false => read(input).map_err(|error| error.to_string()),
    };
    let told = match &outcome {
        Ok(sheet) => {
            let rows: usize = sheet.parts.iter().map(|part| part.rows.len()).sum();
            let lost: Vec<&str> = sheet.remarks.iter().map(|remark| remark.text.as_str()).collect();
            format!("{rows} rows; {}", lost.join("; ").chars().take(120).collect::<String>())
        }
        Err(error) => error.clone(),
    };
    println!("MEMORY {} {told}", memory_mb("VmHWM:").expect("memory") - before);
}

#[test]
fn reads_any_document_in_bounded_memory() {
    // Only Linux reports the peak memory of a process in `/proc`.
    if memory_mb("VmHWM:").is_none() {
        return;
    }
    if let Ok(name) = std::env::var(CASE) {
        return child(&name);
    }
    let test = "import::bounds::tests::reads_any_document_in_bounded_memory";
    let run = |name: &str| {
        let began = Instant::now();
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--nocapture"])
            .env(CASE, name)
            .output()
            .expect("a child");
        let out = String::from_utf8_lossy(&child.stdout).into_owned();
        let told = out.lines().find_map(|line| line.split_once("MEMORY ")).map(|(_, rest)| rest);
        let mb = told.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        let seconds = began.elapsed().as_secs_f64();
        (mb, format!("{name}: {} in {seconds:.1} s", told.unwrap_or(&out)))
    };
    let (cases, next) = (cases(), AtomicUsize::new(0));
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some((name, ..)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (mb, line) = run(name);
            println!("{line}");
            if mb.is_none_or(|mb| mb > MEMORY_MAX_MB) {
                failed.lock().expect("lines").push(line);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("lines");
    assert!(failed.is_empty(), "more than {MEMORY_MAX_MB} MB:\n{}", failed.join("\n"));
}
