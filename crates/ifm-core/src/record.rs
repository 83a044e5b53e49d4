//! What one request did: stamps, counts with their source, and the outcome.
//!
//! All times are nanoseconds since the run's origin on the monotonic clock. Durations (TTFT,
//! E2E, TPOT) are not stored: `ifm-metrics` derives them, so that there is one definition.

use crate::media::{MadeAudio, SentMedia, Validity};
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};

crate::vocabulary! {
    /// Who counted a number of tokens, best first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CountSource {
        /// The server, in the usage object of each chunk.
        ChunkUsage = "chunk_usage",
        /// The server, in one usage object of the answer.
        FinalUsage = "final_usage",
        /// The model's tokenizer, over the whole text, on our side.
        Tokenizer = "tokenizer",
        /// The server, in two answers: the same prompt with a medium and without it.
        Pair = "pair",
        /// The number of token-bearing events: an estimate, since one event may hold several tokens.
        Events = "events",
    }
}

impl CountSource {
    /// Whether the number is an estimate rather than a count.
    pub fn is_estimate(self) -> bool {
        self == CountSource::Events
    }
}

/// A number of tokens and who counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Tokens.
    pub tokens: u32,
    /// Who counted.
    pub from: CountSource,
}

crate::vocabulary! {
    /// Which part of a level a request belongs to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Phase {
        /// Sent to warm the server up; kept, but in no metric.
        Warmup = "warmup",
        /// Measured.
        Measure = "measure",
        /// Of a probe during the load, or before it; kept, but in no metric of the level.
        Probe = "probe",
    }
}

/// The token-bearing events of one request, in order of arrival, as columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenEvents {
    /// Receive stamp of the last payload byte of each event. Events of one read share a stamp.
    pub at_ns: Vec<u64>,
    /// Tokens in each event, where the server reports per-chunk usage; empty when not known.
    pub tokens: Vec<u32>,
    /// Index of the choice (sequence) that each event belongs to; empty when all are 0.
    pub choice: Vec<u16>,
}

impl TokenEvents {
    /// Number of token-bearing events (not of tokens).
    pub fn len(&self) -> usize {
        self.at_ns.len()
    }

    /// Whether no token-bearing event arrived.
    pub fn is_empty(&self) -> bool {
        self.at_ns.is_empty()
    }
}

/// What one request did. See the module for the time base.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRecord {
    /// Position in the run's schedule, from 0; unique within a run.
    pub seq: u32,
    /// Index of the load level in the manifest.
    pub level: u16,
    /// Warm-up or measured.
    pub phase: Phase,
    /// Connection slot that carried it.
    pub slot: u32,
    /// Index of the work item (prompt) in the workload.
    pub item: u32,
    /// Conversation that the request is a turn of, from 0 and unique within a run; absent where
    /// requests are independent.
    pub session: Option<u32>,
    /// Which turn of it, from 0; of the agent's own conversation where the session has several.
    pub turn: Option<u16>,
    /// Which agent of the session sent it: 0 the one that began it, others are sub-agents; absent
    /// where sessions have one agent, and where requests are independent.
    pub agent: Option<u16>,
    /// Turns that this agent's conversation was to have; absent where the workload does not know.
    pub agent_turns: Option<u16>,
    /// Class of mixed traffic, an index into the classes of the manifest; absent where all requests
    /// are of one kind.
    pub class: Option<u16>,
    /// When the schedule wanted it: the end of the pause before a later turn of a conversation;
    /// otherwise, in a closed loop, `start_ns`.
    pub due_ns: u64,
    /// When the client began to send.
    pub start_ns: u64,
    /// When the last request byte had been handed to the kernel; absent if that never happened.
    pub sent_ns: Option<u64>,
    /// When the response head was complete.
    pub head_ns: Option<u64>,
    /// When the first event of any kind, or the first body byte of an unstreamed answer, arrived.
    pub first_event_ns: Option<u64>,
    /// When the first token of the answer proper (not reasoning) arrived.
    pub first_answer_ns: Option<u64>,
    /// When the stream's end (its end mark, or the end of the response) arrived.
    pub stream_end_ns: Option<u64>,
    /// When the client was done with the request, whatever the outcome.
    pub end_ns: u64,
    /// TCP connect time, if this request had to open its connection inside its own time.
    pub connect_ns: Option<u64>,
    /// TLS handshake time, likewise.
    pub tls_ns: Option<u64>,
    /// Whether the answer was streamed as events. False for one JSON document.
    pub streamed: bool,
    /// Stamps of the token-bearing events.
    pub events: TokenEvents,
    /// Prompt length the workload meant to send, counted by its tokenizer.
    pub prompt_tokens_asked: Option<u32>,
    /// Output length asked for.
    pub output_tokens_asked: Option<u32>,
    /// Prompt tokens and who counted them.
    pub prompt_tokens: Option<Counted>,
    /// Output tokens and who counted them. Never the requested length.
    pub output_tokens: Option<Counted>,
    /// Tokens of the first token-bearing event, where the server reports per-chunk usage.
    pub first_event_tokens: Option<u32>,
    /// Bytes of generated text in the events, as UTF-8: answer, reasoning, names and arguments of
    /// tool calls. Absent where none came or it was not counted, as in runs of older versions.
    pub text_bytes: Option<u32>,
    /// Of these, bytes in the events that share the stamp of the first token-bearing event.
    pub first_text_bytes: Option<u32>,
    /// Reasoning tokens among the output, as reported by the server.
    pub reasoning_tokens: Option<u32>,
    /// Prompt tokens served from a cache, as reported by the server.
    pub cached_tokens: Option<u32>,
    /// Prompt tokens that had been said before, in this conversation or in what all of them share,
    /// by the workload's arithmetic: what a cache that forgets nothing would know. Absent where
    /// they were not counted.
    pub known_tokens: Option<u32>,
    /// Draft tokens accepted by speculative decoding, as reported by the server.
    pub accepted_draft_tokens: Option<u32>,
    /// Draft tokens rejected, as reported by the server.
    pub rejected_draft_tokens: Option<u32>,
    /// Steps in which a draft was made, as reported by the server.
    pub draft_steps: Option<u32>,
    /// Time from the request's arrival at the server until it was scheduled, as reported by the server.
    pub server_queue_ns: Option<u64>,
    /// Time from then to its first token, as reported by the server.
    pub server_first_token_ns: Option<u64>,
    /// Time from the first token to the last one, as reported by the server.
    pub server_decode_ns: Option<u64>,
    /// Time that the server, or a proxy before it, took until it answered, as reported in a header.
    pub server_processing_ns: Option<u64>,
    /// Number of choices (sequences) seen.
    pub choices: u16,
    /// HTTP status, once a head arrived.
    pub http_status: Option<u16>,
    /// Seconds of the `Retry-After` header, if one came in that form.
    pub retry_after_s: Option<u32>,
    /// The server's finish reason, of the last choice that gave one.
    pub finish_reason: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// One sentence on what went wrong; bounded, holds no secret.
    pub error: Option<String>,
    /// Reads (receive calls that returned bytes).
    pub reads: u32,
    /// Reads with a kernel receive stamp.
    pub stamped_reads: u32,
    /// Token-bearing events whose read held more than one of them.
    pub co_arrived_events: u32,
    /// Largest delay from the kernel's stamp to our reading it, nanoseconds; absent without stamps.
    pub reader_lag_ns_max: Option<u64>,
    /// Bytes of the response on the wire, head and framing included.
    pub wire_bytes: u64,
    /// Bytes of the request on the wire.
    pub sent_bytes: u64,
    /// Generated text, only if the user asked to keep it.
    pub text: Option<String>,
    /// When the server's machine had acknowledged the last byte of the request, as the kernel reports:
    /// at most one round trip after that byte had left, plus a delay if the machine holds
    /// acknowledgements back. Absent where the kernel does not report it, and for requests below
    /// 16 KiB, for which it is not requested.
    pub acked_ns: Option<u64>,
    /// What the prompt carried in addition to text; absent where it was text alone.
    pub media: Option<SentMedia>,
    /// Prompt tokens of text, and who counted them.
    pub text_tokens: Option<Counted>,
    /// Prompt tokens of images, likewise.
    pub image_tokens: Option<Counted>,
    /// Prompt tokens of recordings, likewise.
    pub audio_tokens: Option<Counted>,
    /// Prompt tokens of videos, likewise.
    pub video_tokens: Option<Counted>,
    /// Sound that the server made; absent where none was asked for or none came.
    pub made_audio: Option<MadeAudio>,
    /// The form that the answer was to have, an index into the forms of the workload's spec; absent
    /// where it was free.
    pub form: Option<u16>,
    /// Whether the answer keeps to that form.
    pub validity: Option<Validity>,
    /// Time lost on a keep-alive connection that the server had closed: from the start until the
    /// request was sent again on a new one. Part of TTFT and E2E. Absent where that did not happen.
    pub dead_connection_ns: Option<u64>,
}

impl RequestRecord {
    /// A record of which nothing is known, to be filled.
    pub fn blank() -> RequestRecord {
        RequestRecord {
            seq: 0,
            level: 0,
            phase: Phase::Measure,
            slot: 0,
            item: 0,
            session: None,
            turn: None,
            agent: None,
            agent_turns: None,
            class: None,
            known_tokens: None,
            draft_steps: None,
            server_queue_ns: None,
            server_first_token_ns: None,
            server_decode_ns: None,
            server_processing_ns: None,
            due_ns: 0,
            start_ns: 0,
            sent_ns: None,
            head_ns: None,
            first_event_ns: None,
            first_answer_ns: None,
            stream_end_ns: None,
            end_ns: 0,
            connect_ns: None,
            tls_ns: None,
            streamed: false,
            events: TokenEvents::default(),
            prompt_tokens_asked: None,
            output_tokens_asked: None,
            prompt_tokens: None,
            output_tokens: None,
            first_event_tokens: None,
            text_bytes: None,
            first_text_bytes: None,
            reasoning_tokens: None,
            cached_tokens: None,
            accepted_draft_tokens: None,
            rejected_draft_tokens: None,
            choices: 0,
            http_status: None,
            retry_after_s: None,
            finish_reason: None,
            outcome: Outcome::Ok,
            error: None,
            reads: 0,
            stamped_reads: 0,
            co_arrived_events: 0,
            reader_lag_ns_max: None,
            wire_bytes: 0,
            sent_bytes: 0,
            text: None,
            acked_ns: None,
            media: None,
            text_tokens: None,
            image_tokens: None,
            audio_tokens: None,
            video_tokens: None,
            made_audio: None,
            form: None,
            validity: None,
            dead_connection_ns: None,
        }
    }

    /// Whether the answer is sound and nothing else: its events are pieces of it, and no tokens.
    pub fn is_sound_alone(&self) -> bool {
        self.made_audio.is_some() && self.choices == 0
    }

    /// Stamp of the first token-bearing event.
    pub fn first_token_ns(&self) -> Option<u64> {
        self.events.at_ns.first().copied()
    }

    /// Stamp of the last token-bearing event.
    pub fn last_token_ns(&self) -> Option<u64> {
        self.events.at_ns.last().copied()
    }
}
