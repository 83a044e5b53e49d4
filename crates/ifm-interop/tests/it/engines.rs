//! What engines and tools print after an answer, while they serve, or as a table: one row for each.

use super::import_text;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Part, PartKind, RemarkKind, Row, RowRole, Statistic, key};

fn sheet(text: &str) -> Sheet {
    import_text("log.txt", text).expect("a block")
}

/// Every measured row, in its order.
fn rows(sheet: &Sheet) -> Vec<&Row> {
    sheet.parts.iter().flat_map(|part| &part.rows).collect()
}

fn own(name: &str) -> Metric {
    Metric::other(name)
}

/// The quantities with a value, and these in ms, per second or as a number.
fn values(row: &Row) -> Vec<(Metric, f64)> {
    row.figures
        .iter()
        .filter(|figure| figure.statistic == Statistic::Value)
        .filter_map(|figure| Some((figure.quantity, figure.canonical()?)))
        .collect()
}

fn is_engine(part: &Part) -> bool {
    part.kind == PartKind::Engine && part.rows.iter().all(|row| row.role == RowRole::Measured)
}

const OLD: &str = "\
llama_print_timings:        load time =     900.11 ms
llama_print_timings:      sample time =      10.20 ms /   128 runs   (    0.08 ms per token, 12549.02 tokens per second)
llama_print_timings: prompt eval time =     200.00 ms /    32 tokens (    6.25 ms per token,   160.00 tokens per second)
llama_print_timings:        eval time =    4000.00 ms /   127 runs   (   31.50 ms per token,    31.75 tokens per second)
llama_print_timings:       total time =    4250.00 ms
";
const NEW: &str = "\
llama_perf_sampler_print:    sampling time =      10.20 ms /   160 runs   (    0.06 ms per token, 15686.27 tokens per second)
llama_perf_context_print:        load time =     900.11 ms
llama_perf_context_print: prompt eval time =     200.00 ms /    32 tokens (    6.25 ms per token,   160.00 tokens per second)
llama_perf_context_print:        eval time =    4000.00 ms /   127 runs   (   31.50 ms per token,    31.75 tokens per second)
llama_perf_context_print:       total time =    4250.00 ms /   159 tokens
";
const NEWEST: &str = "\
common_perf_print:    sampling time =      10.20 ms
common_perf_print:    samplers time =       4.10 ms /   160 tokens
common_perf_print:        load time =     900.11 ms
common_perf_print: prompt eval time =     200.00 ms /    32 tokens (    6.25 ms per token,   160.00 tokens per second)
common_perf_print:        eval time =    4000.00 ms /   127 runs   (   31.50 ms per token,    31.75 tokens per second)
common_perf_print:       total time =    4250.00 ms /   159 tokens
common_perf_print: unaccounted time =      39.80 ms /   0.9 %      (total - sampling - prompt eval - eval) / (total)
common_perf_print:    graphs reused =        125
";

/// What each of the blocks above says of the prompt and the generation.
#[track_caller]
fn holds_both_phases(row: &Row) {
    let value = |quantity: Metric| row.value(quantity, Statistic::Value);
    assert_eq!(value(Metric::Prefill), Some(200.0));
    assert_eq!(value(Metric::InputTokens), Some(32.0));
    assert_eq!(value(Metric::PrefillRate), Some(160.0));
    assert_eq!(value(own("prefill_time_per_token")), Some(6.25));
    assert_eq!(value(own("generation_time")), Some(4000.0));
    assert_eq!(value(Metric::OutputTokens), Some(127.0));
    assert_eq!(value(Metric::DecodeRate), Some(31.75));
    assert_eq!(value(Metric::Tpot), Some(31.5));
}

#[test]
fn reads_timings_of_llama_cpp_in_every_version() {
    for text in [OLD, NEW, NEWEST] {
        let sheet = sheet(text);
        let [row] = rows(&sheet)[..] else { panic!("one row: {:?}", sheet.parts) };
        assert!(is_engine(&sheet.parts[0]) && sheet.remarks.is_empty(), "{:?}", sheet.remarks);
        holds_both_phases(row);
        let value = |quantity: Metric| row.value(quantity, Statistic::Value);
        assert_eq!(value(own("load_time")), Some(900.11));
        assert_eq!(value(own("sampling_time")), Some(10.2));
        assert_eq!(value(Metric::Duration), Some(4250.0));
        assert_eq!(row.factors.get(key::ENGINE), Some("llama.cpp"));
    }
    let newest = sheet(NEWEST);
    let row = rows(&newest)[0];
    assert_eq!(row.value(own("samplers_time"), Statistic::Value), Some(4.1));
    assert_eq!(row.value(own("unaccounted_time"), Statistic::Value), Some(39.8));
    assert_eq!(row.unknown["graphs reused"], "125");
}

#[test]
fn reads_timings_after_every_prefix() {
    let with =
        |prefix: &str| NEW.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>();
    for prefix in [
        "",
        "    ",
        "I ",
        "0.00.055.346 I ",
        "2026-05-05 10:11:12,345 - INFO - ",
        "2026-05-05T10:11:12.345678901Z ",
        "llama-1  | ",
        "May 05 10:11:12 host llama-cli[123]: ",
        "> ",
        "// ",
        "- ",
        "\u{1b}[32m",
    ] {
        let sheet = sheet(&with(prefix));
        let [row] = rows(&sheet)[..] else { panic!("{prefix}: {:?}", sheet.parts) };
        holds_both_phases(row);
    }
    let bare: String = NEW
        .lines()
        .map(|line| format!("{}\n", line.split_once(':').expect("a prefix").1))
        .collect();
    holds_both_phases(rows(&sheet(&bare))[0]);
    let crlf = format!("# Runs\r\n\r\n```\r\n{}```\r\n", NEW.replace('\n', "\r\n"));
    holds_both_phases(rows(&sheet(&crlf))[0]);
}

#[test]
fn every_block_of_a_file_is_a_row() {
    let text =
        format!("# Log\n\n```\n{OLD}```\n\nThe second run:\n\n```\n{NEW}\n{NEW}{NEWEST}```\n");
    let sheet = sheet(&text);
    let rows = rows(&sheet);
    assert_eq!(rows.len(), 4);
    rows.iter().for_each(|row| holds_both_phases(row));
    assert!(sheet.parts.iter().all(is_engine));
    // Each has its own sampling time, that of the third not taken from the fourth.
    assert!(rows.iter().all(|row| row.value(own("sampling_time"), Statistic::Value).is_some()));
}

#[test]
fn reads_the_log_of_a_server_with_two_slots() {
    let line = |slot: u32, task: u32, text: &str| {
        format!("0.40.000.000 I slot print_timing: id  {slot} | task {task} | {text}\n")
    };
    let prompt = "prompt eval time =     200.00 ms /    32 tokens (    6.25 ms per token,   160.00 tokens per second)";
    let other = "prompt eval time =     400.00 ms /    10 tokens (   40.00 ms per token,    25.00 tokens per second)";
    let eval = "       eval time =    4000.00 ms /   127 tokens (   31.50 ms per token,    31.75 tokens per second)";
    let total = "      total time =    4200.00 ms /   159 tokens";
    let progress = "prompt processing, n_tokens =   3584, progress = 0.08, t =   3.38 s / 1061.20 tokens per second";
    let text = [
        line(0, 7, progress),
        line(0, 7, "n_decoded =    100, tg =   5.68 t/s, tg_3s =   5.68 t/s"),
        line(0, 7, prompt),
        line(1, 8, other),
        "srv  update_slots: all slots are idle\n".to_owned(),
        line(0, 7, eval),
        line(1, 8, eval),
        line(1, 8, total),
        line(0, 7, total),
        line(
            0,
            7,
            "draft acceptance = 0.57576 (  171 accepted /   297 generated), mean len =  3.20",
        ),
    ]
    .concat();
    let sheet = sheet(&text);
    let rows = rows(&sheet);
    assert_eq!(rows.len(), 2, "{:?}", sheet.parts);
    holds_both_phases(rows[0]);
    assert_eq!((&rows[0].unknown["slot"], &rows[0].unknown["task"]), (&"0".into(), &"7".into()));
    assert_eq!(rows[1].value(Metric::Prefill, Statistic::Value), Some(400.0));
    assert_eq!(rows[1].value(Metric::InputTokens, Statistic::Value), Some(10.0));
    assert_eq!(rows[1].value(Metric::Duration, Statistic::Value), Some(4200.0));
    assert!(sheet.parts.iter().all(is_engine));
    // The form with a line for slot and task alone.
    let lines = |slot: u32| {
        format!("slot print_timing: id  {slot} | task {slot} | \n{prompt}\n{eval}\n{total}\n")
    };
    let sheet = self::sheet(&format!("{}{}", lines(3), lines(4)));
    assert_eq!(self::rows(&sheet).len(), 2);
    self::rows(&sheet).iter().for_each(|row| holds_both_phases(row));
}

#[test]
fn what_was_not_timed_has_no_value() {
    let text = "\
llama_perf_context_print:        load time =      46.17 ms
llama_perf_context_print: prompt eval time =       7.18 ms /     9 tokens (    0.80 ms per token,  1253.66 tokens per second)
llama_perf_context_print:        eval time =       0.00 ms /     1 runs   (    0.00 ms per token,      inf tokens per second)
llama_perf_context_print:       total time =       8.87 ms /    10 tokens
";
    let read = sheet(text);
    let row = rows(&read)[0];
    let measured: Vec<Metric> = values(row).into_iter().map(|(quantity, _)| quantity).collect();
    assert_eq!(
        measured,
        [
            own("load_time"),
            Metric::Prefill,
            Metric::InputTokens,
            own("prefill_time_per_token"),
            Metric::PrefillRate,
            Metric::Duration,
            Metric::TotalTokens,
        ]
    );
    assert!(read.remarks.iter().any(|remark| remark.kind == RemarkKind::Missing));
    assert!(row.figures.iter().all(|figure| figure.value.is_some()), "zero is not a figure");
    assert_eq!(row.unknown["generation_time"], "0.00");
    let nan = text.replace("7.18 ms /     9", "0.00 ms /     9").replace("1253.66", "-nan");
    let read = sheet(&nan);
    assert_eq!(rows(&read)[0].value(Metric::InputTokens, Statistic::Value), Some(9.0));
    assert_eq!(rows(&read)[0].value(Metric::PrefillRate, Statistic::Value), None);
    assert_eq!(rows(&read)[0].value(Metric::Prefill, Statistic::Value), None);
}

#[test]
fn sentences_and_other_times_are_not_timings() {
    for text in [
        "The prompt eval time = 200 ms we saw was short.\n",
        "load time = 900.11 ms\ntotal time = 4250.00 ms\n",
        "whisper_print_timings:     load time =   232.11 ms\nwhisper_print_timings:   encode time =  1200.00 ms /     1 runs (  1200.00 ms per run)\n",
    ] {
        let is_timings = import_text("x.txt", text).is_ok_and(|sheet| {
            sheet.parts.iter().any(|part| part.tool.as_deref() == Some("llama.cpp timings"))
        });
        assert!(!is_timings, "{text}");
    }
}

#[test]
fn reads_ollama_with_every_duration() {
    let block = "\
total duration:       4.250s
load duration:        51.2ms
prompt eval count:    32 token(s)
prompt eval duration: 200ms
prompt eval rate:     160.00 tokens/s
eval count:           127 token(s)
eval duration:        4s
eval rate:            31.75 tokens/s
";
    let bullets: String =
        block.lines().map(|line| format!("- **{}\n", line.replacen(':', "**:", 1))).collect();
    for text in [block.to_owned(), format!("```\n>>> hi\nHello!\n\n{block}```\n"), bullets] {
        let sheet = sheet(&text);
        let [row] = rows(&sheet)[..] else { panic!("one row: {:?}", sheet.parts) };
        assert!(is_engine(&sheet.parts[0]));
        assert_eq!(
            values(row),
            [
                (Metric::Duration, 4250.0),
                (own("load_time"), 51.2),
                (Metric::InputTokens, 32.0),
                (Metric::Prefill, 200.0),
                (Metric::PrefillRate, 160.0),
                (Metric::OutputTokens, 127.0),
                (own("generation_time"), 4000.0),
                (Metric::DecodeRate, 31.75),
            ]
        );
    }
    let long = block.replace("4.250s", "1m43.893740965s").replace("51.2ms", "900µs");
    let read = sheet(&format!("{long}\n{block}{long}"));
    let durations = rows(&read).into_iter().map(|row| {
        (
            row.value(Metric::Duration, Statistic::Value),
            row.value(own("load_time"), Statistic::Value),
        )
    });
    let durations: Vec<_> = durations.map(|(a, b)| (a.unwrap(), b.unwrap())).collect();
    assert_eq!(durations.len(), 3);
    super::close(durations[0].0, 103_893.740_965);
    super::close(durations[0].1, 0.9);
    super::close(durations[1].0, 4250.0);
    // A cached prompt: its lines are missing.
    let cached: String =
        block.lines().filter(|line| !line.contains("prompt")).map(|l| format!("{l}\n")).collect();
    assert_eq!(rows(&sheet(&cached)).len(), 1);
}

#[test]
fn a_command_of_ollama_names_the_model() {
    let text = "```\n$ ollama run some:8b --verbose\n\neval count: 10 token(s)\neval rate: 5.00 tokens/s\n```\n";
    assert_eq!(sheet(text).parts[0].factors.get(key::MODEL), Some("some:8b"));
}

#[test]
fn reads_lines_of_other_local_engines() {
    use Metric::{
        CachedTokens, DecodeRate, Duration, InputTokens, Memory, OutputTokens, Prefill,
        PrefillRate, TotalTokens, Ttft,
    };
    let generation = || own("generation_time");
    let context = || own("context_tokens");
    for (text, expected) in [
        (
            "[18:44:54] CtxLimit:39294/40960, Amt:597/2048, Init:0.24s, Process:68.69s (563.34T/s), Generate:56.27s (10.61T/s), Total:124.96s\n",
            vec![
                (context(), 39294.0),
                (OutputTokens, 597.0),
                (Prefill, 68690.0),
                (PrefillRate, 563.34),
                (generation(), 56270.0),
                (DecodeRate, 10.61),
                (Duration, 124_960.0),
            ],
        ),
        (
            "It was fast (`CtxLimit: 1843/8192, Process:16.32s (11.0ms/T = 91.03T/s), Generate:80.01s (224.1ms/T = 4.46T/s), Total:96.33s`).\n",
            vec![
                (context(), 1843.0),
                (Prefill, 16320.0),
                (PrefillRate, 91.03),
                (generation(), 80010.0),
                (DecodeRate, 4.46),
                (Duration, 96330.0),
            ],
        ),
        (
            "[09:59:50] CtxLimit:290/16384, Init:0.15s, Processed:240 in 34.03s (7.05T/s), Generated:50/64 in 2.10s (23.81T/s), Total:36.13s\n",
            vec![
                (context(), 290.0),
                (InputTokens, 240.0),
                (Prefill, 34030.0),
                (PrefillRate, 7.05),
                (OutputTokens, 50.0),
                (generation(), 2100.0),
                (DecodeRate, 23.81),
                (Duration, 36130.0),
            ],
        ),
        (
            "==========\nPrompt: 32 tokens, 160.0 tokens-per-sec\nGeneration: 127 tokens, 31.75 tokens-per-sec\nPeak memory: 4.567 GB\n",
            vec![
                (InputTokens, 32.0),
                (PrefillRate, 160.0),
                (OutputTokens, 127.0),
                (DecodeRate, 31.75),
                (Memory, 4.567e9),
            ],
        ),
        (
            "Prompt: 160.000 tokens-per-sec\nGeneration: 31.750 tokens-per-sec\n",
            vec![(PrefillRate, 160.0), (DecodeRate, 31.75)],
        ),
        (
            "INFO: Metrics (ID: 1f2e): 76 tokens generated in 1.5 seconds (Queue: 0.0 s, Process: 16 cached tokens and 64 new\ntokens at 1066.67 T/s, Generate: 193.93 T/s, Context: 80 tokens)\n",
            vec![
                (OutputTokens, 76.0),
                (Duration, 1500.0),
                (CachedTokens, 16.0),
                (InputTokens, 64.0),
                (PrefillRate, 1066.67),
                (DecodeRate, 193.93),
            ],
        ),
        (
            "INFO: Metrics: 76 tokens generated in 1.5 seconds (Queue: 0.0 s, Process: Indeterminate T/s, Generate: 193.93 T/s)\n",
            vec![(OutputTokens, 76.0), (Duration, 1500.0), (DecodeRate, 193.93)],
        ),
        (
            "[ Prompt: 890.0 t/s | Generation: 311.6 t/s ]\n",
            vec![(PrefillRate, 890.0), (DecodeRate, 311.6)],
        ),
        (
            "28.04 tok/sec • 2188 tokens • 0.06s to first token • Stop reason: EOS Token Found\n",
            vec![(DecodeRate, 28.04), (OutputTokens, 2188.0), (Ttft, 60.0)],
        ),
        (
            "3.20 tok/sec\n\n•\n\n4457 tokens\n\n•\n\n29.03s to first token\n\n•\n\nStop reason: EOS Token Found\n",
            vec![(DecodeRate, 3.2), (OutputTokens, 4457.0), (Ttft, 29030.0)],
        ),
        (
            "Prediction Stats:\n  Stop Reason: eosFound\n  Tokens/Second: 51.35\n  Time to First Token: 1.551s\n  Prompt Tokens: 39\n  Predicted Tokens: 176\n  Total Tokens: 215\n",
            vec![
                (DecodeRate, 51.35),
                (Ttft, 1551.0),
                (InputTokens, 39.0),
                (OutputTokens, 176.0),
                (TotalTokens, 215.0),
            ],
        ),
    ] {
        let sheet = sheet(text);
        let [row] = rows(&sheet)[..] else { panic!("{text}: {:?}", sheet.parts) };
        assert!(is_engine(&sheet.parts[0]), "{text}");
        let found = values(row);
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for ((quantity, value), (expected_of, expected)) in found.into_iter().zip(expected) {
            assert_eq!(quantity, expected_of, "{text}");
            super::close(value, expected);
        }
    }
}

#[test]
fn two_answers_of_a_local_engine_are_two_rows() {
    let one = "28.04 tok/sec\n2188 tokens\n0.06s to first token\nStop reason: EOS Token Found\n";
    let sheet = sheet(&format!("model a:\n{one}\nmodel b:\n{}", one.replace("28.04", "20.29")));
    let rates: Vec<_> = rows(&sheet)
        .into_iter()
        .map(|row| row.value(Metric::DecodeRate, Statistic::Value))
        .collect();
    assert_eq!(rates, [Some(28.04), Some(20.29)]);
}

#[test]
fn reads_throughput_lines_of_a_server_log() {
    let line = |prompt, generation, running| {
        format!(
            "(APIServer pid=7) INFO 10-10 01:00:20 [loggers.py:1] Engine 000: Avg prompt throughput: {prompt} tokens/s, \
             Avg generation throughput: {generation} tokens/s, Running: {running} reqs, Waiting: 2 reqs, \
             GPU KV cache usage: 50.5%, Prefix cache hit rate: 80.1%\n"
        )
    };
    let text = format!(
        "{}{}{}",
        line("900.0", "610.0", 12),
        line("0.0", "0.0", 0),
        line("0.0", "620.0", 11)
    );
    let read = sheet(&text);
    assert_eq!(read.parts.len(), 1, "one part for a log");
    let rows = rows(&read);
    assert_eq!(rows.len(), 2, "the idle line measures nothing");
    assert_ne!(rows[0].factors, rows[1].factors, "intervals are not repeats of each other");
    let value = |quantity: Metric| rows[0].value(quantity, Statistic::Value).expect("a value");
    assert_eq!(value(Metric::InputRate), 900.0);
    assert_eq!(value(Metric::OutputRate), 610.0);
    assert_eq!(value(Metric::InFlight), 12.0);
    assert_eq!(value(own("waiting")), 2.0);
    super::close(value(own("gpu kv cache usage")), 0.505);
    super::close(value(own(ifm_core::sheet::meaning::PREFIX_HIT_RATE)), 0.801);
    let text = "[2026-08-28 22:30:14 TP0] Decode batch, #running-req: 4, #full token: 192, accept len: 3.5, gen throughput (token/s): 12.54, #queue-req: 1\n";
    assert_eq!(
        values(self::rows(&sheet(text))[0]),
        [
            (Metric::InFlight, 4.0),
            (Metric::AcceptanceLength, 3.5),
            (Metric::OutputRate, 12.54),
            (own("waiting"), 1.0),
        ]
    );
}

const BENCHY: &str = "\
| model | test | t/s (total) | t/s (req) | peak t/s | peak t/s (req) | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |
|:--|--:|--:|--:|--:|--:|--:|--:|--:|
| model-26b | pp1024 (c1) | 1900.0 ± 300.0 | 1900.0 ± 300.0 | | | 610.0 ± 90.0 | 480.0 ± 90.0 | 610.0 ± 90.0 |
| model-26b | tg1024 (c1) | 25.1 ± 0.1 | 25.1 ± 0.1 | 25.8 ± 0.4 | 25.8 ± 0.4 | | | |
| model-26b | pp1024 (c5) | 4010.0 ± 60.0 | 1400.0 ± 900.0 | | | 960.0 ± 250.0 | 830.0 ± 250.0 | 962.0 ± 250.0 |
| model-26b | tg1024 @ d4096 (c5) | 55.0 ± 3.5 | 13.2 ± 1.0 | 72.0 ± 0.6 | 17.4 ± 3.1 | | | |

llama-benchy (0.3.1)
date: 2026-01-02 17:11:19 | latency mode: generation
";

#[test]
fn every_column_of_llama_benchy_is_read() {
    let sheet = sheet(&format!("# chat\n\n{BENCHY}"));
    let rows = rows(&sheet);
    assert_eq!(rows.len(), 4);
    assert_eq!(sheet.parts[0].kind, PartKind::Serving);
    assert_eq!(sheet.parts[0].unknown["latency mode"], "generation");
    let mean = |row: &Row, quantity: Metric| row.value(quantity, Statistic::Mean);
    let factors = |row: &Row| {
        let of = |name| row.factors.get(name).unwrap_or("").to_owned();
        [key::INPUT_TOKENS, key::OUTPUT_TOKENS, key::DEPTH_TOKENS, key::CONCURRENCY].map(of)
    };
    assert_eq!(factors(rows[2]), ["1024", "", "", "5"]);
    assert_eq!(mean(rows[2], Metric::InputRate), Some(4010.0));
    assert_eq!(mean(rows[2], Metric::PrefillRate), Some(1400.0));
    assert_eq!(mean(rows[2], Metric::Ttft), Some(962.0));
    assert_eq!(mean(rows[2], own("time_to_first_response")), Some(960.0));
    assert_eq!(mean(rows[2], Metric::Prefill), Some(830.0));
    let std = Statistic::Std(ifm_core::sheet::StdKind::Population);
    assert_eq!(rows[2].value(Metric::InputRate, std), Some(60.0));
    assert_eq!(factors(rows[3]), ["", "1024", "4096", "5"]);
    assert_eq!(mean(rows[3], Metric::OutputRate), Some(55.0));
    assert_eq!(mean(rows[3], Metric::UserSpeed), Some(13.2));
    assert_eq!(mean(rows[3], Metric::PeakOutputRate), Some(72.0));
    assert_eq!(mean(rows[3], own("peak_user_rate")), Some(17.4));
    assert_eq!(sheet.remarks, []);
}

#[test]
fn llama_benchy_without_concurrency_is_not_llama_bench() {
    let text = "\
| model | test | t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |
|:--|--:|--:|--:|--:|--:|
| m-120b | pp2048 @ d4096 | 1994.49 ± 77.97 | 3129.18 ± 120.27 | 3089.19 ± 120.27 | 3198.97 ± 122.24 |
| m-120b | tg32 @ d4096 | 46.69 ± 1.11 | | | |

llama-benchy (build: 75bc129)
";
    let sheet = sheet(text);
    let rows = rows(&sheet);
    assert_eq!(sheet.parts[0].tool.as_deref(), Some("llama-benchy"));
    assert_eq!(sheet.parts[0].unknown["build"], "75bc129");
    assert_eq!(rows[0].value(Metric::PrefillRate, Statistic::Mean), Some(1994.49));
    assert_eq!(rows[0].value(Metric::Ttft, Statistic::Mean), Some(3198.97));
    assert_eq!(rows[0].factors.get(key::CONCURRENCY), Some("1"));
    assert_eq!(rows[1].value(Metric::UserSpeed, Statistic::Mean), Some(46.69));
    assert!(rows.iter().all(|row| row.factors.get("ttfr (ms)").is_none()));
}

#[test]
fn columns_that_were_not_understood_are_named() {
    let text = "| Users | TTFT (ms) | widgets | zork/s |\n|--|--|--|--|\n| 1 | 50 | 7 | 3.5 |\n| 2 | 60 | 8 | 3.6 |\n";
    let sheet = sheet(text);
    let named: Vec<_> =
        sheet.remarks.iter().filter(|remark| remark.kind == RemarkKind::Lost).collect();
    let [remark] = named[..] else { panic!("{:?}", sheet.remarks) };
    assert!(remark.text.contains("`widgets`, `zork/s`"), "{}", remark.text);
    assert_eq!(rows(&sheet)[0].unknown["widgets"], "7");
    let turned = "| Metric | a | b |\n|--|--|--|\n| TTFT (ms) | 50 | 60 |\n| ITL (ms) | 5 | 6 |\n| zork | 7 | 8 |\n| Note | x | y |\n";
    let sheet = self::sheet(turned);
    let [remark] = &sheet.remarks[..] else { panic!("{:?}", sheet.remarks) };
    assert!(remark.text.contains("`zork`") && !remark.text.contains("Note"), "{}", remark.text);
}

#[test]
fn a_table_that_was_understood_has_no_remark() {
    let text = "| Model | Users | TTFT (ms) | Note |\n|--|--|--|--|\n| a | 1 | 50 | cold |\n";
    assert_eq!(sheet(text).remarks, []);
}

/// A block of a serving benchmark, with its total of output tokens and its TTFT.
fn serving_block(output: u32, ttft: f64) -> String {
    format!(
        "============ Serving Benchmark Result ============\nSuccessful requests: 10\n\
         Benchmark duration (s): 45.5\nTotal input tokens: 10240\nTotal generated tokens: {output}\n\
         Median TTFT (ms): {ttft}\n==================================================\n"
    )
}

#[test]
fn a_command_over_several_lines_sets_what_it_sets_in_one() {
    let command = |length: u32, glue: &str| {
        [
            "vllm bench serve --backend vllm",
            "--model org/model-7b --dataset-name random",
            "--num-prompts 10",
            "--random-input-len 1024",
            &format!("--random-output-len {length}"),
        ]
        .join(glue)
    };
    let text = |prompt: &str, glue: &str| {
        let one = |length, output, ttft| {
            format!(
                "```\n{prompt}{}\n\n{}```\n\n",
                command(length, glue),
                serving_block(output, ttft)
            )
        };
        format!("# Two runs\n\n{}{}", one(1024, 10240, 2040.0), one(7168, 71680, 190.0))
    };
    let meaning = |text: &str| {
        let sheet = sheet(text);
        assert_eq!(sheet.remarks, [], "{text}");
        let of = |(part, row): (&Part, &Row)| (row.factors.within(&part.factors), values(row));
        let rows = sheet.parts.iter().flat_map(|part| part.rows.iter().map(move |row| (part, row)));
        rows.map(of).collect::<Vec<_>>()
    };
    let expected = meaning(&text("", " "));
    assert_eq!(expected.len(), 2);
    assert_eq!(expected[1].0.get(key::OUTPUT_TOKENS), Some("7168"));
    assert_eq!(expected[1].0.get(key::REQUESTS), Some("10"));
    assert_eq!(expected[1].0.get(key::MODEL), Some("org/model-7b"));
    for (prompt, glue) in [
        ("", " \\\n  "),
        ("$ ", " \\\n  "),
        ("$ ", " \\\n> "),
        ("> ", " \\\n"),
        ("", " \\\r\n  "),
        ("", " \\  \n  "),
        ("PS C:\\x> ", " `\n  "),
        ("C:\\x> ", " ^\n  "),
        ("CUDA_VISIBLE_DEVICES=0 ", " \\\n\t"),
    ] {
        assert_eq!(meaning(&text(prompt, glue)), expected, "{prompt:?} {glue:?}");
    }
}

#[test]
fn retokenized_tokens_are_kept() {
    let name = ifm_core::sheet::meaning::RETOKENIZED;
    let block = serving_block(110_000, 50.0)
        .replace("Median TTFT", "Total generated tokens (retokenized): 52000\nMedian TTFT");
    let read = sheet(&block);
    assert_eq!(rows(&read)[0].value(own(name), Statistic::Value), Some(52000.0));
    let disabled = sheet(&block.replace("52000", "0"));
    assert!(rows(&disabled)[0].figures.iter().all(|figure| figure.quantity != own(name)));
}
