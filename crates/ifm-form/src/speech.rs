//! The dialect in which a server is asked for a form, derived from its identity.
//!
//! Not here: the dialects (`ifm-wire`), and how a server is identified (`server`).

use ifm_core::manifest::ServerInfo;
use ifm_wire::dialect::FormSpeech;

/// The first version of vLLM, major and minor, that supports `structured_outputs`.
const VLLM_STRUCTURED: (u32, u32) = (0, 11);

/// The dialect of a server; OpenAI's if it is unknown.
pub fn speech(server: &ServerInfo) -> FormSpeech {
    match server.kind.as_deref() {
        Some("vLLM") if is_before(server.version.as_deref(), VLLM_STRUCTURED) => {
            FormSpeech::VllmGuided
        }
        Some("vLLM" | "inferometer") => FormSpeech::Vllm,
        Some("SGLang") => FormSpeech::Sglang,
        Some("llama.cpp") => FormSpeech::LlamaCpp,
        _ => FormSpeech::OpenAi,
    }
}

fn is_before(version: Option<&str>, bound: (u32, u32)) -> bool {
    let mut parts = version.unwrap_or_default().trim_start_matches('v').split('.');
    let mut part = || parts.next()?.parse::<u32>().ok();
    part().zip(part()).is_some_and(|version| version < bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_from_kind_and_version() {
        for (kind, version, expect) in [
            (Some("vLLM"), Some("0.10.1"), FormSpeech::VllmGuided),
            (Some("vLLM"), Some("0.32.0"), FormSpeech::Vllm),
            (Some("vLLM"), None, FormSpeech::Vllm),
            (Some("SGLang"), Some("0.5"), FormSpeech::Sglang),
            (Some("llama.cpp"), None, FormSpeech::LlamaCpp),
            (Some("TGI"), None, FormSpeech::OpenAi),
            (None, None, FormSpeech::OpenAi),
        ] {
            let (kind, version) = (kind.map(str::to_owned), version.map(str::to_owned));
            let server = ServerInfo { kind, version, ..ServerInfo::default() };
            assert_eq!(speech(&server), expect, "{server:?}");
        }
    }
}
