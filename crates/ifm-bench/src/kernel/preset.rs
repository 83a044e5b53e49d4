//! Sizes and masks by name.

use super::protocol::Pass;

/// What a preset asks for; flags come before it.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub title: &'static str,
    /// Implementations.
    pub kernels: &'static [&'static str],
    /// Masks, each with its size where it has one of its own.
    pub masks: &'static [(&'static str, Option<&'static str>)],
    /// The size of all others.
    pub size: &'static str,
    /// Type of the numbers.
    pub kind: &'static str,
    /// Passes.
    pub passes: &'static [Pass],
}

const BOTH: &[Pass] = &[Pass::Forward, Pass::Backward];

/// Twelve documents in 32,768 tokens: what attention-gym's benchmark draws (Python's generator, seed 0).
const GYM_DOCUMENTS: &str = "document:2742+2731+2751+2769+2708+2760+2721+2589+2682+2837+2711+2767";

/// All presets; the first is the default.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "quick",
        title: "eight masks on this processor, half a minute",
        kernels: &["naive", "tiled", "sparse"],
        masks: &[
            ("full", None),
            ("causal", None),
            ("alibi", None),
            ("sliding:128", None),
            ("prefix:128", None),
            ("document:8", None),
            ("softcap:30", None),
            ("softcap-approx:30", None),
        ],
        size: "1x4x1024x64",
        kind: "f32",
        passes: BOTH,
    },
    Preset {
        name: "cpu",
        title: "the same compared with PyTorch, 2,048 tokens",
        kernels: &["naive", "tiled", "sparse", "torch:sdpa", "torch:sdpa-mask", "torch:flex"],
        masks: &[
            ("full", None),
            ("causal", None),
            ("alibi", None),
            ("sliding:256", None),
            ("prefix:256", None),
            ("document:12", None),
            ("softcap:30", None),
            ("softcap-approx:30", None),
        ],
        size: "1x4x2048x64",
        kind: "f32",
        passes: BOTH,
    },
    Preset {
        name: "gym",
        title: "attention-gym's benchmark: its masks, sizes and rivals, on a GPU with PyTorch",
        kernels: &["torch:sdpa-causal", "torch:sdpa-mask", "torch:flex"],
        masks: &[
            ("full", None),
            ("causal", None),
            ("alibi", None),
            ("sliding:1024", None),
            ("prefix:1024", None),
            (GYM_DOCUMENTS, Some("16x16x32768x64")),
            ("softcap:30", None),
            ("softcap-approx:30", None),
        ],
        size: "16x16x8192x64",
        kind: "f16",
        passes: BOTH,
    },
];

/// A preset by its name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
