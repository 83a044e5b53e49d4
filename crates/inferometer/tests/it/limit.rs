//! `limit`: the text fits a terminal, the document carries the same numbers, and names that are not
//! known end with 2 and the nearest ones.

use crate::support::{run, stderr, stdout};
use serde_json::Value;

const L40S: &[&str] = &["limit", "--gpu", "L40S", "--model", "Llama-3.1-8B-Instruct"];

fn limit(words: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), words)
}

#[test]
fn the_text_has_the_terms_and_fits_80_columns() {
    let words = [L40S, &["--prompt", "1058", "--output", "512", "--measured", "itl=22.2ms@1"]];
    let output = limit(&words.concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "8.030 B parameters",
        "864 GB/s",
        "131072 bytes a token",
        " 1 17.57 17.57 ",
        "memory bandwidth",
        "itl=22.2ms@1: possible",
        "79.2 % of strict",
        "no speculative decoding",
    ] {
        assert!(flat.contains(part), "no \"{part}\" in:\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}:\n{text}");
}

#[test]
fn the_document_has_bounds_terms_and_shares() {
    let words = [
        "limit",
        "--gpu",
        "bw=864,bf16=362,int8=733,mem=45",
        "--model",
        "LLama-3.1-8B-Instruct-int8-dynamic",
        "-c",
        "1,64",
        "--measured",
        "ttft=5ms",
        "--format",
        "json",
    ];
    let output = limit(&words);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["kind"], "inferometer_limit");
    assert_eq!(document["precision"]["weights"]["id"], "w8a8");
    assert_eq!(document["weight_format_from"], "name");
    assert_eq!(document["levels"][1]["users"], 64);
    let step = &document["levels"][0]["step"];
    assert_eq!(step["strict"]["binds"], "memory_bandwidth");
    // (6 979 321 856 + 2 x 262 144 + 2 x 525 336 576 + 1152 x 131 072) bytes at 864 GB/s.
    let seconds = (6_979_321_856.0 + 524_288.0 + 1_050_673_152.0 + 150_994_944.0) / 864e9;
    assert!((step["strict"]["seconds"].as_f64().unwrap() / seconds - 1.0).abs() < 1e-9);
    assert_eq!(document["measured"][0]["share"]["verdict"], "below_strict");
}

#[test]
fn a_configuration_and_the_lists_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let config = r#"{"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 9728, "vocab_size": 151936, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16"}"#;
    std::fs::write(&path, config).unwrap();
    let words = ["limit", "--gpu", "h200", "--config", "config.json", "--json"];
    let output = run(folder.path(), &words);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["parameters"], 4_022_468_096.0);
    std::fs::write(&path, "{").unwrap();
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("config.json"), "{}", stderr(&output));

    let list = stdout(&limit(&["limit", "--list"]));
    assert!(list.contains("rtx-pro-6000-ws") && list.contains("deepseek-v3"), "{list}");
    let list: Value =
        serde_json::from_str(&stdout(&limit(&["limit", "--list", "--json"]))).unwrap();
    assert!(list["machines"][0]["source"].is_string() && list["models"][0]["parameters"].is_f64());
}

#[test]
fn what_is_not_known_is_code_2_with_the_nearest_names() {
    let cases: [(&[&str], &str); 9] = [
        (&["--gpu", "L40X", "--model", "qwen3-4b"], "l40s"),
        (&["--gpu", "H100", "--model", "qwen3-4b"], "h100-sxm, h100-pcie"),
        (&["--gpu", "bw=1", "--model", "qwen3-4b"], "bf16"),
        (&["--gpu", "l4", "--model", "qwen3-5b"], "qwen3-4b"),
        (&["--gpu", "l4", "--model", "qwen3-4b", "--quant", "q4_k_x"], "q4_k_m"),
        (&["--gpu", "l4", "--model", "qwen3-4b", "--kv", "int3"], "fp8"),
        (&["--gpu", "l4", "--model", "qwen3-4b", "--tp", "0"], "1 to"),
        (&["--gpu", "l4", "--model", "qwen3-4b", "--measured", "speed=3"], "itl"),
        (&["--gpu", "l4", "--config", "none.json"], "none.json"),
    ];
    for (words, part) in cases {
        let output = limit(&[&["limit"], words].concat());
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(part), "{words:?}: no \"{part}\" in: {error}");
    }
}
