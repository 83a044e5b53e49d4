//! llama-bench's short flags, which are words behind one dash.

/// Flags of llama-bench that are more than a letter behind one dash, and ours.
pub const FOREIGN: &[(&str, &str)] = &[
    ("-pg", "--prompt-gen"),
    ("-ub", "--ubatch-size"),
    ("-ctk", "--cache-type-k"),
    ("-ctv", "--cache-type-v"),
    ("-oe", "--output-err"),
    ("-hf", "--hf-repo"),
    ("-hfr", "--hf-repo"),
    ("-hff", "--hf-file"),
    ("-hft", "--hf-token"),
    ("-ngl", "--n-gpu-layers"),
    ("-ncmoe", "--n-cpu-moe"),
    ("-sm", "--split-mode"),
    ("-mg", "--main-gpu"),
    ("-nkvo", "--no-kv-offload"),
    ("-fa", "--flash-attn"),
    ("-dev", "--device"),
    ("-lzm", "--lazy-mode"),
    ("-lm", "--load-mode"),
    ("-mmp", "--mmap"),
    ("-dio", "--direct-io"),
    ("-embd", "--embeddings"),
    ("-ts", "--tensor-split"),
    ("-ot", "--override-tensor"),
    ("-nopo", "--no-op-offload"),
    ("-rpk", "--repack"),
    ("-fitt", "--fit-target"),
    ("-fitc", "--fit-ctx"),
    ("-rpc", "--rpc"),
];

/// The words with llama-bench's short flags spelled out.
pub fn spelled_out(words: Vec<String>) -> Vec<String> {
    if words.get(1).map(String::as_str) != Some("engine") {
        return words;
    }
    let of = |word: String| {
        let known = FOREIGN.iter().find(|(short, _)| *short == word);
        known.map_or(word, |(_, long)| (*long).to_owned())
    };
    words.into_iter().map(of).collect()
}
