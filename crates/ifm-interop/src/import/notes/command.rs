//! Command lines in a text: whole ones, those that continue over several lines, and what their flags
//! set.
//!
//! Not here: command lines that a user passes to `inferometer as`.

use super::super::text::{Line, Text};
use ifm_core::sheet::{Factors, key};

/// Longest command that is read, bytes.
const COMMAND_BYTES_MAX: usize = 16 * 1024;
/// Lines that a command continues over at most.
const LINES_MAX: usize = 200;

pub(super) const PIPELINE_PARALLEL: &str = "pipeline_parallel";
pub(super) const DATA_PARALLEL: &str = "data_parallel";

/// Flags of commands that say what was set.
const FLAGS: &[(&str, &str)] = &[
    ("--model", key::MODEL),
    ("--model-path", key::MODEL),
    ("--dataset-name", key::WORKLOAD),
    ("--max-concurrency", key::CONCURRENCY),
    ("--concurrency", key::CONCURRENCY),
    ("--request-rate", key::RATE),
    ("--num-prompts", key::REQUESTS),
    ("--random-input-len", key::INPUT_TOKENS),
    ("--random-input", key::INPUT_TOKENS),
    ("--random-output-len", key::OUTPUT_TOKENS),
    ("--random-output", key::OUTPUT_TOKENS),
    ("--input-len", key::INPUT_TOKENS),
    ("--output-len", key::OUTPUT_TOKENS),
    ("--batch-size", key::BATCH_SIZE),
    ("--batch", key::BATCH_SIZE),
    ("--tensor-parallel-size", key::TENSOR_PARALLEL),
    ("--tp", key::TENSOR_PARALLEL),
    ("--tp-size", key::TENSOR_PARALLEL),
    ("--tp_size", key::TENSOR_PARALLEL),
    ("-tp", key::TENSOR_PARALLEL),
    ("--pipeline-parallel-size", PIPELINE_PARALLEL),
    ("--pp-size", PIPELINE_PARALLEL),
    ("-pp", PIPELINE_PARALLEL),
    ("--data-parallel-size", DATA_PARALLEL),
    ("--dp-size", DATA_PARALLEL),
    ("--dp", DATA_PARALLEL),
    ("-dp", DATA_PARALLEL),
];
/// Programs that serve or measure a model, whose commands need no prompt and no second flag.
const PROGRAMS: &[&str] = &["vllm", "sglang", "trtllm-serve", "lmdeploy", "python", "python3"];
/// Prompts of shells at the beginning of a line.
const PROMPTS: [&str; 4] = ["❯ ", "$ ", "% ", "λ "];
/// The same that begin other lines too, such as quotes.
const WEAK_PROMPTS: [&str; 2] = ["> ", "!"];
/// Words before the program of a command.
const WRAPPERS: [&str; 5] = ["sudo", "time", "nohup", "env", "exec"];

/// A command over several lines, in one.
#[derive(Debug, PartialEq)]
pub(super) struct Joined {
    /// Its text, without the marks at the ends of its lines.
    pub text: String,
    /// Its last line.
    pub last_line: u32,
}

/// The command that begins on this line and continues on the next ones, with `\` of a POSIX shell,
/// `^` of cmd or a backtick of PowerShell. Whether the text is a command is up to [`settings`].
pub(super) fn continued(first: Line<'_>, text: &Text) -> Option<Joined> {
    let (begin, mark) = ['\\', '^', '`']
        .into_iter()
        .find_map(|mark| Some((without_mark(first.text, mark)?, mark)))?;
    let mut joined = Joined { text: begin.trim().to_owned(), last_line: first.number };
    for line in text.from(first.number + 1).take(LINES_MAX) {
        let piece = line.text.trim();
        // A shell prints its own prompt before lines that continue a command.
        let piece = piece.strip_prefix("> ").unwrap_or(piece).trim();
        if piece.is_empty() || piece.starts_with("```") || piece.starts_with("~~~") {
            break;
        }
        joined.last_line = line.number;
        let (piece, is_last) = match without_mark(piece, mark) {
            Some(piece) => (piece, false),
            None => (piece, true),
        };
        joined.text.push(' ');
        joined.text.push_str(piece.trim());
        if is_last || joined.text.len() > COMMAND_BYTES_MAX {
            break;
        }
    }
    Some(joined)
}

/// A line without the mark that continues it. Blanks may follow the mark.
fn without_mark(line: &str, mark: char) -> Option<&str> {
    let inner = line.trim_end().strip_suffix(mark)?;
    let is_alone = inner.is_empty() || inner.ends_with(char::is_whitespace);
    match mark {
        // Two of them are a line break of LaTeX.
        '\\' => (!inner.ends_with('\\')).then_some(inner),
        _ => is_alone.then_some(inner),
    }
}

/// Whether a command starts a server: one that asks it says nothing of its devices.
pub(super) fn is_server(line: &str) -> bool {
    let has = |word: &str| line.split_whitespace().any(|other| other.ends_with(word));
    (has("serve") && !has("bench")) || has("launch_server") || has("api_server")
}

/// What a command line sets: one with a prompt, or of a program with several flags.
pub(super) fn settings(line: &str) -> Option<Factors> {
    if line.len() > COMMAND_BYTES_MAX || line.ends_with('.') {
        return None;
    }
    let prompt = PROMPTS.iter().find_map(|mark| line.strip_prefix(mark));
    let words: Vec<&str> = prompt
        .or_else(|| after_weak_prompt(line))
        .unwrap_or(line)
        .split_whitespace()
        .skip_while(|word| is_assignment(word) || WRAPPERS.contains(word))
        .collect();
    let flags = words.iter().filter(|word| word.starts_with("--") && word.len() > 3).count();
    let program = words.first().is_some_and(|word| {
        word.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/')
    });
    let is_flag = |word: &&str| FLAGS.iter().any(|(flag, _)| word.split('=').next() == Some(*flag));
    let is_ollama = matches!(words.as_slice(), ["ollama", "run", _, ..]);
    let is_known = is_ollama
        || (words.first().is_some_and(|word| PROGRAMS.contains(word)) && words.iter().any(is_flag));
    if !program || (prompt.is_none() && flags < 2 && !is_known) {
        return None;
    }
    let mut factors = Factors::default();
    for (at, word) in words.iter().enumerate() {
        let (flag, joined) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (*word, None),
        };
        let value = joined.or_else(|| words.get(at + 1).copied());
        let known = FLAGS.iter().find(|(name, _)| *name == flag);
        if let (Some((_, factor)), Some(value)) = (known, value) {
            factors.set(*factor, value.trim_matches(['"', '\'']));
        }
    }
    if let ["ollama", "run", model, ..] = words.as_slice()
        && !model.starts_with('-')
    {
        factors.set(key::MODEL, model);
    }
    Some(factors)
}

/// A line after what may be the prompt of a shell: whether a command follows is up to its flags.
fn after_weak_prompt(line: &str) -> Option<&str> {
    if let Some(rest) = WEAK_PROMPTS.iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest);
    }
    // `user@host:~$ `, `(env) $ `, `root@1f2e:/work# `, `PS C:\> `, `C:\Users\me> `.
    ["$ ", "# ", "> "].iter().find_map(|mark| {
        let (before, rest) = line.split_once(mark)?;
        let is_windows = before.starts_with("PS ") || before.contains(":\\");
        let is_prompt = is_windows || before.contains('@') || before.starts_with('(');
        let is_short = before.split_whitespace().count() <= 3 && before.len() <= 120;
        (is_prompt && is_short && !before.contains("--")).then_some(rest)
    })
}

/// `CUDA_VISIBLE_DEVICES=0` before a program.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> Option<Joined> {
        let text = Text::new(text.as_bytes());
        continued(text.line(1).expect("a line"), &text)
    }

    #[test]
    fn joins_commands_of_every_shell() {
        let whole = "vllm bench serve --model a --num-prompts 10";
        for (text, last_line) in [
            ("vllm bench serve \\\n  --model a \\\n  --num-prompts 10\n\nnext", 3),
            ("vllm bench serve \\\r\n  --model a \\  \r\n  --num-prompts 10\r\n", 3),
            ("vllm bench serve ^\n  --model a ^\n  --num-prompts 10\n", 3),
            ("vllm bench serve `\n  --model a `\n  --num-prompts 10\n", 3),
            ("vllm bench serve \\\n> --model a \\\n> --num-prompts 10\n", 3),
            ("vllm bench serve \\\n--model a \\\n--num-prompts 10 \\\n\n============", 3),
            ("vllm bench serve --model a\\\n--num-prompts 10 \\\n```\n", 2),
        ] {
            let expected = Joined { text: whole.to_owned(), last_line };
            assert_eq!(joined(text), Some(expected), "{text:?}");
        }
        for text in ["vllm serve a", "\\frac{a}{b} \\\\\nx", "see `vllm`\nnext", "x^\ny", ""] {
            assert_eq!(joined(&format!("{text}\n")), None, "{text}");
        }
    }

    #[test]
    fn reads_settings_after_prompts_and_variables() {
        let model = |line| settings(line).and_then(|set| set.get(key::MODEL).map(str::to_owned));
        for line in [
            "$ vllm bench serve --model a",
            "me@host:~/x$ vllm bench serve --model a",
            "(env) $ vllm bench serve --model a",
            "root@1f2e:/work# python -m sglang.bench_serving --model a",
            "PS C:\\x> vllm bench serve --model a",
            "CUDA_VISIBLE_DEVICES=0 VLLM_X=1 vllm bench serve --model a",
            "sudo python3 bench.py --model a",
            "!vllm bench serve --model=a",
            "ollama run a --verbose --keepalive 1m",
            "> vllm bench serve --model a",
        ] {
            assert_eq!(model(line).as_deref(), Some("a"), "{line}");
        }
        let long = format!("vllm bench serve --model a --x {}", "y".repeat(1000));
        assert_eq!(model(&long).as_deref(), Some("a"));
        assert_eq!(settings("Costs $ 5 --model a"), None);
        assert_eq!(settings("> a quote of a person"), None);
        assert_eq!(settings("we used 8 of them -- twice."), None);
    }
}
