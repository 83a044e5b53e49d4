//! Command lines of other tools: `bench serve …` runs as typed from habit.
//!
//! Most foreign flags are plain aliases where our flags are defined. Here is the rest: words that
//! name a foreign command, and flags that mean nothing to us, which are taken out with a word on
//! what that changes.

/// Flags of other tools that change nothing that we measure: name, whether a value follows, and
/// what leaving them out means.
const IGNORED: &[(&str, bool, &str)] = &[
    ("--backend", true, ""),
    ("--disable-tqdm", false, ""),
    ("--endpoint-type", true, ""),
    ("--metric-percentiles", true, "percentiles are 50, 90, 95 and 99"),
    ("--percentile-metrics", true, "all metrics are shown"),
    ("--profile", false, "server-side profiling is not started"),
    ("--ready-check-timeout-sec", true, ""),
    ("--save-detailed", false, "every request is stored anyway"),
    ("--save-result", false, "every run is stored anyway"),
    ("--trust-remote-code", false, "no remote code is run"),
];

/// Words rewritten to ours, and a warning for each flag that was left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The words to parse, program name first.
    pub words: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Rewrites a command line of vLLM's client; any other is left as it is.
pub fn rewrite(words: Vec<String>) -> Rewritten {
    let is_bench = words.get(1).is_some_and(|word| word == "bench")
        && words.get(2).is_some_and(|word| word == "serve");
    if !is_bench {
        return Rewritten { words, warnings: Vec::new() };
    }
    let value_of = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1).cloned()
    };
    let has = |names: &[&str]| {
        words.iter().any(|word| names.contains(&word.split('=').next().unwrap_or(word)))
    };
    let mut warnings = Vec::new();
    let mut rewritten = vec![words[0].clone(), "run".to_owned()];
    let mut rest = words[3..].iter().peekable();
    while let Some(word) = rest.next() {
        // All at once: what a closed loop of as many users does.
        if word == "--request-rate=inf" {
            continue;
        }
        if word == "--request-rate" && rest.next_if(|value| *value == "inf").is_some() {
            continue;
        }
        let (name, has_value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word.as_str(), false),
        };
        match IGNORED.iter().find(|(ignored, ..)| *ignored == name) {
            Some((_, takes_value, effect)) => {
                if *takes_value && !has_value {
                    rest.next();
                }
                if !effect.is_empty() {
                    warnings.push(format!("{name} is left out: {effect}"));
                }
            }
            None => rewritten.push(word.clone()),
        }
    }
    // vLLM's own defaults: 1,000 prompts, all at once, completions unless told otherwise,
    // random prompts of 1,024 tokens in and 128 out.
    if !has(&["--num-prompts", "--requests", "-n", "--duration"]) {
        rewritten.extend(["--requests".to_owned(), "1000".to_owned()]);
    }
    if !has(&["--max-concurrency", "--concurrency", "-c"]) {
        let all = value_of("--num-prompts").unwrap_or_else(|| "1000".to_owned());
        rewritten.extend(["--concurrency".to_owned(), all]);
    }
    let backend = value_of("--backend").or(value_of("--endpoint-type")).unwrap_or_default();
    if !has(&["--endpoint", "--api"]) {
        let api = if backend.contains("chat") { "chat" } else { "completions" };
        rewritten.extend(["--api".to_owned(), api.to_owned()]);
    }
    if !has(&["--dataset-name", "--dataset-path", "--workload", "-W"]) {
        rewritten.extend(["--dataset-name".to_owned(), "random".to_owned()]);
    }
    if has(&["--random-range-ratio"]) {
        rewritten.extend(["--range-ratio-of".to_owned(), "vllm".to_owned()]);
    }
    if !has(&["--format", "--json"]) {
        rewritten.extend(["--format".to_owned(), "vllm".to_owned()]);
    }
    Rewritten { words: rewritten, warnings }
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
    }
}
