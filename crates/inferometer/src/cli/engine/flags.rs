//! llama-bench's flags: short ones are words after one dash, and those that only llama.cpp has are
//! passed on to it.

/// Short flags that are inferometer flags.
const OURS: &[(&str, &str)] = &[
    ("-pg", "--prompt-gen"),
    ("-ub", "--ubatch-size"),
    ("-ctk", "--cache-type-k"),
    ("-ctv", "--cache-type-v"),
    ("-oe", "--output-err"),
];

/// Flags with one value that set something only in llama.cpp.
const OF_LLAMA: &[&str] = &[
    "--cpu-mask",
    "--cpu-strict",
    "--device",
    "--direct-io",
    "--embeddings",
    "--fit-ctx",
    "--fit-target",
    "--flash-attn",
    "--hf-file",
    "--hf-repo",
    "--hf-token",
    "--lazy-mode",
    "--load-mode",
    "--main-gpu",
    "--mmap",
    "--n-cpu-moe",
    "--n-gpu-layers",
    "--no-host",
    "--no-kv-offload",
    "--no-op-offload",
    "--numa",
    "--override-tensor",
    "--poll",
    "--prio",
    "--repack",
    "--rpc",
    "--split-mode",
    "--tensor-split",
    "-C",
    "-dev",
    "-dio",
    "-embd",
    "-fa",
    "-fitc",
    "-fitt",
    "-hf",
    "-hff",
    "-hfr",
    "-hft",
    "-lm",
    "-lzm",
    "-mg",
    "-mmp",
    "-ncmoe",
    "-ngl",
    "-nkvo",
    "-noh",
    "-nopo",
    "-ot",
    "-rpc",
    "-rpk",
    "-sm",
    "-ts",
];

/// Flags for what is reported here anyway.
const TOLD_ANYWAY: &[&str] = &["--progress", "--verbose", "-v"];

/// inferometer's flag for what is passed on.
const HANDED_ON: &str = "--llama-flag";

/// Rewrites llama-bench's flags in a command line as inferometer's; leaves others unchanged.
pub fn spelled_out(words: Vec<String>) -> Vec<String> {
    if words.get(1).map(String::as_str) != Some("engine") {
        return words;
    }
    let mut spelled = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        if OF_LLAMA.contains(&flag) {
            let value = value.or_else(|| words.next());
            spelled.push(format!("{HANDED_ON}={flag}={}", value.unwrap_or_default()));
        } else if let Some((_, ours)) = OURS.iter().find(|(short, _)| *short == word) {
            spelled.push((*ours).to_owned());
        } else if !TOLD_ANYWAY.contains(&word.as_str()) {
            spelled.push(word);
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_llama_bench_is_taken() {
        let line =
            "inferometer engine -m x.gguf -ngl 99 -fa 1 -p 512 -pg 8,4 --mmap=0 --progress -v";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let expected = "inferometer engine -m x.gguf --llama-flag=-ngl=99 --llama-flag=-fa=1 -p 512 \
                        --prompt-gen 8,4 --llama-flag=--mmap=0";
        assert_eq!(spelled_out(words).join(" "), expected);
        let other: Vec<String> = ["inferometer", "run", "-fa"].map(str::to_owned).to_vec();
        assert_eq!(spelled_out(other.clone()), other);
    }
}
