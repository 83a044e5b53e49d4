//! Configurations as model repositories have them: fields and values of the published files that
//! matter here, written anew, among others that do not.

use ifm_roofline::{Model, RooflineError};
use serde_json::{Value, json};

fn read(config: &Value) -> Model {
    Model::from_config(&config.to_string()).unwrap()
}

fn llama() -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": false,
        "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "mlp_bias": false,
        "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"},
        "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "vocab_size": 128256
    })
}

#[test]
fn files_of_common_architectures_give_the_published_counts() {
    let cases = [
        (llama(), 8_030_261_248.0, Some("bf16")),
        // Llama 3.2 1B: shared embeddings, heads narrower than width over heads would say.
        (
            json!({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
                "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
                "head_dim": 64, "tie_word_embeddings": true, "vocab_size": 128256,
                "torch_dtype": "bfloat16"}),
            1_235_814_400.0,
            Some("bf16"),
        ),
        // Qwen2.5 7B: biases of queries, keys and values; a window that is not used.
        (
            json!({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
                "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
                "sliding_window": 131072, "max_window_layers": 28, "use_sliding_window": false,
                "tie_word_embeddings": false, "vocab_size": 152064, "torch_dtype": "bfloat16"}),
            7_615_616_512.0,
            Some("bf16"),
        ),
        // Gemma 3 27B as published: the language part in a configuration of its own, embeddings
        // shared without a word.
        (
            json!({"model_type": "gemma3", "torch_dtype": "bfloat16",
                "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "head_dim": 128,
                    "intermediate_size": 21504, "num_attention_heads": 32, "num_hidden_layers": 62,
                    "num_key_value_heads": 16, "sliding_window": 1024, "vocab_size": 262208},
                "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152}}),
            27_009_346_304.0,
            Some("bf16"),
        ),
        // gpt-oss 20B: layers by kind, experts in 4 bits.
        (
            json!({"model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64,
                "intermediate_size": 2880, "num_attention_heads": 64, "num_hidden_layers": 24,
                "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 4,
                "attention_bias": true, "sliding_window": 128, "vocab_size": 201088,
                "layer_types": (0..24).map(|layer| if layer % 2 == 0 { "sliding_attention" }
                    else { "full_attention" }).collect::<Vec<_>>(),
                "tie_word_embeddings": false, "quantization_config": {"quant_method": "mxfp4"}}),
            20_914_757_184.0,
            Some("mxfp4"),
        ),
        // Mixtral 8x7B: no window.
        (
            json!({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
                "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
                "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null,
                "tie_word_embeddings": false, "vocab_size": 32000}),
            46_702_792_704.0,
            None,
        ),
    ];
    for (config, parameters, format) in cases {
        let model = read(&config);
        assert_eq!(model.parameters(), parameters, "{}", model.name);
        assert_eq!(model.native_format.as_deref(), format, "{}", model.name);
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
