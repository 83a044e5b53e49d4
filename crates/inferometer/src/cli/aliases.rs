//! Command lines of other tools: `bench serve …` runs as typed from habit.
//!
//! Most foreign flags are plain aliases where our flags are defined. Here is the rest: words that
//! name a foreign command, and flags that have another form or no meaning here.

use serde_json::{Map, Value, json};

/// Flags of vLLM's client that `run` takes as they are.
const TAKEN: &[&str] = &[
    "--base-url",
    "--burstiness",
    "--custom-output-len",
    "--dataset-name",
    "--dataset-path",
    "--endpoint",
    "--extra-body",
    "--goodput",
    "--hf-output-len",
    "--host",
    "--ignore-eos",
    "--input-len",
    "--label",
    "--max-concurrency",
    "--model",
    "--num-prompts",
    "--num-warmups",
    "--output-len",
    "--port",
    "--random-input-len",
    "--random-output-len",
    "--random-prefix-len",
    "--random-range-ratio",
    "--request-rate",
    "--seed",
    "--served-model-name",
    "--sharegpt-output-len",
    "--temperature",
    "--tokenizer",
];

/// What becomes of a flag that `run` does not take as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A flag of ours, by another name.
    Is(&'static str),
    /// A flag of ours once for each `NAME=VALUE`, with this between name and value.
    Each(&'static str, &'static str),
    /// A field of the request body.
    Body(&'static str),
    /// Nothing that we measure changes; what leaving it out means. Whether a value follows.
    LeftOut(bool, &'static str),
}

/// Flags of vLLM's client that have another form here, or no meaning.
const CHANGED: &[(&str, Form)] = &[
    ("--append-result", Form::LeftOut(false, "every run is stored anyway")),
    ("--backend", Form::LeftOut(true, "")),
    ("--disable-tqdm", Form::LeftOut(false, "")),
    ("--endpoint-type", Form::LeftOut(true, "")),
    ("--frequency-penalty", Form::Body("frequency_penalty")),
    ("--header", Form::Each("--header", ": ")),
    ("--metadata", Form::Each("--tag", "=")),
    ("--metric-percentiles", Form::LeftOut(true, "percentiles are 50, 90, 95 and 99")),
    ("--min-p", Form::Body("min_p")),
    ("--percentile-metrics", Form::LeftOut(true, "all metrics are shown")),
    ("--presence-penalty", Form::Body("presence_penalty")),
    ("--profile", Form::LeftOut(false, "server-side profiling is not started")),
    ("--ready-check-timeout-sec", Form::LeftOut(true, "")),
    ("--repetition-penalty", Form::Body("repetition_penalty")),
    ("--request-id-prefix", Form::LeftOut(true, "")),
    ("--result-dir", Form::LeftOut(true, "the run is stored; `export --as vllm` writes the file")),
    ("--result-filename", Form::LeftOut(true, "the run is stored; `export` writes the file")),
    ("--save-detailed", Form::LeftOut(false, "every request is stored anyway")),
    ("--save-result", Form::LeftOut(false, "every run is stored anyway")),
    ("--sonnet-input-len", Form::Is("--input-len")),
    ("--sonnet-output-len", Form::Is("--output-len")),
    ("--tokenizer-mode", Form::LeftOut(true, "")),
    ("--top-k", Form::Body("top_k")),
    ("--top-p", Form::Body("top_p")),
    ("--trust-remote-code", Form::LeftOut(false, "no remote code is run")),
];

/// Words rewritten to ours, and a warning for each flag that was left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The words to parse, program name first.
    pub words: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Whether these are the words of vLLM's client.
pub fn is_bench_serve(words: &[String]) -> bool {
    matches!(words, [_, bench, serve, ..] if bench == "bench" && serve == "serve")
}

/// The help of `bench serve`, where that is asked for.
pub fn help(words: &[String]) -> Option<String> {
    let is_asked = |word: &String| word == "-h" || word == "--help";
    (is_bench_serve(words) && words.iter().any(is_asked)).then(|| {
        format!(
            "Run a command line of `vllm bench serve` as `inferometer run`, with vLLM's defaults:\n\
             1,000 random prompts of 1,024 tokens in and 128 out, all at once, and the completions API\n\
             unless the backend or the endpoint says chat\n\nUsage: inferometer bench serve \
             [FLAGS]\n\n{}\nFlags of `inferometer run` work too: inferometer run --help\n",
            flags()
        )
    })
}

/// The flags of vLLM's client that are taken, in lines.
pub fn flags() -> String {
    let named = |is: fn(Form) -> bool| {
        CHANGED.iter().filter(move |(_, form)| is(*form)).map(|(name, _)| *name)
    };
    let mut taken: Vec<&str> =
        TAKEN.iter().copied().chain(named(|form| !matches!(form, Form::LeftOut(..)))).collect();
    taken.sort_unstable();
    let left_out: Vec<&str> = named(|form| matches!(form, Form::LeftOut(..))).collect();
    format!(
        "Flags of `vllm bench serve` that are taken:\n{}Taken and left out, since they change \
         nothing that is measured:\n{}",
        lines(&taken),
        lines(&left_out)
    )
}

/// Words in lines of at most 96 columns, indented by two.
fn lines(words: &[&str]) -> String {
    const WIDTH: usize = 96;
    let mut lines = vec![String::new()];
    for word in words {
        if lines.last().is_some_and(|line| line.len() + word.len() > WIDTH) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(&format!(" {word}"));
        }
    }
    lines.iter().map(|line| format!(" {line}\n")).collect()
}

/// Rewrites a command line of vLLM's client; any other is left as it is.
pub fn rewrite(words: Vec<String>) -> Rewritten {
    if !is_bench_serve(&words) {
        return Rewritten { words, warnings: Vec::new() };
    }
    let mut warnings = Vec::new();
    let mut rewritten = vec![words[0].clone(), "run".to_owned()];
    let mut body = Map::new();
    let mut rest = words[3..].iter().cloned().peekable();
    while let Some(word) = rest.next() {
        let (name, mut value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.clone(), None),
        };
        // All at once: what a closed loop of as many users does.
        if name == "--request-rate" {
            let is_inf = value.as_deref().or(rest.peek().map(String::as_str)) == Some("inf");
            if is_inf {
                if value.is_none() {
                    rest.next();
                }
                continue;
            }
        }
        let Some((_, form)) = CHANGED.iter().find(|(changed, _)| *changed == name) else {
            rewritten.push(word);
            continue;
        };
        let mut next = || value.take().or_else(|| rest.next());
        match form {
            Form::Is(ours) => {
                rewritten.push((*ours).to_owned());
                rewritten.extend(next());
            }
            Form::Body(field) => {
                let text = next().unwrap_or_default();
                body.insert((*field).to_owned(), text.parse().unwrap_or(json!(text)));
            }
            Form::LeftOut(takes_value, effect) => {
                if *takes_value {
                    next();
                }
                if !effect.is_empty() {
                    warnings.push(format!("{name} is left out: {effect}"));
                }
            }
            Form::Each(ours, sign) => {
                let mut pairs: Vec<String> = value.into_iter().collect();
                while let Some(pair) = rest.next_if(|word| !word.starts_with('-')) {
                    pairs.push(pair);
                }
                for pair in pairs {
                    // A header may stand in our own form already.
                    let pair = match pair.contains(": ") {
                        true => pair,
                        false => pair.replacen('=', sign, 1),
                    };
                    rewritten.extend([(*ours).to_owned(), pair]);
                }
            }
        }
    }
    add_body(&mut rewritten, body, &mut warnings);
    add_defaults(&words, &mut rewritten);
    Rewritten { words: rewritten, warnings }
}

/// Adds fields to `--extra-body`; what the user wrote there counts.
fn add_body(rewritten: &mut Vec<String>, mut body: Map<String, Value>, warnings: &mut Vec<String>) {
    if body.is_empty() {
        return;
    }
    let is_body = |word: &str| word == "--extra-body" || word == "--extra-request-body";
    let given = rewritten
        .iter()
        .position(|word| is_body(word.split('=').next().unwrap_or(word)))
        .map(|place| match rewritten[place].split_once('=') {
            Some((_, value)) => (place, 1, value.to_owned()),
            None => (place, 2, rewritten.get(place + 1).cloned().unwrap_or_default()),
        });
    if let Some((place, words, text)) = given {
        let Ok(Value::Object(fields)) = serde_json::from_str(&text) else {
            let names: Vec<&str> = body.keys().map(String::as_str).collect();
            warnings
                .push(format!("--extra-body is not an object here: {} left out", names.join(", ")));
            return;
        };
        body.extend(fields);
        rewritten.drain(place..(place + words).min(rewritten.len()));
    }
    rewritten.extend(["--extra-body".to_owned(), Value::Object(body).to_string()]);
}

/// vLLM's own defaults: 1,000 prompts, all at once, completions unless told otherwise, random
/// prompts of 1,024 tokens in and 128 out.
fn add_defaults(words: &[String], rewritten: &mut Vec<String>) {
    let value_of = |name: &str| {
        let place = words.iter().position(|word| word.split('=').next() == Some(name))?;
        match words[place].split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None => words.get(place + 1).cloned(),
        }
    };
    let has = |names: &[&str]| {
        words.iter().any(|word| names.contains(&word.split('=').next().unwrap_or(word)))
    };
    let mut add = |name: &str, value: &str| rewritten.extend([name.to_owned(), value.to_owned()]);
    if !has(&["--num-prompts", "--requests", "-n", "--duration"]) {
        add("--requests", "1000");
    }
    let is_rate = value_of("--request-rate").is_some_and(|rate| rate != "inf");
    if !is_rate && !has(&["--max-concurrency", "--concurrency", "-c"]) {
        add("--concurrency", &value_of("--num-prompts").unwrap_or_else(|| "1000".to_owned()));
    }
    let backend = value_of("--backend").or(value_of("--endpoint-type")).unwrap_or_default();
    if !has(&["--endpoint", "--api"]) {
        add("--api", if backend.contains("chat") { "chat" } else { "completions" });
    }
    if !has(&["--dataset-name", "--dataset-path", "--workload", "-W"]) {
        add("--dataset-name", "random");
    }
    if has(&["--random-range-ratio"]) {
        add("--range-ratio-of", "vllm");
    }
    if !has(&["--format", "--json"]) {
        add("--format", "vllm");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn our_own_words_stay() {
        let own = words("inferometer run http://h -c 2 --profile");
        assert_eq!(rewrite(own.clone()), Rewritten { words: own, warnings: vec![] });
    }

    #[test]
    fn a_pasted_vllm_command_becomes_a_run() {
        let typed = words(
            "inferometer bench serve --backend openai-chat --endpoint /v1/chat/completions \
             --base-url http://h:1 --model m --dataset-name random --random-input-len 32 \
             --random-output-len 16 --num-prompts 12 --max-concurrency 4 --ignore-eos \
             --percentile-metrics ttft,tpot --save-result --profile",
        );
        let rewritten = rewrite(typed);
        let expect = words(
            "inferometer run --endpoint /v1/chat/completions --base-url http://h:1 --model m \
             --dataset-name random --random-input-len 32 --random-output-len 16 --num-prompts 12 --max-concurrency 4 \
             --ignore-eos --format vllm",
        );
        assert_eq!(rewritten.words, expect);
        assert_eq!(rewritten.warnings.len(), 3);
    }

    #[test]
    fn what_vllm_would_assume_is_assumed() {
        let rewritten = rewrite(words("inferometer bench serve --model m --num-prompts 50"));
        let text = rewritten.words.join(" ");
        assert!(text.contains("--concurrency 50") && text.contains("--api completions"), "{text}");
        assert!(text.contains("--dataset-name random"), "{text}");
        let rated = rewrite(words("inferometer bench serve --num-prompts 50 --request-rate 5"));
        assert!(!rated.words.contains(&"--concurrency".to_owned()), "{rated:?}");
    }

    /// What people paste: all but the last, which needs a data set of the hub, are runs.
    const TYPICAL: &[&str] = &[
        "--backend vllm --model meta-llama/Llama-3.1-8B-Instruct --endpoint /v1/completions \
         --dataset-name sharegpt --dataset-path s.json --num-prompts 10",
        "--backend openai-chat --base-url http://h:8000 --endpoint /v1/chat/completions --model m \
         --dataset-name random --random-input-len 1000 --random-output-len 100 --request-rate 10 \
         --num-prompts 200 --max-concurrency 32 --seed 42 --save-result --result-dir r \
         --result-filename x.json",
        "--model m --ignore-eos --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles \
         50,90,99 --goodput ttft:500 tpot:50 --burstiness 0.8 --request-rate 4 --num-prompts 20",
        "--model m --temperature 0.7 --top-p 0.9 --top-k=20 --repetition-penalty 1.05 \
         --extra-body {\"top_k\":40} --request-rate inf --max-concurrency 8",
        "--host 127.0.0.1 --port 8000 --model m --tokenizer cl100k_base --tokenizer-mode auto \
         --trust-remote-code --num-warmups 2 --header x-team=a --metadata gpu=L40S tp=2",
        "--backend openai-chat --model m --dataset-name hf --dataset-path lmarena-ai/VisionArena \
         --hf-split train --num-prompts 10",
    ];

    #[test]
    fn typical_commands_are_runs() {
        let run = |text: &str| rewrite(words(&format!("inferometer bench serve {text}"))).words;
        let parsed: Vec<bool> =
            TYPICAL.iter().map(|text| super::super::parse(&run(text)).is_ok()).collect();
        assert_eq!(parsed, [true, true, true, true, true, false]);
        let sampled = run(TYPICAL[3]);
        let body: Value = serde_json::from_str(
            &sampled[sampled.iter().position(|word| word == "--extra-body").unwrap() + 1],
        )
        .unwrap();
        assert_eq!(body, json!({"top_p": 0.9, "top_k": 40, "repetition_penalty": 1.05}));
        let told = run(TYPICAL[4]).join(" ");
        assert!(told.contains("--header x-team: a --tag gpu=L40S --tag tp=2"), "{told}");
    }

    #[test]
    fn the_help_names_what_is_taken() {
        let help = help(&words("inferometer bench serve --help")).unwrap();
        let run = super::super::command();
        let run = run.find_subcommand("run").unwrap();
        let known: Vec<String> = run
            .get_arguments()
            .flat_map(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long().into_iter().chain(aliases).map(|name| format!("--{name}"))
            })
            .collect();
        for name in TAKEN {
            assert!(known.iter().any(|known| known == name), "run has no {name}");
        }
        let named = TAKEN.iter().copied().chain(CHANGED.iter().map(|(name, _)| *name));
        for name in named {
            assert!(help.split_whitespace().any(|word| word == name), "{name}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        assert_eq!(super::help(&words("inferometer run --help")), None);
    }
}
