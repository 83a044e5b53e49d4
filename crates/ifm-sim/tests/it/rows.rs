//! Published measurements: facts, without what was made of them.
//!
//! Not here: what they are compared with (`published`).

/// A level of a GuideLLM sweep: medians of times over requests, means of rates.
pub struct Level {
    /// Requests a second; 0 where one was sent after the other.
    pub rate: f64,
    pub ttft_ms: f64,
    pub itl_ms: f64,
    pub output_tok_per_s: f64,
    pub concurrency: f64,
}

const fn level(
    rate: f64,
    ttft_ms: f64,
    itl_ms: f64,
    output_tok_per_s: f64,
    concurrency: f64,
) -> Level {
    Level { rate, ttft_ms, itl_ms, output_tok_per_s, concurrency }
}

/// Tokens of each prompt, template included, and of each answer of the sweeps.
pub const SWEEP_TOKENS: (f64, f64) = (1058.0, 512.0);
/// Seconds of each level.
pub const SWEEP_WINDOW_S: f64 = 60.0;

/// Llama 3.1 8B in 16 bits on an L40S behind vLLM. The first row is one request after the other;
/// the rates of the others rise from its own in equal steps, by which the printed prompt tokens a
/// second rise (216 a row here).
pub const SWEEP_BF16: &[Level] = &[
    level(0.0, 115.9, 22.2, 44.8, 1.0),
    level(0.2917, 130.4, 24.3, 135.9, 3.2),
    level(0.4959, 133.6, 25.6, 227.9, 5.7),
    level(0.7001, 133.5, 27.1, 318.9, 8.6),
    level(0.9043, 138.7, 28.6, 408.1, 11.5),
    level(1.1085, 140.2, 32.0, 491.6, 15.5),
    level(1.3127, 143.2, 33.9, 576.5, 19.3),
    level(1.5169, 146.8, 36.0, 658.7, 23.4),
    level(1.7211, 147.0, 39.6, 734.0, 28.5),
];

/// The same with weights and activations of 8-bit integers (324 prompt tokens a second a row).
pub const SWEEP_W8A8: &[Level] = &[
    level(0.0, 87.9, 14.7, 67.6, 1.0),
    level(0.4382, 99.4, 16.1, 209.7, 3.3),
    level(0.7444, 99.1, 17.2, 353.9, 6.1),
    level(1.0506, 104.4, 18.8, 495.3, 9.3),
    level(1.3568, 104.9, 20.4, 634.7, 12.8),
    level(1.6630, 106.9, 22.7, 770.0, 17.3),
    level(1.9692, 108.3, 24.7, 901.6, 22.0),
    level(2.2754, 121.6, 31.1, 1110.9, 32.4),
    level(2.5816, 119.7, 34.5, 1123.5, 37.5),
];

/// A batch of SGLang's one-batch benchmark against a server: Qwen3 4B on an A100 with 80 GB.
/// Medians over three runs of each variant of a format. The time to the first token is what the
/// printed rates leave of the latency.
pub struct OneBatch {
    pub format: &'static str,
    pub batch: u32,
    pub prompt: f64,
    pub output: f64,
    pub latency_s: f64,
    pub ttft_s: f64,
    pub itl_ms: f64,
}

const fn one(
    format: &'static str,
    (batch, prompt, output): (u32, f64, f64),
    latency_s: f64,
    ttft_s: f64,
    itl_ms: f64,
) -> OneBatch {
    OneBatch { format, batch, prompt, output, latency_s, ttft_s, itl_ms }
}

pub const ONE_BATCH: &[OneBatch] = &[
    one("bf16", (1, 128.0, 64.0), 0.5082, 0.0410, 7.397),
    one("w8a16", (1, 128.0, 64.0), 0.3961, 0.0411, 5.664),
    one("w8a8", (1, 128.0, 64.0), 0.3781, 0.0517, 5.276),
    one("bf16", (1, 256.0, 512.0), 3.7975, 0.0444, 7.342),
    one("w8a16", (1, 256.0, 512.0), 2.7739, 0.0434, 5.345),
    one("w8a8", (1, 256.0, 512.0), 2.6312, 0.0435, 5.062),
    one("bf16", (1, 2048.0, 32.0), 0.3578, 0.1218, 7.614),
    one("w8a16", (1, 2048.0, 32.0), 0.3268, 0.1534, 5.594),
    one("w8a8", (1, 2048.0, 32.0), 0.2667, 0.0960, 5.684),
    one("bf16", (1, 16384.0, 32.0), 1.2391, 0.9700, 8.677),
    one("w8a16", (1, 16384.0, 32.0), 1.4792, 1.2744, 6.596),
    one("w8a8", (1, 16384.0, 32.0), 0.9958, 0.7962, 6.387),
    one("bf16", (8, 256.0, 128.0), 1.0715, 0.1177, 7.517),
    one("w8a16", (8, 256.0, 128.0), 0.8986, 0.1562, 5.806),
    one("w8a8", (8, 256.0, 128.0), 0.8076, 0.0894, 5.643),
    one("bf16", (32, 256.0, 32.0), 0.6160, 0.3458, 8.716),
    one("w8a16", (32, 256.0, 32.0), 0.7506, 0.4899, 8.372),
    one("w8a8", (32, 256.0, 32.0), 0.4584, 0.2452, 6.854),
    one("bf16", (64, 256.0, 128.0), 1.9256, 0.6228, 10.250),
    one("w8a16", (64, 256.0, 128.0), 2.4752, 0.9099, 12.309),
    one("w8a8", (64, 256.0, 128.0), 1.5265, 0.4419, 8.540),
];

/// One run of `vllm bench serve` with 1 000 requests of ShareGPT: phi-4 on an RTX PRO 6000.
pub struct Serve {
    /// Most requests at a time; absent where all were sent at once.
    pub concurrency: Option<usize>,
    pub duration_s: f64,
    pub output_tok_per_s: f64,
}

/// Six runs one after the other against one server.
pub const SERVE: &[Serve] = &[
    Serve { concurrency: None, duration_s: 43.85, output_tok_per_s: 2096.79 },
    Serve { concurrency: Some(32), duration_s: 84.29, output_tok_per_s: 1090.59 },
    Serve { concurrency: Some(64), duration_s: 51.22, output_tok_per_s: 1801.67 },
    Serve { concurrency: Some(128), duration_s: 35.60, output_tok_per_s: 2553.30 },
    Serve { concurrency: Some(256), duration_s: 30.40, output_tok_per_s: 3004.18 },
    Serve { concurrency: Some(512), duration_s: 26.81, output_tok_per_s: 3451.19 },
];
/// Tokens of all prompts, and of all answers of the first run.
pub const SERVE_TOKENS: (u64, u64) = (214_316, 91_942);
/// 99th percentiles of the first run: time to the first token, and gap, seconds.
pub const SERVE_P99_S: (f64, f64) = (19.349_72, 0.733_29);

/// llama-bench on an RTX PRO 6000: model, format, and tokens a second of 128 tokens one by one.
pub const DECODE: [(&str, &str, f64); 5] = [
    ("llama-2-7b", "q4_0", 278.95),
    ("llama-3.1-70b", "q4_k_m", 34.05),
    ("mistral-nemo-12b", "q4_k_m", 163.31),
    ("qwen3-30b-a3b", "q4_k_m", 251.61),
    ("gpt-oss-120b", "mxfp4", 193.30),
];

/// Llama 2 7B under limits of power: watts, tokens a second of 512 tokens read, with their standard
/// deviation over five repetitions, and tokens a second of 128 tokens one by one.
pub const LIMITED: &[(f64, f64, f64, f64)] = &[
    (600.0, 16634.04, 97.98, 278.95),
    (500.0, 16496.11, 145.65, 279.00),
    (450.0, 16060.49, 530.00, 279.04),
    (400.0, 15225.27, 1276.77, 279.04),
    (350.0, 14118.89, 2081.13, 274.81),
    (300.0, 12802.05, 2888.77, 260.42),
    (250.0, 10619.58, 3539.91, 236.88),
    (200.0, 9115.39, 4243.14, 189.82),
];

/// Qwen3.5 35B-A3B in FP8 on an H100: tokens a second of each user of a chat, for one user and for
/// 32.
pub const CHAT: (f64, f64) = (172.5, 70.6);
