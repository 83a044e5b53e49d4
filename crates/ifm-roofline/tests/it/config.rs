//! Configurations as model repositories have them: fields and values of the published files that
//! matter here, rewritten, among others that do not.

use ifm_roofline::{Model, RooflineError};
use serde_json::{Value, json};

fn read(config: &Value) -> Model {
    Model::from_config(&config.to_string()).unwrap()
}

/// A line of `tests/data/configs.jsonl` each: whose it is, what it gives, and the file.
fn configs() -> Vec<Value> {
    let lines = include_str!("../data/configs.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn llama() -> Value {
    configs()[0]["config"].clone()
}

#[test]
fn files_of_common_architectures_give_the_published_counts() {
    for row in configs() {
        let model = read(&row["config"]);
        assert_eq!(json!(model.parameters()), row["parameters"], "{}", row["of"]);
        assert_eq!(json!(model.native_format), row["format"], "{}", row["of"]);
    }
}

#[test]
fn windows_lie_where_the_architecture_puts_them() {
    // Layers that look back without a window: 2 x 8 x 64 and 2 x 16 x 128 elements each.
    let gemma = Model::find("gemma-3-27b").unwrap();
    assert_eq!(gemma.kv_elements_per_token(), 10.0 * 2.0 * 16.0 * 128.0);
    let mut mistral = llama();
    mistral["model_type"] = json!("mistral");
    mistral["sliding_window"] = json!(4096);
    assert_eq!(read(&mistral).kv_elements_per_token(), 0.0);
    let mut qwen = llama();
    qwen["model_type"] = json!("qwen2");
    qwen["sliding_window"] = json!(4096);
    qwen["max_window_layers"] = json!(30);
    assert_eq!(read(&qwen).kv_elements_per_token(), 32.0 * 2048.0);
    qwen["use_sliding_window"] = json!(true);
    assert_eq!(read(&qwen).kv_elements_per_token(), 30.0 * 2048.0);
}

#[test]
fn quantized_files_say_their_format() {
    let scheme = |weights: Value, activations: Value| {
        json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": weights, "input_activations": activations}}})
    };
    let cases = [
        (scheme(json!({"num_bits": 8, "type": "int"}), json!({"num_bits": 8})), Some("w8a8")),
        (scheme(json!({"num_bits": 8, "type": "float"}), json!({"num_bits": 8})), Some("fp8")),
        (scheme(json!({"num_bits": 4, "type": "int"}), Value::Null), Some("w4a16")),
        (json!({"quant_method": "awq", "bits": 4, "group_size": 128}), Some("w4a16")),
        (json!({"quant_method": "gptq", "bits": 8}), Some("w8a16")),
        (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), Some("fp8")),
        (json!({"quant_method": "something-new"}), None),
    ];
    for (quantization, format) in cases {
        let mut config = llama();
        config["quantization_config"] = quantization.clone();
        assert_eq!(read(&config).native_format.as_deref(), format, "{quantization}");
    }
}

#[test]
fn what_is_not_known_or_absurd_is_refused_with_the_field() {
    let with = |field: &str, value: Value| {
        let mut config = llama();
        config[field] = value;
        config.to_string()
    };
    let without = |field: &str| {
        let mut config = llama();
        config.as_object_mut().unwrap().remove(field);
        config.to_string()
    };
    let cases = [
        (String::new(), "EOF"),
        ("[]".to_owned(), "not a JSON object"),
        ("{}".to_owned(), "model_type"),
        (with("model_type", json!("mamba")), "mamba"),
        (without("hidden_size"), "hidden_size"),
        (without("vocab_size"), "vocab_size"),
        (without("num_attention_heads"), "num_attention_heads"),
        (without("intermediate_size"), "intermediate_size"),
        (with("num_hidden_layers", json!(0)), "num_hidden_layers"),
        (with("num_hidden_layers", json!(1_000_000)), "num_hidden_layers"),
        (with("hidden_size", json!(u64::MAX)), "hidden_size"),
        (with("hidden_size", json!(-1)), "-1"),
        (with("num_local_experts", json!(4)), "num_experts_per_tok"),
    ];
    for (text, part) in cases {
        match Model::from_config(&text) {
            Err(RooflineError::Config { reason }) => {
                assert!(reason.contains(part), "{text}: {reason}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}
