//! What `-h` shows of a command: the common flags on one screen, and examples.
//!
//! `--help` is the long form and shows all. Not here: the flags, which are with their commands.

use clap::Command;

/// The arguments that `-h` shows for commands that have more than a screen of them.
pub const EVERYDAY: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "url",
            "model",
            "workload",
            "concurrency",
            "rate",
            "requests",
            "duration",
            "slo",
            "name",
            "out",
            "json",
        ],
    ),
    (
        "sweep",
        &[
            "url",
            "model",
            "workload",
            "concurrency",
            "rate",
            "requests",
            "duration",
            "repeat",
            "slo",
            "name",
            "out",
            "json",
        ],
    ),
    (
        "capacity",
        &[
            "url",
            "model",
            "workload",
            "by",
            "slo",
            "max_users",
            "max_rate",
            "precision",
            "requests",
            "users_think",
            "target_users",
            "price",
            "name",
            "out",
            "json",
        ],
    ),
    (
        "gate",
        &[
            "run",
            "load",
            "baseline",
            "interleave",
            "thresholds",
            "max",
            "min",
            "inconclusive",
            "junit",
            "init",
            "json",
        ],
    ),
    ("predict", &["gpu", "model", "calibration", "workload", "concurrency", "vary", "slo", "json"]),
    ("serve-simulated", &["gpu", "model", "quant", "tp", "calibration", "time_scale", "replicas"]),
    (
        "calibrate",
        &["url", "from", "gpu", "model", "config", "quant", "points", "held_out", "name", "json"],
    ),
    (
        "engine",
        &[
            "models",
            "weights",
            "url",
            "adapter",
            "llama_bench",
            "threads",
            "n_prompt",
            "n_gen",
            "n_depth",
            "prompt_gen",
            "batches",
            "preset",
            "repetitions",
            "output",
            "json",
            "name",
        ],
    ),
    (
        "kernel attention",
        &[
            "kernels",
            "masks",
            "sizes",
            "types",
            "passes",
            "preset",
            "python",
            "threads",
            "repeats",
            "reference",
            "check_only",
            "list",
            "name",
            "out",
            "json",
        ],
    ),
    (
        "kernel gemm",
        &["provider", "sizes", "types", "python", "threads", "repeats", "name", "json"],
    ),
    (
        "kernel bandwidth",
        &["provider", "kinds", "bytes", "python", "threads", "repeats", "name", "json"],
    ),
    (
        "exec",
        &[
            "command",
            "steps",
            "tokens",
            "loss",
            "json_lines",
            "skip_steps",
            "repeat",
            "timeout",
            "name",
            "tags",
            "out",
            "json",
        ],
    ),
];

/// Examples of each command, without the program's name.
pub const EXAMPLES: &[(&str, &[&str])] = &[
    ("sweep", &["sweep http://127.0.0.1:8000 -c 1,8,32 -W 1024/256 --slo 'ttft:p99<500ms'"]),
    ("capacity", &["capacity http://127.0.0.1:8000 --slo 'ttft:p99<500ms,itl:p99<50ms'"]),
    (
        "predict",
        &[
            "predict --gpu l40s -m llama-3.1-8b -W 1024/256 -c 1..64",
            "predict --calibration mine --against last",
            "predict -m llama-3.1-8b --vary gpu=l40s,h100-sxm --vary quant=bf16,fp8 --price 2",
        ],
    ),
    (
        "calibrate",
        &[
            "calibrate http://127.0.0.1:8000 --gpu l40s -m llama-3.1-8b --name mine",
            "calibrate --from results.json --gpu l40s -m llama-3.1-8b --loads 1,4",
        ],
    ),
    ("probe", &["probe http://127.0.0.1:8000"]),
    ("compare", &["compare before after", "compare a1,a2,a3 b1,b2,b3 --json"]),
    ("rank", &["rank base int8 fp8 --metric ttft.p99"]),
    ("gate", &["gate last --baseline main --max ttft.p99=+5% --min out_tok_s=-3%"]),
    (
        "as",
        &[
            "as vllm bench serve --base-url http://127.0.0.1:8000 --model m --num-prompts 100 --save-result",
        ],
    ),
    (
        "translate",
        &["translate vllm bench serve --base-url http://127.0.0.1:8000 --model m --request-rate 5"],
    ),
    (
        "history",
        &["history nightly -o nights.html", "history nightly --metric itl.p50 --per commit"],
    ),
    ("import", &["import results.json", "import results/ --name monday", "import - < console.txt"]),
    ("export", &["export last --as vllm -o result.json"]),
    ("audit", &["audit results.json", "audit results/ --gpu l40s --json", "audit last"]),
    ("facts", &["facts", "facts -o facts.json --server-pid 4711"]),
    ("limit", &["limit --gpu l40s -m llama-3.1-8b --measured itl=22.2ms@1"]),
    (
        "engine",
        &[
            "engine -m model.gguf -p 512 -n 128 -t 1,2",
            "engine -m tiny --weights bf16,w8a8,w4a16 --preset quick -o report.html",
            "engine --url http://127.0.0.1:8000 -p 2048 -n 32 -d 0,4096 -o md",
        ],
    ),
    (
        "kernel",
        &[
            "kernel attention --mask causal,sliding:256 --size 1x8x2048x64 -o kernels.html",
            "kernel attention --preset gym --python torch/bin/python",
            "kernel gemm --type f32,bf16 --size 1024,4096",
            "kernel bandwidth --bytes 64K,4M,1G",
        ],
    ),
    (
        "exec",
        &[
            "exec -- python train.py",
            "exec --steps 'step[:=](\\d+)' --loss 'loss[:=](\\S+)' --skip-steps 10 -- python train.py",
            "exec --repeat 3 --name lora --json-lines step=.step,loss=.loss -- ./train.sh",
        ],
    ),
    ("report", &["report last -o report.html", "report results/ --format md"]),
];

/// Examples of a command, one per line.
pub fn examples(name: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(command, _)| *command == name)?;
    let line = |example: &&str| format!("  inferometer {example}\n");
    Some(format!("Examples:\n{}", examples.iter().map(line).collect::<String>()))
}

/// Hides rarely needed flags from `-h`, and adds the examples.
pub fn apply(mut command: Command) -> Command {
    for (path, shown) in EVERYDAY {
        let only = |sub: Command| {
            sub.mut_args(|arg| {
                let is_shown = shown.contains(&arg.get_id().as_str());
                // A flag that is hidden everywhere stays hidden.
                let is_hidden = arg.is_hide_set();
                arg.hide_short_help(!is_shown || is_hidden)
            })
        };
        command = match path.split_once(' ') {
            None => command.mut_subcommand(path, only),
            Some((group, name)) => {
                command.mut_subcommand(group, |group| group.mut_subcommand(name, only))
            }
        };
    }
    for (name, _) in EXAMPLES {
        command = command.mut_subcommand(name, |sub| match examples(name) {
            Some(text) if sub.get_after_help().is_none() => {
                sub.after_help(text.trim_end().to_owned())
            }
            _ => sub,
        });
    }
    command
}
