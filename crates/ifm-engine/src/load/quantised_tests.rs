//! Checkpoints of integers: matrices of real writers against their own dequantisation, a
//! whole model against the variant that is made of the same floats, and what is refused.
//!
//! `tests/data/quantised` holds one matrix of 8 by 256 of each kind with what its writer
//! makes of it again (`expected`). Those that begin with `ct` were compressed and
//! decompressed by compressed-tensors 0.17; `awq` and `gptq` were quantised and packed by
//! the functions of vLLM (`quant_utils.py`), GPTQ's zero points less one, as AutoGPTQ
//! stores them. `configs.json` holds the `quantization_config` of each.

use std::{fs, path::Path};

use ifm_kernels::{Activations, Format, Stored};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    integers,
    safetensors::Checkpoint,
    scheme::Scheme,
    tests::{
        Folder, Tensor, assert_close, decode, logits, memory, nano_matrices, write_safetensors,
    },
};
use crate::{
    quantization::Quantization,
    weights::{LayerTensor, TensorName, Weight},
};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/quantised");
const NAME: TensorName = TensorName::Layer(0, LayerTensor::Down);

/// A matrix of the data, and what its writer makes of it.
fn real(name: &str) -> (Weight, Vec<f32>) {
    let folder = TempDir::new().expect("a folder");
    let file = Path::new(DATA).join(format!("{name}.safetensors"));
    fs::copy(file, folder.path().join("model.safetensors")).expect("the data");
    let configs = fs::read(Path::new(DATA).join("configs.json")).expect("the data");
    let configs: Value = serde_json::from_slice(&configs).expect("JSON");
    let scheme = Scheme::parse(&configs[name]).expect("understood");
    let checkpoint = Checkpoint::open(folder.path()).expect("opens");
    let weight = integers::read(&checkpoint, &scheme, NAME, 8, 256).expect("reads");
    assert_eq!(integers::format(&scheme, 256).expect("known"), weight.stored.format());
    (weight, checkpoint.read_floats("expected").expect("there"))
}

#[test]
fn matrices_of_real_writers_are_what_they_make_of_them() {
    let int4 = |group, zeros| Format::Int4 { group, zeros };
    let floats = Activations::Float;
    // 0.0123 in bf16.
    let fixed = Activations::Static8 { scale: 0.012_329_102 };
    let kinds = [
        ("ct-w8a8", Format::Int8, Activations::Token8),
        ("ct-w8a8-static", Format::Int8, fixed),
        ("ct-w4a16", int4(128, false), floats),
        ("ct-w4a16-asym", int4(128, true), floats),
        ("ct-w4a16-channel", int4(256, false), floats),
        ("ct-w8a16", Format::Int8, floats),
        ("ct-w8a16-group", Format::Q8_0, floats),
        ("awq", int4(128, true), floats),
        ("gptq-4", int4(128, false), floats),
        ("gptq-4-asym", int4(128, true), floats),
        ("gptq-8", Format::Q8_0, floats),
    ];
    for (name, format, activations) in kinds {
        let (weight, expected) = real(name);
        assert_eq!((weight.stored.format(), weight.activations), (format, activations), "{name}");
        // The writer's own products are rounded to bf16 or f16.
        let bits = if name.starts_with("ct") { 8 } else { 10 };
        let rounding = 1.0 / (1 << bits) as f32;
        for (index, (got, expected)) in decode(&weight.stored).iter().zip(&expected).enumerate() {
            let most = expected.abs() * rounding + 1e-7;
            assert!((got - expected).abs() <= most, "{name} {index}: {got}, {expected}");
        }
    }
}

/// The nano model as compressed-tensors stores it in `int-quantized`.
fn write_int8(folder: &Folder, input_scale: Option<f32>) -> Value {
    let mut tensors = Folder::tensors(Format::F32);
    tensors.retain(|(name, ..)| name.contains("norm"));
    for (name, floats) in nano_matrices(Quantization::F32) {
        let (rows, columns) = (floats.rows(), floats.columns());
        if name == TensorName::Embedding {
            let stored = Stored::encode(Format::F16, rows, columns, &decode(&floats));
            let bytes = stored.expect("encoded").bytes().to_vec();
            tensors.push((name.hugging_face(), "F16", vec![rows, columns], bytes));
            continue;
        }
        let int8 = Stored::encode(Format::Int8, rows, columns, &decode(&floats)).expect("encoded");
        let (levels, scales) = int8.bytes().split_at(rows * columns);
        let tensor = name.hugging_face();
        tensors.push((tensor.clone(), "I8", vec![rows, columns], levels.to_vec()));
        tensors.push((format!("{tensor}_scale"), "F32", vec![rows, 1], scales.to_vec()));
        if let Some(scale) = input_scale {
            let tensor = tensor.replace(".weight", ".input_scale");
            tensors.push((tensor, "F32", vec![1], scale.to_le_bytes().to_vec()));
        }
    }
    write_safetensors(&folder.path("model.safetensors"), &tensors);
    let (strategy, dynamic) =
        if input_scale.is_some() { ("tensor", false) } else { ("token", true) };
    json!({
        "quant_method": "compressed-tensors",
        "format": "int-quantized",
        "config_groups": {"group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": true, "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "int", "symmetric": true,
                "strategy": strategy, "dynamic": dynamic},
        }},
        "ignore": ["lm_head"],
    })
}

#[test]
fn a_quantised_checkpoint_is_the_variant_of_the_same_floats() {
    let folder = Folder::new(Format::F32, 1);
    let config = write_int8(&folder, None);
    folder.write_config(&json!({"quantization_config": config}));
    let model = folder.load(None).expect("loads");
    let variant = memory(Quantization::W8A8);
    assert_close(&logits(&model), &logits(&variant), 1e-4);
    let info = model.info();
    assert_eq!(info.variant, "w8a8 (int8 x int8, dynamic per token, compressed-tensors)");
    assert_eq!((&*info.stored_dtype, &info.compute_dtype), ("int8", &variant.info().compute_dtype));
    let error = folder.load(Some(Quantization::Q8_0)).expect_err("twice").to_string();
    assert!(error.contains("q8_0") && error.contains("already"), "{error}");
}

#[test]
fn a_stored_scale_of_activations_is_used() {
    let folder = Folder::new(Format::F32, 1);
    let mut spread = Vec::new();
    for scale in [0.05, 2.0] {
        let config = write_int8(&folder, Some(scale));
        folder.write_config(&json!({"quantization_config": config}));
        let got = logits(&folder.load(None).expect("loads"));
        let expected = logits(&memory(Quantization::F32));
        let square = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>();
        let lost = square(&mut got.iter().zip(&expected).map(|(a, b)| a - b));
        spread.push((lost / square(&mut expected.iter().copied())).sqrt());
    }
    // Steps of 0.05 suit values around 1, steps of 2 leave nearly nothing of them.
    assert!(spread[0] < 0.2 && spread[1] > 0.5, "{spread:?}");
}

#[test]
fn what_is_not_plain_is_refused_by_name() {
    let folder = Folder::new(Format::F32, 1);
    let good = write_int8(&folder, None);
    let check = |path: &str, value: Value, words: &[&str]| {
        let mut config = good.clone();
        *config.pointer_mut(path).expect("a place") = value;
        folder.write_config(&json!({"quantization_config": config}));
        let error = folder.load(None).expect_err("refused").to_string();
        for word in words {
            assert!(error.contains(word), "{word} is not in: {error}");
        }
    };
    let group = "/config_groups/group_0";
    check("/format", json!("float-quantized"), &["float-quantized"]);
    check("/format", json!("marlin-24"), &["marlin-24"]);
    check("/quant_method", json!("fp8"), &["fp8"]);
    check("/ignore", json!(["re:.*vision.*"]), &["vision", "names nothing"]);
    check("/ignore", json!(["re:.*down_proj"]), &["down_proj is in floats", "in integers"]);
    check("/config_groups", json!({"a": {}, "b": {}}), &["2 groups of layers"]);
    check(&format!("{group}/targets"), json!(["re:.*q_proj"]), &["q_proj"]);
    check(&format!("{group}/weights/type"), json!("float"), &["float8"]);
    check(&format!("{group}/weights/symmetric"), json!(false), &["zero points"]);
    check(&format!("{group}/weights/strategy"), json!("block"), &["block"]);
    check(&format!("{group}/input_activations/symmetric"), json!(false), &["zero points"]);
    check(&format!("{group}/input_activations/strategy"), json!("group"), &["group"]);
    for (key, value, word) in [
        ("sparsity_config", json!({"format": "sparse-24-bitmask"}), "sparse-24"),
        ("kv_cache_scheme", json!({"num_bits": 8}), "kv_cache_scheme"),
        ("quantization_status", json!("frozen"), "frozen"),
    ] {
        let mut config = good.clone();
        config[key] = value;
        folder.write_config(&json!({"quantization_config": config}));
        let error = folder.load(None).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn words_of_awq_and_gptq_that_are_not_read_are_named() {
    let awq = |changes: Value| merge(json!({"quant_method": "awq", "bits": 4}), &changes);
    let gptq = |changes: Value| merge(json!({"quant_method": "gptq", "bits": 4}), &changes);
    let refused = [
        (awq(json!({"version": "gemv"})), "gemv"),
        (awq(json!({"bits": 3})), "3 bits"),
        (gptq(json!({"bits": 2})), "2 bits"),
        (gptq(json!({"checkpoint_format": "marlin"})), "marlin"),
        (gptq(json!({"bits": 8, "sym": false})), "zero points"),
        (gptq(json!({"group_size": 0})), "groups of 0"),
        (gptq(json!({"dynamic": {"+:.*down.*": {"bits": 8}}})), "dynamic"),
    ];
    for (config, word) in refused {
        let error = Scheme::parse(&config).expect_err("refused").to_string();
        assert!(error.contains(word), "{word} is not in: {error}");
    }
}

fn merge(mut config: Value, changes: &Value) -> Value {
    for (key, value) in changes.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    config
}

#[test]
fn groups_in_another_order_and_zero_points_against_the_word_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let read = |order: &dyn Fn(u32) -> u32, zero: u32| {
        let words = |count: usize, word: u32| word.to_le_bytes().repeat(count);
        let order: Vec<u8> = (0..64).flat_map(|column| order(column).to_le_bytes()).collect();
        let name = |part: &str| format!("model.layers.0.mlp.down_proj.{part}");
        let tensors: Vec<Tensor> = vec![
            (name("qweight"), "I32", vec![8, 8], words(64, 0x7654_3210)),
            (name("qzeros"), "I32", vec![2, 1], words(2, zero)),
            (name("scales"), "F32", vec![2, 8], 0.5_f32.to_le_bytes().repeat(16)),
            (name("g_idx"), "I32", vec![64], order),
        ];
        write_safetensors(&folder.path().join("model.safetensors"), &tensors);
        let config = json!({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true});
        let scheme = Scheme::parse(&config).expect("understood");
        let checkpoint = Checkpoint::open(folder.path()).expect("opens");
        integers::read(&checkpoint, &scheme, NAME, 8, 64)
    };
    let weight = read(&|column| column / 32, 0x7777_7777).expect("in order");
    assert_eq!(decode(&weight.stored)[..3], [-4.0, -3.5, -3.0]);
    let error = read(&|column| column % 2, 0x7777_7777).expect_err("another order");
    assert!(error.to_string().contains("desc_act"), "{error}");
    let error = read(&|column| column / 32, 0x7777_7776).expect_err("a zero point");
    assert!(error.to_string().contains("zero points"), "{error}");
}
