//! The guides of `docs/guides`, followed as a reader follows them: each in a folder of its own, every command
//! of its `console` blocks by a shell, with our program on the path.
//!
//! What a reader starts in a second terminal (`$ inferometer serve …`) runs to the end of the guide, on a port
//! of its own: `http://localhost:8000` is then that server. The lines below a command are its expected output:
//! the output must contain each of them, apart from numbers, and may contain others. `…` means omitted lines,
//! or the rest of a line. `$ echo $?` is compared with the code. Our commands in sentences are parsed. A
//! comment `<!-- says LINE -->`, with one or several lines, is invisible to a reader; it uses the language of
//! `says.rs` and these additional words:
//!
//! | line | meaning |
//! |---|---|
//! | `instead OLD => NEW` | in the commands of the next block NEW replaces OLD: a smaller count, say |
//! | `file NAME` | the next block, of whatever language, is this file |
//! | `code N` | the code of the last command of the next block |
//! | `elsewhere WHY` | what the next block shows is from another run: its lines are not compared |
//! | `sample FILE NAME` | a file of another tool, from `crates/ifm-interop/tests/data`, has this name |
//! | `not here REASON` | the next block is not run, for one of [`REASONS`]; our commands in it are parsed |

use crate::says::{Said, Server, check, make, scripts, start, words};
use crate::support::{program, served};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

scripts! {
    follow, folder(), "md";
    agents, believe, capacity, ci, compare, confidential, data_set, faq, first_number, from_aiperf,
    from_guidellm, from_llama_bench, from_vllm, kernels, media, power, quantization, read_the_file,
    ttft, your_server,
}

/// Why a block may be shown that is not run.
const REASONS: [&str; 3] = ["needs a GPU", "needs another program", "needs the network"];

/// A port that a command says, for the one that a server has in a test.
const PORT: u16 = 8000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides")
}

/// Real files of other tools.
fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ifm-interop/tests/data")
}

/// What a comment said of the next block.
#[derive(Default)]
struct Next {
    instead: Vec<(String, String)>,
    file: Option<String>,
    code: Option<i32>,
    is_elsewhere: bool,
    not_here: Option<String>,
}

struct Reader<'a> {
    folder: &'a Path,
    servers: BTreeMap<u16, (Server, String)>,
    said: Said,
    /// Of the last command.
    code: i32,
}

fn follow(name: &str) {
    let name = name.replace('_', "-");
    let text = fs::read_to_string(folder().join(format!("{name}.md"))).unwrap();
    let own = tempfile::tempdir().unwrap();
    let mut reader =
        Reader { folder: own.path(), servers: BTreeMap::new(), said: Said::default(), code: 0 };
    let lines: Vec<&str> = text.lines().collect();
    let mut next = Next::default();
    let (mut index, mut commands) = (0, 0);
    while index < lines.len() {
        let place = format!("{name}.md:{}", index + 1);
        let line = lines[index];
        let end = |end: &str| {
            let found = lines[index..].iter().skip(1).position(|line| line.trim_end() == end);
            index + 1 + found.unwrap_or_else(|| panic!("{place}: no end"))
        };
        if let Some(inside) = line.strip_prefix("<!-- says ") {
            reader.line(inside.strip_suffix(" -->").expect(&place), &[], &mut next, &place);
        } else if line == "<!-- says" {
            let last = end("-->");
            for at in index + 1..last {
                let place = format!("{name}.md:{}", at + 1);
                reader.line(lines[at], &lines[at + 1..last], &mut next, &place);
            }
            index = last;
        } else if let Some(language) = line.strip_prefix("```") {
            let last = end("```");
            let next = std::mem::take(&mut next);
            if let Some(file) = &next.file {
                let text = lines[index + 1..last].join("\n") + "\n";
                fs::write(own.path().join(file), text).unwrap();
            } else if language == "console" {
                commands += reader.block(&lines[index + 1..last], &next, &place);
            } else {
                // Data and what was printed are no code.
                let is_code = !["text", "json", "toml", "yaml", "ini"].contains(&language);
                assert_eq!(
                    is_code,
                    next.not_here.is_some(),
                    "{place}: code is run, or says why not"
                );
            }
            index = last;
        } else {
            // Commands in sentences and tables.
            for code in line.split('`').skip(1).step_by(2).filter(|code| !code.contains('…')) {
                reader.parse(code, &place);
            }
        }
        index += 1;
    }
    assert!(commands > 0, "{name}.md has no command that is run");
}

impl Reader<'_> {
    /// A line of a comment.
    fn line(&mut self, line: &str, rest: &[&str], next: &mut Next, place: &str) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            "instead" => {
                let (old, new) = text.split_once(" => ").expect(place);
                next.instead.push((old.to_owned(), new.to_owned()));
            }
            "file" => next.file = Some(text.to_owned()),
            "code" => next.code = Some(text.parse().expect(place)),
            "sample" => {
                let (from, to) = text.split_once(' ').expect(place);
                fs::copy(samples().join(from), self.folder.join(to)).expect(place);
            }
            "elsewhere" => next.is_elsewhere = true,
            "not" if text.starts_with("here ") => {
                let reason = &text["here ".len()..];
                assert!(REASONS.contains(&reason), "{place}: {reason} is not in {REASONS:?}");
                next.not_here = Some(reason.to_owned());
            }
            _ => match start(self.folder, word, text, place) {
                Some(started) => {
                    self.servers.insert(PORT, started);
                }
                None if check(&mut self.said, word, text, place) => {}
                None => make(self.folder, line, rest, place),
            },
        }
    }

    /// Runs the commands of a block, or parses them; how many were run.
    fn block(&mut self, lines: &[&str], next: &Next, place: &str) -> usize {
        let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
        let mut is_going_on = false;
        for line in lines {
            if is_going_on {
                let command = &mut commands.last_mut().expect(place).0;
                command.truncate(command.len() - 1);
                command.push_str(line.trim_start());
            } else if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), Vec::new()));
            } else {
                commands.last_mut().unwrap_or_else(|| panic!("{place}: no command")).1.push(line);
            }
            is_going_on = commands
                .last()
                .is_some_and(|(command, shown)| shown.is_empty() && command.ends_with('\\'));
        }
        let mut left: BTreeSet<&str> = next.instead.iter().map(|(old, _)| old.as_str()).collect();
        let last = commands.iter().rposition(|(command, _)| command != "echo $?");
        let mut count = 0;
        for (index, (command, shown)) in commands.iter().enumerate() {
            let mut command = command.clone();
            for (old, new) in &next.instead {
                if command.contains(old.as_str()) {
                    left.remove(old.as_str());
                    command = command.replace(old, new);
                }
            }
            if next.not_here.is_some() {
                self.parse(&command, place);
                continue;
            }
            count += 1;
            if command == "echo $?" {
                assert_eq!(shown.first().copied(), Some(self.code.to_string().as_str()), "{place}");
                continue;
            }
            let echoed = commands.get(index + 1).filter(|(next, _)| next == "echo $?");
            let code = match echoed {
                Some((_, shown)) => shown.first().and_then(|code| code.parse().ok()).expect(place),
                None => next.code.filter(|_| Some(index) == last).unwrap_or(0),
            };
            self.run(&command, code, place);
            if !next.is_elsewhere {
                self.compare(&command, shown, place);
            }
        }
        assert!(left.is_empty(), "{place}: not in any command: {left:?}");
        count
    }

    fn run(&mut self, command: &str, code: i32, place: &str) {
        if let Some(flags) = command.strip_prefix("inferometer serve ") {
            let mut words: Vec<&str> = flags.split_whitespace().collect();
            let port = words.iter().position(|word| *word == "--port").map_or(PORT, |at| {
                let port = words.remove(at + 1).parse().expect(place);
                words.remove(at);
                port
            });
            let (running, url) = served(self.folder, &words);
            self.said = Said::new(format!("listening on {url}\n"), String::new());
            self.servers.insert(port, (Server::Engine { _is: running }, url));
            return;
        }
        let mut line = command.to_owned();
        for (port, (_, url)) in &self.servers {
            for host in ["localhost", "127.0.0.1"] {
                line = line.replace(&format!("http://{host}:{port}"), url);
            }
        }
        let own = program(self.folder);
        let mut shell = std::process::Command::new("sh");
        let own_folder = Path::new(own.get_program()).parent().unwrap();
        let path = format!("{}:{}", own_folder.display(), std::env::var("PATH").unwrap());
        shell.args(["-c", &line]).current_dir(self.folder).env("PATH", path);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.said = Said::new(text(&output.stdout), text(&output.stderr));
        let got = output.status.code();
        // A host that is busy may send late, and no test depends on it.
        let is_busy = got == Some(6) && self.said.err.contains("after they were due");
        let (out, err) = (&self.said.out, &self.said.err);
        assert!(got == Some(code) || is_busy, "{place}: {line}\nended with {got:?}\n{out}\n{err}");
        assert!(!err.contains("panicked"), "{place}: {err}");
        self.code = code;
    }

    /// Every shown line was said, but for its numbers.
    fn compare(&self, command: &str, shown: &[&str], place: &str) {
        let (out, err) = (&self.said.out, &self.said.err);
        let said: BTreeSet<String> = out.lines().chain(err.lines()).map(without_numbers).collect();
        for line in shown.iter().filter(|line| !matches!(line.trim(), "" | "…")) {
            let line = without_numbers(line);
            assert!(
                match line.strip_suffix('…') {
                    Some(start) => said.iter().any(|said| said.starts_with(start.trim_end())),
                    None => said.contains(&line),
                },
                "{place}: {command}\ndoes not say: {line}\nbut:\n{out}\n{err}"
            );
        }
    }

    /// That our program knows the commands of a line and their flags.
    fn parse(&self, command: &str, place: &str) {
        for part in parts(command) {
            let Some(line) = part.trim().trim_start_matches("sudo ").strip_prefix("inferometer ")
            else {
                continue;
            };
            // What another program is given is not ours to parse.
            let (own, other) =
                line.split_once(" -- ").map_or((line, None), |(own, other)| (own, Some(other)));
            let pasted = own.strip_prefix("as ");
            let line = match (pasted, other) {
                (Some(line), _) => format!("translate {line}"),
                (None, Some(other)) => format!("{own} --help -- {other}"),
                (None, None) => format!("{own} --help"),
            };
            let output = program(self.folder).args(words(&line)).output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{place}: {command}\n{err}");
        }
    }
}

/// The commands of a line, split as a shell does: at `|`, `;`, `&` and `>`, except in quotes.
fn parts(line: &str) -> Vec<&str> {
    let mut quote = None;
    line.split(|letter| {
        if matches!(letter, '"' | '\'') && quote.is_none_or(|open| open == letter) {
            quote = quote.xor(Some(letter));
        }
        quote.is_none() && matches!(letter, '|' | ';' | '&' | '>')
    })
    .collect()
}

/// A line without what differs from run to run: numbers with their units, ids, white space, and how many
/// addresses this host has.
fn without_numbers(line: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "#"),
            (r"127\.0\.0\.1", "localhost"),
            (r"[~≤≥]?[+−-]?\d[\d\u{202f},]*(\.\d+)?", "#"),
            (r"#\s?(ns|µs|ms|s|min|h)\b", "#s"),
            (r"#\s?[kMGT]?(B|iB)\b", "#B"),
            (r"#[kM]\b", "#"),
            (r"\s+", " "),
        ]
        .map(|(pattern, to)| (Regex::new(pattern).unwrap(), to))
        .into()
    });
    let line = RULES
        .iter()
        .fold(line.to_owned(), |line, (pattern, to)| pattern.replace_all(&line, *to).into_owned());
    line.trim().to_owned()
}

/// What no test runs, and why: whoever adds to it sees it here.
#[test]
fn what_is_not_run_is_listed() {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut list = String::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for behind in text.split("<!-- says not here ").skip(1) {
            let (reason, block) = behind.split_once(" -->\n```").unwrap();
            let lines = block.split("\n```").next().unwrap().lines();
            let name = path.file_name().unwrap().to_string_lossy();
            list += &format!("{name}, {reason}:\n");
            lines.for_each(|line| list += &format!("    {line}\n"));
        }
    }
    insta::assert_snapshot!(list);
}

#[test]
fn numbers_differ_and_words_do_not() {
    for (shown, said, is_same) in [
        (" 8  22.5  1\u{202f}439  ~62.4 ms", "8 31 900 1.20 s", true),
        (
            "run 20261126-074508-601c saved: 24 requests, 20 kB",
            "run 20270101-000000-ffff saved: 4 requests, 1 MB",
            true,
        ),
        ("listening on http://localhost:8000", "listening on http://127.0.0.1:41873", true),
        ("−33.8 % better", "+1 % better", true),
        ("1 better", "1 worse", false),
        ("ITL p99 62.4 ms", "ITL p99 62.4 tokens", false),
    ] {
        assert_eq!(without_numbers(shown) == without_numbers(said), is_same, "{shown}");
    }
}
