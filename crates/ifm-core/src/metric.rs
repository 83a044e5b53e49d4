//! The metrics that a latency target bounds and a comparison compares: one row of `METRICS` each.
//!
//! A metric is a quantity as people ask for it on a command line, with its word, its name and which
//! way is better. What is not here: how it is computed (`ifm-analysis`), and everything else that a
//! document can state ([`Quantity`]).

use crate::sheet::Quantity;
use std::fmt;

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
#[derive(Clone, Copy)]
struct Row {
    about: &'static str,
    word: &'static str,
    name: &'static str,
    short: Option<&'static str>,
    quantity: Option<&'static Quantity>,
    group: Group,
    kind: Kind,
    key: Option<&'static str>,
    needs_stream: bool,
    may_be_absent: bool,
    may_be_estimated: bool,
    has_several: bool,
    is_detail: bool,
}

const fn row(group: Group, kind: Kind, word: &'static str, name: &'static str) -> Row {
    Row {
        about: "",
        word,
        name,
        short: None,
        quantity: None,
        group,
        kind,
        key: None,
        needs_stream: false,
        may_be_absent: false,
        may_be_estimated: false,
        has_several: false,
        is_detail: false,
    }
}

impl Row {
    /// The figure of a document that it is. Times from the due time are in no document: other tools
    /// count from the sending.
    const fn quantity(self, quantity: &'static Quantity) -> Row {
        Row { quantity: Some(quantity), ..self }
    }

    /// Every request has its values, and this is their name in JSON, where `{}` is the unit of a time.
    /// It puts the metric into results: the summary of a level, reports, JSON.
    const fn key(self, key: &'static str) -> Row {
        Row { key: Some(key), ..self }
    }

    /// The name in a narrow table, at most ten characters.
    const fn short(self, short: &'static str) -> Row {
        Row { short: Some(short), ..self }
    }

    /// It is about tokens in time, which only a streamed answer has.
    const fn streamed(self) -> Row {
        Row { needs_stream: true, ..self }
    }

    /// It needs the number of tokens, which may be an estimate.
    const fn may_be_estimated(self) -> Row {
        Row { may_be_estimated: true, ..self }
    }

    /// A request may have several values: of gaps, or of its sequences.
    const fn several(self) -> Row {
        Row { has_several: true, ..self }
    }

    /// Only tables of every metric show it.
    const fn detail(self) -> Row {
        Row { is_detail: true, ..self }
    }

    /// A complete answer may lack it and yet be as requested.
    const fn may_be_absent(self) -> Row {
        Row { may_be_absent: true, ..self }
    }
}

/// Defines [`Metric`] and its table: for each metric its definition, the word of the command line and
/// of files, the name in tables, and what else there is to say.
macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $metric:ident = $row:expr,)+) => {
        /// A metric.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($(#[doc = $about])+ $metric,)+
        }

        const ALL: [Metric; [$(Metric::$metric),+].len()] = [$(Metric::$metric),+];

        static METRICS: [Row; ALL.len()] =
            [$(Row { about: concat!($($about),+), ..$row }),+];
    };
}

metrics! {
    /// Time to first token.
    Ttft = row(Group::Answers, TARGET, "ttft", "TTFT").quantity(&Quantity::Ttft).key("ttft_{}").streamed(),
    /// Time to first token from when the request was due, in an open loop.
    TtftDue = row(Group::Answers, TIME, "ttft_due", "TTFT due").key("ttft_{}_from_due"),
    /// Time from the last byte that the server's machine acknowledged to the first token, where the
    /// kernel reported it.
    TtftAcked = row(Group::Media, TARGET, "ttft_acked", "TTFT from last byte").key("ttft_{}_from_last_byte").short("last byte").streamed().may_be_absent(),
    /// Time to the first token that is not reasoning.
    Ttfat = row(Group::Answers, TARGET, "ttfat", "TTFAT").quantity(&Quantity::Ttfot).key("ttfat_{}").streamed(),
    /// Time from the first event with tokens to the second, of answers of one sequence.
    Ttst = row(Group::Answers, TARGET, "ttst", "TTST")
        .key("ttst_{}")
        .streamed()
        .may_be_absent()
        .detail(),
    /// Gap between successive events with tokens of one sequence, pooled over requests.
    Itl = row(Group::Answers, TARGET, "itl", "ITL").quantity(&Quantity::Itl).key("gap_{}").streamed().several(),
    /// Gap between successive events with tokens, divided by the tokens of the event that ends it,
    /// where the server reported them.
    ItlPerToken = row(Group::Answers, TIME, "itl_tok", "ITL/token").key("itl_{}_per_token").several(),
    /// Time per output token after the tokens of the first read, one value per sequence.
    Tpot = row(Group::Answers, TARGET, "tpot", "TPOT").quantity(&Quantity::Tpot).key("tpot_{}").streamed().several().may_be_estimated(),
    /// Time from the start of a request to its last token.
    E2e = row(Group::Answers, TARGET, "e2e", "E2E").quantity(&Quantity::E2e).key("e2e_{}"),
    /// Time from when a request was due to its last token, in an open loop.
    E2eDue = row(Group::Answers, TIME, "e2e_due", "E2E due").key("e2e_{}_from_due"),
    /// E2E over output tokens, also called normalized latency: the wait for the first token is spread
    /// over the answer.
    E2ePerToken = row(Group::Answers, TIME, "e2e_tok", "E2E/token").may_be_estimated(),
    /// Time from the start of a request to the end of its stream, usage and trailers included.
    StreamEnd = row(Group::Answers, TIME, "stream_end", "stream end").key("stream_end_{}").detail(),
    /// Time from a request's arrival at its server until it was scheduled, as reported by the server.
    Queue = row(Group::Answers, TIME, "queue", "queue"),
    /// Time until the last byte of the request was handed to the kernel.
    Upload = row(Group::Answers, TIME, "upload", "upload").key("upload_{}").detail(),
    /// Time of the whole prompt in an engine.
    Prefill = row(Group::Tools, TIME, "prefill", "prefill").quantity(&Quantity::PrefillTime),
    /// Time of one call of a kernel.
    Kernel = row(Group::Tools, TIME, "kernel", "kernel").quantity(&Quantity::KernelTime),
    /// Decode speed that one user sees: 1 / TPOT.
    UserSpeed = row(Group::Answers, SPEED, "tok_s_user", "tok/s/user").quantity(&Quantity::UserRate).key("user_tok_per_s").several().may_be_estimated(),
    /// Output tokens per second, over the headline window.
    OutputRate = row(Group::Answers, TOKENS, "out_tok_s", "out tok/s").quantity(&Quantity::OutputRate),
    /// Complete answers per second, over the headline window.
    RequestRate = row(Group::Answers, REQUESTS, "req_s", "req/s").quantity(&Quantity::RequestRate),
    /// Failed requests over all that were sent, 0 to 1.
    ErrorRate = row(Group::Answers, FAILED, "error_rate", "failed"),
    /// Complete answers over requests that ended by themselves, 0 to 1.
    Success = row(Group::Answers, OK, "success", "ok"),
    /// Answers that have the requested form, over those for which this could be checked, 0 to 1.
    Valid = row(Group::Answers, OK, "valid", "valid answers"),
    /// Prompt and output tokens per second, as a document states it.
    TotalRate = row(Group::Tools, TOKENS, "total_tok_s", "total tok/s").quantity(&Quantity::TotalRate),
    /// Prompt tokens per second, as a document states it.
    InputRate = row(Group::Tools, TOKENS, "in_tok_s", "prompt tok/s").quantity(&Quantity::InputRate),
    /// Prompt tokens per second of an engine.
    PrefillRate = row(Group::Tools, TOKENS, "prefill_tok_s", "prefill tok/s").quantity(&Quantity::PrefillRate),
    /// Generated tokens per second of an engine.
    DecodeRate = row(Group::Tools, TOKENS, "decode_tok_s", "decode tok/s").quantity(&Quantity::DecodeRate),
    /// Requests per second inside the latency target, as a document states it.
    Goodput = row(Group::Tools, REQUESTS, "goodput", "goodput req/s").quantity(&Quantity::Goodput),
    /// Tokens for each pass of the model over a request, with speculative decoding.
    AcceptanceLength = row(Group::Drafts, PLAIN, "acceptance_length", "acceptance length").quantity(&Quantity::AcceptLength),
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
    Rtfx = row(Group::Media, HEARD, "rtfx", "RTFx").quantity(&Quantity::Rtfx).key("rtfx"),
    /// Seconds of audio in the prompts of complete answers for each second of the headline window.
    LevelRtfx = row(Group::Media, PLAIN, "level_rtfx", "level RTFx").quantity(&Quantity::AudioRate),
    /// E2E over the seconds of audio that a request carries: 1 / RTFx.
    HeardRtf = row(Group::Media, RATIO, "rtf_heard", "RTF heard").key("rtf_heard").may_be_absent().detail(),
    /// Time to the first byte of sound.
    Ttfa = row(Group::Media, TARGET, "ttfa", "TTFA").quantity(&Quantity::Ttfa).key("ttfa_{}").may_be_absent(),
    /// Time from when a request was due to the first byte of sound, in an open loop.
    TtfaDue = row(Group::Media, TIME, "ttfa_due", "TTFA due").key("ttfa_{}_from_due").detail(),
    /// E2E over the length of the sound that was made.
    Rtf = row(Group::Media, RATIO, "rtf", "RTF").quantity(&Quantity::Rtf).key("rtf").may_be_absent(),
    /// Time in which a listener who starts at the first byte hears nothing.
    Silence = row(Group::Media, TARGET, "silence", "silence").quantity(&Quantity::Silence).key("silence_{}").may_be_absent(),
    /// Images per second of the complete answers, over the headline window.
    ImageRate = row(Group::Media, IMAGES, "images_s", "images/s").quantity(&Quantity::ImageRate),
    /// Millions of pixels per second, of images and frames, likewise.
    PixelRate = row(Group::Media, PIXELS, "mpixels_s", "megapixels/s").quantity(&Quantity::PixelRate),
    /// Steps per second of a command.
    StepRate = row(Group::Commands, STEPS, "steps_s", "steps/s").quantity(&Quantity::StepRate),
    /// Time of a command from its start to its end.
    CommandTime = row(Group::Commands, SPAN, "time", "time").quantity(&Quantity::Duration),
    /// Most memory in use on the GPUs while a command ran.
    GpuMemory = row(Group::Commands, BYTES, "memory", "memory").quantity(&Quantity::Memory),
    /// Most memory of the host that a command used.
    HostMemory = row(Group::Commands, BYTES, "host_memory", "host memory").quantity(&Quantity::HostMemory),
    /// Energy that was drawn while a command ran.
    Energy = row(Group::Commands, ENERGY, "energy", "energy").quantity(&Quantity::Energy),
}

/// Metrics that count from the start of a request, each with the same from its due time.
const FROM_DUE: [(Metric, Metric); 3] = [
    (Metric::Ttft, Metric::TtftDue),
    (Metric::E2e, Metric::E2eDue),
    (Metric::Ttfa, Metric::TtfaDue),
];

impl Metric {
    /// All metrics.
    pub fn all() -> impl Iterator<Item = Metric> + Clone {
        ALL.into_iter()
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

    fn row(self) -> &'static Row {
        &METRICS[self as usize]
    }

    /// The word on the command line and in files: `ttft`.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// The name in a table: `TTFT`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in a narrow table, at most ten characters: `last byte`.
    pub fn short_name(self) -> &'static str {
        self.row().short.unwrap_or(self.row().name)
    }

    /// What it is, in a sentence without its unit.
    pub fn definition(self) -> &'static str {
        self.row().about.trim()
    }

    /// The metrics that every request may have values of, in the order of tables.
    pub fn of_requests() -> impl Iterator<Item = Metric> + Clone {
        Metric::all().filter(|metric| metric.row().key.is_some())
    }

    /// The name in JSON, for times in this unit: `ttft_s` in `s`. Absent for a metric that requests do
    /// not have.
    pub fn key(self, unit: &str) -> Option<String> {
        self.row().key.map(|key| key.replace("{}", unit))
    }

    /// Whether it is about tokens in time, which only a streamed answer has.
    pub fn needs_stream(self) -> bool {
        self.row().needs_stream
    }

    /// Whether a complete answer may lack it and yet be as requested.
    pub fn may_be_absent(self) -> bool {
        self.row().may_be_absent
    }

    /// Whether it needs the number of tokens, which may be an estimate.
    pub fn may_be_estimated(self) -> bool {
        self.row().may_be_estimated
    }

    /// Whether a request may have several values: of gaps, or of its sequences.
    pub fn has_several_for_each_request(self) -> bool {
        self.row().has_several
    }

    /// Whether only tables of every metric show it.
    pub fn is_detail(self) -> bool {
        self.row().is_detail
    }

    /// The quantity of a document that it is, if any has it.
    pub fn quantity(self) -> Option<&'static Quantity> {
        self.row().quantity
    }

    /// Whether only a command that was measured from its start to its end has it. For a server the
    /// duration, and the energy drawn in that time, depend on how long the user chose to measure.
    pub fn is_of_commands(self) -> bool {
        self.group() == Group::Commands
    }

    /// Whether only a server that drafts has it.
    pub fn is_of_drafts(self) -> bool {
        self.group() == Group::Drafts
    }

    /// Whether only requests with images, recordings or videos have it.
    pub fn is_of_media(self) -> bool {
        matches!(self, Metric::ImageRate | Metric::PixelRate | Metric::LevelRtfx)
    }

    fn group(self) -> Group {
        self.row().group
    }

    /// Whether it is of whole sessions, and not of single requests.
    pub fn is_of_sessions(self) -> bool {
        self.group() == Group::Sessions
    }

    /// What its values are counted in.
    pub fn unit(self) -> MetricUnit {
        self.row().kind.unit
    }

    /// The percentile that is as far in the tail of bad values as `p`, 0 to 100, is in that of a time:
    /// `p` itself where less is better, else `100 - p`.
    pub fn slow_tail(self, p: f64) -> f64 {
        match self.direction() {
            Direction::Lower => p,
            Direction::Higher => 100.0 - p,
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        self.row().kind.direction
    }

    /// Whether a level has many values of it, so that it needs a percentile or a mean.
    pub fn has_many_values(self) -> bool {
        !matches!(self.row().kind.values, Values::One | Values::OneBounded)
    }

    /// Whether a latency target can bound it as it is: a time, a ratio of times, or a share. A speed is
    /// bounded by the time that it leaves, a share that is to be large by the rest.
    pub fn is_bounded_by_targets(self) -> bool {
        matches!(self.row().kind.values, Values::Bounded | Values::OneBounded)
    }

    /// The same from the due time, where requests have one and the metric counts from their start.
    #[must_use]
    pub fn from_due(self) -> Metric {
        FROM_DUE.iter().find(|(from_start, _)| *from_start == self).map_or(self, |(_, due)| *due)
    }

    /// Whether it counts from the due time.
    pub fn is_from_due(self) -> bool {
        FROM_DUE.iter().any(|(_, due)| *due == self)
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
            assert!(metric.definition().ends_with('.'), "{metric}");
        }
    }

    #[test]
    fn keys_of_requests_have_their_unit_and_narrow_names_fit() {
        let mut seen = std::collections::BTreeSet::new();
        for metric in Metric::of_requests() {
            assert!(metric.short_name().chars().count() <= 10, "{metric}");
            let key = metric.key("s").expect("of requests");
            assert_eq!(
                key.contains("_s"),
                matches!(metric.unit(), MetricUnit::Ns | MetricUnit::TokPerS),
                "{key}"
            );
            assert!(seen.insert(key), "{metric}");
        }
        assert_eq!(Metric::TtftDue.key("ms").as_deref(), Some("ttft_ms_from_due"));
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
