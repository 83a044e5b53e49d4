//! Command lines of other tools, translated to inferometer commands.
//!
//! A tool is a table of its flags (`data/TOOL.toml`), which says how each is translated, and a
//! function of `tools` for what only several flags together mean. A line is read by the table,
//! never guessed: a flag that neither the table nor our command has is an error with the nearest
//! one. Not here: running the command, where its files go, and the flags of our commands, which
//! the caller describes (`inferometer`).
#![forbid(unsafe_code)]

mod draft;
mod error;
pub mod shell;
mod table;
mod tools;

pub use draft::Draft;
pub use error::CompatError;
pub use table::{Becomes, Ours, Row, Table, Takes};

use serde_json::Value;
use std::path::Path;
use table::Given;

/// What only several flags together mean.
type Rules = fn(&mut Given, &mut Draft) -> Result<(), String>;

/// The tools whose lines are understood: their tables, and the rest of their meaning.
const TOOLS: &[(&str, Rules)] = &[
    (include_str!("data/vllm.toml"), tools::vllm::rules),
    (include_str!("data/sglang.toml"), tools::sglang::rules),
    (include_str!("data/sglang_batch.toml"), tools::sglang::batches),
    (include_str!("data/guidellm.toml"), tools::guidellm::rules),
    (include_str!("data/aiperf.toml"), tools::aiperf::rules),
    (include_str!("data/genai_bench.toml"), tools::genai_bench::rules),
    (include_str!("data/inference_perf.toml"), tools::inference_perf::rules),
    (include_str!("data/oha.toml"), tools::oha::rules),
    (include_str!("data/llama_bench.toml"), tools::llama::bench),
    (include_str!("data/llama_batched.toml"), tools::llama::batched),
];

/// Lines that are known and measure what no command of ours takes from such a line, and what does.
const OTHERS: &[(&str, &str)] = &[
    (
        "vllm bench latency",
        "it measures an engine without a server: inferometer engine --adapter vllm -m MODEL --static 8x32/128",
    ),
    (
        "vllm bench throughput",
        "it measures an engine without a server: inferometer engine --adapter vllm -m MODEL --static 64x1024/128",
    ),
    ("vllm bench startup", "it measures how an engine starts: inferometer plan init start-up"),
    (
        "vllm bench sweep",
        "it starts servers with several sets of flags: inferometer plan init servers",
    ),
    ("vllm bench", "of its benchmarks, `vllm bench serve` measures a server"),
    ("vllm serve", "it starts a server: start it, and measure it with inferometer sweep URL"),
    (
        "python -m sglang.bench_offline_throughput",
        "it measures an engine without a server: inferometer engine --adapter sglang -m MODEL --static 64x1024/128",
    ),
    (
        "python -m sglang.bench_one_batch",
        "it measures an engine without a server: inferometer engine --adapter sglang -m MODEL --static 1x1024/128",
    ),
    (
        "python -m sglang.bench_latency",
        "it measures an engine without a server: inferometer engine --adapter sglang -m MODEL --static 1x1024/128",
    ),
    ("guidellm", "of its commands, `guidellm benchmark` and `guidellm run` measure a server"),
    ("aiperf", "of its commands, `aiperf profile` measures a server"),
    ("genai-perf", "of its commands, `genai-perf profile` measures a server"),
    ("genai-bench", "of its commands, `genai-bench benchmark` measures a server"),
];

/// Programs before a program.
const BEFORE: &[&str] = &["$", "env", "exec", "nohup", "time", "uvx", "%", ">"];

/// A line of another tool, understood.
#[derive(Debug)]
pub struct Translation {
    /// Whose line it is.
    pub tool: String,
    /// The version whose flags are known.
    pub version: String,
    /// The inferometer command, with notes on it.
    pub draft: Draft,
    /// Variables that stood before the line.
    pub environment: Vec<(String, String)>,
    /// The words of the line from its program on.
    pub words: Vec<String>,
    /// What follows the command and is not run.
    pub rest: Option<String>,
}

impl Translation {
    /// The flags that have no effect here, in one warning.
    pub fn left_out(&self) -> Option<String> {
        let left_out = &self.draft.left_out;
        if left_out.is_empty() {
            return None;
        }
        let each = left_out.iter().map(|(flag, effect)| format!("{flag} ({effect})"));
        Some(format!(
            "left out of this line of {}: {}",
            self.tool,
            each.collect::<Vec<_>>().join("; ")
        ))
    }

    /// The first file that the line reads and that is not there, in a sentence.
    pub fn missing(&self) -> Option<String> {
        let (flag, path) = self.draft.reads.iter().find(|(_, path)| !Path::new(path).exists())?;
        Some(format!("{flag} {path}: no such file or folder"))
    }
}

/// The tools in their order, with the tables of their flags.
///
/// # Errors
/// A built-in table that cannot be read; a test reads them all.
pub fn tools() -> Result<Vec<Table>, CompatError> {
    TOOLS.iter().map(|(text, _)| Ok(toml::from_str(text)?)).collect()
}

/// The words of a line: one word that holds a whole line is read as a shell reads it. `variable`
/// gives what a variable holds.
///
/// # Errors
/// What a shell could not read either.
pub fn words_of(
    given: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<shell::Line, CompatError> {
    match given {
        [line] if line.contains(char::is_whitespace) => {
            shell::split(line, variable).map_err(CompatError::Line)
        }
        words => Ok(shell::Line { words: words.to_vec(), rest: None }),
    }
}

/// Translates a line of another tool. `ours` describes the flags of our commands.
///
/// # Errors
/// One sentence: a tool or a flag that is not known, a value that cannot be read.
pub fn translate(line: shell::Line, ours: &Ours<'_>) -> Result<Translation, CompatError> {
    let shell::Line { words, rest } = line;
    let (environment, words) = apart(&words);
    if let Some((table, rules, behind)) = found(words)? {
        let draft = drafted(&table, rules, behind, ours)
            .map_err(|why| CompatError::Flags { why, page: table.source.clone() })?;
        let Table { tool, version, .. } = table;
        let words = words.to_vec();
        return Ok(Translation { tool, version, draft, environment, words, rest });
    }
    if let Some((program, why)) =
        OTHERS.iter().find(|(program, _)| behind(words, program).is_some())
    {
        return Err(CompatError::OtherBenchmark { program, why });
    }
    let known = tools()?.into_iter().map(|table| table.tool).collect::<Vec<_>>().join(", ");
    let first = words.first().map_or("an empty line", String::as_str).to_owned();
    Err(CompatError::UnknownTool { first, known })
}

/// The table of the tool whose line it is.
///
/// # Errors
/// A built-in table that cannot be read.
pub fn table_of(words: &[String]) -> Result<Option<Table>, CompatError> {
    Ok(found(apart(words).1)?.map(|(table, ..)| table))
}

/// The variables before a line, and its words from the program on.
fn apart(mut words: &[String]) -> (Vec<(String, String)>, &[String]) {
    let mut environment = Vec::new();
    while let Some((first, others)) = words.split_first() {
        match shell::assignment(first) {
            Some((name, value)) => environment.push((name.to_owned(), value.to_owned())),
            None if BEFORE.contains(&first.as_str()) => {}
            None => break,
        }
        words = others;
    }
    match words {
        [uv, run, others @ ..] if uv == "uv" && run == "run" => (environment, others),
        words => (environment, words),
    }
}

/// A tool and the words after its name.
type Found<'a> = (Table, Rules, &'a [String]);

/// The tool of a line, with the words after its name.
fn found(words: &[String]) -> Result<Option<Found<'_>>, CompatError> {
    for (table, (_, rules)) in tools()?.into_iter().zip(TOOLS) {
        let all = table.programs.iter().filter_map(|program| behind(words, program));
        // The longest name that fits.
        if let Some(behind) = all.min_by_key(|words| words.len()) {
            return Ok(Some((table, *rules, behind)));
        }
    }
    Ok(None)
}

/// The words after a program, if the line begins with it.
fn behind<'a>(words: &'a [String], program: &str) -> Option<&'a [String]> {
    let mut rest = words;
    for part in program.split(' ') {
        let (first, others) = rest.split_first()?;
        let name = first.rsplit('/').next().unwrap_or(first);
        let is_same = match part {
            "python" => name.strip_prefix("python").is_some_and(|version| {
                version.chars().all(|sign| sign.is_ascii_digit() || sign == '.')
            }),
            _ => name == part,
        };
        if !is_same {
            return None;
        }
        rest = others;
    }
    Some(rest)
}

fn drafted(
    table: &Table,
    rules: Rules,
    words: &[String],
    ours: &Ours<'_>,
) -> Result<Draft, String> {
    let mut given = table.read(words, ours)?;
    let mut draft = Draft::default();
    draft.verb.clone_from(&table.verb);
    draft.own.clone_from(&given.own);
    for (name, values) in given.flags() {
        let Some(row) = table.flags.get(name) else { continue };
        apply(name, row, values, &mut draft);
        if row.path {
            values.iter().for_each(|value| draft.reads(name, value));
        }
    }
    rules(&mut given, &mut draft)?;
    note_unused(table, &given, &mut draft);
    Ok(draft)
}

/// Names the words of the line that nothing is made of.
fn note_unused(table: &Table, given: &Given, draft: &mut Draft) {
    for (name, values) in &given.replaced {
        // A header or a key may be a secret.
        let is_secret =
            ["header", "key", "token", "-H", "auth"].iter().any(|it| name.ends_with(it));
        let words = if is_secret { "***".to_owned() } else { shell::joined(values) };
        let flag = if words.is_empty() { name.clone() } else { format!("{name} {words}") };
        draft.leave_out(&flag, format!("{} uses the last {name} of the line", table.tool));
    }
    if let Some(program) = table.passes_to.as_ref().filter(|_| !given.passed_on.is_empty()) {
        let flag = format!("-- {}", shell::joined(&given.passed_on));
        draft.leave_out(&flag, format!("these are arguments of {program}"));
    }
}

/// What a flag becomes by itself.
fn apply(name: &str, row: &Row, values: &[String], draft: &mut Draft) {
    match &row.becomes {
        Becomes::Is(ours) => match (row.takes, values.last()) {
            (Takes::None, _) | (_, None) => draft.switch(ours),
            (_, Some(value)) => draft.set(ours, value),
        },
        Becomes::Each(ours) => values.iter().for_each(|value| draft.add(ours, value)),
        Becomes::Header(ours) => {
            for pair in values {
                let sign = pair.find([':', '=']);
                let header = match sign.map(|at| pair.split_at(at)) {
                    Some((name, value)) => format!("{}: {}", name.trim(), value[1..].trim()),
                    None => pair.clone(),
                };
                draft.add(ours, header);
            }
        }
        Becomes::Body(field) => {
            let value = match (row.takes, values.last()) {
                (Takes::None, _) | (_, None) => Value::from(true),
                (_, Some(text)) => {
                    serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into())
                }
            };
            draft.body.insert(field.clone(), value);
        }
        Becomes::Rule(_) | Becomes::Quiet(_) => {}
        Becomes::None(effect) => draft.leave_out(name, effect),
    }
}
