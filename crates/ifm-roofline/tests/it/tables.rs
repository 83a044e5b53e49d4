//! The tables: every row is read, counts equal the published ones, and names find their rows.

use ifm_roofline::{
    Confidence, KvFormat, Machine, Model, RooflineError, WeightFormat, architectures,
};

#[test]
fn every_row_is_read_and_its_own_names_find_it() {
    let rows = |text: &str, head: &str| text.lines().filter(|line| *line == head).count();
    let machines = rows(include_str!("../../data/hardware.toml"), "[[machine]]");
    let models = rows(include_str!("../../data/models.toml"), "[[model]]");
    assert_eq!((Machine::all().len(), Model::all().count()), (machines, models));
    for machine in Machine::all() {
        for name in [&machine.id, &machine.name] {
            let found = Machine::find(name).map(|found| found.id);
            assert_eq!(found.as_ref(), Ok(&machine.id), "{name}");
        }
        assert!(machine.bandwidth_gb_s > 100.0 && machine.bf16_tflops > 5.0, "{}", machine.id);
        assert!(machine.source.len() > 10 && machine.confidence != Confidence::User);
    }
    for model in Model::all() {
        assert_eq!(Model::find(&model.id).map(|found| found.id).as_ref(), Ok(&model.id));
        let native = model.native_format.as_deref().map(WeightFormat::find);
        assert!(matches!(native, Some(Ok(_))), "{}", model.id);
    }
}

#[test]
fn counts_equal_the_published_ones() {
    let mut compared = 0;
    for model in Model::all() {
        let Some(published) = model.published_parameters else { continue };
        compared += 1;
        assert_eq!(model.parameters(), published as f64, "{}", model.id);
    }
    assert!(compared >= 30, "{compared} of {} rows have a published count", Model::all().count());
}

#[test]
fn active_counts_are_what_the_model_cards_say() {
    // In all and for one token, billions. OpenAI's card: 116.83 and 5.13, 20.91 and 3.61. DeepSeek:
    // 671 and 37, Mixtral 46.7 and 12.9, Qwen3 30.5 and 3.3, Kimi K2 1000 and 32: these count the
    // input embedding too (0.93, 0.13, 0.31 and 1.17), where nothing is computed. Gemma 3: 27.4
    // and 12.2 with 0.42 for pictures. The others have round figures in their names alone.
    let cases = [
        ("gpt-oss-120b", 116.829, 5.133),
        ("gpt-oss-20b", 20.915, 3.608),
        ("deepseek-v3", 671.026, 36.626),
        ("mixtral-8x7b", 46.703, 12.749),
        ("qwen3-30b-a3b", 30.532, 3.042),
        ("kimi-k2", 1026.408, 31.687),
        ("gemma-3-27b", 27.009, 27.009),
        ("gemma-3-12b", 11.766, 11.766),
        ("qwen3.5-35b-a3b", 34.66, 2.946),
        ("glm-4.5-air", 106.852, 12.803),
    ];
    for (id, total, active) in cases {
        let model = Model::find(id).unwrap();
        let counts = (model.parameters() / 1e9, model.active_parameters() / 1e9);
        assert!((counts.0 / total - 1.0).abs() < 1e-4, "{id} {counts:?}");
        assert!((counts.1 / active - 1.0).abs() < 2e-4, "{id} {counts:?}");
    }
}

#[test]
fn bytes_of_keys_and_values_are_those_of_the_shapes() {
    // 2 x layers that look back without a window x heads of keys x width x 2 bytes; of latent
    // attention layers x (512 + 64) x 2.
    let cases = [
        ("llama-2-7b", 524_288.0),
        ("llama-3.1-8b", 131_072.0),
        ("llama-3.1-70b", 327_680.0),
        ("llama-3.1-405b", 516_096.0),
        ("mistral-small-24b", 163_840.0),
        ("gpt-oss-20b", 24_576.0),
        ("gpt-oss-120b", 36_864.0),
        ("qwen3-4b", 147_456.0),
        ("qwen3-32b", 262_144.0),
        ("qwen3-30b-a3b", 98_304.0),
        ("qwen3.5-35b-a3b", 20_480.0),
        ("phi-4", 204_800.0),
        ("deepseek-v3", 70_272.0),
    ];
    for (id, expected) in cases {
        assert_eq!(2.0 * Model::find(id).unwrap().kv_elements_per_token(), expected, "{id}");
    }
}

#[test]
fn machines_are_found_as_people_and_drivers_write_them() {
    let cases = [
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-ws"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("8xH100 SXM5", "h100-sxm"),
        ("DGX H100", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA H200 NVL", "h200-nvl"),
        ("L40S", "l40s"),
        ("Single L40S GPU, 46GB", "l40s"),
        ("NVIDIA L40S-48GB", "l40s"),
        ("NVIDIA A100-SXM4-80GB", "a100-80g-sxm"),
        ("NVIDIA A100 80GB PCIe", "a100-80g-pcie"),
        ("NVIDIA A100-PCIE-40GB", "a100-40g"),
        ("Tesla T4", "t4"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("2 x RTX 3090", "rtx-3090"),
        ("RTX6000 Ada", "rtx-6000-ada"),
        ("NVIDIA GH200 480GB", "gh200-96g"),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("Apple M4 Max", "apple-m4-max"),
        ("TPU v5e", "tpu-v5e"),
    ];
    for (name, id) in cases {
        assert_eq!(Machine::find(name).map(|machine| machine.id).as_deref(), Ok(id), "{name}");
    }
}

#[test]
fn a_machine_that_may_be_several_or_another_is_not_guessed() {
    let cases: [(&str, &[&str]); 5] = [
        ("H100", &["h100-sxm", "h100-pcie", "h100-nvl"]),
        ("NVIDIA A100 80GB", &["a100-80g-sxm", "a100-80g-pcie"]),
        ("RTX PRO 6000", &["rtx-pro-6000-ws", "rtx-pro-6000-max-q", "rtx-pro-6000-server"]),
        ("Apple M4", &["apple-m4-pro", "apple-m4-max"]),
        ("GH200", &["gh200-96g", "gh200-144g"]),
    ];
    for (name, expected) in cases {
        match Machine::find(name) {
            Err(RooflineError::Ambiguous { candidates, .. }) => {
                for id in expected {
                    assert!(candidates.iter().any(|found| found == id), "{name}: {candidates:?}");
                }
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let others = [
        "GeForce RTX 4090 Laptop GPU",
        "RTX 4090 D",
        "RTX 4090 48GB",
        "GeForce RTX 3090 Ti",
        "H20 141GB",
        "Xeon Platinum 8480",
        "",
        "gpu",
    ];
    for name in others {
        assert!(matches!(Machine::find(name), Err(RooflineError::Unknown { .. })), "{name}");
    }
    let Err(RooflineError::Unknown { nearest, .. }) = Machine::find("l40x") else { panic!() };
    assert!(nearest.iter().any(|id| id == "l40s"), "{nearest:?}");
}

#[test]
fn models_are_found_as_people_and_tools_write_them() {
    let cases = [
        ("Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("LLama-3.1-8B-Instruct-int8-dynamic", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3.1-8b"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"),
        ("shisa-v2-llama3.3-70b.i1-Q4_K_M.gguf", "llama-3.1-70b"),
        ("Qwen/Qwen3-4B", "qwen3-4b"),
        ("Qwen3-4B-Instruct-2507-FP8", "qwen3-4b"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b"),
        ("Qwen3-30B-A3B-Q4_K_M.gguf", "qwen3-30b-a3b"),
        ("qwen3moe 30B.A3B Q4_K - Medium", "qwen3-30b-a3b"),
        ("Qwen3.5-35B-A3B-FP8", "qwen3.5-35b-a3b"),
        ("gpt-oss 120B Q8_0", "gpt-oss-120b"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"),
        ("Mistral-Small-3.1-24B-Instruct-2503", "mistral-small-24b"),
        ("Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("shisa-v2-unphi4-14b", "phi-4"),
        ("microsoft/Phi-4", "phi-4"),
        ("Phi-3.5-mini-instruct", "phi-3-mini"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
    ];
    for (name, id) in cases {
        assert_eq!(Model::find(name).map(|model| model.id).as_deref(), Ok(id), "{name}");
    }
}

#[test]
fn a_model_that_may_be_several_or_another_is_not_guessed() {
    let several = ["llama 7B Q4_0", "Mistral-7B", "gpt-oss", "Qwen3"];
    for name in several {
        let found = Model::find(name);
        assert!(
            matches!(found, Err(RooflineError::Ambiguous { .. } | RooflineError::Unknown { .. })),
            "{name}: {found:?}"
        );
    }
    let others = [
        "DeepSeek-R1-Distill-Qwen-1.5B",
        "Qwen2.5-VL-7B-Instruct",
        "Qwen3-Embedding-4B",
        "Phi-4-mini-instruct",
        "Llama-4-Scout-17B-16E",
        "CodeLlama-7b",
        "Mistral-Large-2407",
        "Qwen3.5-4B",
        "my-finetune",
        "",
    ];
    for name in others {
        assert!(matches!(Model::find(name), Err(RooflineError::Unknown { .. })), "{name}");
    }
}

#[test]
fn rows_of_llama_bench_are_told_apart_by_their_counts() {
    // Names and counts as `llama-bench` prints them.
    let cases = [
        ("llama 7B Q4_0", 6.74e9, "llama-2-7b"),
        ("llama 8B Q4_K - Medium", 8.03e9, "llama-3.1-8b"),
        ("llama 13B Q4_K - Medium", 12.25e9, "mistral-nemo-12b"),
        ("llama ?B IQ2_XXS - 2.0625 bpw", 405.85e9, "llama-3.1-405b"),
        ("llama 70B Q4_K - Medium", 70.55e9, "llama-3.1-70b"),
        ("gpt-oss 120B Q8_0", 116.83e9, "gpt-oss-120b"),
    ];
    for (name, parameters, id) in cases {
        let found = Model::find_with_parameters(name, parameters).map(|model| model.id);
        assert_eq!(found.as_deref(), Ok(id), "{name}");
    }
    assert!(Model::find_with_parameters("Qwen3-4B", 9.0e9).is_err());
    assert!(Model::find_with_parameters("some model", 1.0).is_err());
}

#[test]
fn number_formats_are_read_from_flags_and_names() {
    let named = [
        ("llama 7B Q4_0", Some("q4_0")),
        ("llama 70B Q4_K - Medium", Some("q4_k_m")),
        ("shisa-v2-mistral-nemo-12b.i1-Q4_K_M.gguf", Some("q4_k_m")),
        ("llama ?B IQ2_XXS - 2.0625 bpw", Some("iq2_xxs")),
        ("LLama-3.1-8B-Instruct-int8-dynamic", Some("w8a8")),
        ("Meta-Llama-3.1-8B-Instruct-quantized.w4a16", Some("w4a16")),
        ("Llama-3.1-8B-Instruct-FP8-dynamic", Some("fp8")),
        ("Qwen2.5-7B-Instruct-GPTQ-Int8", Some("w8a16")),
        ("Qwen/Qwen3-4B", None),
    ];
    for (name, id) in named {
        assert_eq!(WeightFormat::named_in(name).map(|format| format.id), id, "{name}");
    }
    assert_eq!(WeightFormat::find("IQ4_XS - 4.25 bpw").map(|format| format.bits), Ok(4.25));
    assert_eq!(WeightFormat::find("Q4_K - Small").map(|format| format.id), Ok("q4_k_s"));
    assert_eq!(KvFormat::find("fp8_e4m3").map(|format| format.bits), Ok(8.0));
    let Err(RooflineError::Unknown { nearest, .. }) = WeightFormat::find("q4_k_x") else {
        panic!()
    };
    assert!(nearest.iter().any(|id| id == "q4_k_m"), "{nearest:?}");
    assert!(architectures().any(|name| name == "llama"));
}

#[test]
fn machines_are_described_by_hand() {
    let machine = Machine::parse("bw=864,bf16=362, mem=45,name=mine").unwrap();
    assert_eq!((machine.bandwidth_gb_s, machine.memory_gib), (864.0, Some(45.0)));
    assert_eq!((machine.name.as_str(), machine.int8_tops), ("mine", None));
    let changed = Machine::parse("l40s,bw=900").unwrap();
    assert_eq!((changed.bandwidth_gb_s, changed.bf16_tflops), (900.0, 362.05));
    assert_eq!(changed.confidence, Confidence::User);
    for text in ["bw=864", "bf16=1,bw=0", "bw=fast,bf16=1", "bw=1,bf16=2,hz=3", "bw=1,bf16=2,l40s"]
    {
        assert!(matches!(Machine::parse(text), Err(RooflineError::Machine { .. })), "{text}");
    }
}
