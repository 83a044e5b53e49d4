//! `inferometer completions SHELL`, and the hidden command that its scripts run at every press of Tab.
//!
//! A script has only a few lines. The program itself computes the completions at the cursor, from its
//! parser and its registries. So a script is never out of date, and stored runs are completed too.
//!
//! Not here: which argument is at the cursor (`place`), and the names (`values`).

mod line;
mod place;
mod values;

use crate::exit::{Code, Failure};
use crate::terminal;
use clap::{Args, ValueEnum};
use line::Line;

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// In ~/.bashrc: eval "$(inferometer completions bash)"
    Bash,
    /// In ~/.zshrc, after compinit: eval "$(inferometer completions zsh)"
    Zsh,
    /// In ~/.config/fish/config.fish: inferometer completions fish | source
    Fish,
}

impl Shell {
    fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("script.bash"),
            Shell::Zsh => include_str!("script.zsh"),
            Shell::Fish => include_str!("script.fish"),
        }
    }
}

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Arguments of the hidden command.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    #[arg(value_enum)]
    shell: Shell,

    /// Words of the line, the last of them up to the cursor. In bash, the line as one text and the
    /// part of its last word to replace.
    #[arg(last = true)]
    words: Vec<String>,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    /// The word.
    text: String,
    /// A description of one line; empty if the word needs none.
    about: String,
}

impl Candidate {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Candidate {
        Candidate { text: text.into(), about: about.into() }
    }
}

/// Prints the script of a shell.
pub fn run(args: &CompletionsArgs) -> Code {
    terminal::print(args.shell.script());
    Code::Done
}

/// Prints the completions at the cursor: one word per line, followed by a tab and a description.
///
/// # Errors
/// None: without completions, nothing is printed.
pub fn complete(args: &CompleteArgs) -> Result<Code, Failure> {
    let (line, replaced) = match (args.shell, args.words.as_slice()) {
        (Shell::Bash, [text, replaced]) => (Line::read(text), Some(replaced.as_str())),
        (_, words) => (Line::of_words(words), None),
    };
    let text = |candidate: Candidate| match (args.shell, replaced) {
        (Shell::Bash, replaced) => line.for_bash(&candidate.text, replaced.unwrap_or_default()),
        _ if candidate.about.is_empty() => candidate.text,
        _ => format!("{}\t{}", candidate.text, candidate.about),
    };
    let found = place::candidates(&line).into_iter().map(|candidate| text(candidate) + "\n");
    terminal::print(&found.collect::<String>());
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The completions at the end of a line.
    fn at(text: &str) -> Vec<String> {
        let found = place::candidates(&Line::read(&format!("inferometer {text}")));
        found.into_iter().map(|candidate| candidate.text).collect()
    }

    #[track_caller]
    fn has(text: &str, words: &[&str]) {
        let found = at(text);
        for word in words {
            assert!(found.iter().any(|found| found == word), "{text}| has no {word}: {found:?}");
        }
    }

    #[test]
    fn commands_and_flags_are_those_of_the_parser() {
        has("", &["run", "sweep", "runs", "completions", "help"]);
        assert_eq!(at("swe"), ["sweep"]);
        // Hidden commands stay hidden.
        assert!(at("gua").is_empty() && at("complete").iter().all(|word| word == "completions"));
        has("run --con", &["--concurrency", "--connect-timeout"]);
        has("kernel ", &["attention", "gemm", "bandwidth"]);
        has("kernel attention --im", &["--impl"]);
        // A flag that accepts one value is not offered again; a repeatable flag is.
        assert!(!at("run --seed 1 --se").contains(&"--seed".to_owned()));
        has("run --tag a=b --ta", &["--tag"]);
        // A simulated server has its own flags.
        has("serve --sim --tp", &["--tp"]);
        assert!(at("serve --tp").is_empty());
        // After --, no word is a flag.
        assert!(at("exec -- --").iter().all(|word| !word.starts_with("--")));
    }

    #[test]
    fn values_come_from_the_registries() {
        has("run -W cha", &["chat"]);
        has("run -Wcha", &["-Wchat"]);
        has("run --workload=sharegp", &["--workload=sharegpt"]);
        has("run --slo mlperf-llama3.1-8b", &["mlperf-llama3.1-8b"]);
        has("run --api custom:g", &["custom:gemini"]);
        has("limit --gpu l40", &["l40s"]);
        has("limit --gpu l40s -m llama-3.1-8", &["llama-3.1-8b"]);
        has("compare a b --metric ttft.p50,itl.p9", &["ttft.p50,itl.p99"]);
        has("gate last --max itl", &["itl.p99="]);
        has("export last --as guide", &["guidellm"]);
        has("plan init ", &ifm_plan::TEMPLATES.iter().map(|kind| kind.word).collect::<Vec<_>>());
        has("serve --fault no-u", &["no-usage"]);
        has("serve --fault 429:0.1,st", &["429:0.1,stall:"]);
        has("schema mani", &["manifest"]);
        has("engine --weights bf16,w8a8-", &["bf16,w8a8-static"]);
        has("kernel attention --mask causal,al", &["causal,alibi"]);
        has("completions ", &["bash", "zsh", "fish"]);
        has("as vllm bench serve --num-pro", &["--num-prompts"]);
        has("bench serve --num-pro", &["--num-prompts"]);
        has("help sw", &["sweep"]);
    }

    #[test]
    fn files_are_offered_where_a_file_is_meant() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("results")).expect("a folder");
        std::fs::write(folder.path().join("result.json"), "").expect("a file");
        let start = format!("{}/res", folder.path().display());
        let both = [format!("{start}ult.json"), format!("{start}ults/")];
        for command in ["import", "audit", "report -o", "run --facts", "run -W custom:"] {
            let gap = if command.ends_with(':') { "" } else { " " };
            let prefix = command.strip_prefix("run -W ").unwrap_or_default();
            let expected: Vec<String> = both.iter().map(|path| format!("{prefix}{path}")).collect();
            assert_eq!(at(&format!("{command}{gap}{start}")), expected, "{command}");
        }
        assert_eq!(at(&format!("run --store {start}")), both[1..]);
        assert!(at(&format!("run --seed {start}")).is_empty());
    }

    #[test]
    fn what_bash_replaces_is_the_rest_of_the_word_behind_its_breaks() {
        for (text, replaced, candidate, expected) in [
            ("inferometer run --slo=ch", "ch", "--slo=chat", "chat"),
            ("inferometer run --slo=", "=", "--slo=chat", "chat"),
            ("inferometer run --api custom:g", "g", "custom:gemini", "gemini"),
            ("inferometer run --api custom:", ":", "custom:gemini", "gemini"),
            ("inferometer report my", "my", "my run", "my\\ run"),
            ("inferometer report 'my", "'my", "my run", "my run"),
            ("inferometer run --slo 'ttft:p9", "'ttft:p9", "ttft:p99<", "ttft:p99<"),
        ] {
            let line = Line::read(text);
            assert_eq!(line.for_bash(candidate, replaced), expected, "{text}");
        }
    }
}
