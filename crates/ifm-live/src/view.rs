//! What is shown while a run goes on: one plain value, made by the board and drawn by others.
//!
//! What is not known is absent. Not here: where the numbers come from (`board`, `ifm_metrics::tally`), what
//! they look like (`line`, `draw`).

use super::words;
use ifm_metrics::level::{GapLabel, MediaRates};
use ifm_metrics::slo::VerdictState;
pub use ifm_metrics::tally::Percentiles;
use std::sync::Arc;

/// How many levels there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LevelCount {
    /// A fixed number.
    Exactly(usize),
    /// This many, or fewer if more load adds nothing.
    AtMost(usize),
    /// Depends on what is measured.
    #[default]
    Open,
}

/// All that is known of a run at one moment.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// What does not change.
    pub facts: Arc<RunFacts>,
    /// Seconds since the run began.
    pub elapsed_s: f64,
    /// The level that runs, or the last one that ran.
    pub level: Option<LevelView>,
    /// Seconds until the whole run has ended, if known.
    pub left: Option<RunLeft>,
    /// Levels that have ended, in order.
    pub rows: Arc<Vec<Row>>,
    /// The past of the run, oldest first.
    pub past: Vec<Point>,
    /// Tokens for one token event, by which `past` is converted to tokens; absent while tokens have
    /// not been counted.
    pub tokens_per_event: Option<f64>,
    /// The last message to the user.
    pub message: Option<String>,
}

/// What does not change during a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Name of the run, or its id.
    pub name: String,
    /// The server's base URL.
    pub server: String,
    /// The model.
    pub model: String,
    /// The workload as it was typed.
    pub workload: String,
}

/// How long the whole run still takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLeft {
    /// Seconds.
    pub seconds: f64,
    /// Whether it may end earlier.
    pub at_most: bool,
}

impl RunLeft {
    /// `at most 4 min 00 s left`.
    pub fn words(self) -> String {
        let at_most = if self.at_most { "at most " } else { "" };
        format!("{at_most}{} left", words::seconds(self.seconds))
    }
}

/// Stage of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Requests that do not count are under way, or connections are opened.
    #[default]
    WarmingUp,
    /// Measured requests are sent.
    Measuring,
    /// Nothing new is sent.
    Finishing,
    /// Over.
    Ended,
}

/// What is known of a level.
#[derive(Debug, Clone, Default)]
pub struct LevelView {
    /// Which level, from 1.
    pub number: usize,
    /// Of how many.
    pub of: LevelCount,
    /// The load in words: `8 users`.
    pub load: String,
    /// Its stage.
    pub stage: Stage,
    /// Seconds since the level began, warm-up included.
    pub elapsed_s: f64,
    /// Seconds from there to the first measured request; absent before.
    pub warmed_s: Option<f64>,
    /// How much of it is done, 0 to 1.
    pub done_share: Option<f64>,
    /// Seconds until it has ended.
    pub left_s: Option<f64>,
    /// Whether it may end earlier, once the evidence is sufficient.
    pub at_most: bool,
    /// Warm-up requests that have ended, and how many there are.
    pub warmup: (u64, u64),
    /// Measured requests that have ended, whatever the outcome.
    pub finished: u64,
    /// Measured requests that failed, by the word of the outcome, most first.
    pub failures: Vec<(&'static str, u64)>,
    /// Requests in flight.
    pub in_flight: u64,
    /// Output over the last seconds.
    pub speed: Option<Speed>,
    /// Measured requests that ended per second since the measurement began.
    pub req_per_s: Option<f64>,
    /// Time to first token over complete measured requests so far.
    pub ttft: Option<Percentiles>,
    /// Gaps between token events of the same requests.
    pub gap: Option<Percentiles>,
    /// What the gaps may be called.
    pub gap_label: Option<GapLabel>,
    /// Media of complete answers, for each second since the measurement began.
    pub media: Option<MediaRates>,
    /// Bytes of their files, before base64.
    pub media_bytes: Option<u64>,
    /// Seconds of sound that were made for each second since then.
    pub made_audio_s_per_s: Option<f64>,
    /// Structured answers so far: valid, and invalid.
    pub judged: (u64, u64),
}

impl LevelView {
    /// Measured requests that failed.
    pub fn failed(&self) -> u64 {
        self.failures.iter().map(|(_, count)| count).sum()
    }

    /// `12.4 images/s`, `21 audio s/s`: what media there are, the most telling first.
    pub fn media_words(&self) -> Vec<String> {
        let told = self.media.iter().flat_map(MediaRates::told);
        let made = self.made_audio_s_per_s.map(|rate| (rate, "audio s/s made"));
        told.chain(made).map(|(rate, unit)| format!("{} {unit}", words::number(rate))).collect()
    }

    /// `98.5% valid`; absent while no structured answer was judged.
    pub fn valid_words(&self) -> Option<String> {
        let (valid, invalid) = self.judged;
        let of = valid + invalid;
        (of > 0).then(|| format!("{} valid", words::percent(valid as f64 / of as f64)))
    }

    /// `39 s left`, `at most 39 s left`.
    pub fn left_words(&self) -> Option<String> {
        self.left_s.map(|seconds| RunLeft { seconds, at_most: self.at_most }.words())
    }

    /// `level 2/7`.
    pub fn place(&self, ascii: bool) -> String {
        let at_most = if ascii { "<=" } else { "≤" };
        match self.of {
            LevelCount::Exactly(all) => format!("level {}/{all}", self.number),
            LevelCount::AtMost(all) => format!("level {}/{at_most}{all}", self.number),
            LevelCount::Open => format!("level {}", self.number),
        }
    }

    /// The short name of the gaps.
    pub fn gap_name(&self) -> &'static str {
        self.gap_label.unwrap_or(GapLabel::InterToken).short()
    }
}

/// How fast output comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// Tokens per second.
    Tokens(f64),
    /// Token-bearing events per second, while the tokens have not been counted.
    Events(f64),
}

/// A stretch of the past.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its end, seconds since the run began.
    pub at_s: f64,
    /// Token-bearing events per second.
    pub events_per_s: f64,
    /// Tokens per second of answers that came whole.
    pub whole_tok_per_s: f64,
    /// Requests in flight.
    pub in_flight: f64,
}

/// A level that has ended, with the numbers of its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The load in words.
    pub load: String,
    /// Output tokens per second.
    pub output_tok_per_s: Option<f64>,
    /// TTFT, nanoseconds: median and 99th percentile.
    pub ttft_ns: (Option<f64>, Option<f64>),
    /// Gap between token events, nanoseconds: median and 99th percentile.
    pub gap_ns: (Option<f64>, Option<f64>),
    /// Share of the requests with a complete answer, 0 to 1.
    pub ok_share: Option<f64>,
    /// Whether it is inside the latency target.
    pub verdict: VerdictState,
}
