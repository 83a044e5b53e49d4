//! Identifies the server software, by its list of models and its headers, or by answers that only
//! it gives. To add one, add a line in `KINDS`.

use super::{Answer, Client, NOTE_CHARS_MAX, NOTES_MAX};
use crate::url::BaseUrl;
use ifm_core::manifest::ServerInfo;
use serde_json::{Map, Value};

/// A kind of server.
struct Kind {
    name: &'static str,
    /// `owned_by` of its first model.
    owner: Option<&'static str>,
    /// Prefix of its `Server` header.
    header: Option<&'static str>,
    /// Endpoints with facts about itself; the first that answers is used.
    told_at: &'static [&'static str],
    /// Whether an answer from there identifies it: for servers without an owner or header that
    /// does, which are tried one after another.
    sign: Option<fn(&Answer) -> bool>,
    /// The fields to keep as notes; for a kind with few fields, all.
    notes: Notes,
    /// Where it reports the maximum length of a request, in all: its list of models may contain the
    /// length that the model was made for.
    context: Option<&'static str>,
}

enum Notes {
    All,
    Some(&'static [&'static str]),
}

const KINDS: [Kind; 12] = [
    kind("vLLM", Some("vllm"), &["/version"], Notes::All),
    kind("SGLang", Some("sglang"), &["/server_info", "/get_server_info"], Notes::Some(SGLANG)),
    kind("inferometer", Some("inferometer"), &["/version"], Notes::All),
    Kind {
        header: Some("llama.cpp"),
        // For one slot, whatever their number.
        context: Some("/default_generation_settings/n_ctx"),
        ..kind("llama.cpp", Some("llamacpp"), &["/props"], Notes::Some(LLAMA_CPP))
    },
    kind("Ollama", Some("library"), &["/api/version"], Notes::All),
    kind("TensorRT-LLM", Some("tensorrt_llm"), &["/version"], Notes::All),
    kind("LMDeploy", Some("lmdeploy"), &[], Notes::All),
    kind("LM Studio", Some("organization_owner"), &[], Notes::All),
    Kind {
        sign: Some(|answer| has(answer, "max_total_tokens")),
        context: Some("/max_total_tokens"),
        ..kind("TGI", None, &["/info"], Notes::Some(TGI))
    },
    Kind {
        sign: Some(|answer| {
            has(answer, "max_client_batch_size") && !has(answer, "max_total_tokens")
        }),
        ..kind("text-embeddings-inference", None, &["/info"], Notes::Some(TGI))
    },
    Kind {
        sign: Some(|answer| answer.body.contains("I'm alive!")),
        ..kind("LiteLLM", None, &["/health/liveliness"], Notes::Some(&[]))
    },
    Kind {
        sign: Some(|answer| field(answer, "name") == Some("triton".into())),
        ..kind("Triton", None, &["/v2"], Notes::Some(&[]))
    },
];

/// The fields that matter for speed, among the many of SGLang, llama.cpp and TGI.
const SGLANG: &[&str] = &[
    "attention_backend",
    "chunked_prefill_size",
    "disable_radix_cache",
    "dp_size",
    "kv_cache_dtype",
    "max_running_requests",
    "max_total_num_tokens",
    "quantization",
    "schedule_policy",
    "tp_size",
];
const LLAMA_CPP: &[&str] = &["total_slots", "model_ftype"];
const TGI: &[&str] = &[
    "max_batch_total_tokens",
    "max_concurrent_requests",
    "max_input_tokens",
    "max_total_tokens",
    "sha",
];

const fn kind(
    name: &'static str,
    owner: Option<&'static str>,
    told_at: &'static [&'static str],
    notes: Notes,
) -> Kind {
    Kind { name, owner, header: None, told_at, sign: None, notes, context: None }
}

fn has(answer: &Answer, name: &str) -> bool {
    answer.json.as_ref().is_some_and(|json| json.get(name).is_some())
}

fn field(answer: &Answer, name: &str) -> Option<String> {
    answer.json.as_ref()?.get(name)?.as_str().map(str::to_owned)
}

/// Identifies the kind of server, and keeps what it reports about itself. `models` is its list of
/// models.
pub(super) fn recognise(
    client: &Client<'_>,
    url: &BaseUrl,
    models: &Answer,
    info: &mut ServerInfo,
) {
    let owner = models.json.as_ref().and_then(|json| json.pointer("/data/0/owned_by"));
    let owner = owner.and_then(Value::as_str);
    let header = info.server_header.clone().unwrap_or_default();
    let given_away = KINDS.iter().find(|kind| {
        (kind.owner.is_some() && kind.owner == owner)
            || kind.header.is_some_and(|begin| header.starts_with(begin))
    });
    let ask = |path: &&str| client.get(&format!("{}{path}", url.root())).ok();
    let answers = |answer: &Answer| (200..300).contains(&answer.status);
    if let Some(kind) = given_away {
        info.kind = Some(kind.name.to_owned());
        if let Some(answer) = kind.told_at.iter().filter_map(ask).find(answers) {
            note(kind, &answer, info);
        }
        return;
    }
    let mut former: Option<(&str, Option<Answer>)> = None;
    for kind in KINDS.iter().filter(|kind| kind.sign.is_some()) {
        let Some(path) = kind.told_at.first() else { continue };
        if former.as_ref().is_none_or(|(asked, _)| asked != path) {
            former = Some((path, ask(path).filter(answers)));
        }
        let Some((_, Some(answer))) = &former else { continue };
        if kind.sign.is_some_and(|sign| sign(answer)) {
            info.kind = Some(kind.name.to_owned());
            return note(kind, answer, info);
        }
    }
}

fn note(kind: &Kind, answer: &Answer, info: &mut ServerInfo) {
    let Some(json @ Value::Object(fields)) = &answer.json else { return };
    let context = kind.context.and_then(|place| json.pointer(place)?.as_u64());
    let context =
        context.and_then(|tokens| u32::try_from(tokens).ok()).filter(|tokens| *tokens > 0);
    info.context_tokens = context.or(info.context_tokens);
    let text = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.chars().take(NOTE_CHARS_MAX).collect::<String>()
    };
    let version =
        |fields: &Map<String, Value>| fields.get("version").or(fields.get("build_info")).cloned();
    info.version = version(fields).as_ref().map(text);
    for (name, value) in fields {
        let is_kept = match kind.notes {
            Notes::All => name != "version",
            Notes::Some(names) => names.contains(&name.as_str()),
        };
        if is_kept && !value.is_null() && info.notes.len() < NOTES_MAX {
            info.notes.insert(name.clone(), text(value));
        }
    }
}
