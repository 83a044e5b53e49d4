//! What commands say of files, and by which code: scripts of `tests/data/says`, each read by one function.
//!
//! A script is run in a folder of its own, with the documents of `tests/data/says`. Its lines:
//!
//! | line | meaning |
//! |---|---|
//! | `# words` | why; how an expected figure was computed |
//! | `write NAME` | a file of the lines that follow, each indented by four spaces |
//! | `bytes NAME HEX`, `large NAME BYTES`, `folder NAME` | a file with these bytes, a file of this many bytes, a folder |
//! | `change NAME TO :: OLD => NEW` | a copy of a file with NEW instead of OLD |
//! | `store NAME USERS TTFT ITL [TOKENS]` | a stored run, times in ms |
//! | `tools` | the files of other tools that `foreign.rs` writes |
//! | `paced TTFT ITL`, `serve` | from here on `{url}` is a server with this pace in ms, or our own engine |
//! | `simulated FLAGS` | likewise a simulated L40S with Llama 3.1 8B, with these flags |
//! | `$ words` | runs the program; its code is 0 unless `code N` follows; with `measured` it may be that of a busy host |
//! | `$ cat NAME` | looks at a file instead |
//! | `has TEXT`, `out TEXT`, `err TEXT`, `not TEXT` | is in any output, on standard output, on standard error, in none |
//! | `next TEXT` | occurs after the match of the previous `next` |
//! | `line PART :: TEXT` | the first line with this part has the text, too |
//! | `until TEXT`, `after TEXT` | the following lines check only the output before, or after, the text |
//! | `flat TEXT` | is on standard output, with each run of white space as one space |
//! | `count N TEXT` | the text occurs N times on standard output |
//! | `silent`, `width N` | standard output is empty; no line of it is longer |
//! | `lines N`, `each POINTER JSON` | standard output has N lines; every one is a document with this value there |
//! | `check ID STATE` | the check of a run's document is in this state |
//! | `at POINTER JSON`, `size POINTER N` | the document on standard output has this value, or a list of this length, there |
//!
//! A `\n` in a text is the end of a line. Escapes of Markdown and narrow spaces are left out of what was
//! said: the snapshots of pages hold those. `{003}` is the published document of this number.

use crate::support::{
    Running, assert_measured, paced, published, run, serve, served, stderr, stdout, store_changed,
};
use ifm_truth::paced::Paced;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// One test for each file with this ending in a folder, and one that fails if a file has no test.
macro_rules! scripts {
    ($run:ident, $folder:expr, $ending:literal; $($name:ident $(: $attribute:meta)?),* $(,)?) => {
        $(#[test] $(#[$attribute])? fn $name() {
            $run(stringify!($name));
        })*

        #[test]
        fn every_file_is_run() {
            for entry in std::fs::read_dir($folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().replace('-', "_");
                let is_script = path.extension().is_some_and(|ending| ending == $ending);
                assert!(!is_script || [$(stringify!($name)),*].contains(&name.as_str()), "{name}");
            }
        }
    };
}
pub(crate) use scripts;

scripts! {
    say, folder(), "says";
    apis, audits, comparisons, customs, engine, foreign, forms, gates, histories, imports, kernels, limits, loads, machines, matrix, mistakes, pasted, predictions, sessions, sides, workloads,
    published_reports: cfg_attr(not(documents), ignore = "needs the published documents: set IFM_SEEDS"),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/says")
}

/// What the line `simulated` begins with.
const SIMULATED: &str = "--sim --gpu l40s --model llama-3.1-8b";

/// What the last command said, and where the script looks.
#[derive(Default)]
pub struct Said {
    pub out: String,
    pub err: String,
    /// What `has`, `not`, `line` and `next` look at, and how far `next` has come.
    text: String,
    place: usize,
}

impl Said {
    pub fn new(out: String, err: String) -> Self {
        let text = plain(&format!("{out}{err}"));
        Self { out, err, text, place: 0 }
    }
}

fn plain(text: &str) -> String {
    text.replace('\\', "").replace('\u{202F}', " ")
}

/// Words as a shell takes them apart, with quotes alone.
pub fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for letter in line.chars() {
        match letter {
            ' ' if quote.is_none() => is_open = false,
            '"' | '\'' if quote.is_none_or(|open| open == letter) => {
                quote = quote.xor(Some(letter));
                if !is_open {
                    words.push(String::new());
                    is_open = true;
                }
            }
            _ => {
                if !is_open {
                    words.push(String::new());
                    is_open = true;
                }
                words.last_mut().unwrap().push(letter);
            }
        }
    }
    let document = |word: String| match word.as_bytes() {
        [b'{', number @ .., b'}'] if number.iter().all(u8::is_ascii_digit) => {
            published(&word[1..word.len() - 1]).to_string_lossy().into_owned()
        }
        _ => word,
    };
    words.into_iter().map(document).collect()
}

/// Runs a command; the line after it gives its code.
fn command(folder: &Path, line: &str, behind: &str, place: &str) -> Said {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (out, err) = match words.as_slice() {
        ["cat", name] => (fs::read_to_string(folder.join(name)).expect(place), String::new()),
        words => {
            let output = run(folder, words);
            let (out, err) = (stdout(&output), stderr(&output));
            if behind == "measured" {
                assert_measured(&output);
            } else {
                let code =
                    behind.strip_prefix("code ").map_or(0, |code| code.parse().expect(place));
                assert_eq!(output.status.code(), Some(code), "{place}: {line}\n{out}\n{err}");
            }
            assert!(!err.contains("panicked"), "{place}: {err}");
            (out, err)
        }
    };
    Said::new(out, err)
}

/// Holds what was said against a line of the script; whether there is such a line.
pub fn check(said: &mut Said, word: &str, expect: &str, place: &str) -> bool {
    let expect = &expect.replace("\\n", "\n");
    let has =
        |text: &str, expect: &str| assert!(text.contains(expect), "{place}: {expect}\n{text}");
    match word {
        "has" => has(&said.text, expect),
        "out" => has(&plain(&said.out), expect),
        "err" => has(&plain(&said.err), expect),
        "not" => assert!(!said.text.contains(expect.as_str()), "{place}: {expect}\n{}", said.text),
        "next" => {
            let found = said.text[said.place..].find(expect.as_str());
            said.place += found.unwrap_or_else(|| panic!("{place}: {expect}\n{}", said.text));
        }
        "line" => {
            let (part, expect) = expect.split_once(" :: ").expect(place);
            has(said.text.lines().find(|line| line.contains(part)).expect(place), expect);
        }
        "until" | "after" => {
            let all = plain(&format!("{}{}", said.out, said.err));
            let (before, behind) = all.split_once(expect.as_str()).expect(place);
            said.text = if word == "until" { before } else { behind }.to_owned();
        }
        "count" => {
            let (number, text) = expect.split_once(' ').expect(place);
            let found = said.out.matches(text).count();
            assert_eq!(Ok(found), number.parse(), "{place}: {text}\n{}", said.out);
        }
        "flat" => {
            has(&said.out.split_whitespace().collect::<Vec<_>>().join(" "), expect);
        }
        "lines" => {
            assert_eq!(Ok(said.out.lines().count()), expect.parse(), "{place}: {}", said.out)
        }
        "each" => {
            let (pointer, expect) = expect.split_once(' ').expect(place);
            let expect: Value = serde_json::from_str(expect).expect(place);
            assert!(!said.out.is_empty(), "{place}: nothing is said");
            for line in said.out.lines() {
                let document: Value = serde_json::from_str(line).expect(place);
                let found = document.pointer(pointer).unwrap_or(&Value::Null);
                assert_eq!(*found, expect, "{place}: {line}");
            }
        }
        "check" => {
            let (id, state) = expect.split_once(' ').expect(place);
            let document: Value = serde_json::from_str(&said.out).expect(place);
            let checks = document["checks"].as_array().expect(place);
            let found = checks.iter().find(|check| check["id"] == id).expect(place);
            assert_eq!(found["state"], state, "{place}: {found}");
        }
        "silent" => assert_eq!(said.out, "", "{place}"),
        "width" => {
            let most = expect.parse().expect(place);
            let long = said.out.lines().find(|line| line.chars().count() > most);
            assert_eq!(long, None, "{place}");
        }
        "at" | "size" => {
            let (pointer, expect) = expect.split_once(' ').expect(place);
            let document: Value = serde_json::from_str(&said.out).expect(place);
            // What is not known is absent.
            let found = document.pointer(pointer).unwrap_or(&Value::Null);
            let expect: Value = serde_json::from_str(expect).expect(place);
            let length = found.as_array().map(|list| list.len().into());
            let found = if word == "size" { length.expect(place) } else { found.clone() };
            assert_eq!(found, expect, "{place}: {document:#}");
        }
        _ => return false,
    }
    true
}

/// Makes what a line of the script asks for; `rest` are the lines behind it.
pub fn make(folder: &Path, line: &str, rest: &[&str], place: &str) {
    if let Some((names, (old, new))) = line
        .strip_prefix("change ")
        .and_then(|line| line.split_once(" :: "))
        .and_then(|(names, change)| names.split_once(' ').zip(change.split_once(" => ")))
    {
        let text = fs::read_to_string(folder.join(names.0)).expect(place);
        assert!(text.contains(old), "{place}: {text}");
        return fs::write(folder.join(names.1), text.replace(old, new)).unwrap();
    }
    let parts: Vec<&str> = line.split(' ').collect();
    match parts.as_slice() {
        ["write", name] => {
            let lines: Vec<&str> = rest
                .iter()
                .map_while(
                    |line| if line.is_empty() { Some("") } else { line.strip_prefix("    ") },
                )
                .collect();
            fs::write(folder.join(name), format!("{}\n", lines.join("\n").trim_end())).unwrap();
        }
        ["bytes", name, hex] => {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect(place);
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            fs::write(folder.join(name), bytes).unwrap();
        }
        ["large", name, bytes] => {
            fs::write(folder.join(name), "x".repeat(bytes.parse().expect(place))).unwrap();
        }
        ["tools"] => crate::foreign::write(folder),
        ["folder", name] => fs::create_dir(folder.join(name)).unwrap(),
        ["store", name, users, ttft, itl, tokens @ ..] => {
            let number = |text: &&str| text.parse::<f64>().expect(place);
            let users: Vec<u32> = users.split(',').map(|n| n.parse().expect(place)).collect();
            let tokens = tokens.first().map_or(10, |n| n.parse().expect(place));
            store_changed(folder, name, &users, ((number(ttft), number(itl)), tokens), |_| {});
        }
        _ => panic!("{place}: no such line: {line}"),
    }
}

/// A server that ends with the script, or with the next one.
pub enum Server {
    Paced { _is: Paced },
    Engine { _is: Running },
}

/// Starts the server of a line of the script, if it is one of a server: it, and its URL.
pub fn start(folder: &Path, word: &str, text: &str, place: &str) -> Option<(Server, String)> {
    let (running, url) = match word {
        "paced" => {
            let (ttft, itl) = text.split_once(' ').expect(place);
            let paced = paced(ttft.parse().expect(place), itl.parse().expect(place));
            let url = format!("http://{}", paced.address());
            return Some((Server::Paced { _is: paced }, url));
        }
        "simulated" => {
            let flags: Vec<&str> = SIMULATED.split(' ').chain(text.split_whitespace()).collect();
            served(folder, &flags)
        }
        "serve" => serve(folder, &[]),
        _ => return None,
    };
    Some((Server::Engine { _is: running }, url))
}

fn say(name: &str) {
    let script = fs::read_to_string(folder().join(format!("{name}.says"))).unwrap();
    let own = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, own.path().join(path.file_name().unwrap())).unwrap();
    }
    let lines: Vec<&str> = script.lines().collect();
    let mut said = Said::default();
    let mut server: Option<(Server, String)> = None;
    for (index, line) in lines.iter().enumerate() {
        let place = format!("{name}.says:{}", index + 1);
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            // Lines of a file begin with spaces.
            "" | "#" | "code" | "measured" => {}
            "$" => {
                let behind = lines.get(index + 1).copied().unwrap_or_default();
                let url = server.as_ref().map_or("", |(_, url)| url);
                said = command(own.path(), &text.replace("{url}", url), behind, &place);
            }
            _ => match start(own.path(), word, text, &place) {
                Some(started) => server = Some(started),
                None if check(&mut said, word, text, &place) => {}
                None => make(own.path(), line, &lines[index + 1..], &place),
            },
        }
    }
}
