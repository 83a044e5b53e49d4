//! What a finish reason means: whether an answer ended by itself, at its length, by a filter, or
//! because the engine gave it up.
//!
//! Servers and routers write the reason in words of their own, so a word is compared without its
//! letter case and with `-`, ` ` and `.` as `_`. A reason that is on no list stays unknown: it is
//! never a failure, and reports show it with its count.

/// What a finish reason means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The model ended its answer: end of text, a stop sequence, a call of a tool.
    Stop,
    /// The answer reached a limit of its length or of the context.
    Length,
    /// A content filter ended it, or the model refused.
    Filter,
    /// The engine, a router or a provider ended it before its end.
    Failure,
    /// The reason is on no list.
    Unknown,
}

/// Reasons by what they mean, in their normal form. Each list was read in November 2026 in the source or
/// the documentation of the servers that it names.
const WORDS: &[(Ending, &[&str])] = &[
    (
        Ending::Stop,
        &[
            // OpenAI, vLLM, SGLang; `done` and `completed` of Responses.
            "stop",
            "tool_calls",
            "tool_call",
            "function_call",
            "done",
            "complete",
            "completed",
            "finished",
            "normal",
            // Anthropic, Bedrock. A paused turn goes on with the next request.
            "end_turn",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "compaction",
            // Text Generation Inference, Together, llama.cpp.
            "eos_token",
            "eos",
            "word",
            "end_of_text",
            // vLLM ends an answer that repeats itself if configured to.
            "repetition",
            // LM Studio.
            "eosfound",
            "stopstringfound",
            "toolcalls",
        ],
    ),
    (
        Ending::Length,
        &[
            // OpenAI and its Responses, Anthropic, Gemini, llama.cpp.
            "length",
            "max_tokens",
            "max_output_tokens",
            "incomplete",
            "limit",
            // Mistral, Anthropic, Bedrock, LM Studio.
            "model_length",
            "model_context_window_exceeded",
            "context_length_exceeded",
            "max_length",
            "maxpredictedtokensreached",
            "contextlengthreached",
        ],
    ),
    (
        Ending::Filter,
        &[
            // OpenAI, Anthropic, Bedrock, Cohere, Zhipu.
            "content_filter",
            "content_filtered",
            "refusal",
            "guardrail_intervened",
            "error_toxic",
            "sensitive",
            // Gemini.
            "safety",
            "recitation",
            "language",
            "blocklist",
            "prohibited_content",
            "spii",
            "image_safety",
        ],
    ),
    (
        Ending::Failure,
        &[
            // DeepSeek and those that serve it.
            "insufficient_system_resource",
            "insufficient_system_resources",
            "resource_exhausted",
            "rate_limit",
            "rate_limit_exceeded",
            "overloaded",
            "engine_overloaded",
            "out_of_memory",
            "oom",
            // TensorRT-LLM, Cohere.
            "timeout",
            "timed_out",
            "deadline_exceeded",
            "time_limit",
            "user_cancel",
            // Ollama: the model was loaded or unloaded, and nothing was generated.
            "load",
            "unload",
            // LM Studio.
            "modelunloaded",
            "userstopped",
            "disconnect",
            "disconnected",
            "connection_closed",
            "interrupted",
            "preempted",
            "evicted",
            "killed",
            "crashed",
            "shutdown",
            "unavailable",
            "service_unavailable",
        ],
    ),
];

/// Beginnings of the words that say that an answer was given up: `abort`, `aborted`, `cancelled`,
/// `failed`, `errored`.
const FAILURE_STEMS: [&str; 4] = ["abort", "cancel", "fail", "error"];
/// Longest reason that is looked at, bytes. A longer one is a sentence, of which the front counts.
const REASON_BYTES_MAX: usize = 64;

impl Ending {
    /// What a finish reason means.
    pub fn from_reason(reason: &str) -> Ending {
        let mut buffer = [0; REASON_BYTES_MAX];
        let normal = normal_form(reason, &mut buffer);
        let listed = WORDS.iter().find(|(_, words)| words.contains(&normal));
        match listed {
            Some((ending, _)) => *ending,
            None if is_failure(normal) => Ending::Failure,
            None => Ending::Unknown,
        }
    }

    /// Whether a limit of the length or of the context ended the answer.
    pub fn is_cut(self) -> bool {
        self == Ending::Length
    }
}

/// Whether the first word or the last one of an unlisted reason says that the answer was given up:
/// `engine_error`, `error: CUDA out of memory`, `request_cancelled`.
fn is_failure(normal: &str) -> bool {
    let mut words = normal.split(['_', ':', ',', '/']).filter(|word| !word.is_empty());
    let first = words.next();
    let last = words.next_back();
    // "finish_reason_unspecified" has neither; "no_error" says the opposite.
    first != Some("no")
        && [first, last]
            .into_iter()
            .flatten()
            .any(|word| FAILURE_STEMS.iter().any(|stem| word.starts_with(stem)))
}

/// The reason in lower case, with `_` for every separator, without white space around it.
fn normal_form<'buffer>(reason: &str, buffer: &'buffer mut [u8; REASON_BYTES_MAX]) -> &'buffer str {
    let bytes = reason.trim().bytes().map(|byte| match byte {
        b'-' | b' ' | b'.' => b'_',
        other => other.to_ascii_lowercase(),
    });
    let mut length = 0;
    for (place, byte) in buffer.iter_mut().zip(bytes) {
        *place = byte;
        length += 1;
    }
    let front = buffer.get(..length).unwrap_or_default();
    match std::str::from_utf8(front) {
        Ok(text) => text,
        // The last character was cut in two.
        Err(error) => {
            let valid = front.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_servers_and_routers_have_a_meaning() {
        for (reasons, expect) in [
            (
                "stop STOP tool_calls eos_token stop_sequence end_turn COMPLETE TOOL_CALL completed",
                Ending::Stop,
            ),
            (
                "length MAX_TOKENS max_output_tokens limit incomplete model_length \
                 model_context_window_exceeded",
                Ending::Length,
            ),
            ("content_filter SAFETY refusal guardrail_intervened ERROR_TOXIC", Ending::Filter),
            (
                "abort aborted error ERROR cancelled canceled failed engine_error network_error \
                 insufficient_system_resource timeout TIMEOUT request-cancelled USER_CANCEL \
                 internal-error load upstream_failure",
                Ending::Failure,
            ),
            (
                "FINISH_REASON_UNSPECIFIED OTHER MALFORMED_FUNCTION_CALL no_error terror \
                 mirrored custom",
                Ending::Unknown,
            ),
        ] {
            for reason in reasons.split_whitespace() {
                assert_eq!(Ending::from_reason(reason), expect, "{reason}");
            }
        }
        assert_eq!(Ending::from_reason("error: CUDA out of memory"), Ending::Failure);
        assert_eq!(Ending::from_reason(" abort "), Ending::Failure);
        assert_eq!(Ending::from_reason(""), Ending::Unknown);
        let long = format!("error {}", "é".repeat(80));
        assert_eq!(Ending::from_reason(&long), Ending::Failure);
    }

    #[test]
    fn words_are_in_their_normal_form_and_on_one_list() {
        let all: Vec<&str> = WORDS.iter().flat_map(|(_, words)| words.iter().copied()).collect();
        for (position, word) in all.iter().enumerate() {
            let mut buffer = [0; REASON_BYTES_MAX];
            assert_eq!(normal_form(word, &mut buffer), *word);
            assert!(!all[..position].contains(word), "{word}");
        }
    }
}
