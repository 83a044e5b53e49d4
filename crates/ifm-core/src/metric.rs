//! The metrics that a latency target bounds and a comparison compares: one row of `METRICS` each.
//!
//! A metric is a quantity as people ask for it on a command line, with its word, its name and which
//! way is better. What is not here: how it is computed (`ifm-analysis`), and everything else that a
//! document can state ([`Quantity`]).

use crate::sheet::Quantity;
use std::fmt;

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Time to first token.
    Ttft,
    /// The same from the due time.
    TtftDue,
    /// Time from the last byte of the request that the server acknowledged to the first token.
    TtftAcked,
    /// Time to the first token of the answer proper.
    Ttfat,
    /// Gap between token-bearing events, pooled over requests.
    Itl,
    /// Time per output token after the first; estimated where no request's tokens were counted.
    Tpot,
    /// Start to last token.
    E2e,
    /// The same from the due time.
    E2eDue,
    /// E2E over output tokens, also called normalized latency: the wait for the first token is spread
    /// over the answer.
    E2ePerToken,
    /// Time from a request's arrival at its server until it was scheduled, as reported by the server.
    Queue,
    /// Time of the whole prompt in an engine.
    Prefill,
    /// Time of one call of a kernel.
    Kernel,
    /// Speed that one user sees, tokens per second: 1 / TPOT.
    UserSpeed,
    /// Output tokens per second, over the headline window.
    OutputRate,
    /// Complete answers per second, over the headline window.
    RequestRate,
    /// Failed requests over all that were sent, 0 to 1.
    ErrorRate,
    /// Complete answers over requests that ended by themselves, 0 to 1.
    Success,
    /// Answers that have the requested form, over those for which this could be checked, 0 to 1.
    Valid,
    /// Prompt and output tokens per second, as a document states it.
    TotalRate,
    /// Prompt tokens per second, as a document states it.
    InputRate,
    /// Prompt tokens per second of an engine.
    PrefillRate,
    /// Generated tokens per second of an engine.
    DecodeRate,
    /// Requests per second inside the latency target, as a document states it.
    Goodput,
    /// Tokens for each pass of the model over a request, with speculative decoding.
    AcceptanceLength,
    /// Accepted over all draft tokens of speculative decoding, 0 to 1.
    AcceptanceRate,
    /// Time of a complete session of a conversation, from its first request to its last answer.
    Session,
    /// Complete sessions per hour.
    SessionRate,
    /// Complete sessions over those that ended by themselves, 0 to 1.
    SessionOk,
    /// Sessions that ended by themselves before they were complete, over all that ended by
    /// themselves, 0 to 1.
    SessionFailed,
    /// Share of a complete session's prompt tokens that its server took from a cache, as it reported, 0 to 1.
    SessionCached,
    /// The rest of them: 1 - the cached share.
    SessionUncached,
    /// Seconds of audio that a request carries over its E2E, in seconds.
    Rtfx,
    /// Seconds of audio in the prompts of complete answers for each second of the headline window.
    LevelRtfx,
    /// E2E over the seconds of audio that a request carries: 1 / RTFx.
    HeardRtf,
    /// Time to the first byte of sound.
    Ttfa,
    /// The same from the due time.
    TtfaDue,
    /// E2E over the length of the sound that was made.
    Rtf,
    /// Time in which a listener who starts at the first byte hears nothing.
    Silence,
    /// Images per second of the complete answers, over the headline window.
    ImageRate,
    /// Millions of pixels per second, of images and frames, likewise.
    PixelRate,
    /// Steps per second of a command.
    StepRate,
    /// Time of a command from its start to its end.
    CommandTime,
    /// Most memory in use on the GPUs while a command ran.
    GpuMemory,
    /// Most memory of the host that a command used.
    HostMemory,
    /// Energy that was drawn while a command ran.
    Energy,
}

/// What a metric's values are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds.
    Ns,
    /// Tokens per second.
    TokPerS,
    /// Requests per second.
    ReqPerS,
    /// Steps per second.
    StepPerS,
    /// Sessions per hour.
    SessionPerHour,
    /// Images per second.
    ImagePerS,
    /// Millions of pixels per second.
    MegapixelPerS,
    /// A share, 0 to 1.
    Share,
    /// Bytes.
    Bytes,
    /// Joules.
    J,
    /// A number as it is: tokens of a pass, tokens over tokens, seconds over seconds.
    Plain,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
}

/// How many values a metric has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// One or more for each request, and a latency target can bound them.
    Bounded,
    /// One or more for each request or call.
    Many,
    /// One number for a level.
    One,
    /// One number for a level, and a latency target can bound it.
    OneBounded,
}

/// Who has a metric: the groups in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Answers,
    Media,
    Sessions,
    Drafts,
    Tools,
    Commands,
}

/// The groups in the order of the list, each with the prefix of its metrics.
const GROUPS: [(Group, &str); 6] = [
    (Group::Answers, ""),
    (Group::Media, "of media "),
    (Group::Sessions, "of conversations "),
    (Group::Drafts, "with speculative decoding "),
    (Group::Tools, "of engines, kernels and files of other tools "),
    (Group::Commands, "of commands "),
];

/// What metrics of one kind have in common.
#[derive(Clone, Copy)]
struct Kind {
    unit: MetricUnit,
    direction: Direction,
    values: Values,
}

impl Kind {
    const fn new(unit: MetricUnit, direction: Direction, values: Values) -> Kind {
        Kind { unit, direction, values }
    }
}

const TARGET: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::Bounded);
const TIME: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::Many);
const SPEED: Kind = Kind::new(MetricUnit::TokPerS, Direction::Higher, Values::Many);
const TOKENS: Kind = Kind::new(MetricUnit::TokPerS, Direction::Higher, Values::One);
const REQUESTS: Kind = Kind::new(MetricUnit::ReqPerS, Direction::Higher, Values::One);
const FAILED: Kind = Kind::new(MetricUnit::Share, Direction::Lower, Values::One);
const OK: Kind = Kind::new(MetricUnit::Share, Direction::Higher, Values::One);
const FAILED_SESSIONS: Kind = Kind::new(MetricUnit::Share, Direction::Lower, Values::OneBounded);
const CACHED: Kind = Kind::new(MetricUnit::Share, Direction::Higher, Values::Many);
const UNCACHED: Kind = Kind::new(MetricUnit::Share, Direction::Lower, Values::Bounded);
const PLAIN: Kind = Kind::new(MetricUnit::Plain, Direction::Higher, Values::One);
const HEARD: Kind = Kind::new(MetricUnit::Plain, Direction::Higher, Values::Many);
const RATIO: Kind = Kind::new(MetricUnit::Plain, Direction::Lower, Values::Bounded);
const SESSIONS: Kind = Kind::new(MetricUnit::SessionPerHour, Direction::Higher, Values::One);
const IMAGES: Kind = Kind::new(MetricUnit::ImagePerS, Direction::Higher, Values::One);
const PIXELS: Kind = Kind::new(MetricUnit::MegapixelPerS, Direction::Higher, Values::One);
const STEPS: Kind = Kind::new(MetricUnit::StepPerS, Direction::Higher, Values::One);
const SPAN: Kind = Kind::new(MetricUnit::Ns, Direction::Lower, Values::One);
const BYTES: Kind = Kind::new(MetricUnit::Bytes, Direction::Lower, Values::One);
const ENERGY: Kind = Kind::new(MetricUnit::J, Direction::Lower, Values::One);

/// A row of the table.
struct Facts {
    metric: Metric,
    word: &'static str,
    name: &'static str,
    quantity: Option<Quantity>,
    kind: Kind,
}

/// All metrics, in the order of [`Metric`]: the word of the command line and of files, the name in
/// tables, and the quantity of a document that it is. Times from the due time are in no document:
/// other tools count from the sending.
static METRICS: [Facts; 45] = [
    row(Metric::Ttft, "ttft", "TTFT", Some(Quantity::Ttft), TARGET),
    row(Metric::TtftDue, "ttft_due", "TTFT due", None, TIME),
    row(Metric::TtftAcked, "ttft_acked", "TTFT from last byte", None, TARGET),
    row(Metric::Ttfat, "ttfat", "TTFAT", Some(Quantity::Ttfot), TARGET),
    row(Metric::Itl, "itl", "ITL", Some(Quantity::Itl), TARGET),
    row(Metric::Tpot, "tpot", "TPOT", Some(Quantity::Tpot), TARGET),
    row(Metric::E2e, "e2e", "E2E", Some(Quantity::E2e), TARGET),
    row(Metric::E2eDue, "e2e_due", "E2E due", None, TIME),
    row(Metric::E2ePerToken, "e2e_tok", "E2E/token", None, TIME),
    row(Metric::Queue, "queue", "queue", None, TIME),
    row(Metric::Prefill, "prefill", "prefill", Some(Quantity::PrefillTime), TIME),
    row(Metric::Kernel, "kernel", "kernel", Some(Quantity::KernelTime), TIME),
    row(Metric::UserSpeed, "tok_s_user", "tok/s/user", Some(Quantity::UserRate), SPEED),
    row(Metric::OutputRate, "out_tok_s", "out tok/s", Some(Quantity::OutputRate), TOKENS),
    row(Metric::RequestRate, "req_s", "req/s", Some(Quantity::RequestRate), REQUESTS),
    row(Metric::ErrorRate, "error_rate", "failed", None, FAILED),
    row(Metric::Success, "success", "ok", None, OK),
    row(Metric::Valid, "valid", "valid answers", None, OK),
    row(Metric::TotalRate, "total_tok_s", "total tok/s", Some(Quantity::TotalRate), TOKENS),
    row(Metric::InputRate, "in_tok_s", "prompt tok/s", Some(Quantity::InputRate), TOKENS),
    row(Metric::PrefillRate, "prefill_tok_s", "prefill tok/s", Some(Quantity::PrefillRate), TOKENS),
    row(Metric::DecodeRate, "decode_tok_s", "decode tok/s", Some(Quantity::DecodeRate), TOKENS),
    row(Metric::Goodput, "goodput", "goodput req/s", Some(Quantity::Goodput), REQUESTS),
    row(
        Metric::AcceptanceLength,
        "acceptance_length",
        "acceptance length",
        Some(Quantity::AcceptLength),
        PLAIN,
    ),
    row(Metric::AcceptanceRate, "acceptance_rate", "acceptance rate", None, PLAIN),
    row(Metric::Session, "session", "session", None, TARGET),
    row(Metric::SessionRate, "sessions_h", "sessions/h", None, SESSIONS),
    row(Metric::SessionOk, "session_ok", "sessions ok", None, OK),
    row(Metric::SessionFailed, "session_failed", "sessions failed", None, FAILED_SESSIONS),
    row(Metric::SessionCached, "session_cached", "session cached", None, CACHED),
    row(Metric::SessionUncached, "session_uncached", "session uncached", None, UNCACHED),
    row(Metric::Rtfx, "rtfx", "RTFx", Some(Quantity::Rtfx), HEARD),
    row(Metric::LevelRtfx, "level_rtfx", "level RTFx", Some(Quantity::AudioRate), PLAIN),
    row(Metric::HeardRtf, "rtf_heard", "RTF heard", None, RATIO),
    row(Metric::Ttfa, "ttfa", "TTFA", Some(Quantity::Ttfa), TARGET),
    row(Metric::TtfaDue, "ttfa_due", "TTFA due", None, TIME),
    row(Metric::Rtf, "rtf", "RTF", Some(Quantity::Rtf), RATIO),
    row(Metric::Silence, "silence", "silence", Some(Quantity::Silence), TARGET),
    row(Metric::ImageRate, "images_s", "images/s", Some(Quantity::ImageRate), IMAGES),
    row(Metric::PixelRate, "mpixels_s", "megapixels/s", Some(Quantity::PixelRate), PIXELS),
    row(Metric::StepRate, "steps_s", "steps/s", Some(Quantity::StepRate), STEPS),
    row(Metric::CommandTime, "time", "time", Some(Quantity::Duration), SPAN),
    row(Metric::GpuMemory, "memory", "memory", Some(Quantity::Memory), BYTES),
    row(Metric::HostMemory, "host_memory", "host memory", Some(Quantity::HostMemory), BYTES),
    row(Metric::Energy, "energy", "energy", Some(Quantity::Energy), ENERGY),
];

const fn row(
    metric: Metric,
    word: &'static str,
    name: &'static str,
    quantity: Option<Quantity>,
    kind: Kind,
) -> Facts {
    Facts { metric, word, name, quantity, kind }
}

impl Metric {
    /// All metrics.
    pub fn all() -> impl Iterator<Item = Metric> + Clone {
        METRICS.iter().map(|row| row.metric)
    }

    /// The words of all metrics: first metrics with many values per level, then metrics with a single
    /// number, as the help of a flag and a refusal list them.
    pub fn listed() -> [String; 2] {
        [true, false].map(|has_many| {
            let groups = GROUPS.iter().filter_map(|(group, before)| {
                let of_group = Metric::all()
                    .filter(|it| it.group() == *group && it.has_many_values() == has_many);
                let words: Vec<&str> = of_group.map(Metric::word).collect();
                (!words.is_empty()).then(|| format!("{before}{}", words.join(", ")))
            });
            groups.collect::<Vec<_>>().join("; ")
        })
    }

    /// The metric of a word.
    pub fn from_word(word: &str) -> Option<Metric> {
        Metric::all().find(|metric| metric.word() == word)
    }

    fn facts(self) -> &'static Facts {
        &METRICS[self as usize]
    }

    /// The word on the command line and in files: `ttft`.
    pub fn word(self) -> &'static str {
        self.facts().word
    }

    /// The name in a table: `TTFT`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The quantity of a document that it is, if any has it.
    pub fn quantity(self) -> Option<&'static Quantity> {
        self.facts().quantity.as_ref()
    }

    /// Whether only a command that was measured from its start to its end has it. For a server the
    /// duration, and the energy drawn in that time, depend on how long the user chose to measure.
    pub fn is_of_commands(self) -> bool {
        self >= Metric::StepRate
    }

    /// Whether only a server that drafts has it.
    pub fn is_of_drafts(self) -> bool {
        matches!(self, Metric::AcceptanceLength | Metric::AcceptanceRate)
    }

    /// Whether only requests with images, recordings or videos have it.
    pub fn is_of_media(self) -> bool {
        matches!(self, Metric::ImageRate | Metric::PixelRate | Metric::LevelRtfx)
    }

    fn group(self) -> Group {
        match self {
            _ if self.is_of_commands() => Group::Commands,
            _ if self.is_of_sessions() => Group::Sessions,
            _ if self.is_of_drafts() => Group::Drafts,
            _ if self == Metric::TtftAcked || self >= Metric::Rtfx => Group::Media,
            Metric::Prefill
            | Metric::Kernel
            | Metric::TotalRate
            | Metric::InputRate
            | Metric::PrefillRate
            | Metric::DecodeRate
            | Metric::Goodput => Group::Tools,
            _ => Group::Answers,
        }
    }

    /// Whether it is of whole sessions, and not of single requests.
    pub fn is_of_sessions(self) -> bool {
        (Metric::Session..=Metric::SessionUncached).contains(&self)
    }

    /// What its values are counted in.
    pub fn unit(self) -> MetricUnit {
        self.facts().kind.unit
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        self.facts().kind.direction
    }

    /// Whether a level has many values of it, so that it needs a percentile or a mean.
    pub fn has_many_values(self) -> bool {
        !matches!(self.facts().kind.values, Values::One | Values::OneBounded)
    }

    /// Whether a latency target can bound it as it is: a time, a ratio of times, or a share. A speed is
    /// bounded by the time that it leaves, a share that is to be large by the rest.
    pub fn is_bounded_by_targets(self) -> bool {
        matches!(self.facts().kind.values, Values::Bounded | Values::OneBounded)
    }

    /// The same from the due time, where requests have one and the metric counts from their start.
    #[must_use]
    pub fn from_due(self) -> Metric {
        match self {
            Metric::Ttft => Metric::TtftDue,
            Metric::E2e => Metric::E2eDue,
            Metric::Ttfa => Metric::TtfaDue,
            other => other,
        }
    }
}

/// The word.
impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

crate::vocabulary::stored_as_word!(Metric, "metric");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_at_the_place_of_its_metric() {
        for (place, metric) in Metric::all().enumerate() {
            assert_eq!(metric as usize, place);
            assert_eq!(Metric::from_word(metric.word()), Some(metric));
        }
    }

    #[test]
    fn every_metric_is_listed_once() {
        let [many, one] = Metric::listed();
        let all = format!("{many}; {one}").replace([';', ','], " ");
        for metric in Metric::all() {
            let times = all.split_whitespace().filter(|word| *word == metric.word()).count();
            assert_eq!(times, 1, "{metric}");
        }
        assert!(many.contains("; of media ttft_acked, rtfx, rtf_heard, ttfa"), "{many}");
        assert!(one.contains("; of media level_rtfx, images_s, mpixels_s; of conv"), "{one}");
    }
}
