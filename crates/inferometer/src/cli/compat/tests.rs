//! Lines of other tools, their tables of flags, and their translations, all compared with inferometer's own
//! command line.

use super::*;
use ifm_compat::{Takes, tools, translate};
use serde::Deserialize;

/// A typed command.
fn typed(draft: &Draft) -> String {
    shell::joined(&draft.words())
}

fn line(text: &str) -> shell::Line {
    shell::split(text, |_| None).unwrap()
}

fn translated(text: &str) -> Translation {
    translate(line(text), &ours).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

/// The command of a line, parsed by inferometer's own parser.
fn parsed(text: &str) -> String {
    static COMMAND: OnceLock<Command> = OnceLock::new();
    let draft = translated(text).draft;
    let words = super::super::engine::spelled_out(draft.words());
    let command = COMMAND.get_or_init(super::super::command);
    // The command alone: building all of them for each line would be slow.
    let command = command.find_subcommand(&words[1]).unwrap().clone();
    if let Err(error) = command.try_get_matches_from(&words[1..]) {
        panic!("{text}\n{}\n{error}", typed(&draft));
    }
    typed(&draft)
}

fn said(text: &str) -> String {
    let refused = translate(line(text), &ours).map(|it| typed(&it.draft)).expect_err(text);
    super::refused(refused).sentence().to_owned()
}

#[derive(Deserialize)]
struct Lines {
    line: Vec<Quoted>,
}

#[derive(Deserialize)]
struct Quoted {
    source: String,
    text: String,
}

fn lines() -> Vec<Quoted> {
    toml::from_str::<Lines>(include_str!("../../../../ifm-compat/src/data/lines.toml"))
        .unwrap()
        .line
}

#[test]
fn the_lines_of_their_documents_are_commands_of_ours() {
    let lines = lines();
    assert!(lines.len() >= 60, "{}", lines.len());
    for Quoted { source, text } in &lines {
        let ours = parsed(text);
        assert!(ours.starts_with("inferometer "), "{source}: {ours}");
    }
}

/// A line of a tool with its required flags.
fn base(table: &Table) -> String {
    let program = table.programs[0].replace("python ", "python3 ");
    let more = match table.tool.as_str() {
        "guidellm" => "--data prompt_tokens=8,output_tokens=8",
        "llama-batched-bench" => "-npp 8 -ntg 8 -npl 1",
        "sglang.bench_one_batch_server" => "--base-url http://127.0.0.1:1",
        "oha" => r#"http://127.0.0.1:1/v1/completions -d '{"prompt": "a", "max_tokens": 8}'"#,
        "inference-perf" => "--config_file CONFIG",
        _ => "",
    };
    format!("{program} {more}")
}

/// Flags that are only valid with another one, and what they need in addition.
const WITH: &[(&str, &str)] = &[
    ("--ramp-up-strategy", "--ramp-up-start-rps 1 --ramp-up-end-rps 10"),
    ("--self-timed", "--dataset-name timed_trace --dataset-path t.jsonl"),
    ("--burstiness", "--request-rate 5"),
    ("--burst-rate", "--burst-delay 2s"),
    ("--mooncake-slowdown-factor", "--dataset-name mooncake --dataset-path t.jsonl"),
    ("--arrival-smoothness", "--request-rate 5 --request-rate-mode gamma"),
    ("--request-rate-mode", "--request-rate 5"),
    ("--fixed-schedule", "--input-file t.jsonl --custom-dataset-type mooncake_trace"),
    ("--fixed-schedule-auto-offset", "--input-file t.jsonl --custom-dataset-type mooncake_trace"),
    ("--fixed-schedule-start-offset", "--input-file t.jsonl --custom-dataset-type mooncake_trace"),
    ("--custom-dataset-type", "--input-file t.jsonl"),
    ("--override", "profile.streams 1,2 --profile kind=concurrent"),
    ("--rate", "--profile concurrent"),
];

#[test]
fn every_row_of_a_table_is_read_and_gives_a_command_that_parses() {
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        config.path(),
        "data: {type: mock}\nload: {type: constant, stages: [{rate: 1, duration: 30}]}\n",
    )
    .unwrap();
    let config = config.path().display().to_string();
    for table in tools().unwrap() {
        assert!(
            table.source.starts_with("https://") && !table.version.is_empty(),
            "{}",
            table.tool
        );
        for (name, row) in &table.flags {
            for name in std::iter::once(name).chain(&row.aliases) {
                let value = row.sample.as_deref().unwrap_or("1");
                let value = match row.takes {
                    Takes::None => String::new(),
                    Takes::Two => row.sample.clone().unwrap_or_default(),
                    _ if value == "c.yml" => config.clone(),
                    // A file that would be read for its body, which is already in the line.
                    _ if value == "BODY" => config.clone(),
                    _ => shell::quoted(value),
                };
                let with = WITH.iter().find(|(flag, _)| flag == name);
                let with = with.map(|(_, with)| *with).unwrap_or_default();
                // A scenario is a file, or a name.
                let base = base(&table).replace("CONFIG", &config);
                let text = match name.as_str() {
                    "-npp" | "-ntg" | "-npl" | "--config_file" | "-d"
                        if table.tool != "llama-bench" =>
                    {
                        base
                    }
                    "--backend" if table.tool == "guidellm" => base,
                    _ => format!("{base} {name} {value} {with}"),
                };
                parsed(&text);
            }
        }
    }
}

#[test]
fn what_a_flag_becomes_is_a_flag_of_ours() {
    for table in tools().unwrap() {
        let has = |flag: &str| {
            ["run", "sweep", "engine"].iter().any(|verb| {
                ours(verb, flag).is_some() || flag == "--lora" || flag == "--llama-bench"
            })
        };
        for (name, row) in &table.flags {
            match &row.becomes {
                Becomes::Is(flag) | Becomes::Each(flag) | Becomes::Header(flag) => {
                    assert!(has(flag), "{} {name}: {flag}", table.tool);
                }
                Becomes::Rule(text) => {
                    let flags = text.split([' ', ',']).filter(|word| word.starts_with("--"));
                    flags.for_each(|flag| assert!(has(flag), "{} {name}: {flag}", table.tool));
                }
                Becomes::None(text) | Becomes::Quiet(text) => {
                    let is_plain = text.len() > 10 && !text.ends_with('.') && !text.contains("—");
                    assert!(is_plain, "{} {name}: {text}", table.tool);
                }
                Becomes::Body(field) => assert!(!field.is_empty(), "{name}"),
            }
        }
        // No name is used for two flags.
        let mut names: Vec<&String> = table
            .flags
            .iter()
            .flat_map(|(name, row)| std::iter::once(name).chain(&row.aliases))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", table.tool);
    }
}

#[test]
fn vllms_line_is_what_it_would_have_done() {
    let text = r#"OPENAI_API_KEY=k CUDA_VISIBLE_DEVICES=0 vllm bench serve --backend openai-chat \
        --base-url http://h:1 --endpoint /v1/chat/completions --model m --dataset_name=random \
        --random-input-len 32 --random-output-len 16 --random-range-ratio 0.2 --num-prompts 12 \
        --max-concurrency 4 --top-p 0.9 --header x-team=a --metadata tp=2 gpu=L40S --profile \
        --save-result --result-dir r --result-filename x.json | tee log"#;
    let translation = translated(text);
    assert_eq!(
        typed(&translation.draft),
        "inferometer run http://h:1 --model m --requests 12 --concurrency 4 --header 'x-team: a' \
         --tag tp=2 --tag gpu=L40S --api chat --workload 'random:32/16?range_ratio=0.2&ratio=vllm' \
         --temperature none --warmup 0 --seed 0 \
         --export 'vllm?backend=openai-chat&metrics=ttft,tpot,itl&percentiles=99&detailed=no:r/x.json' \
         --format vllm --extra-body \
         '{\"top_p\":0.9}'"
    );
    parsed(text);
    assert_eq!(translation.environment.len(), 2);
    assert_eq!(translation.rest.as_deref(), Some("| tee log"));
    let left_out = translation.left_out().unwrap();
    assert!(left_out.contains("--profile (the server's profiler is not started)"), "{left_out}");
    assert_eq!(left_out.matches(" (").count(), 1, "{left_out}");
}

#[test]
fn what_a_client_would_assume_is_assumed() {
    for (text, parts) in [
        (
            "vllm bench serve --model m",
            &["--requests 1000", "--rate inf", "random:1024/128", "--api completions"][..],
        ),
        (
            "vllm bench serve --request-rate 5 --burstiness 0.5",
            &["--rate 5", "--arrivals gamma:0.5"],
        ),
        // 100 requests between 1 and 10 per second: 100 ln(10) / 9 seconds.
        (
            "vllm bench serve --num-prompts 100 --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 10",
            &["--ramp 1-10/25.584s:exp"],
        ),
        (
            "vllm bench serve --dataset-name prefix_repetition --prefix-repetition-prefix-len 100 --prefix-repetition-suffix-len 50",
            &["prefix-repetition:100+50/128?prefixes=10"],
        ),
        (
            "vllm bench serve --request-rate 2.5 --max-concurrency 8 --save-result",
            &["detailed=no:openai-2.5qps-concurrency8-{model}-{date}.json'"],
        ),
        (
            "vllm bench serve --save-result --save-detailed --backend vllm --metric-percentiles 50,99.9 --percentile-metrics e2el --tokenizer t",
            &[
                "--keep-text",
                "'vllm?backend=vllm&metrics=e2el&percentiles=50,99.9&detailed=yes&tokenizer=t:",
            ],
        ),
        (
            "vllm bench serve --dataset-name random-mm --random-mm-bucket-config '{(720, 1280, 1): 0.5, (256, 256, 1): 0.5}'",
            &["image=1280x720:0.5,256x256:0.5&images=1"],
        ),
        ("vllm bench serve --lora-modules a b", &["--model a=1,b=1"]),
        ("vllm bench serve --lora-modules a", &["--model a "]),
        ("vllm bench serve --model 'a b' --num-prompts=5", &["--model 'a b'", "--requests 5"]),
        // Every list in every form that a tool accepts.
        ("genai-perf profile -m a b c --streaming", &["--model a=1,b=1,c=1"]),
        ("aiperf profile --model a --model b", &["--model a=1,b=1"]),
        ("aiperf profile -m a,b,b", &["--model a=1,b=2"]),
        ("aiperf profile -m a --concurrency 1,2", &["inferometer sweep", "--concurrency 1,2"]),
        ("aiperf profile -m a --request-rate 1,2", &["inferometer sweep", "--rate 1,2"]),
        (
            "guidellm benchmark --target http://h:1 --rate-type concurrent --rate 1 2 4 --data prompt_tokens=8,output_tokens=4",
            &["--concurrency 1,2,4"],
        ),
        (
            "guidellm benchmark --target http://h:1 --rate-type constant --rate 1 --rate 2,3 --data prompt_tokens=8,output_tokens=4",
            &["--rate 1,2,3"],
        ),
        (
            "llama-bench -m a.gguf -m b.gguf -p 512,1024 -p 1",
            &["--model a.gguf", "--model b.gguf", "--n-prompt 512,1024", "--n-prompt 1"],
        ),
        (
            "python3 benchmarks/benchmark_serving.py --dataset s.json --num_prompts 5",
            &["sharegpt:s.json", "--requests 5"],
        ),
        (
            "python -m sglang.bench_serving --dataset-name random --random-input 8 --random-output 4 --num-prompt 3 --output-file o.jsonl",
            &[
                "http://127.0.0.1:30000",
                "--api sglang",
                "--seed 42",
                "--warmup 1",
                "--ignore-eos=true",
                "'random:8/4?range_ratio=0&ratio=sglang'",
                "--export-append 'sglang?backend=sglang&detailed=no:o.jsonl'",
                "--format sglang",
            ],
        ),
        (
            "python3 -m sglang.bench_one_batch_server --model None --base-url http://h:1 --batch-size 1 16 --input-len 1024 --output-len 8",
            &["inferometer engine", "--url http://h:1", "--static 1x1024/8", "--static 16x1024/8"],
        ),
        (
            "guidellm benchmark run --target http://h:1 --rate-type concurrent --rate 1,2 --max-requests 5 --data prompt_tokens=8,output_tokens=4",
            &[
                "inferometer sweep http://h:1",
                "--concurrency 1,2",
                "--requests 5",
                "'prompt_tokens=8,output_tokens=4'",
                "--export guidellm:benchmarks.json",
            ],
        ),
        (
            "guidellm run --backend kind=openai_http,target=http://h:1,extras.body.top_k=2 --profile kind=sweep,sweep_size=5 --constraint kind=max_duration,seconds=9 --data kind=synthetic_text,prompt_tokens=8,output_tokens=4 --output kind=html,path=x.html",
            &["--profile sweep", "--points 3", "--duration 9s", "--out x.html", "{\"top_k\":2}"],
        ),
        (
            "aiperf profile -m m -u h:1 --endpoint-type chat --streaming --concurrency 3 --isl 10 --isl-stddev 2 --osl 5 --goodput 'time_to_first_token:100'",
            &[
                "http://h:1",
                "--concurrency 3",
                "--requests 10",
                "'random:normal(10,2)/5'",
                "ttft:p50<100ms",
                "artifacts/{model}-openai-chat-concurrency3/profile_export_aiperf.json",
            ],
        ),
        ("aiperf profile -m m --osl 5", &["--no-stream"]),
        (
            "genai-bench benchmark --api-backend vllm --api-base http://h:1 --api-model-name m --max-time-per-run 2 --traffic-scenario 'D(8,4)' --num-concurrency 1 --num-concurrency 4",
            &[
                "--concurrency 1,4",
                "--duration 120s",
                "'D(8,4)'",
                "genai-bench:vllm_text-to-text_{model}_{date}/",
            ],
        ),
        (
            "oha -n 10k -c 8 -m POST -T application/json -d '{\"model\": \"m\", \"prompt\": \"a b\", \"max_tokens\": 8}' http://h:1/v1/completions",
            &[
                "http://h:1/v1/completions",
                "--requests 10000",
                "--concurrency 8",
                "--model m",
                "openai-batch:",
                "--repeat-prompts",
            ],
        ),
        (
            "./build/bin/llama-bench -m a.gguf -p 512 -n 0 -r 3 -o json",
            &[
                "inferometer engine",
                "--model a.gguf",
                "--n-prompt 512",
                "--n-gen 0",
                "--repetitions 3",
                "--output json",
            ],
        ),
        ("llama-bench -m a.gguf -ngl 99 --llama-bench", &["--n-gpu-layers 99", "--llama-bench"]),
        (
            "llama-batched-bench -m a.gguf -c 2048 -npp 0,128,256 -ntg 32 -npl 1,4 -lzm on --no-repack",
            &["--static 1x128/32", "--static 4x256/32"],
        ),
        (
            "genai-perf profile -m gpt2 --service-kind triton --backend vllm --streaming -u h:1",
            &["http://h:1", "--api triton", "--requests 10"],
        ),
        (
            "inference-perf --data.type mock --load.type poisson --load.stages '[{\"rate\": 2, \"duration\": 9}]'",
            &[
                "inferometer sweep http://127.0.0.1:8000",
                "--rate 2",
                "--arrivals poisson",
                "--duration 9s",
            ],
        ),
    ] {
        let ours = parsed(text);
        for part in parts {
            let plain = part.trim_matches('\'');
            assert!(ours.contains(part) || ours.contains(plain), "{text}\n{ours}\nhas no {part}");
        }
    }
}

#[test]
fn what_is_wrong_is_one_sentence_with_what_was_meant() {
    for (text, part) in [
        (
            "vllm bench serve --num-promts 5",
            "--num-promts is not a flag of vllm bench serve 0.33 or of inferometer run; --num-prompts is the nearest match",
        ),
        // A flag of a newer version.
        ("vllm bench serve --lora-assignments random", "--lora-assignment is the nearest match"),
        ("vllm bench serve --num-prompts", "--num-prompts of vllm bench serve needs a value"),
        ("vllm bench serve --num-prompts ten", "--num-prompts ten is not a whole number"),
        (
            "vllm bench serve --dataset-name sharegpt",
            "--dataset-name sharegpt needs --dataset-path",
        ),
        ("vllm bench serve --backend deepspeed", "--backend deepspeed is not supported"),
        ("vllm bench latency --model m", "inferometer engine --adapter vllm"),
        ("vllm bench throughput --model m", "inferometer engine --adapter vllm"),
        (
            "guidellm run --profile kind=knee --data prompt_tokens=1,output_tokens=1",
            "inferometer capacity",
        ),
        ("wrk -c 5 http://h", "wrk is not a tool whose commands can be translated"),
        ("oha http://h:1/", "is not a supported model API"),
        // A word that belongs to no flag, with the flag before it.
        (
            "vllm bench serve --model base stray --dataset-name random",
            "unrecognized argument \"stray\": --model of vllm bench serve accepts one value",
        ),
        (
            "vllm bench serve --save-result --metric-percentiles 50,x",
            "--metric-percentiles: percentiles=50,x: \"x\"",
        ),
        ("vllm bench serve stray --model m", "\"stray\": vllm bench serve accepts no positional"),
        (
            "vllm bench serve --model m -- stray",
            "\"stray\": vllm bench serve accepts no positional",
        ),
        (
            "vllm bench serve --ignore-eos stray",
            "\"stray\": --ignore-eos of vllm bench serve accepts no value",
        ),
        ("vllm bench serve --save-result=r.json", "--save-result accepts no value"),
        ("llama-bench -m x.gguf stray -p 512", "\"stray\": -m of llama-bench accepts one value"),
        ("llama-batched-bench -m a.gguf -npp 8 -ntg 8 -npl 1 stray", "\"stray\""),
        ("python3 -m sglang.bench_serving --model m stray", "\"stray\""),
        (
            "python3 -m sglang.bench_one_batch_server --base-url http://h:1 --model m stray",
            "\"stray\"",
        ),
        (
            "guidellm benchmark --target http://h:1 stray --data prompt_tokens=1,output_tokens=1",
            "\"stray\"",
        ),
        (
            "genai-bench benchmark --num-concurrency 1 2",
            "\"2\": --num-concurrency of genai-bench accepts one value",
        ),
        ("inference-perf --load.type constant stray", "\"stray\""),
        (
            "aiperf profile -m m --concurrency 1 2",
            "\"2\": --concurrency of aiperf accepts one value",
        ),
        (
            "aiperf profile -m m --concurrency 1 --concurrency 2",
            "--concurrency is given twice: aiperf accepts it once",
        ),
        (
            "aiperf profile -m m --isl 10,20",
            "--isl 10,20: a command of inferometer measures one value",
        ),
        (
            "aiperf profile -m a b --model-selection-strategy best",
            "the strategies are round_robin and random",
        ),
        ("oha http://h:1/v1/completions stray", "\"stray\": oha accepts 1 positional argument"),
        ("oha -n 5 -n 6 http://h:1/v1/completions", "-n is given twice"),
        (
            "guidellm benchmark --target http://h:1 --rate 1 2 --data prompt_tokens=1,output_tokens=1",
            "--rate 1,2: a sweep has one number",
        ),
        ("vllm bench serve --model -m", "--model of vllm bench serve needs a value"),
        // Possible errors in each tool's line: a flag of a newer version, or a typo.
        ("python3 -m sglang.bench_serving --num-promts 5", "--num-prompts is the nearest match"),
        (
            "guidellm benchmark --target http://h:1 --max-request 5",
            "--max-requests is the nearest match",
        ),
        ("aiperf profile -m m --request-cout 5", "--request-count is the nearest match"),
        ("genai-bench benchmark --num-concurency 5", "--num-concurrency is the nearest match"),
        (
            "oha -n 5 --burst-dely 2s http://h:1/v1/completions",
            "--burst-delay is the nearest match",
        ),
        ("llama-bench --n-promt 5", "--n-prompt is the nearest match"),
        ("llama-batched-bench --ctx-sise 5", "--ctx-size is the nearest match"),
        ("inference-perf --config_fil c.yml", "--config_file is the nearest"),
        ("inference-perf --load.type constant", "load.stages names no rate"),
        (
            "inference-perf --config_file nowhere.yml",
            "--config_file nowhere.yml: no such file or folder",
        ),
        ("inference-perf --server.base_ulr http://h:1", "--server.base_url is the nearest"),
        ("inference-perf --analyze reports", "inferometer report FOLDER does"),
        (
            "oha -D nowhere.json http://h:1/v1/completions",
            "-D nowhere.json: no such file or folder",
        ),
        ("aiperf profile -m m --endpoint-type chatt", "chat is the nearest"),
        ("genai-perf profile -m m --service-kind opeai", "use openai or triton"),
        ("genai-bench benchmark --traffic-scenario 'Q(8,4)'", "is not supported; use D(IN,OUT)"),
        ("inference-perf", "inference-perf needs --config_file"),
        ("llama-batched-bench -m a.gguf -npp 0 -ntg 8 -npl 1", "-npp 1 or more"),
        (
            "inference-perf --data.type random --load.stages '[{\"rate\": 1, \"duration\": 9}]'",
            "needs data.input_distribution",
        ),
    ] {
        let said = said(text);
        assert!(said.contains(part) && !said.contains('\n'), "{text}: {said}");
    }
    for (text, flag, path) in [
        (
            "vllm bench serve --dataset-name sharegpt --dataset-path /no/such.json",
            "--dataset-path",
            "/no/such.json",
        ),
        ("llama-bench -m /no/such.gguf", "-m", "/no/such.gguf"),
        ("llama-batched-bench -m /no/such.gguf -npp 8 -ntg 8 -npl 1", "-m", "/no/such.gguf"),
    ] {
        let said = format!("{flag} {path}: no such file or folder");
        assert_eq!(translated(text).missing(), Some(said), "{text}");
    }
}

/// Each part of a line is in the command, in the omissions, in a difference, or in what is not run.
#[test]
fn names_every_word_that_becomes_nothing() {
    for (text, left_out, differs, rest) in [
        (
            "vllm bench serve --model a --model b",
            "--model a (vllm bench serve uses the last --model of the line)",
            "",
            "",
        ),
        ("vllm bench serve --model a --header x=1 --header y=2 z=3", "--header *** (", "", ""),
        (
            "genai-perf profile -m a b --model-selection-strategy round_robin -- -p 100 --max-threads 4",
            "-- -p 100 --max-threads 4 (these are arguments of perf_analyzer)",
            "round_robin sends prompt N to model N modulo 2; inferometer draws",
            "",
        ),
        ("aiperf profile -m a b", "", "AIPerf accepts -m A,B and refuses -m A B", ""),
        (
            "guidellm benchmark --target http://h:1 --rate-type concurrent --rate 1 2 --data prompt_tokens=1,output_tokens=1",
            "",
            "it refuses --rate 1 2 4",
            "",
        ),
        (
            "guidellm benchmark --target http://h:1 --rate-type synchronous --rate 5 --data prompt_tokens=1,output_tokens=1",
            "--rate (the profile synchronous has no rate)",
            "",
            "",
        ),
        (
            "vllm bench serve --lora-modules a b --lora-assignment round-robin",
            "--lora-assignment (inferometer draws the adapter",
            "",
            "",
        ),
        ("nohup vllm bench serve > log 2>&1 --model m &", "", "", "> log 2>&1 &"),
    ] {
        let translation = translated(text);
        let out = translation.left_out().unwrap_or_default();
        assert!(out.contains(left_out), "{text}: {out}");
        let all = translation.draft.differences.join("\n");
        assert!(all.contains(differs), "{text}: {all}");
        assert_eq!(translation.rest.as_deref().unwrap_or_default(), rest, "{text}");
    }
    // One model has no strategy, and the same value twice counts once.
    for text in [
        "aiperf profile -m a --model-selection-strategy round_robin",
        "vllm bench serve --model a --model a",
        "vllm bench serve --lora-modules a b --lora-assignment random",
    ] {
        let translation = translated(text);
        assert_eq!(translation.left_out(), None, "{text}");
        let all = translation.draft.differences.join("\n");
        assert!(!all.contains("round_robin"), "{text}: {all}");
    }
    let translation = translated("env A=1 nohup vllm bench serve --model m > log --num-prompts 5");
    assert_eq!(translation.words, ["vllm", "bench", "serve", "--model", "m", "--num-prompts", "5"]);
    assert_eq!(translation.environment, [("A".to_owned(), "1".to_owned())]);
}

#[test]
fn our_own_flags_may_stand_in_the_line() {
    let ours =
        parsed("vllm bench serve --model m --store s --slo 'ttft:p99<1s' --format text -o r.html");
    assert!(
        ours.contains("--store s") && ours.contains("--format text") && ours.contains("-o r.html"),
        "{ours}"
    );
    assert!(!ours.contains("--format vllm"), "{ours}");
}

#[test]
fn fields_of_a_file_are_read_and_those_of_the_line_count() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        "load:\n  type: poisson\n  stages:\n  - rate: 1\n    duration: 30\n  - rate: 2.5\n    duration: 30\n\
         api: {type: chat, streaming: true}\nserver:\n  model_name: m\n  base_url: http://0.0.0.0:8000\n  ignore_eos: true\n\
         data:\n  type: random\n  input_distribution: {min: 10, max: 100, mean: 50, std_dev: 10}\n\
         \x20 output_distribution: {type: fixed, mean: 20}\n",
    )
    .unwrap();
    let path = file.path().display();
    let ours = parsed(&format!("inference-perf --config_file {path} --server.model_name other"));
    for part in [
        "http://127.0.0.1:8000",
        "--model other",
        "--rate 1,2.5",
        "--arrivals poisson",
        "--duration 30s",
        "random:normal(50,10)/20",
    ] {
        assert!(ours.contains(part), "{ours} has no {part}");
    }
}
