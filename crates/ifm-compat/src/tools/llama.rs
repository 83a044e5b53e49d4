//! llama.cpp's `llama-bench` and `llama-batched-bench`: an engine without a server.

use crate::draft::Draft;
use crate::table::Given;

/// Flags of llama.cpp alone, which its own tool takes, by their names in its table.
const OF_LLAMA: [&str; 26] = [
    "--numa",
    "--prio",
    "--cpu-mask",
    "--cpu-strict",
    "--poll",
    "--n-gpu-layers",
    "--n-cpu-moe",
    "--split-mode",
    "--main-gpu",
    "--no-kv-offload",
    "--flash-attn",
    "--device",
    "--mmap",
    "--direct-io",
    "--load-mode",
    "--lazy-mode",
    "--embeddings",
    "--tensor-split",
    "--override-tensor",
    "--no-op-offload",
    "--no-host",
    "--repack",
    "--rpc",
    "--fit-target",
    "--fit-ctx",
    "--hf-repo",
];

/// The models that are files, which have to be there.
fn models(given: &Given, draft: &mut Draft) {
    for model in given.all("--model").into_iter().filter(|model| model.ends_with(".gguf")) {
        draft.reads("-m", model);
    }
}

/// What the flags of `llama-bench` mean together.
pub fn bench(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    models(given, draft);
    let by_its_tool = draft.has("--llama-bench");
    for flag in OF_LLAMA.into_iter().chain(["--hf-file", "--hf-token"]) {
        for value in given.all(flag) {
            match by_its_tool {
                true => draft.add(flag, value),
                false => draft.leave_out(
                    flag,
                    "only llama.cpp has it; --llama-bench in the line measures with its own tool",
                ),
            }
        }
    }
    if !by_its_tool {
        draft.differs(
            "the embedded engine computes, on the processor: its kernels are not llama.cpp's; with \
             --llama-bench in the line llama.cpp's own tool does",
        );
    }
    draft.differs(
        "a repeat that another process disturbed is measured again; llama-bench counts it; \
         --keep-disturbed counts it too",
    );
    Ok(())
}

/// What the flags of `llama-batched-bench` mean together.
pub fn batched(given: &mut Given, draft: &mut Draft) -> Result<(), String> {
    models(given, draft);
    let list = |flag: &str, name: &str| match given.list(flag) {
        list if list.is_empty() => Err(format!("llama-batched-bench needs {flag}: {name}")),
        list => Ok(list),
    };
    for prompt in list("-npp", "prompt tokens")? {
        if prompt == "0" {
            draft.leave_out("-npp 0", "a batch here has a prompt of one token at least");
            continue;
        }
        for generated in list("-ntg", "generated tokens")? {
            for sequences in list("-npl", "sequences")? {
                draft.add("--static", format!("{sequences}x{prompt}/{generated}"));
            }
        }
    }
    if !draft.has("--static") {
        return Err("llama-batched-bench has no batch with a prompt: -npp 1 or more".to_owned());
    }
    draft.assume("--repetitions", "1");
    if given.last("--output-format") == Some("jsonl") {
        draft.switch("--json");
        draft.differs("--output-format jsonl: one JSON document in inferometer's format, with the same figures");
    }
    draft.differs(
        "the first of a sequence's tokens is computed with its prompt, so that a batch of N tokens has \
         N - 1 steps; llama-batched-bench times N steps after the prompt",
    );
    Ok(())
}
