//! Bounds against manual arithmetic, against published rows, and against each other.

use ifm_roofline::{Binding, KvFormat, Machine, Model, Precision, Setup, Verdict, WeightFormat};
use proptest::prelude::*;

fn setup(machine: &str, model: &str, format: &str) -> Setup {
    shared(machine, model, format, 1)
}

fn shared(machine: &str, model: &str, format: &str, gpus: u32) -> Setup {
    let (machine, model) = (Machine::parse(machine).unwrap(), Model::find(model).unwrap());
    Setup::new(machine, model, Precision::find(format).unwrap(), gpus).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value} is not {expected}");
}

/// Llama 3.1 8B: 32 layers of 41 943 040 (attention) + 176 160 768 (feed-forward) = 218 103 808
/// parameters, 6 979 321 856 in all; norms 2 x 4096 a layer, 262 144; output matrix 128 256 x 4096 =
/// 525 336 576. Peaks: 864 GB/s, 362.05 T.
#[test]
fn a_dense_model_by_hand() {
    let l40s = setup("l40s", "llama-3.1-8b", "bf16");
    let step = l40s.decode(1.0, 1314.0);
    // (6 979 321 856 + 262 144 + 525 336 576) x 2 + 1314 x 131 072 = 15 182 069 760 bytes.
    near(step.bytes(), 15_182_069_760.0);
    near(step.strict.seconds, 15_182_069_760.0 / 864e9);
    // 2 x (6 979 321 856 + 525 336 576) + 32 x 4 x 32 x 128 x 1314 = 15 698 231 296 operations.
    near(step.flops(), 15_698_231_296.0);
    assert_eq!(step.strict.binds, Binding::MemoryBandwidth);
    near(step.serial.seconds, step.strict.seconds);

    // A prompt of 1000 tokens: 2 x 6 979 321 856 x 1000 + 2 x 525 336 576
    // + 32 x 4 x 4096 x 500 500 = 13 958 643 712 000 + 1 050 673 152 + 262 406 144 000.
    let prompt = l40s.prefill(1.0, 1000.0);
    near(prompt.flops(), 14_222_100_529_152.0);
    near(prompt.strict.seconds, 14_222_100_529_152.0 / 362.05e12);
    assert_eq!(prompt.strict.binds, Binding::Compute);
    // Part by part the output matrix is read at 864 GB/s: 1 050 673 152 bytes.
    let layers_and_attention = (14_222_100_529_152.0 - 1_050_673_152.0) / 362.05e12;
    near(prompt.serial.seconds, layers_and_attention + 1_050_673_152.0 / 864e9);

    // Two requests of 10 and 3 tokens, together from the start: three sweeps of the weights, and
    // keys and values of 11 and 12 tokens, twice: 3 x 15 009 841 152 + 2 x 23 x 131 072 bytes.
    let batch = l40s.static_batch(2.0, 10.0, 3.0);
    near(batch.bytes(), 3.0 * 15_009_841_152.0 + 46.0 * 131_072.0);
    near(batch.tokens_per_s(batch.strict), 6.0 / batch.strict.seconds);
    // A closed loop does the same work in the same time when nothing has to wait for memory.
    near(l40s.closed_loop(2.0, 10.0, 3.0).strict.seconds, batch.strict.seconds);

    // 44.99 GiB less 16.06 GB of weights, by requests of 1280 tokens at 131 072 bytes.
    let capacity = l40s.capacity(1280.0);
    let free: f64 = 44.99 * 1_073_741_824.0 - 2.0 * 8_030_261_248.0;
    assert_eq!(capacity.requests, Some((free / (1280.0 * 131_072.0)).floor()));
    // Reading 6 979 584 000 x 2 bytes takes as long as this many tokens' operations.
    let ridge = (13_959_168_000.0 / 864e9) / (2.0 * 6_979_321_856.0 / 362.05e12);
    assert!((l40s.ridge_tokens().unwrap() - ridge).abs() <= 1.0);
}

/// Qwen3 30B-A3B: 48 layers; attention 2048 x 128 x (32 + 4 + 4 + 32) = 18 874 368, router 262 144,
/// norms 4352, 128 experts of 3 x 2048 x 768 = 4 718 592, of which a token takes 8; output matrix
/// 151 936 x 2048 = 311 164 928; keys and values 98 304 bytes a token.
#[test]
fn a_mixture_of_experts_by_hand() {
    let h100 = setup("h100-sxm", "qwen3-30b-a3b", "bf16");
    let dense = 48.0 * (18_874_368.0 + 262_144.0 + 4352.0) + 311_164_928.0;
    let one = h100.decode(1.0, 100.0);
    near(one.bytes(), 2.0 * (dense + 48.0 * 8.0 * 4_718_592.0) + 100.0 * 98_304.0);
    near(one.balanced.seconds, one.strict.seconds);

    // 32 tokens that choose evenly touch 128 x (1 - (120/128)^32) = 111.7697 experts; in any case
    // they touch 8.
    let many = h100.decode(32.0, 100.0);
    let experts = 128.0 * (1.0 - (120.0_f64 / 128.0).powi(32));
    assert!((experts - 111.77).abs() < 0.01);
    near(many.bytes(), 2.0 * (dense + 48.0 * experts * 4_718_592.0) + 3200.0 * 98_304.0);
    near(many.balanced.seconds, many.bytes() / 3350e9);
    let floor = 2.0 * (dense + 48.0 * 8.0 * 4_718_592.0) + 3200.0 * 98_304.0;
    near(many.strict.seconds, floor / 3350e9);
    // Operations know the active experts alone: 32 tokens of 3 040 870 400 - norms, and attention
    // 48 x 4 x 32 x 128 x 100 each.
    let active = 48.0 * (18_874_368.0 + 262_144.0 + 8.0 * 4_718_592.0) + 311_164_928.0;
    near(many.flops(), 32.0 * (2.0 * active + 48.0 * 4.0 * 4096.0 * 100.0));
    assert_eq!(
        many.share(many.strict.seconds * 1.5).map(|share| share.verdict),
        Some(Verdict::BelowBalanced)
    );
}

/// gpt-oss 20B: 24 layers, every second one looks back 128 tokens; 2 x 8 x 64 = 1024 elements a
/// layer and token.
#[test]
fn a_sliding_window_by_hand() {
    let l40s = setup("l40s", "gpt-oss-20b", "mxfp4");
    let attention = |bound: &ifm_roofline::Bound| {
        *bound.operators.iter().find(|part| part.name == "attention").unwrap()
    };
    // 12 layers x 1000 + 12 layers x 128 tokens, 1024 elements of 2 bytes; 4 x 64 x 64 operations
    // for each pair.
    let far = attention(&l40s.decode(1.0, 1000.0));
    near(far.bytes, 12.0 * 1128.0 * 2048.0);
    near(far.flops, 12.0 * 1128.0 * 16_384.0);
    // Within the window all layers look back as far.
    near(attention(&l40s.decode(1.0, 100.0)).bytes, 24.0 * 100.0 * 2048.0);
    // A prompt of 1000: 500 500 pairs, and 128 x 129 / 2 + 872 x 128 = 119 872 in the window.
    near(attention(&l40s.prefill(1.0, 1000.0)).flops, 12.0 * (500_500.0 + 119_872.0) * 16_384.0);
    // One token reads 4 of 32 experts at 4.25 bits, the rest at 16. Attention 2880 x 64 x (64 + 8)
    // + 2880 x 64 x (8 + 64) = 26 542 080; router 92 160; an expert 3 x 2880 x 2880 + 3 x 2880
    // = 24 891 840; norms and biases 2 x 2880 + 80 x 64 + 2880 + 64 + 32 = 13 856; output matrix
    // 201 088 x 2880.
    let layers =
        24.0 * (2.0 * (26_542_080.0 + 92_160.0 + 13_856.0) + 4.0 * 24_891_840.0 * 4.25 / 8.0);
    near(l40s.decode(1.0, 1.0).bytes(), layers + 2.0 * 201_088.0 * 2880.0 + 24.0 * 2048.0);
}

/// DeepSeek V3: a layer's cache is one vector of 512 + 64 elements a token for all 128 heads.
#[test]
fn latent_attention_by_hand() {
    let h200 = shared("h200", "deepseek-v3", "fp8", 8);
    let part = |bound: &ifm_roofline::Bound, name: &str| {
        *bound.operators.iter().find(|part| part.name == name).unwrap()
    };
    // 61 x 576 x 2 bytes x 1000 tokens; every GPU holds the whole vector.
    let step = h200.decode(1.0, 1000.0);
    near(part(&step, "attention").bytes, 61.0 * 576.0 * 2.0 * 1000.0);
    // Decoding scores 576 wide and sums 512 wide: 2 x 128 x 1088 operations a pair, an eighth each.
    near(part(&step, "attention").flops, 61.0 * 1000.0 * 2.0 * 128.0 * 1088.0 / 8.0);
    // Reading a prompt scores 192 wide and sums 128 wide; 50 005 000 pairs of 10 000 tokens.
    let prompt = h200.prefill(1.0, 10_000.0);
    near(part(&prompt, "attention").flops, 61.0 * 50_005_000.0 * 2.0 * 128.0 * 320.0 / 8.0);
    // Two all-reduces a layer of 7168 x 2 bytes; a ring of 8 sends 1.75 times that: at 450 GB/s.
    let sent = 61.0 * 2.0 * 7168.0 * 2.0 * 1.75;
    near(part(&step, "all-reduce").link_bytes, sent);
    near(part(&step, "all-reduce").link_s, sent / 450e9);
    // 673 GB of weights, an eighth each, leave 66.6 GB of 140.4 GiB: 948 times 70.3 MB. Four hold
    // 603 GB.
    let fits = h200.capacity(1000.0).requests.unwrap();
    assert!((945.0..952.0).contains(&fits), "{fits}");
    assert_eq!(shared("h200", "deepseek-v3", "fp8", 4).capacity(1.0).requests, Some(0.0));
}

#[test]
fn files_of_llama_cpp_are_as_large_as_counted() {
    // Sizes that llama-bench b6413 printed, GiB; the mixtures of k-quants follow its rule.
    let cases = [
        ("llama-2-7b", "q4_0", 3.56),
        ("llama-3.1-70b", "q4_k_m", 39.59),
        ("mistral-nemo-12b", "q4_k_m", 6.96),
        ("qwen3-30b-a3b", "q4_k_m", 17.28),
    ];
    for (model, format, gib) in cases {
        let bytes = setup("l40s", model, format).weight_bytes();
        assert!((bytes / 1_073_741_824.0 / gib - 1.0).abs() < 2e-3, "{model}: {bytes} bytes");
    }
    // A known size replaces the count, and what a step reads with it.
    let machine = Machine::find("l40s").unwrap();
    let model = Model::find("llama-3.1-405b").unwrap();
    let mut precision = Precision::find("iq2_xxs").unwrap();
    precision.weight_bytes = Some(99.9 * 1_073_741_824.0);
    let given = Setup::new(machine, model, precision, 1).unwrap();
    near(given.weight_bytes(), 99.9 * 1_073_741_824.0);
    let counted = setup("l40s", "llama-3.1-405b", "iq2_xxs");
    let factor = given.weight_bytes() / counted.weight_bytes();
    assert!((1.0..1.05).contains(&factor), "{factor}");
    near(
        given.decode(1.0, 1.0).operators[0].bytes,
        factor * counted.decode(1.0, 1.0).operators[0].bytes,
    );
}

#[test]
fn published_single_stream_rows_sit_at_known_shares_of_the_limit() {
    // Measured seconds between tokens, and the share of the strict limit in percent. GuideLLM on an
    // L40S, prompts of 1058 and answers of 512 tokens. SGLang on an A100 80GB, 256 in and 512 out,
    // whose rate counts 512 tokens over 511 steps. llama-bench b6413 on an RTX PRO 6000, tg128.
    let cases = [
        ("l40s", "llama-3.1-8b", "bf16", 1314.0, 22.2e-3, 79.1),
        ("l40s", "llama-3.1-8b", "w8a8", 1314.0, 14.7e-3, 64.6),
        ("a100-80g-sxm", "qwen3-4b", "w8a8", 512.0, 512.0 / 197.63 / 511.0, 43.4),
        ("rtx-pro-6000-ws", "llama-2-7b", "q4_0", 64.0, 1.0 / 278.95, 58.9),
        ("rtx-pro-6000-ws", "mistral-nemo-12b", "q4_k_m", 64.0, 1.0 / 163.31, 64.7),
        ("rtx-pro-6000-ws", "llama-3.1-70b", "q4_k_m", 64.0, 1.0 / 34.05, 79.7),
        ("rtx-pro-6000-ws", "qwen3-30b-a3b", "q4_k_m", 64.0, 1.0 / 251.61, 27.0),
    ];
    for (machine, model, format, context, measured, percent) in cases {
        let share = setup(machine, model, format).decode(1.0, context).share(measured).unwrap();
        assert!((100.0 * share.of_strict - percent).abs() < 0.5, "{model} {format}: {share:?}");
        assert_eq!(share.verdict, Verdict::Possible, "{model} {format}");
        assert!((share.bandwidth - share.of_strict).abs() < 1e-9);
    }
    // TTFT of the same L40S rows: 37 and 25 % of the limit by the serial bound.
    for (format, measured, percent) in [("bf16", 115.9e-3, 36.9), ("w8a8", 87.9e-3, 26.0)] {
        let share =
            setup("l40s", "llama-3.1-8b", format).prefill(1.0, 1058.0).share(measured).unwrap();
        assert!((100.0 * share.of_serial - percent).abs() < 1.0, "{format}: {share:?}");
    }
}

#[test]
fn what_cannot_have_been_measured_is_found() {
    let l40s = setup("l40s", "llama-3.1-8b", "bf16");
    // Prompts that came from a prefix cache: 1024 tokens in 20 ms, where 40 ms are needed.
    let cached = l40s.prefill(1.0, 1024.0).share(0.020).unwrap();
    assert_eq!(cached.verdict, Verdict::BelowStrict);
    assert!(cached.of_strict > 1.9);
    // Another format than stated: the 8-bit row's 14.7 ms called 16-bit.
    let step = l40s.decode(1.0, 1314.0);
    assert_eq!(step.share(0.0147).unwrap().verdict, Verdict::BelowStrict);
    // More tokens a second than 64 users can get of this machine.
    let cycle = l40s.closed_loop(64.0, 1024.0, 128.0);
    let rate = cycle.tokens_per_s(cycle.strict) * 1.05;
    assert_eq!(cycle.share_of_rate(rate).unwrap().verdict, Verdict::BelowStrict);
    // Below the limit by less than the cache holds (96 MiB of 15.2 GB) is not proof.
    let a_little = step.strict.seconds * 0.995;
    assert_ne!(step.share(a_little).unwrap().verdict, Verdict::BelowStrict);
    for absurd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(step.share(absurd), None);
    }
}

#[test]
fn users_that_do_not_fit_wait() {
    // 24 GB less 16 GB of weights hold 8 prompts of 7000 tokens (0.92 GB each).
    let small = setup("rtx-4090", "llama-3.1-8b", "bf16");
    let fits = small.capacity(7001.0).requests.unwrap();
    assert_eq!(fits, 10.0);
    let (some, many) =
        (small.closed_loop(10.0, 7000.0, 100.0), small.closed_loop(40.0, 7000.0, 100.0));
    assert_ne!(some.strict.binds, Binding::KvCapacity);
    assert_eq!(many.strict.binds, Binding::KvCapacity);
    near(many.strict.seconds, 4.0 * some.strict.seconds);
}

#[test]
fn narrow_formats_run_at_the_fastest_rate_they_allow() {
    let rate = |machine: &str, format: &str| {
        let machine = Machine::find(machine).unwrap();
        WeightFormat::find(format).unwrap().arithmetic.rate(&machine) / 1e12
    };
    // No fp8 on an A100: widened to 16 bits. Integers were nearly taken out of the B300.
    let cases = [
        ("a100-80g-sxm", "fp8", 312.0),
        ("a100-80g-sxm", "w8a8", 624.0),
        ("b300-sxm", "w8a8", 2250.0),
        ("rtx-4090", "bf16", 165.2),
        ("rtx-4090", "fp16", 330.3),
        ("h100-sxm", "mxfp4", 1978.9),
        ("b200-sxm", "nvfp4", 9000.0),
    ];
    for (machine, format, expected) in cases {
        assert_eq!(rate(machine, format), expected, "{machine} {format}");
    }
}

#[test]
fn an_impossible_number_of_gpus_is_refused() {
    for gpus in [0, 5000] {
        let machine = Machine::find("l40s").unwrap();
        let model = Model::find("qwen3-4b").unwrap();
        assert!(Setup::new(machine, model, Precision::find("bf16").unwrap(), gpus).is_err());
    }
}

fn any_setup() -> impl Strategy<Value = Setup> {
    let machines = 0..Machine::all().len();
    let models = 0..Model::all().count();
    let formats = 0..WeightFormat::all().count();
    let kvs = 0..KvFormat::all().len();
    (machines, models, formats, kvs, 1_u32..=16).prop_map(|(machine, model, format, kv, gpus)| {
        let mut precision = Precision::new(WeightFormat::all().nth(format).unwrap().clone());
        precision.kv = KvFormat::all()[kv];
        let model = Model::all().nth(model).unwrap().clone();
        Setup::new(Machine::all()[machine].clone(), model, precision, gpus).unwrap()
    })
}

proptest! {
    /// Each level is at least as long as the previous one, for everything in the tables.
    #[test]
    fn strict_is_never_above_balanced_nor_that_above_serial(
        setup in any_setup(),
        batch in 1.0_f64..2000.0,
        input in 1.0_f64..200_000.0,
        output in 1.0_f64..20_000.0,
    ) {
        let bounds = [
            setup.decode(batch, input),
            setup.prefill(batch, input),
            setup.closed_loop(batch, input, output),
            setup.static_batch(batch, input, output),
        ];
        for bound in bounds {
            let (strict, balanced, serial) =
                (bound.strict.seconds, bound.balanced.seconds, bound.serial.seconds);
            prop_assert!(strict > 0.0 && serial.is_finite());
            prop_assert!(strict <= balanced * (1.0 + 1e-12), "{:?}", bound);
            prop_assert!(balanced <= serial * (1.0 + 1e-12), "{:?}", bound);
        }
    }

    /// More users never get fewer tokens a second at the limit, and no request gets faster.
    #[test]
    fn bounds_grow_with_users(
        setup in any_setup(),
        users in 1.0_f64..500.0,
        more in 1.0_f64..10.0,
        input in 1.0_f64..5000.0,
        output in 1.0_f64..1000.0,
    ) {
        let few = setup.closed_loop(users, input, output);
        let many = setup.closed_loop(users * more, input, output);
        for (few_limit, many_limit) in [(few.strict, many.strict), (few.balanced, many.balanced)] {
            let rates = (few.tokens_per_s(few_limit), many.tokens_per_s(many_limit));
            prop_assert!(rates.1 >= rates.0 * (1.0 - 1e-9), "{:?}", rates);
            prop_assert!(many_limit.seconds >= few_limit.seconds * (1.0 - 1e-9));
        }
    }
}
