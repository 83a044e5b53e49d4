//! The table of metrics: one row each.

use super::Name;
use super::row::*;

/// Defines [`Metric`] and its table: for each metric its definition, the word of the command line and
/// of files, the name in tables, and what else there is to say.
macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $metric:ident = $row:expr,)+) => {
        /// A metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($(#[doc = $about])+ $metric,)+
            /// Something else, by the name that a file gives it.
            Other(Name),
        }

        pub(super) const ALL: [Metric; [$(stringify!($metric)),+].len()] = [$(Metric::$metric),+];

        impl Metric {
            pub(super) fn row(self) -> &'static Row {
                match self {
                    $(Metric::$metric => {
                        const ROW: Row = Row { about: concat!($($about),+), ..$row };
                        &ROW
                    })+
                    Metric::Other(_) => {
                        const ROW: Row = row(Group::Stated, COUNT, "other", "other");
                        &ROW
                    }
                }
            }
        }
    };
}

metrics! {
    /// Time to first token.
    Ttft = row(Group::Answers, TARGET, "ttft", "TTFT").figure("ttft", "TTFT").key("ttft_{}").streamed(),
    /// Time to first token from when the request was due, in an open loop.
    TtftDue = row(Group::Answers, TIME, "ttft_due", "TTFT due").key("ttft_{}_from_due"),
    /// Time from the last byte that the server's machine acknowledged to the first token, where the
    /// kernel reported it.
    TtftAcked = row(Group::Media, TARGET, "ttft_acked", "TTFT from last byte").key("ttft_{}_from_last_byte").short("last byte").streamed().may_be_absent(),
    /// Time to the first token that is not reasoning.
    Ttfat = row(Group::Answers, TARGET, "ttfat", "TTFAT").figure("ttfot", "time to first answer token").key("ttfat_{}").streamed(),
    /// Time from the first event with tokens to the second, of answers of one sequence.
    Ttst = row(Group::Answers, TARGET, "ttst", "TTST")
        .key("ttst_{}")
        .streamed()
        .may_be_absent()
        .detail(),
    /// Gap between successive events with tokens of one sequence, pooled over requests.
    Itl = row(Group::Answers, TARGET, "itl", "ITL").figure("itl", "ITL").key("gap_{}").streamed().several(),
    /// Gap between successive events with tokens, divided by the tokens of the event that ends it,
    /// where the server reported them.
    ItlPerToken = row(Group::Answers, TIME, "itl_tok", "ITL/token").key("itl_{}_per_token").several(),
    /// Time per output token after the tokens of the first read, one value per sequence.
    Tpot = row(Group::Answers, TARGET, "tpot", "TPOT").figure("tpot", "TPOT").key("tpot_{}").streamed().several().may_be_estimated(),
    /// Time from the start of a request to its last token.
    E2e = row(Group::Answers, TARGET, "e2e", "E2E").figure("e2e", "end-to-end latency").key("e2e_{}"),
    /// Time from when a request was due to its last token, in an open loop.
    E2eDue = row(Group::Answers, TIME, "e2e_due", "E2E due").key("e2e_{}_from_due"),
    /// E2E over output tokens, also called normalized latency: the wait for the first token is spread
    /// over the answer.
    E2ePerToken = row(Group::Answers, TIME, "e2e_tok", "E2E/token").figure("normalized_latency", "latency per output token").may_be_estimated(),
    /// Time from the start of a request to the end of its stream, usage and trailers included.
    StreamEnd = row(Group::Answers, TIME, "stream_end", "stream end").key("stream_end_{}").detail(),
    /// Time from a request's arrival at its server until it was scheduled, as reported by the server.
    Queue = row(Group::Answers, TIME, "queue", "queue"),
    /// Time until the last byte of the request was handed to the kernel.
    Upload = row(Group::Answers, TIME, "upload", "upload").key("upload_{}").detail(),
    /// Time of the whole prompt in an engine.
    Prefill = row(Group::Tools, TIME, "prefill", "prefill").figure("prefill_time", "prefill time"),
    /// Time of one call of a kernel.
    Kernel = row(Group::Tools, TIME, "kernel", "kernel").figure("kernel_time", "kernel time"),
    /// Decode speed that one user sees: 1 / TPOT.
    UserSpeed = row(Group::Answers, SPEED, "tok_s_user", "tok/s/user").figure("user_rate", "decode speed per user").key("user_tok_per_s").several().may_be_estimated(),
    /// Output tokens per second, over the headline window.
    OutputRate = row(Group::Answers, TOKENS, "out_tok_s", "out tok/s").figure("output_rate", "output throughput"),
    /// Complete answers per second, over the headline window.
    RequestRate = row(Group::Answers, REQUESTS, "req_s", "req/s").figure("request_rate", "requests per second"),
    /// Failed requests over all that were sent, 0 to 1.
    ErrorRate = row(Group::Answers, FAILED, "error_rate", "failed").figure("error_rate", "error rate"),
    /// Complete answers over requests that ended by themselves, 0 to 1.
    Success = row(Group::Answers, OK, "success", "ok"),
    /// Answers that have the requested form, over those for which this could be checked, 0 to 1.
    Valid = row(Group::Answers, OK, "valid", "valid answers"),
    /// Prompt and output tokens per second, as a document states it.
    TotalRate = row(Group::Tools, TOKENS, "total_tok_s", "total tok/s").figure("total_rate", "total throughput"),
    /// Prompt tokens per second, as a document states it.
    InputRate = row(Group::Tools, TOKENS, "in_tok_s", "prompt tok/s").figure("input_rate", "input throughput"),
    /// Prompt tokens per second of an engine.
    PrefillRate = row(Group::Tools, TOKENS, "prefill_tok_s", "prefill tok/s").figure("prefill_rate", "prefill speed"),
    /// Generated tokens per second of an engine.
    DecodeRate = row(Group::Tools, TOKENS, "decode_tok_s", "decode tok/s").figure("decode_rate", "decode speed"),
    /// Requests per second inside the latency target, as a document states it.
    Goodput = row(Group::Tools, REQUESTS, "goodput", "goodput req/s").figure("goodput", "goodput"),
    /// Tokens for each pass of the model over a request, with speculative decoding.
    AcceptanceLength = row(Group::Drafts, PLAIN, "acceptance_length", "acceptance length").figure("accept_length", "accept length"),
    /// Accepted over all draft tokens of speculative decoding, 0 to 1.
    AcceptanceRate = row(Group::Drafts, PLAIN, "acceptance_rate", "acceptance rate"),
    /// Time of a complete session of a conversation, from its first request to its last answer.
    Session = row(Group::Sessions, TARGET, "session", "session"),
    /// Complete sessions per hour.
    SessionRate = row(Group::Sessions, SESSIONS, "sessions_h", "sessions/h"),
    /// Complete sessions over those that ended by themselves, 0 to 1.
    SessionOk = row(Group::Sessions, OK, "session_ok", "sessions ok"),
    /// Sessions that ended by themselves before they were complete, over all that ended by
    /// themselves, 0 to 1.
    SessionFailed = row(Group::Sessions, FAILED_SESSIONS, "session_failed", "sessions failed"),
    /// Share of a complete session's prompt tokens that its server took from a cache, as it reported, 0 to 1.
    SessionCached = row(Group::Sessions, CACHED, "session_cached", "session cached"),
    /// Share of a complete session's prompt tokens that its server took from no cache.
    SessionUncached = row(Group::Sessions, UNCACHED, "session_uncached", "session uncached"),
    /// Seconds of audio that a request carries over its E2E, in seconds.
    Rtfx = row(Group::Media, HEARD, "rtfx", "RTFx").figure("rtfx", "RTFx of a request").key("rtfx"),
    /// Seconds of audio in the prompts of complete answers for each second of the headline window.
    LevelRtfx = row(Group::Media, PLAIN, "level_rtfx", "level RTFx").figure("audio_rate", "RTFx of the level"),
    /// E2E over the seconds of audio that a request carries: 1 / RTFx.
    HeardRtf = row(Group::Media, RATIO, "rtf_heard", "RTF heard").key("rtf_heard").may_be_absent().detail(),
    /// Time to the first byte of sound.
    Ttfa = row(Group::Media, TARGET, "ttfa", "TTFA").figure("ttfa", "time to first audio").key("ttfa_{}").may_be_absent(),
    /// Time from when a request was due to the first byte of sound, in an open loop.
    TtfaDue = row(Group::Media, TIME, "ttfa_due", "TTFA due").key("ttfa_{}_from_due").detail(),
    /// E2E over the length of the sound that was made.
    Rtf = row(Group::Media, RATIO, "rtf", "RTF").figure("rtf", "RTF").key("rtf").may_be_absent(),
    /// Time in which a listener who starts at the first byte hears nothing.
    Silence = row(Group::Media, TARGET, "silence", "silence").figure("silence", "silence").key("silence_{}").may_be_absent(),
    /// Images per second of the complete answers, over the headline window.
    ImageRate = row(Group::Media, IMAGES, "images_s", "images/s").figure("image_rate", "images per second"),
    /// Millions of pixels per second, of images and frames, likewise.
    PixelRate = row(Group::Media, PIXELS, "mpixels_s", "megapixels/s").figure("pixel_rate", "pixels per second"),
    /// Steps per second of a command.
    StepRate = row(Group::Commands, STEPS, "steps_s", "steps/s").figure("step_rate", "steps per second"),
    /// Time of a command from its start to its end.
    Duration = row(Group::Commands, SPAN, "time", "time").figure("duration", "duration"),
    /// Most memory in use on the GPUs while a command ran.
    Memory = row(Group::Commands, BYTES, "memory", "memory").figure("memory", "memory"),
    /// Most memory of the host that a command used.
    HostMemory = row(Group::Commands, BYTES, "host_memory", "host memory").figure("host_memory", "host memory"),
    /// Energy that was drawn while a command ran.
    Energy = row(Group::Commands, ENERGY, "energy", "energy").figure("energy", "energy"),
    /// Time between being due or queued in the client and being sent.
    ClientQueue = stated(TIME, "client_queue", "time in the client's queue"),
    /// Largest output rate of a second.
    PeakOutputRate = stated(TOKENS, "peak_output_rate", "peak output throughput"),
    /// Requests in flight.
    InFlight = stated(COUNT, "in_flight", "requests in flight"),
    /// Largest number of requests in flight.
    PeakInFlight = stated(COUNT, "peak_in_flight", "peak requests in flight"),
    /// Requests that were sent.
    Requests = stated(COUNT, "requests", "requests"),
    /// Requests that succeeded.
    RequestsOk = stated(COUNT, "requests_ok", "successful requests"),
    /// Requests that failed.
    RequestsFailed = stated(COUNT, "requests_failed", "failed requests"),
    /// Requests that were cut off by the end.
    RequestsIncomplete = stated(COUNT, "requests_incomplete", "incomplete requests"),
    /// Prompt tokens.
    InputTokens = stated(COUNT, "input_tokens", "input tokens"),
    /// Output tokens.
    OutputTokens = stated(COUNT, "output_tokens", "output tokens"),
    /// Prompt and output tokens.
    TotalTokens = stated(COUNT, "total_tokens", "total tokens"),
    /// Reasoning tokens.
    ReasoningTokens = stated(COUNT, "reasoning_tokens", "reasoning tokens"),
    /// Prompt tokens that came from a cache.
    CachedTokens = stated(COUNT, "cached_tokens", "cached tokens"),
    /// Text tokens of prompts that carry media.
    TextTokens = stated(COUNT, "text_tokens", "text tokens"),
    /// Prompt tokens that images became.
    ImageTokens = stated(COUNT, "image_tokens", "image tokens"),
    /// Prompt tokens that audio became.
    AudioTokens = stated(COUNT, "audio_tokens", "audio tokens"),
    /// Prompt tokens that videos became.
    VideoTokens = stated(COUNT, "video_tokens", "video tokens"),
    /// Images in prompts.
    Images = stated(COUNT, "images", "images"),
    /// Pixels of the images and video frames in prompts.
    Pixels = stated(COUNT, "pixels", "pixels"),
    /// Length of the audio in prompts.
    AudioLength = stated(TIME, "audio_length", "audio length"),
    /// Share of the ideal, such as scaling efficiency.
    Efficiency = stated(OK, "efficiency", "efficiency"),
    /// Share of requests inside the latency target.
    Attainment = stated(OK, "attainment", "attainment"),
    /// Power.
    Power = stated(WATTS, "power", "power"),
    /// Energy per output token.
    EnergyPerToken = stated(ENERGY, "energy_per_token", "energy per token"),
    /// Memory traffic.
    Bandwidth = stated(BANDWIDTH, "bandwidth", "memory bandwidth"),
    /// Arithmetic.
    FlopRate = stated(ARITHMETIC, "flop_rate", "arithmetic rate"),
    /// Share of a block mask that is empty.
    Sparsity = stated(SHARE, "sparsity", "sparsity"),
    /// Parameters of a model.
    Parameters = stated(COUNT, "parameters", "parameters"),
    /// Price of a million tokens.
    CostPerMillion = stated(MONEY, "cost_per_million", "cost per million tokens"),
    /// Ratio or factor between two figures.
    Ratio = stated(COUNT, "ratio", "ratio"),
    /// Place in a ranking.
    Rank = stated(COUNT, "rank", "rank"),
}
